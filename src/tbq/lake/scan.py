"""Rows out of a table of a lake: only the files, row groups and columns that may have what is asked for are read."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tbq.columns.codes import codes_of, numbers, order_of
from tbq.lake.datafiles import reading
from tbq.lake.layout import ROW, SOURCE, lake_schema
from tbq.schema import SERIES
from tbq.select import MAX_STEP, MIN_STEP

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from tbq.lake.tables import LakeTable

EVERY_STEP = (MIN_STEP, MAX_STEP)


def rows(
    table: LakeTable,
    columns: Sequence[str] | None = None,
    runs: Collection[str] | None = None,
    tags: Collection[str] | None = None,
    steps: tuple[int, int] = EVERY_STEP,
) -> pa.Table:
    """The rows of these runs, tags and steps (None: all), in the order of the log; `source` and `row` too if named."""
    wanted = list(lake_schema(table.kind).names if columns is None else columns)
    key = ["run", "tag", ROW] if table.kind in SERIES else ["run", ROW]
    filters = {"run": runs, "tag": tags}
    needed = {*wanted, *key, *(name for name, names in filters.items() if names is not None)}
    if steps != EVERY_STEP:
        needed.add("step")
    schema = pa.schema([field for field in lake_schema(table.kind) if field.name in needed])
    parts = [schema.empty_table()]
    for file in table.files:
        if not _may_pass(json.loads(file.stats), runs, tags, steps):
            continue
        part = _read(table, file.path, schema, runs, tags)
        parts.append(_matching(part, filters, steps))
    together = pa.concat_tables(parts).unify_dictionaries()
    return in_log_order(together, key).select(wanted)


def in_log_order(table: pa.Table, key: Sequence[str]) -> pa.Table:
    """The rows sorted by labels and then by number; what is in order already is not copied."""
    if len(table) < 2:
        return table
    ranks: list[Any] = []
    for name in key[:-1]:
        codes, names = codes_of(table[name])
        ranks.append((tag_order(names) if name == "tag" else order_of(names))[codes])
    ranks.append(numbers(table[key[-1]]))
    falls = np.zeros(len(table) - 1, bool)
    equal = np.ones(len(table) - 1, bool)
    for rank in ranks:
        falls |= equal & (rank[1:] < rank[:-1])
        equal &= rank[1:] == rank[:-1]
    if not falls.any():
        return table
    return table.take(pa.array(np.lexsort(ranks[::-1])))


def tag_order(names: pa.Array) -> Any:
    """The rank of each tag: they are ordered by their bytes, which are not always those of the name that is shown."""
    from tbq import _core

    texts = names.to_pylist()
    if not any("\\" in text for text in texts if text):
        return order_of(names)
    ranks = np.empty(len(texts) + 1, np.int32)
    ranks[-1] = -1
    for rank, i in enumerate(sorted(range(len(texts)), key=lambda i: _core.raw_name(texts[i] or ""))):
        ranks[i] = rank
    return ranks


def _may_pass(
    stats: dict[str, Any], runs: Collection[str] | None, tags: Collection[str] | None, steps: tuple[int, int]
) -> bool:
    """Whether a file with these statistics may have such rows."""
    least, largest = stats["minValues"], stats["maxValues"]
    for name, names in (("run", runs), ("tag", tags)):
        if names is not None and not _overlap(names, least.get(name), largest.get(name)):
            return False
    first, last = least.get("step"), largest.get("step")
    return not (first is not None and last is not None and (first > steps[1] or last < steps[0]))


def _overlap(names: Iterable[str], least: str | None, largest: str | None) -> bool:
    return least is None or largest is None or any(least <= name <= largest for name in names)


def _read(
    table: LakeTable,
    path: str,
    schema: pa.Schema,
    runs: Collection[str] | None,
    tags: Collection[str] | None,
) -> pa.Table:
    """The row groups of a file that may have such rows."""
    import pyarrow.parquet as pq

    labels = [field.name for field in schema if pa.types.is_dictionary(field.type)]
    with (
        reading(table.place, table.kind, path),
        pq.ParquetFile(table.place.source(f"{table.kind}/{path}"), read_dictionary=labels) as file,
    ):
        places = {file.metadata.schema.column(i).path: i for i in range(file.metadata.num_columns)}
        groups = [
            group
            for group in range(file.metadata.num_row_groups)
            if all(
                names is None or _overlap(names, *_bounds(file.metadata, group, places[name]))
                for name, names in (("run", runs), ("tag", tags))
                if name in places
            )
        ]
        if not groups:
            return schema.empty_table()
        return file.read_row_groups(groups, columns=schema.names).select(schema.names).cast(schema)


def _bounds(metadata: pq.FileMetaData, group: int, column: int) -> tuple[str | None, str | None]:
    """The least and largest name in a column of a row group, if that is known."""
    statistics = metadata.row_group(group).column(column).statistics
    if statistics is None or not statistics.has_min_max:
        return None, None
    return statistics.min, statistics.max


def _matching(
    table: pa.Table, filters: dict[str, Collection[str] | None], steps: tuple[int, int]
) -> pa.Table:
    keep = np.ones(len(table), bool)
    for name, names in filters.items():
        if names is not None and len(table):
            codes, known = codes_of(table[name])
            taken = set(names)
            passing = np.array([*(text in taken for text in known.to_pylist()), False], bool)
            keep &= passing[codes]
    if steps != EVERY_STEP:
        values = numbers(table["step"])
        keep &= (values >= steps[0]) & (values <= steps[1])
    return table if bool(keep.all()) else table.filter(pa.array(keep))


#: The columns that only a lake has.
OWN_COLUMNS = (SOURCE, ROW)
