"""Selections of runs, tags and steps: names, globs, lists and `re:` expressions, the same everywhere."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from tbq.arguments import bad
from tbq.errors import SelectionError, UsageError, warn
from tbq.text import is_text, shell_word, shown_name

#: What `run=` and `tag=` accept.
Names = str | Sequence[str] | None
#: What `steps=` accepts: "a:b" with open ends, a pair, or one step.
Steps = str | int | tuple[int | None, int | None] | None

MIN_STEP, MAX_STEP = -(2**63), 2**63 - 1

TEXT_SUFFIX = "/text_summary"  # torch appends it to the tag of every text
_OPTIONS = ("run", "tag", "layer")  # selections with an option of the same name
_MAGIC = re.compile(r"[*?\[]")
_SPACES = " \t\n\r\f\v"  # between the words of a filter
_LONGEST = 2000  # characters of a name that the expression of a filter sees


class Unmatched(NamedTuple):
    """An item of a selection that matched no name, and the names that come closest."""

    item: str
    closest: list[str]

    @property
    def tip(self) -> str:
        """The end of a message about the item."""
        return f"; closest: {', '.join(self.closest)}" if self.closest else ""


class Resolved(NamedTuple):
    """A selection applied to all names: the selected names in order, and the items without a match."""

    names: list[str]
    unmatched: list[Unmatched]


@dataclass(frozen=True)
class Selection:
    """A compiled selection of names; `Selection.of(None)` selects all.

    >>> chosen = Selection.of(["loss", "val/*"])
    >>> chosen.resolve(["val/acc", "loss", "lr", "val/loss"]).names
    ['loss', 'val/acc', 'val/loss']
    """

    items: tuple[str, ...] | None
    what: str = "tag"
    #: the names that items turned out to be, set by `settled`
    known: frozenset[str] = frozenset()

    @classmethod
    def of(cls, spec: Names | Selection, what: str = "tag") -> Selection:
        """Compile a selection; messages call its names `what` ("run" or "tag")."""
        if isinstance(spec, Selection):
            return spec
        if spec is None:
            return cls(None, what)
        want = "a name, a glob, 're:…', or a list of them"
        value: object = spec
        if not isinstance(value, Iterable) or isinstance(value, bytes):
            raise bad(what, value, want)
        items = (spec,) if isinstance(spec, str) else tuple(spec)
        for item in items:
            if not isinstance(item, str):
                raise bad(what, item, want)
        return cls(tuple(dict.fromkeys(as_shown(item) for item in items)), what)

    @property
    def everything(self) -> bool:
        """Whether the selection is empty, so that every name is selected."""
        return self.items is None

    @property
    def exact(self) -> list[str]:
        """The items that are plain names, in their order."""
        return [item for item in self.items or () if not _is_pattern(item)]

    @property
    def named(self) -> frozenset[str] | None:
        """The names of the items if each is a plain name; None with patterns, or for an empty selection."""
        return self._literal if self.items and len(self.exact) == len(self.items) else None

    @property
    def names_of_patterns(self) -> list[str]:
        """The tags that would be spelled like a pattern. An exact tag name wins over a pattern."""
        patterns = [item for item in self.items or () if _is_pattern(item)]
        return [*patterns, *(item + TEXT_SUFFIX for item in patterns)]

    def settled(self, names: Iterable[str]) -> Selection:
        """This selection if all names include `names`: an item that is an exact name selects only that name.

        A caller that sees the names in parts must first look for such names in all parts.

        >>> chosen = Selection.of("loss[0]")
        >>> [each.matches("loss0") for each in (chosen, chosen.settled(["loss[0]", "loss0"]))]
        [True, False]
        """
        all_names = {*self.known, *names}
        pairs = [(item, item + TEXT_SUFFIX) for item in self.items or ()]
        known = [
            next(each for each in pair if each in all_names) for pair in pairs if all_names.intersection(pair)
        ]
        return replace(self, known=frozenset(known))

    @cached_property
    def _open(self) -> frozenset[str]:
        """The items that are not known to be exact names."""
        return frozenset(
            item for item in self.items or () if not self.known.intersection((item, item + TEXT_SUFFIX))
        )

    @cached_property
    def _patterns(self) -> dict[str, re.Pattern[str]]:
        patterns = {item: _compile(item) for item in self.items or () if _is_pattern(item)}
        return {item: pattern for item, pattern in patterns.items() if pattern is not None}

    @cached_property
    def _literal(self) -> frozenset[str]:
        return frozenset(self.items or ())

    def matches(self, name: str) -> bool:
        """Whether the name may be selected, judged alone.

        A pattern that is also an exact name (`loss[0]`) selects only that name, which needs all names to decide. So
        `resolve` may select fewer names than `matches` let through, never more.
        """
        if self.items is None or name in self._literal or name in self.known:
            return True
        plain = plain_tag(name)
        if plain != name and plain in self._open:
            return True
        return any(_fits(pattern, name) for item, pattern in self._patterns.items() if item in self._open)

    def resolve(self, names: Iterable[str]) -> Resolved:
        """Apply the selection to all names: items in their order, each pattern's names sorted."""
        known = sorted(set(names))
        if self.items is None:
            return Resolved(known, [])
        all_names = set(known)
        selected: dict[str, None] = {}
        unmatched = []
        for item in self.items:
            matches = self._matching(item, known, all_names)
            selected.update(dict.fromkeys(matches))
            if not matches:
                unmatched.append(Unmatched(item, closest(item, self._as_asked(known))))
        return Resolved(list(selected), unmatched)

    def columns(self, names: Iterable[str]) -> list[str]:
        """The columns of a wide table: like `resolve`, but a plain name without a match keeps its place."""
        known = sorted(set(names))
        if self.items is None:
            return known
        all_names = set(known)
        selected: dict[str, None] = {}
        for item in self.items:
            matches = self._matching(item, known, all_names)
            selected.update(dict.fromkeys(matches if matches or _is_pattern(item) else [item]))
        return list(selected)

    def require(
        self,
        names: Iterable[str],
        *,
        where: str | None = None,
        others: Callable[[], Iterable[str]] | None = None,
    ) -> list[str]:
        """`resolve`, with a warning for each item that matched nothing and an error when no name is left.

        `others` returns the tags for a selection of runs, or the runs for one of tags: the error says if the item is
        one of them. Called only for the error.
        """
        known = list(names)
        resolved = self.resolve(known)
        if not resolved.names and self.items is not None:
            message = (
                "; ".join(self._say(miss) for miss in resolved.unmatched) or f"no {self.what} was selected"
            )
            mistaken = self._mistaken(others) if others is not None else None
            raise SelectionError(message, path=where, hint=mistaken or self._hint(known))
        for miss in resolved.unmatched:
            warn(self._say(miss))
        return resolved.names

    def _matching(self, item: str, known: list[str], all_names: set[str]) -> list[str]:
        if item in all_names:
            return [item]
        if item + TEXT_SUFFIX in all_names:
            return [item + TEXT_SUFFIX]
        below = self._below(item, known)
        if below:
            return below
        if item not in self._open:  # an exact name that is not in this part
            return []
        pattern = self._patterns.get(item)
        if pattern is None and item.startswith("re:"):  # not a tag of this spelling either
            raise _bad_expression(item, self.what)
        return [name for name in known if _fits(pattern, name)] if pattern else []

    def _below(self, item: str, known: list[str]) -> list[str]:
        """The runs below a directory that is not a run itself, or the sessions of a run that was split."""
        if self.what != "run" or item.startswith("re:"):
            return []
        if item == ".":
            return known
        folder = item.rstrip("/") + "/"
        session = re.compile(re.escape(item) + r"@\d+~*")
        return [name for name in known if name.startswith(folder) or session.fullmatch(name)]

    def _as_asked(self, known: list[str]) -> list[str]:
        """Names as users know them."""
        return [plain_tag(name) for name in known] if self.what == "tag" else known

    def _say(self, miss: Unmatched) -> str:
        return f"no {self.what} matches {miss.item!r}{self._tip(miss)}"

    def _mistaken(self, others: Callable[[], Iterable[str]]) -> str | None:
        """The hint for an item that is a tag, not a run, or the other way round."""
        other = {"run": "tag", "tag": "run"}[self.what]
        known = list(others())
        selection = replace(self, what=other)
        for item in self.items or ():
            matches = selection._matching(item, known, set(known)) if not item.startswith("re:") else []
            if matches:
                is_name = (
                    f"{item} is a {other}" if item in matches else f"{item} matches the {other} {matches[0]}"
                )
                return f"{is_name}: {other}={item!r}, --{other} {shell_word(item)}"
        return None

    def _tip(self, miss: Unmatched) -> str:
        if "," in miss.item:
            option = f"repeat --{self.what}, or pass a list: {self.what}=[…]"
            return f"; to select several, {option if self.what in _OPTIONS else 'pass a list'}"
        return miss.tip

    def _hint(self, known: list[str]) -> str | None:
        if not known:
            return f"there is no {self.what} at all"
        shown_names = sorted(set(self._as_asked(known)))
        shown = ", ".join(shown_names[:5])
        more = len(shown_names) - 5
        return f"{self.what}s here: {shown}" + (f" and {more:,} more" if more > 0 else "")


def plain_tag(tag: str) -> str:
    """A tag as its user spelled it: torch appends a suffix to the tag of every text.

    >>> plain_tag("notes/text_summary")
    'notes'
    """
    return tag.removesuffix(TEXT_SUFFIX) or tag


def several(what: str, names: Sequence[str]) -> SelectionError:
    """The error for several selected runs or tags if only one is possible.

    >>> print(several("run", ["a", "b"]))
    2 runs match, want one: a, b
      name one, e.g. run='a', --run a
    """
    shown = ", ".join(names[:5]) + (" …" if len(names) > 5 else "")
    return SelectionError(
        f"{len(names):,} {what}s match, want one: {shown}",
        hint=f"name one, e.g. {what}={names[0]!r}, --{what} {shell_word(names[0])}",
    )


def closest(name: str, known: Sequence[str], n: int = 3) -> list[str]:
    """The known names most like `name`, best first; case and the leading folder count little.

    >>> closest("Loss", ["train/loss", "lr", "acc"])
    ['train/loss']
    """
    import difflib
    import heapq

    low = name.removeprefix("re:").lower()
    if len(known) > 500:  # difflib is slow: compare only the names with the most trigrams in common
        wanted = _trigrams(low)
        known = heapq.nlargest(500, known, key=lambda other: len(wanted & _trigrams(other.lower())))
    by_key: dict[str, str] = {}
    for other in known:
        by_key.setdefault(other.lower(), other)
    matches = [by_key[key] for key in difflib.get_close_matches(low, list(by_key), n=n, cutoff=0.6)]
    for other in known:
        if len(matches) < n and other not in matches and other.lower().rsplit("/", 1)[-1] == low:
            matches.append(other)
    return matches


def closest_tip(name: str, known: Sequence[str]) -> str:
    """The end of a message about an unknown name: the known names most like it, if there are any.

    >>> closest_tip("Loss", ["train/loss", "lr"])
    '; closest: train/loss'
    """
    return Unmatched(name, closest(name, known)).tip


def _trigrams(name: str) -> set[str]:
    return {name[i : i + 3] for i in range(max(len(name) - 2, 1))}


def steps(spec: Steps | Sequence[int | None]) -> tuple[int, int]:
    """The first and last selected step, both included; an open end reaches the end of int64.

    >>> steps("10:20")
    (10, 20)
    >>> steps("-5:")[0]
    -5
    """
    if spec is None:
        return MIN_STEP, MAX_STEP
    ends: list[int | None]
    if isinstance(spec, str):
        ends = _parse_steps(spec)
    elif _is_whole(spec):
        ends = [operator.index(spec)] * 2  # type: ignore[arg-type]
    else:
        ends = list(spec) if isinstance(spec, Iterable) and not isinstance(spec, bytes) else []
        if len(ends) != 2 or not all(end is None or _is_whole(end) for end in ends):
            raise _bad_steps(spec)
    first, last = ends
    low = MIN_STEP if first is None else operator.index(first)
    high = MAX_STEP if last is None else operator.index(last)
    if low > high:
        raise UsageError(
            f"steps: {low}:{high} contains no step",
            hint="put the smaller step first, e.g. steps='10:20'",
            code="argument",
        )
    return max(low, MIN_STEP), min(high, MAX_STEP)


def _parse_steps(text: str) -> list[int | None]:
    parts = text.split(":")
    if len(parts) == 1:
        parts *= 2
        if not parts[0].strip():
            raise _bad_steps(text)
    if len(parts) != 2:
        raise _bad_steps(text)
    try:
        return [int(part.replace("_", "")) if part.strip() else None for part in parts]
    except ValueError:
        raise _bad_steps(text) from None


def _is_whole(value: object) -> bool:
    try:
        operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return False
    return not isinstance(value, bool)


def name_filter(text: str) -> Callable[[str], bool]:
    """A test of names for the filters of `tbq watch` and the page, which has the same rule in match.js.

    All words must fit a name, in either case. A word is a part of the name, or with `*` or `?` a glob for the full
    name; `-word` excludes names. `re:EXPR` matches the full name, `/EXPR/` a part of it.

    >>> list(filter(name_filter("val/* -acc"), ["val/acc", "val/loss", "loss"]))
    ['val/loss']
    >>> list(filter(name_filter("re:.*loss"), ["val/acc", "val/loss", "loss"]))
    ['val/loss', 'loss']
    """
    text = text.strip(_SPACES)
    full = text.startswith("re:")
    if full or (len(text) > 2 and text[0] == text[-1] == "/"):
        item = text if full else f"re:{text[1:-1]}"
        pattern = _compile(item)
        if pattern is None:
            raise _bad_expression(item, "filter")
        fits = pattern.fullmatch if full else pattern.search
        return lambda name: fits(name[:_LONGEST]) is not None
    tests = []
    for word in filter(None, re.split(f"[{_SPACES}]+", text.lower())):
        excludes = len(word) > 1 and word.startswith("-")
        tests.append((_word_test(word[1:] if excludes else word), excludes))
    return lambda name: all(test(name.lower()) != excludes for test, excludes in tests)


def _word_test(word: str) -> Callable[[str], bool]:
    if not {"*", "?"} & {*word}:
        return lambda name: word in name
    pattern = _compile(word.replace("[", "[[]"))
    assert pattern is not None
    return lambda name: pattern.fullmatch(name) is not None


def _bad_steps(spec: object) -> UsageError:
    return bad(
        "steps", spec, "a step, 'first:last', or (first, last)", hint="e.g. '100:200', '100:', ':200', 100"
    )


def as_shown(item: str) -> str:
    """A name as tbq shows it, also if the shell passed a directory's raw bytes."""
    return item if item.startswith("re:") or is_text(item) else shown_name(item)


def _is_pattern(item: str) -> bool:
    return item.startswith("re:") or _MAGIC.search(item) is not None


def _fits(pattern: re.Pattern[str], name: str) -> bool:
    if pattern.fullmatch(name):
        return True
    plain = plain_tag(name)
    return plain != name and pattern.fullmatch(plain) is not None


def _compile(item: str) -> re.Pattern[str] | None:
    """The pattern of an item; None if it starts with `re:` but is not a regular expression."""
    if not item.startswith("re:"):
        import fnmatch

        return re.compile(fnmatch.translate(item))
    try:
        return re.compile(item[3:], re.DOTALL)
    except (re.error, RecursionError, OverflowError):
        return None


def _bad_expression(item: str, what: str) -> UsageError:
    try:
        re.compile(item[3:], re.DOTALL)
    except (re.error, RecursionError, OverflowError) as wrong:
        return bad(what, item, "a regular expression after 're:'", hint=str(wrong))
    raise AssertionError(item)
