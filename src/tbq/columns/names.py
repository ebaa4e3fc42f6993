"""Names of columns: no two alike, whatever tags and hyperparameters are called, by a fixed rule.

The first column of a name keeps it. A later one gets a qualifier for its kind, repeated until the name is free: a tag
called `run` becomes `tag.run`, a text with the name of a scalar becomes `notes.text`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

#: The prefix of a tag with the name of another column.
TAG = "tag."

# The columns that define a layout; they keep their names even if case does not count.
_KEYS = {"wide": ("run", "step"), "summary": ("run",), "hparams wide": ("run", "group", "status")}
_CAPITALS = {ord(letter): letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def distinct(wanted: Iterable[tuple[str, str]], reserved: Iterable[str] = ()) -> list[str]:
    """A name for each (name, qualifier), none of them `reserved`; a qualifier that starts with a dot is a suffix.

    >>> distinct([("loss", "tag."), ("run", "tag."), ("loss", ".text")], reserved=["run"])
    ['loss', 'tag.run', 'loss.text']
    """
    # Arrow's names end at a zero byte.
    plain = [(name.replace("\0", "\\0"), qualifier) for name, qualifier in wanted]
    used = {"", *reserved}
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


def column_names(tags: Iterable[str], reserved: Iterable[str] = ("run", "step")) -> list[str]:
    """The tags as names of columns: a reserved name such as `run` or `step` becomes `tag.run`, `tag.step`.

    >>> column_names(["loss", "step"])
    ['loss', 'tag.step']
    """
    return distinct([(tag, TAG) for tag in tags], reserved)


def ignoring_case(names: Sequence[str], kind: str = "") -> list[str]:
    """Names that differ by more than case, for SQL, which treats `Loss` and `loss` as one column.

    All names that differ only by case get a number, so that a query cannot get the wrong column; only the columns that
    define the layout `kind` keep their names.

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
    """Names without duplicates: the first keeps its name, repetitions get a number, as in DuckDB.

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
    """The columns that got another name, and that name."""
    return {old: new for old, new in zip(names, fresh_names, strict=True) if old != new}


def say_renamed(changes: Mapping[str, str], where: str) -> str:
    """The warning about columns that were renamed because case does not count in `where`.

    >>> say_renamed({"Loss": "Loss_1", "loss": "loss_2"}, "SQLite")
    "SQLite ignores case in names of columns, so 'Loss' is called 'Loss_1', 'loss' is called 'loss_2'"
    """
    listed = [f"{old!r} is called {new!r}" for old, new in changes.items()]
    more = f" and {len(listed) - 6:,} more are renamed likewise" if len(listed) > 6 else ""
    return f"{where} ignores case in names of columns, so {', '.join(listed[:6])}{more}"


def folded(name: str) -> str:
    """A name as SQL compares it: only the letters A to Z have a case.

    >>> folded("Loss"), folded("É") == folded("é")
    ('loss', False)
    """
    return name.translate(_CAPITALS)
