"""Positions: how far each run has been read. A table's last transaction names the position of its rows.

A position is a chain of Parquet files, each with the runs that changed; a run's newest entry is the valid one. A file
is written once, under a number that is used once, before any table refers to it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from tbq.lake.layout import OWN
from tbq.lake.location import in_arrow

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.lake.location import Location

_FOLDER = f"{OWN}/positions"
_META = b"tbq.position"
_COLUMNS = ("run", "stamps", "state", "changed")
_MOST_PARTS = 16  # files in a chain
#: The version of the rules that turn records into rows. Increase it when the same records give other rows: then the
#: next sync reads all runs again.
RULES = 2
_KEEP_SECONDS = 3600.0  # another sync may still be reading the file


class RunChange(NamedTuple):
    """A run's new entry: the stamps of its files (None: the run is gone), and the state to resume from."""

    stamps: str | None
    state: str = ""


@dataclass
class Position:
    """How far runs have been read, as of `version`."""

    version: int = 0
    #: table → the version in its last transaction, if the table is at this position
    tables: dict[str, int] = field(default_factory=dict)
    #: the last version that all tables are known to have reached
    complete: int = 0
    #: the items of the tag selection that were names of tags when the rows were read
    known: list[str] = field(default_factory=list)
    #: the version of the rules that made the rows; the first lakes did not record it
    rules: int = RULES
    #: the files of the chain, oldest first
    parts: list[int] = field(default_factory=list)
    #: run → the stamps of its files
    stamps: dict[str, str] = field(default_factory=dict)
    #: run → the version at which it changed last
    changed: dict[str, int] = field(default_factory=dict)
    _places: dict[str, tuple[pa.Table, int]] = field(default_factory=dict)

    def state(self, run: str) -> dict[str, Any] | None:
        """The state that a later read of the run resumes from; None if it must be read from the start."""
        table, row = self._places[run]
        text = table["state"][row].as_py()
        return json.loads(text) if text else None

    def forget(self, runs: Iterable[str]) -> None:
        """Forget runs: the next sync reads them from the start and replaces their rows."""
        for run in runs:
            self.stamps[run] = ""

    def overlay(self, table: pa.Table) -> None:
        """Replace older entries by the entries of a file."""
        stamps, changed = table["stamps"].to_pylist(), table["changed"].to_pylist()
        for row, run in enumerate(table["run"].to_pylist()):
            if stamps[row] is None:
                for known in (self.stamps, self.changed, self._places):
                    known.pop(run, None)
            else:
                self.stamps[run] = stamps[row]
                self.changed[run] = changed[row]
                self._places[run] = (table, row)


def load(place: Location, version: int) -> Position | None:
    """The position with that version; None if one of its files is missing or damaged."""
    if version == 0:
        return Position()
    head = _table(place, version)
    if head is None:
        return None
    about = json.loads(head.schema.metadata[_META])
    position = Position(
        version, about["tables"], about["complete"], about.get("known", []), about.get("rules", 0)
    )
    position.parts = [*about["parts"], version]
    for part in about["parts"]:
        table = _table(place, part)
        if table is None:
            return None
        position.overlay(table)
    position.overlay(head)
    return position


def next_version(place: Location, used: Iterable[int]) -> int:
    """A version that no position has yet."""
    return max([0, *used, *_versions(place)]) + 1


def save(
    place: Location,
    base: Position,
    version: int,
    tables: Mapping[str, int],
    complete: int,
    changes: Mapping[str, RunChange],
) -> Position | None:
    """Write a position: `base` with these changes. None if another sync took the version first."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    merged = dict(changes)
    parts = list(base.parts)
    if len(parts) >= _MOST_PARTS or 2 * len(changes) >= len(base.stamps):
        parts = []  # begin a new chain
        merged = {run: change for run, change in merged.items() if change.stamps is not None}
        for run in base.stamps:
            if run not in changes:
                table, row = base._places[run]
                merged[run] = RunChange(base.stamps[run], table["state"][row].as_py())
    about = {
        "tables": dict(tables),
        "complete": complete,
        "known": base.known,
        "rules": base.rules,
        "parts": parts,
    }
    table = pa.table(
        {
            "run": pa.array(list(merged), pa.string()),
            "stamps": pa.array([change.stamps for change in merged.values()], pa.string()),
            "state": pa.array([change.state for change in merged.values()], pa.string()),
            "changed": pa.array(
                [version if run in changes else base.changed[run] for run in merged], pa.int64()
            ),
        }
    ).replace_schema_metadata({_META: json.dumps(about)})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", use_dictionary=False, write_statistics=False)
    if not place.create(_key(version), sink.getvalue().to_pybytes()):
        return None
    position = Position(version, dict(tables), complete, base.known, base.rules, [*parts, version])
    if parts:
        position.stamps, position.changed = dict(base.stamps), dict(base.changed)
        position._places = dict(base._places)
    position.overlay(table)
    return position


def clean(place: Location, keep: Iterable[int], now: float) -> None:
    """Delete the files that no position in `keep` needs, unless another sync may still need them."""
    needed = {part for version in keep if version for part in _parts(place, version)}
    newest = max(needed, default=0)
    for entry in place.entries(_FOLDER):
        version = _number(entry.name)
        if version is None or version in needed or version > newest:
            continue
        if now - entry.modified > _KEEP_SECONDS:
            place.delete(f"{_FOLDER}/{entry.name}")


def _parts(place: Location, version: int) -> list[int]:
    """The versions of a position's files; only its own if that file is missing or damaged."""
    head = _table(place, version, [])
    return [version] if head is None else [*json.loads(head.schema.metadata[_META])["parts"], version]


def _key(version: int) -> str:
    return f"{_FOLDER}/{version:012d}.parquet"


def _number(name: str) -> int | None:
    stem, dot, ending = name.partition(".")
    return int(stem) if dot and ending == "parquet" and stem.isdigit() else None


def _versions(place: Location) -> list[int]:
    return [number for entry in place.entries(_FOLDER) if (number := _number(entry.name)) is not None]


def _table(place: Location, version: int, columns: Sequence[str] = _COLUMNS) -> pa.Table | None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(in_arrow(place.read(_key(version)))).read(list(columns))
    except (FileNotFoundError, pa.ArrowException, OSError):
        return None
    return table if table.column_names == list(columns) and _META in (table.schema.metadata or {}) else None
