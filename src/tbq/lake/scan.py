"""Reads rows from a lake's table, opening only the files, row groups and columns that may have them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tbq.columns.codes import codes_of, label, numbers
from tbq.lake.datafiles import DataFile, reading
from tbq.lake.layout import ROW, lake_schema
from tbq.lake.order import file_order, in_log_order, labels_of
from tbq.select import MAX_STEP, MIN_STEP

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from tbq.lake.tables import LakeTable

EVERY_STEP = (MIN_STEP, MAX_STEP)
_UNKNOWN = (None, None)
_FEW_ROWS = 1 << 18  # up to this many, starting threads takes longer than reading


@dataclass(frozen=True)
class WantedRows:
    """The requested runs, tags and steps; None means all."""

    runs: Collection[str] | None = None
    tags: Collection[str] | None = None
    steps: tuple[int, int] = EVERY_STEP

    @cached_property
    def names(self) -> dict[str, Collection[str]]:
        """The columns of labels that are filtered by name."""
        both = {"run": self.runs, "tag": self.tags}
        return {column: names for column, names in both.items() if names is not None}

    @cached_property
    def bounded(self) -> list[str]:
        """The columns whose bounds can exclude a file or row group."""
        return [*self.names, *(["step"] if self.steps != EVERY_STEP else [])]

    def may_be_in(self, bounds: dict[str, tuple[Any, Any]]) -> bool:
        """Whether data with these bounds (smallest and largest value per column) may have such rows."""
        for column, names in self.names.items():
            least, largest = bounds.get(column, _UNKNOWN)
            if least is None or largest is None:
                continue
            for name in names:
                if least <= name <= largest:
                    break
            else:
                return False
        if self.steps == EVERY_STEP:
            return True
        first, last = bounds.get("step", _UNKNOWN)
        return first is None or last is None or bool(first <= self.steps[1] and last >= self.steps[0])


def rows(
    table: LakeTable,
    columns: Sequence[str] | None = None,
    runs: Collection[str] | None = None,
    tags: Collection[str] | None = None,
    steps: tuple[int, int] = EVERY_STEP,
    ordered: bool = True,
) -> pa.Table:
    """The rows of these runs, tags and steps (None: all), in log order if `ordered`. `columns` may also name `source`
    and `row`."""
    asked = WantedRows(runs, tags, steps)
    files = [file for file in table.files if asked.may_be_in(_bounds_of_file(file))]
    wanted = list(lake_schema(table.kind).names if columns is None else columns)
    if not files:
        return _schema(table.kind, wanted).empty_table().select(wanted)
    labels = labels_of(table.kind)
    needed = {*wanted, *asked.names}
    if steps != EVERY_STEP:
        needed.add("step")
    apart = _by_run(files)
    if apart is not None:
        files = apart
    # Files are sorted by tag, then by run. If each run is in one file, the rows of one tag are already in log order.
    sort = ordered and not (apart is not None and (len(labels) == 1 or len(tags or ()) == 1))
    if sort:
        needed |= {*labels, ROW} if apart is None else set(labels)
    read = partial(_read, table, asked, needed, labels if ordered else ())
    if len(files) == 1 or table.place.readers == 1:
        parts = list(map(read, files))
    else:
        with ThreadPoolExecutor(min(len(files), table.place.readers)) as pool:
            parts = list(pool.map(read, files))
    together = pa.concat_tables(parts)
    if any(column.num_chunks > 1 for column in together.columns if pa.types.is_dictionary(column.type)):
        together = together.unify_dictionaries()
    return (in_log_order(together, labels) if sort else together).select(wanted)


def _by_run(files: Sequence[DataFile]) -> list[DataFile] | None:
    """Files in the order of their runs; None if a run may be in several files."""
    if len(files) == 1:
        return list(files)
    known = [
        (bounds, file) for file in files if None not in (bounds := _bounds_of_file(file).get("run", _UNKNOWN))
    ]
    known.sort(key=lambda each: each[0])
    apart = len(known) == len(files) and all(
        before[1] < after[0] for (before, _), (after, _) in zip(known, known[1:], strict=False)
    )
    return [file for _, file in known] if apart else None


def _read(
    table: LakeTable, asked: WantedRows, needed: Collection[str], labels: Sequence[str], file: DataFile
) -> pa.Table:
    """The requested rows of a file. Sorts them by `labels` if tbq did not sort the file."""
    import pyarrow.parquet as pq

    kind = table.kind
    every = _label_columns(kind)
    remote = table.place.readers > 1
    with (
        reading(table.place, kind, file.path),
        table.place.source(f"{kind}/{file.path}", file.size) as source,
        pq.ParquetFile(source, read_dictionary=every, pre_buffer=remote) as opened,
    ):
        found = _RowGroups.of(opened.metadata, asked, file_order(kind))
        many = found.rows > _FEW_ROWS
        schema = _schema(kind, needed if found.sorted or not labels else {*needed, *labels, ROW})
        if not found.numbers:
            return _schema(kind, needed).empty_table()
        only = found.tag if "tag" in schema.names and len(schema) > 1 else None
        names = [name for name in schema.names if only is None or name != "tag"]
        if many and not remote:  # for many rows, reading ahead in other threads pays
            opened = pq.ParquetFile(source, metadata=opened.metadata, read_dictionary=every, pre_buffer=True)
        part = opened.read_row_groups(found.numbers, columns=names, use_threads=many)
    part = _matching(_typed(part, schema, {} if only is None else {"tag": only}), asked, only)
    if found.sorted or not labels:
        return part
    return in_log_order(part, labels).select(_schema(kind, needed).names)


@dataclass(frozen=True)
class _RowGroups:
    """The row groups of a file that may have the requested rows, as its footer describes them."""

    numbers: list[int]
    rows: int
    sorted: bool  # in tbq's order; another program may have rearranged the table
    tag: str | None  # if they have only one

    @classmethod
    def of(cls, metadata: pq.FileMetaData, asked: WantedRows, order: Sequence[str]) -> _RowGroups:
        """Choose row groups by a file's footer."""
        columns = metadata.schema
        places = {columns.column(i).path: i for i in range(metadata.num_columns)}
        looked = [(name, places[name]) for name in asked.bounded if name in places]
        by = tuple(places.get(name) for name in order)
        numbers: list[int] = []
        tags: set[str | None] = set()
        rows, as_ours = 0, True
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            bounds = {name: _bounds(group.column(place)) for name, place in looked}
            if asked.may_be_in(bounds):
                numbers.append(number)
                tags.update(bounds.get("tag", (None,)))
                rows += group.num_rows
                as_ours &= tuple(each.column_index for each in group.sorting_columns) == by
        return cls(numbers, rows, as_ours, tags.pop() if len(tags) == 1 else None)


def _schema(kind: str, names: Collection[str]) -> pa.Schema:
    """These columns of a table, in the order of the table."""
    return pa.schema([field for field in lake_schema(kind) if field.name in names])


@cache
def _label_columns(kind: str) -> list[str]:
    """The columns that are read as codes and names."""
    return [field.name for field in lake_schema(kind) if pa.types.is_dictionary(field.type)]


def _typed(table: pa.Table, schema: pa.Schema, labels: Mapping[str, str]) -> pa.Table:
    """Cast the columns to a schema. `labels` has columns that were not read, each with the name that all rows have."""
    columns = []
    for field in schema:
        if field.name in labels:
            columns.append(label(labels[field.name], len(table)))
        else:
            column = table[field.name]
            columns.append(column if column.type == field.type else column.cast(field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def _bounds_of_file(file: DataFile) -> dict[str, tuple[Any, Any]]:
    """The bounds of a file in its table's log. A column with nulls has none, because bounds do not cover nulls."""
    least, largest, nulls = (file.stats[name] for name in ("minValues", "maxValues", "nullCount"))
    return {name: (least[name], largest.get(name)) for name in least if nulls.get(name) == 0}


def _bounds(column: pq.ColumnChunkMetaData) -> tuple[Any, Any]:
    """The smallest and largest value of a column of a row group, if they are known and it has no nulls."""
    statistics = column.statistics
    if statistics is None or not statistics.has_min_max or statistics.null_count:
        return _UNKNOWN
    return statistics.min, statistics.max


def _matching(table: pa.Table, asked: WantedRows, tag: str | None) -> pa.Table:
    """The requested rows. `tag` is the rows' only tag, if that is known."""
    if not len(table) or (asked.bounded == ["tag"] and tag is not None and tag in asked.names["tag"]):
        return table
    keep = np.ones(len(table), bool)
    for name, names in asked.names.items():
        if name == "tag" and tag is not None and tag in names:
            continue
        codes, known = codes_of(table[name])
        wanted = set(names)
        passing = np.array([*(text in wanted for text in known.to_pylist()), False], bool)
        keep &= passing[codes]
    if asked.steps != EVERY_STEP:
        values = numbers(table["step"])
        keep &= (values >= asked.steps[0]) & (values <= asked.steps[1])
    return table if bool(keep.all()) else table.filter(pa.array(keep))
