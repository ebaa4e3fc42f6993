"""Short labels that tell names apart: drops what all names share, and the middle of long labels.

The page has the same rule in labels.js; tests/fixtures/rules/labels.json tests both.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Sequence

from tbq.text import GAP

# One part of a name: `key=value`, whose key may contain `_`, and any separator in quotes; or a word,
# with the number after it (`lr_0.1`, `run 3`); separators are / , ; _ and spaces.
_PART = re.compile(r"'[^'=]+'=[^/,; _]*|[^/,; =_][^/,; =]*=[^/,; _]*|[^/,; _]+(?:[_ ]-?[.]?[0-9][^/,; _]*)?")
# The key of a part: `lr=` of `lr=0.1`, `lr` of `lr0.1`, `run ` of `run 3`.
_KEY = re.compile(r"[^=]*=(?=[^=])|[^0-9.=-]+(?=-?[.]?[0-9])")


def labels(names: Sequence[str], room: int | None = None, size: Callable[[str], int] = len) -> list[str]:
    """A label for each name, in the order of the names; different names have different labels.

    1. Names consist of parts between separators (`_PART`). If all names have the same number of parts, the parts that
       are equal in all names go. Otherwise, the parts that all names begin with go, and those that all names end
       with; each name keeps at least one part. The parts that remain are joined by the separators before them; the
       separators at the ends of a name stay with its first and last part. If a label would be empty, or two would be
       equal, the names stay as they are.
    2. If a label is longer than `room`, and all names have the same number of parts, the keys (`_KEY`) that all names
       have at the same place go, provided that all labels then fit.
    3. A label longer than `room` keeps its first h letters and as many of its last as fit around a `…`. h is the same
       for all labels: the first number for which no two labels are equal, out of a third of the room, the larger
       numbers in ascending order, and the smaller in descending order.
    4. If no h suits, 3. is tried without the keys. If none suits then, the h with the fewest equal labels in 3. counts,
       and equal labels end in #1, #2, … in the order of the names.

    `size` measures a text, in letters unless the caller has another unit.

    >>> labels(["exp/lr=0.1_bs=16_s=0", "exp/lr=0.01_bs=16_s=1"])
    ['lr=0.1_s=0', 'lr=0.01_s=1']
    >>> labels(["baseline", "baseline_without_dropout", "baseline_without_warmup"], 12)
    ['baseline', 'base…dropout', 'base…_warmup']
    >>> labels(["opt=adam,lr=0.01/seed=0", "opt=adam,lr=0.03/seed=0", "opt=sgd,lr=0.01/seed=1"], 11)
    ['adam,0.01/0', 'adam,0.03/0', 'sgd,0.01/1']
    """
    return list(_labels(tuple(names), room, size))


@functools.lru_cache(maxsize=16)  # a screen asks for the same labels again and again
def _labels(names: tuple[str, ...], room: int | None, size: Callable[[str], int]) -> list[str]:
    distinct = list(dict.fromkeys(names))
    short = _without_shared(distinct)
    if room is not None:
        short = _within(short, max(room, 1), size)
    of_name = dict(zip(distinct, short, strict=True))
    return [of_name[name] for name in names]


def _without_shared(names: list[str]) -> list[str]:
    if len(names) < 2:
        return names
    split = [[(match.start(), match.group()) for match in _PART.finditer(name)] for name in names]
    texts = [[part for _, part in parts] for parts in split]
    fewest = min(map(len, texts))
    if fewest == max(map(len, texts)):
        differ = [len({parts[i] for parts in texts}) > 1 for i in range(fewest)]
        kept = [differ] * len(names)
    else:
        first, last = texts[0], texts[0][::-1]
        begin = end = 0
        while begin < fewest - 1 and all(parts[begin] == first[begin] for parts in texts):
            begin += 1
        while end < fewest - 1 - begin and all(parts[-1 - end] == last[end] for parts in texts):
            end += 1
        kept = [[begin <= i < len(parts) - end for i in range(len(parts))] for parts in texts]
    short = [_joined(name, parts, keep) for name, parts, keep in zip(names, split, kept, strict=True)]
    return short if all(short) and len(set(short)) == len(names) else names


def _joined(name: str, parts: list[tuple[int, str]], keep: Sequence[bool]) -> str:
    out = ""
    end = 0  # of the part before
    for i, ((start, part), wanted) in enumerate(zip(parts, keep, strict=True)):
        if wanted:
            out += (name[end:start] if out or i == 0 else "") + part
        end = start + len(part)
    return out + name[end:] if keep and keep[-1] else out


def _within(names: list[str], room: int, size: Callable[[str], int]) -> list[str]:
    if all(size(name) <= room for name in names):
        return names
    bare = _without_keys(names)
    fits = all(size(name) <= room for name in bare)
    for texts in (bare, names) if fits else (names, bare):
        short = _all_elided(texts, room, size)
        if len(set(short)) == len(names):
            return short
    return _numbered(_all_elided(names, room, size), room, size)


def _all_elided(names: list[str], room: int, size: Callable[[str], int]) -> list[str]:
    """The names within the room, with as few equal ones as possible."""
    if all(size(name) <= room for name in names):
        return names
    third = room - 1 - (room - 1) * 2 // 3
    best: list[str] = []
    fewest = len(names) + 1
    for head in [*range(third, room), *range(third - 1, -1, -1)]:
        short = [_elided(name, head, room, size) for name in names]
        equal = len(names) - len(set(short))
        if equal < fewest:
            best, fewest = short, equal
        if not equal:
            break
    return best


def _without_keys(names: list[str]) -> list[str]:
    split = [list(_PART.finditer(name)) for name in names]
    if len({len(parts) for parts in split}) > 1:
        return names
    keys = []
    for place in zip(*split, strict=True):
        matches = [_KEY.match(part.group()) for part in place]
        found = {match.group() if match else "" for match in matches}
        keys.append(found.pop() if len(found) == 1 else "")
    out = []
    for name, parts in zip(names, split, strict=True):
        for part, key in zip(parts[::-1], keys[::-1], strict=True):
            name = name[: part.start()] + name[part.start() + len(key) :]
        out.append(name)
    return out


def _elided(name: str, head: int, room: int, size: Callable[[str], int]) -> str:
    if size(name) <= room:
        return name
    begin = _begin(name, head, size)
    return begin + GAP + _begin(name[::-1], room - 1 - size(begin), size)[::-1]


def _begin(text: str, room: int, size: Callable[[str], int]) -> str:
    short = text[: max(room, 0)]
    while short and size(short) > room:
        short = short[:-1]
    return short


def _numbered(names: list[str], room: int, size: Callable[[str], int]) -> list[str]:
    counts = Counter(names)
    used = {name for name in names if counts[name] == 1}
    next_of: Counter[str] = Counter()
    out: list[str] = []
    for name in names:
        label = name
        while counts[name] > 1 and (label == name or label in used):
            next_of[name] += 1
            label = f"{_begin(name, room - 1 - len(str(next_of[name])), size)}#{next_of[name]}"
        used.add(label)
        out.append(label)
    return out
