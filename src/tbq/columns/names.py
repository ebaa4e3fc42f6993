"""Names of columns: no two alike, whatever tags and hyperparameters are called, by a fixed rule.

Who comes first has its own name. A name that is taken is qualified by what it names, and again until it is free: a tag
called `run` becomes `tag.run`, a text that is called like a scalar `notes.text`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

#: What stands before a tag that is called like another column.
TAG = "tag."

# The columns that make a layout; they keep their names also if case does not count.
_KEYS = {"wide": ("run", "step"), "summary": ("run",), "hparams wide": ("run", "group", "status")}
_CAPITALS = {ord(letter): letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def distinct(wanted: Iterable[tuple[str, str]], taken: Iterable[str] = ()) -> list[str]:
    """A name for each (name, qualifier), none of them `taken`; a qualifier that starts with a dot goes to the end.

    >>> distinct([("loss", "tag."), ("run", "tag."), ("loss", ".text")], taken=["run"])
    ['loss', 'tag.run', 'loss.text']
    """
    plain = [
        (name.replace("\0", "\\0"), qualifier) for name, qualifier in wanted
    ]  # Arrow's names end at a zero
    used = {"", *taken}
    names: list[str | None] = []
    for name, _ in plain:
        names.append(None if name in used else name)
        used.add(name)
    for i, (name, qualifier) in enumerate(plain):
        if names[i] is None:
            while name in used:
                name = f"{name}{qualifier}" if qualifier.startswith(".") else f"{qualifier}{name}"
            used.add(name)
            names[i] = name
    return [name or "" for name in names]


def column_names(tags: Iterable[str], taken: Iterable[str] = ("run", "step")) -> list[str]:
    """The tags as names of columns: one that is taken, like `run` or `step`, becomes `tag.run`, `tag.step`.

    >>> column_names(["loss", "step"])
    ['loss', 'tag.step']
    """
    return distinct([(tag, TAG) for tag in tags], taken)


def ignoring_case(names: Sequence[str], kind: str = "") -> list[str]:
    """Names that differ by more than case, for SQL, which takes `Loss` and `loss` for one column.

    All that are alike get a number, so that nobody asks for one and gets another; only the columns that make the
    layout `kind` keep their names.

    >>> ignoring_case(["run", "Loss", "lr", "loss"])
    ['run', 'Loss_1', 'lr', 'loss_2']
    """
    alike = [folded(name) for name in names]
    count: dict[str, int] = {}
    for name in alike:
        count[name] = count.get(name, 0) + 1
    used = set(alike)
    keys = set(_KEYS.get(kind, ()))
    numbers: dict[str, int] = {}
    fresh_names = []
    for name, same in zip(names, alike, strict=True):
        if count[same] == 1 or name in keys:
            fresh_names.append(name)
            continue
        fresh = name
        while folded(fresh) in used:
            numbers[same] = numbers.get(same, 0) + 1
            fresh = f"{name}_{numbers[same]}"
        used.add(folded(fresh))
        fresh_names.append(fresh)
    return fresh_names


def numbered(names: Sequence[str]) -> list[str]:
    """Names of which a query has made some twice: the first is as it is, the others are numbered, as DuckDB does it.

    >>> numbered(["run", "a", "run", "run"])
    ['run', 'a', 'run_1', 'run_2']
    """
    used = set(names)
    seen: set[str] = set()
    fresh_names = []
    for name in names:
        fresh, n = name, 0
        while fresh in seen or (n and fresh in used):
            n += 1
            fresh = f"{name}_{n}"
        seen.add(fresh)
        fresh_names.append(fresh)
    return fresh_names


def renamed(names: Sequence[str], fresh_names: Sequence[str]) -> dict[str, str]:
    """The columns that got another name, and which."""
    return {old: new for old, new in zip(names, fresh_names, strict=True) if old != new}


def say_renamed(changes: Mapping[str, str], where: str) -> str:
    """What a warning says of columns that were renamed because case does not count there.

    >>> say_renamed({"Loss": "Loss_1", "loss": "loss_2"}, "SQLite")
    "SQLite ignores case in names of columns, so 'Loss' is called 'Loss_1', 'loss' is called 'loss_2'"
    """
    listed = [f"{old!r} is called {new!r}" for old, new in changes.items()]
    more = f" and {len(listed) - 6:,} more are renamed in the same way" if len(listed) > 6 else ""
    return f"{where} ignores case in names of columns, so {', '.join(listed[:6])}{more}"


def folded(name: str) -> str:
    """A name as SQL compares it: only the letters A to Z have a case.

    >>> folded("Loss"), folded("É") == folded("é")
    ('loss', False)
    """
    return name.translate(_CAPITALS)
