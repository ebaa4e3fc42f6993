"""Rows out of a table of a lake: only the files, row groups and columns that may have what is asked for are read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tbq.columns.codes import codes_of, numbers
from tbq.lake.datafiles import DataFile, reading
from tbq.lake.layout import ROW, lake_schema
from tbq.lake.order import file_order, in_log_order, labels_of
from tbq.select import MAX_STEP, MIN_STEP

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from tbq.lake.tables import LakeTable

EVERY_STEP = (MIN_STEP, MAX_STEP)
_FEW_ROWS = 1 << 18  # threads take longer to wake than to read so many


@dataclass(frozen=True)
class Asked:
    """The rows that are asked for: those of these runs, tags and steps; None takes all."""

    runs: Collection[str] | None = None
    tags: Collection[str] | None = None
    steps: tuple[int, int] = EVERY_STEP

    @property
    def names(self) -> dict[str, Collection[str]]:
        """The columns of labels that are asked for by name."""
        both = {"run": self.runs, "tag": self.tags}
        return {column: names for column, names in both.items() if names is not None}

    @property
    def bounded(self) -> list[str]:
        """The columns whose least and largest values tell where such rows may be."""
        return [*self.names, *(["step"] if self.steps != EVERY_STEP else [])]

    def may_be_in(self, bounds: dict[str, tuple[Any, Any]]) -> bool:
        """Whether such rows may be where columns have these least and largest values."""
        for column, names in self.names.items():
            least, largest = bounds.get(column, (None, None))
            if not (least is None or largest is None or any(least <= name <= largest for name in names)):
                return False
        first, last = bounds.get("step", (None, None))
        return first is None or last is None or (first <= self.steps[1] and last >= self.steps[0])


def rows(
    table: LakeTable,
    columns: Sequence[str] | None = None,
    runs: Collection[str] | None = None,
    tags: Collection[str] | None = None,
    steps: tuple[int, int] = EVERY_STEP,
    ordered: bool = True,
) -> pa.Table:
    """The rows of these runs, tags and steps (None: all), in the order of the log if `ordered`; `source` and `row` too
    if they are named."""
    asked = Asked(runs, tags, steps)
    wanted = list(lake_schema(table.kind).names if columns is None else columns)
    needed = {*wanted, *asked.names}
    if steps != EVERY_STEP:
        needed.add("step")
    parts = [
        part
        for file in table.files
        if asked.may_be_in(_bounds_of_file(file)) and (part := _Part.of(table, file, asked)).groups
    ]
    try:
        labels = labels_of(table.kind)
        known = _have_own_runs(parts)
        # One tag of runs that each lie in one file: the files are in the order of the log already.
        sort = ordered and not (known and (len(labels) == 1 or len(tags or ()) == 1))
        if sort:
            needed |= set(labels) if known else {*labels, ROW}
        if known:
            parts.sort(key=lambda part: part.runs[0] or "")
        schema = pa.schema([field for field in lake_schema(table.kind) if field.name in needed])
        read = [part.read(schema, asked) for part in parts]
    finally:
        for part in parts:
            part.file.close()
    together = pa.concat_tables(read) if read else schema.empty_table()
    if any(column.num_chunks > 1 for column in together.columns if pa.types.is_dictionary(column.type)):
        together = together.unify_dictionaries()
    return (in_log_order(together, labels) if sort else together).select(wanted)


@dataclass(frozen=True)
class _Part:
    """A data file that may have such rows: the row groups of it, and what is known of them without reading them."""

    table: LakeTable
    path: str
    file: pq.ParquetFile
    groups: list[int]
    runs: tuple[str | None, str | None]
    sorted: bool  # as we sort files; others may have rearranged the table
    tag: str | None  # the only one that these groups have

    @classmethod
    def of(cls, table: LakeTable, file: DataFile, asked: Asked) -> _Part:
        """Look at the end of a file."""
        import pyarrow.parquet as pq

        labels = [field.name for field in lake_schema(table.kind) if pa.types.is_dictionary(field.type)]
        with reading(table.place, table.kind, file.path):
            opened = pq.ParquetFile(
                table.place.source(f"{table.kind}/{file.path}", file.size),
                read_dictionary=labels,
                pre_buffer=True,
            )
            metadata = opened.metadata
            places = {metadata.schema.column(i).path: i for i in range(metadata.num_columns)}
            looked = [name for name in asked.bounded if name in places]
            order = tuple(places.get(name) for name in file_order(table.kind))
            groups: list[int] = []
            tags: set[str | None] = set()
            as_ours = True
            for number in range(metadata.num_row_groups):
                group = metadata.row_group(number)
                bounds = {name: _bounds(group.column(places[name])) for name in looked}
                if asked.may_be_in(bounds):
                    groups.append(number)
                    tags.update(bounds.get("tag", (None,)))
                    as_ours &= tuple(each.column_index for each in group.sorting_columns) == order
        bounds = _bounds_of_file(file)
        only = tags.pop() if len(tags) == 1 else None
        return cls(table, file.path, opened, groups, bounds.get("run", (None, None)), as_ours, only)

    def read(self, schema: pa.Schema, asked: Asked) -> pa.Table:
        """The rows that are asked for."""
        known = self.tag is not None and "tag" in schema.names and len(schema) > 1
        names = [name for name in schema.names if not (known and name == "tag")]
        with reading(self.table.place, self.table.kind, self.path):
            count = sum(self.file.metadata.row_group(group).num_rows for group in self.groups)
            table = self.file.read_row_groups(self.groups, columns=names, use_threads=count > _FEW_ROWS)
        if known:
            codes = pa.array(np.zeros(len(table), np.int32))
            label = pa.DictionaryArray.from_arrays(codes, pa.array([self.tag], pa.string()))
            table = table.append_column("tag", label)
        return _matching(_typed(table, schema), asked, self.tag)


def _typed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns of a schema, with its types; most have them already."""
    columns = [
        column if (column := table[field.name]).type == field.type else column.cast(field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _have_own_runs(parts: Sequence[_Part]) -> bool:
    """Whether each run has all of its rows in one of the files, which are all sorted."""
    if not all(part.sorted for part in parts):
        return False
    if len(parts) < 2:
        return True
    ranges = [part.runs for part in parts]
    if any(least is None or largest is None for least, largest in ranges):
        return False
    ordered = sorted(ranges)
    return all(before[1] < after[0] for before, after in zip(ordered, ordered[1:], strict=False))  # type: ignore[operator]


def _bounds_of_file(file: DataFile) -> dict[str, tuple[Any, Any]]:
    """What the table says of a file; nothing of a column that has nulls, which are neither less nor more."""
    least, largest, nulls = (file.stats[name] for name in ("minValues", "maxValues", "nullCount"))
    return {name: (least[name], largest.get(name)) for name in least if nulls.get(name) == 0}


def _bounds(column: pq.ColumnChunkMetaData) -> tuple[Any, Any]:
    """The least and largest value of a column of a row group, if that is known and there are no nulls."""
    statistics = column.statistics
    if statistics is None or not statistics.has_min_max or statistics.null_count:
        return None, None
    return statistics.min, statistics.max


def _matching(table: pa.Table, asked: Asked, tag: str | None) -> pa.Table:
    """The rows that are asked for; `tag` is the only one that they have, if that is known."""
    keep = np.ones(len(table), bool)
    for name, names in asked.names.items():
        if not len(table) or (name == "tag" and tag is not None and tag in names):
            continue
        codes, known = codes_of(table[name])
        taken = set(names)
        passing = np.array([*(text in taken for text in known.to_pylist()), False], bool)
        keep &= passing[codes]
    if asked.steps != EVERY_STEP:
        values = numbers(table["step"])
        keep &= (values >= asked.steps[0]) & (values <= asked.steps[1])
    return table if bool(keep.all()) else table.filter(pa.array(keep))
