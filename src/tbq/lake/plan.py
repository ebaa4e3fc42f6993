"""What a sync has to do: the runs that are new, grown, changed or gone since a position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tbq.lake.position import Position, load
from tbq.lake.stamps import stamps_in, stamps_of
from tbq.lake.tail import Grown, has_grown, may_have_grown
from tbq.source.files import fetch
from tbq.source.growing import RECENT, Growing

if TYPE_CHECKING:
    from tbq.lake.place import Place
    from tbq.lake.tables import LakeTable
    from tbq.source import Run

#: What the stamps of a run end with if its last record is unfinished: that is a loss once nobody writes it any more.
UNFINISHED = " unfinished"


@dataclass
class Plan:
    """Runs by what became of them. `stamps` has those of all runs that changed, as they were before reading."""

    added: list[Run] = field(default_factory=list)
    grown: list[Grown] = field(default_factory=list)
    replaced: list[Run] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    stamps: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.added or self.grown or self.replaced or self.gone)


def plan(runs: Sequence[Run], position: Position, keep_gone: bool) -> Plan:
    """Compare the files of runs with what they were."""
    out = Plan()
    candidates: list[Grown] = []
    growing = Growing()
    for run in runs:
        stamps = stamps_of(run)
        before = position.stamps.get(run.name)
        if before == stamps:
            continue
        if before is not None and before == stamps + UNFINISHED:
            if any(_grows(run, path, growing) for path in run.files):
                continue
            before = ""
        out.stamps[run.name] = stamps
        if before is None:
            out.added.append(run)
            continue
        state = position.state(run.name) if before else None
        old = stamps_in(before.removesuffix(UNFINISHED))
        if state is not None and may_have_grown(state, old, stamps_in(stamps)):
            candidates.append(Grown(run, state))
        else:
            out.replaced.append(run)
    fetch(each.run for each in candidates)
    for each in candidates:
        if has_grown(*each):
            out.grown.append(each)
        else:
            out.replaced.append(each.run)
    if not keep_gone:
        there = {run.name for run in runs}
        out.gone = [name for name in position.stamps if name not in there]
    return out


def _grows(run: Run, path: str, growing: Growing) -> bool:
    """Whether a file is still being written; an object, whether it was written within minutes."""
    version = run.remote.objects.get(path) if run.remote is not None else None
    return growing(path) if version is None else growing.now - version.modified < RECENT


def standing(place: Place, tables: Mapping[str, LakeTable]) -> tuple[Position, bool]:
    """The position that the tables stand at, and whether all of them do.

    If a sync was stopped between its commits, some tables stand at an older one. The runs that differ are forgotten:
    they are read from the start, and replace what tables have of them.
    """
    versions = {kind: table.version for kind, table in tables.items()}
    newest = max(versions.values())
    position = load(place, newest)
    if position is None:  # somebody deleted it
        position = Position(newest)
        position.forget(name for table in tables.values() for name in names_in_table(table))
        return position, False
    behind = [kind for kind, version in versions.items() if version != position.tables.get(kind, 0)]
    if not behind:
        return position, True
    complete = load(place, position.complete)
    for kind in behind:
        older = complete
        if older is None or older.tables.get(kind, 0) != versions[kind]:
            older = load(place, versions[kind]) if versions[kind] else None
        if older is None:
            position.forget([*position.stamps, *names_in_table(tables[kind])])
            continue
        every = position.changed.keys() | older.changed.keys()
        position.forget([run for run in every if position.changed.get(run) != older.changed.get(run)])
    return position, False


def names_in_table(table: LakeTable) -> set[str]:
    """The runs that a table has rows of."""
    from tbq.columns.codes import names_in
    from tbq.lake.datafiles import read_file

    names: set[str] = set()
    for file in table.files:
        names.update(names_in(read_file(table.place, table.kind, file.path)["run"]))
    return names
