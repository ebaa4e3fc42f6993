"""The names of runs whose trackers allow any text as a name: a run's name never leads out of the log directory."""

from __future__ import annotations

from collections.abc import Iterable


def part(name: object) -> str:
    """A name as part of a run's name: without empty parts, and without `.` and `..`.

    >>> part("../sweep//a/"), part("..")
    ('sweep/a', '_')
    """
    return "/".join(each for each in str(name).split("/") if each not in ("", ".", "..")) or "_"


def names_of(rows: Iterable[tuple[str, str, str, str | None]]) -> dict[str, str]:
    """The name of each run: experiment, the runs above it, and its own name. `rows`: id, name, experiment, parent.

    >>> names_of([("1", "sweep", "exp", None), ("2", "trial", "exp", "1"), ("3", "sweep", "exp", None)])
    {'1': 'exp/sweep', '2': 'exp/sweep/trial', '3': 'exp/sweep-3'}
    """
    of = {key: (name, experiment, parent) for key, name, experiment, parent in rows}
    names: dict[str, str] = {}
    taken: set[str] = set()

    def name_of(key: str, below: frozenset[str]) -> str:
        if key in names:
            return names[key]
        name, experiment, parent = of[key]
        nested = parent in of and parent not in below and len(below) < 100
        above = name_of(str(parent), below | {key}) if nested else part(experiment)
        if key in names:
            return names[key]
        full = f"{above}/{part(name)}"
        if full in taken:
            full = f"{full}-{key[:8]}"
        if full in taken:
            full = f"{above}/{part(name)}-{key}"
        taken.add(full)
        names[key] = full
        return full

    for key in of:
        name_of(key, frozenset((key,)))
    return names
