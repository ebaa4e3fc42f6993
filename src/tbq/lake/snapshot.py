"""The current data files of a table, for reading it.

This module reads a Delta log as tbq's commits leave it, in a fraction of the time that deltalake takes to open a table.
If a log has anything else (features, deletion vectors, partitions, checkpoints in parts, gaps, damage), deltalake reads
it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from tbq.lake.datafiles import DataFile
from tbq.lake.layout import check_table
from tbq.lake.place import in_arrow
from tbq.lake.tables import LakeTable, require_deltalake, trusted

if TYPE_CHECKING:
    from tbq.lake.place import Place

_LOG = "_delta_log"
_HINT = "_last_checkpoint"
_DIGITS = 20  # of a version in a name
_MOST_COMMITS = 100  # tbq's tables have a checkpoint every 20 commits
# A file directly in the table's folder, with a name that is the same as text and as URL.
_PLAIN_PATH = re.compile(r"[A-Za-z0-9_.=-]+")
# Actions that do not change which files there are.
_SKIPPED = frozenset(("commitInfo", "txn"))
_BOUNDED = {"run": str, "tag": str, "step": int}


class Snapshot(NamedTuple):
    """A table as of the time it was opened."""

    place: Place
    kind: str
    exists: bool
    files: list[DataFile]


def snapshot(place: Place, kind: str) -> Snapshot:
    """A table as it is now."""
    files = files_in_log(place, kind)
    if files is not None:
        return Snapshot(place, kind, True, files)
    require_deltalake()
    table = LakeTable(place, kind, exists=True)
    return Snapshot(place, kind, table.exists, table.files)


def files_in_log(place: Place, kind: str) -> list[DataFile] | None:
    """The data files of a table; None if its log has anything that tbq's commits do not write.

    Raises if the table has other columns than tbq's.
    """
    import pyarrow as pa

    replayed = _Replayed()
    try:
        for actions in _actions(place, f"{kind}/{_LOG}"):
            replayed.apply(actions)
        fields = replayed.fields()
        files = [_data_file(add) for add in replayed.added.values()]
    except _UnusualError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, pa.ArrowException):
        # A file is gone or damaged (pyarrow raises OSError for damage, too): deltalake reports it.
        return None
    check_table(kind, fields, place.table(kind))
    return files


class _UnusualError(Exception):
    """A log has something that deltalake must read."""


class _Replayed:
    """The state of a table after the actions so far."""

    def __init__(self) -> None:
        self.added: dict[str, dict[str, Any]] = {}  # path → its Add action
        self._protocol: dict[str, Any] | None = None
        self._metadata: dict[str, Any] | None = None

    def apply(self, actions: Iterable[tuple[str, dict[str, Any]]]) -> None:
        """Apply one commit or a checkpoint."""
        touched: set[str] = set()
        for name, action in actions:
            if name in ("add", "remove"):
                path = action["path"]
                if path in touched or not _PLAIN_PATH.fullmatch(path) or action.get("deletionVector"):
                    raise _UnusualError
                touched.add(path)
                if name == "remove":
                    self.added.pop(path, None)
                elif action["partitionValues"]:
                    raise _UnusualError
                else:
                    self.added[path] = action
            elif name == "metaData":
                self._metadata = action
            elif name == "protocol":
                self._protocol = action
            elif name not in _SKIPPED:
                raise _UnusualError

    def fields(self) -> list[dict[str, Any]]:
        """The columns: names and types."""
        if self._protocol is None or self._metadata is None:
            raise _UnusualError
        if self._protocol["minReaderVersion"] != 1 or self._protocol.get("readerFeatures"):
            raise _UnusualError
        if self._metadata["partitionColumns"] or self._metadata["format"]["provider"] != "parquet":
            raise _UnusualError
        fields = json.loads(self._metadata["schemaString"])["fields"]
        return [{"name": field["name"], "type": field["type"]} for field in fields]


def _actions(place: Place, log: str) -> Iterator[Iterable[tuple[str, dict[str, Any]]]]:
    """The actions of the last checkpoint, if there is one, and of each commit after it."""
    try:
        hint = json.loads(place.read(f"{log}/{_HINT}"))
    except FileNotFoundError:
        first, after = 0, ""
    else:
        if hint.get("parts") is not None:
            raise _UnusualError
        after = f"{hint['version']:0{_DIGITS}}.json"
        first = hint["version"] + 1
    names = place.names(log, after)
    commits = sorted(name for name in names if name.endswith(".json") and name[:-5].isdigit())
    last = first + len(commits) - 1
    if (
        len(commits) > _MOST_COMMITS
        or commits != [f"{version:0{_DIGITS}}.json" for version in range(first, last + 1)]
        or any(name[:_DIGITS].isdigit() and int(name[:_DIGITS]) > last for name in names)
    ):
        raise _UnusualError
    keys = [f"{log}/{name}" for name in commits]
    if after:
        yield _of_checkpoint(place.read(f"{log}/{after[:_DIGITS]}.checkpoint.parquet"))
    if len(keys) < 2 or place.readers == 1:
        yield from map(_of_commit, map(place.read, keys))
    else:
        with ThreadPoolExecutor(min(len(keys), place.readers)) as pool:
            yield from map(_of_commit, pool.map(place.read, keys))


def _of_commit(data: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    for line in data.decode().split("\n"):
        if line:
            yield from json.loads(line).items()


def _of_checkpoint(data: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(in_arrow(data)) as file:
        names = [name for name in file.schema_arrow.names if name not in ("remove", *_SKIPPED)]
        table = file.read(names, use_threads=False)
    for name in names:  # most rows describe removed files, and are null in all of these columns
        yield from ((name, action) for action in table[name].drop_null().to_pylist())


def _data_file(add: dict[str, Any]) -> DataFile:
    size, stats = add["size"], json.loads(add["stats"])
    bounds = [
        {name: bound for name in _BOUNDED if (bound := stats[which].get(name)) is not None}
        for which in ("minValues", "maxValues")
    ]
    nulls = {name: count for name in _BOUNDED if (count := stats["nullCount"].get(name)) is not None}
    every = [(name, bound) for each in bounds for name, bound in each.items()]
    if (
        any(type(bound) is not _BOUNDED[name] for name, bound in every)
        or any(type(count) is not int for count in (size, stats["numRecords"], *nulls.values()))
    ):  # fmt: skip
        raise _UnusualError
    least, largest = map(trusted, bounds)
    about = {"numRecords": stats["numRecords"], "minValues": least, "maxValues": largest, "nullCount": nulls}
    return DataFile(add["path"], size, about)
