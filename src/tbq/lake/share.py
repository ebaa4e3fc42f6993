"""A share of a sync: decodes some runs and writes their rows as data files, to be committed later."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tbq.lake.datafiles import DataFile, write_files
from tbq.lake.decoded import Decoded
from tbq.schema import SERIES
from tbq.source.files import bytes_of

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.lake.location import Location
    from tbq.problems import Problem
    from tbq.source import Run

#: A share has at most this many bytes of event files, and at most this many runs.
SHARE_BYTES = 1 << 28
SHARE_RUNS = 20_000


@dataclass
class Written:
    """The result of a share: data files by table, the rows of overviews, and what `Decoded` says about runs."""

    files: dict[str, list[DataFile]] = field(default_factory=dict)
    overviews: dict[str, pa.Table] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    unread: dict[str, list[int]] = field(default_factory=dict)
    kept: dict[str, list[Problem]] = field(default_factory=dict)
    rows: int = 0

    @classmethod
    def of(cls, place: Location, decoded: Decoded) -> Written:
        """Write the rows that were decoded."""
        out = cls(states=decoded.states, unread=decoded.unread, kept=decoded.kept, rows=decoded.rows)
        for kind in decoded.tables:
            table = decoded.table(kind)
            if kind in SERIES:
                out.files[kind] = write_files(place, kind, table)
            else:
                out.overviews[kind] = table
        return out

    @classmethod
    def joined(cls, parts: Sequence[Written]) -> Written:
        """Several shares as one."""
        import pyarrow as pa

        out = cls()
        tables: dict[str, list[pa.Table]] = {}
        for part in parts:
            for kind, files in part.files.items():
                out.files.setdefault(kind, []).extend(files)
            for kind, table in part.overviews.items():
                tables.setdefault(kind, []).append(table)
            out.states.update(part.states)
            out.unread.update(part.unread)
            out.kept.update(part.kept)
            out.rows += part.rows
        out.overviews = {kind: pa.concat_tables(each).unify_dictionaries() for kind, each in tables.items()}
        return out


def shares(
    runs: Iterable[Run], most: int = SHARE_BYTES, size_of: Callable[[Run], int] = bytes_of
) -> Iterator[list[Run]]:
    """Split runs, in order, into shares of at most `most` bytes of event files."""
    share: list[Run] = []
    size = 0
    for run in runs:
        of_run = size_of(run)
        if share and (size + of_run > most or len(share) >= SHARE_RUNS):
            yield share
            share, size = [], 0
        share.append(run)
        size += of_run
    if share:
        yield share
