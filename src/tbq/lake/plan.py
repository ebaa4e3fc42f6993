"""Plans a sync: finds the runs that are new, grown, changed or gone since a position."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tbq.decode.sub_runs import parent
from tbq.errors import SourceError
from tbq.lake.position import Position, load
from tbq.lake.stamps import notes_in, path_of, path_text, stamps_in, stamps_of
from tbq.lake.tail import Grown, has_grown, may_have_grown
from tbq.source.files import fetch
from tbq.source.growing import RECENT, Growing
from tbq.source.urls import is_remote

if TYPE_CHECKING:
    from tbq.lake.location import Location
    from tbq.lake.tables import LakeTable
    from tbq.source import Run

#: A note beside a run's stamps: its last record is unfinished. That is a loss once the file is no longer written.
UNFINISHED = "unfinished"
#: A note with the indices of files that could not be read. They may become readable without changing.
UNREAD = "unread:"
_PIECE = 1 << 20


@dataclass
class Plan:
    """Runs by what happened to them. `stamps` has the stamps of all changed runs, taken before reading."""

    added: list[Run] = field(default_factory=list)
    grown: list[Grown] = field(default_factory=list)
    replaced: list[Run] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    stamps: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.added or self.grown or self.replaced or self.gone)


def plan(runs: Sequence[Run], position: Position, keep_gone: bool) -> Plan:
    """Compare the files of runs with their stamps in the position."""
    out = Plan()
    candidates: list[Grown] = []
    growing = Growing()
    for run in runs:
        stamps = stamps_of(run)
        before = position.stamps.get(run.name)
        old, notes = notes_in(before or "")
        if old == stamps:
            if not _is_due(run, notes, growing):
                continue
            before = ""
        out.stamps[run.name] = stamps
        if before is None:
            out.added.append(run)
            continue
        state = position.state(run.name) if before else None
        if state is not None and may_have_grown(state, stamps_in(old), stamps_in(stamps)):
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
        existing = {run.name for run in runs}
        out.gone = [
            name
            for name, stamps in position.stamps.items()
            if name not in existing and _is_gone(notes_in(stamps)[0])
        ]
    else:  # a sub-run that is part of the run above is not gone: its rows are there
        folded = {name for run in runs for name in run.folded}
        out.gone = [name for name in position.stamps if name in folded]
    return out


def has_as_sub_run(position: Position, run: Run) -> bool:
    """Whether the files of this run belong to the run above it, by what the last sync found."""
    above = position.stamps.get(parent(run.name) or "")
    if not above:
        return False
    known = {stamp[0] for stamp in stamps_in(notes_in(above)[0])}
    return not known.isdisjoint(map(path_text, run.files))


def _is_due(run: Run, notes: Sequence[str], growing: Growing) -> bool:
    """Whether a run must be read again although its files have not changed."""
    for note in notes:
        if note == UNFINISHED and not any(_grows(run, path, growing) for path in run.files):
            return True
        if note.startswith(UNREAD):
            failed = [run.files[int(place)] for place in note.removeprefix(UNREAD).split(",")]
            if any(_is_readable(run, path) for path in failed):
                return True
    return False


def _is_readable(run: Run, path: str) -> bool:
    """Whether a file can be read to its end, or an object can be fetched."""
    try:
        if run.remote is not None and run.remote.has(path):
            run.remote.fetch([path])
            path = run.remote.path(path)
        file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                return False
            while os.read(file, _PIECE):
                pass
            return True
        finally:
            os.close(file)
    except (OSError, SourceError):
        return False


def _is_gone(stamps: str) -> bool:
    """Whether the files of a run that was not listed are gone. If a link or a pattern leads to a directory that cannot
    be read now, the run is not listed although it exists."""
    for stamp in stamps_in(stamps) if stamps else ():
        path = path_of(stamp)
        if is_remote(path):
            continue
        try:
            os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return False
    return True


def _grows(run: Run, path: str, growing: Growing) -> bool:
    """Whether a file is still being written, or an object was written within the last minutes."""
    version = run.remote.objects.get(path) if run.remote is not None else None
    return growing(path) if version is None else growing.now - version.modified < RECENT


def standing(place: Location, tables: Mapping[str, LakeTable]) -> tuple[Position, bool]:
    """The tables' newest position, and whether all tables are at it.

    If a sync was stopped between its commits, some tables are at an older position. The runs that differ are forgotten:
    they are read from the start, and replace their rows in the tables.
    """
    versions = {kind: table.version for kind, table in tables.items()}
    newest = max(versions.values())
    position = load(place, newest)
    if position is None:  # its file was deleted or is damaged
        position = Position(newest)
        position.forget(name for table in tables.values() for name in table.names("run"))
        return position, False
    outdated = [kind for kind, version in versions.items() if version != position.tables.get(kind, 0)]
    if not outdated:
        return position, True
    complete = load(place, position.complete)
    for kind in outdated:
        older = complete
        if older is None or older.tables.get(kind, 0) != versions[kind]:
            older = load(place, versions[kind]) if versions[kind] else None
        if older is None:
            position.forget([*position.stamps, *tables[kind].names("run")])
            continue
        every = position.changed.keys() | older.changed.keys()
        position.forget([run for run in every if position.changed.get(run) != older.changed.get(run)])
    return position, False
