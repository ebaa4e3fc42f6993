"""Parquet: zstd, in row groups that end where a series ends, so that filters skip them; sorted by run and tag."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tbq.columns.codes import codes_of, order_of, starts_of
from tbq.export.options import with_origin
from tbq.schema import SERIES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tbq.export.options import ExportOptions

# A group holds complete series up to this many rows; a longer series is cut at the larger number.
_GROUP = 1 << 17
_LARGEST = 1 << 20
# A group may be this small if it ends with its only first label.
_LEAST = 1 << 15
# The level of zstd: a sixth faster overall than level 1 on scalars, and an eighth larger.
_LEVEL = -3


def write(table: pa.Table, stream: IO[bytes], options: ExportOptions) -> None:
    """Write the table with its origin in the metadata: `tbq.version`, `tbq.kind`, `tbq.logdir`."""
    table = _without_nulls(with_origin(table, options))
    stretches = Stretches.of(table, ("run", "tag"), sort=options.kind in SERIES)
    with _writer(stream, stretches.table.schema) as writer:
        for group in stretches.groups():
            writer.write_table(group, row_group_size=_LARGEST)


def write_stretches(stretches: Stretches, stream: IO[bytes], **settings: Any) -> None:
    """Write a table as Parquet. Its row groups end where stretches end, and, if that pays, where the first label of
    stretches changes; `settings` are those of pyarrow's writer."""
    with _writer(stream, stretches.table.schema, **settings) as writer:
        for group in stretches.groups(separate=True):
            writer.write_table(group, row_group_size=_LARGEST)


def write_groups(
    tables: Iterable[pa.Table],
    stream: IO[bytes],
    metadata: Mapping[str, str],
    more: Callable[[], Mapping[str, str]],
) -> None:
    """Write consecutive tables of series, with the same row groups as for one table.

    Only wall times may have nulls. Values known only at the end (`more`) go into the metadata of the file, not of
    its schema.
    """
    writer: Any = None
    rest: pa.Table | None = None  # the last group, which may have room for more rows
    with contextlib.ExitStack() as stack:
        for table in tables:
            table = pa.table(
                table.columns,
                schema=pa.schema(
                    [
                        field.with_nullable(field.name == "wall_time" and field.type != pa.float64())
                        for field in table.schema
                    ],
                    dict(metadata),
                ),
            )
            if writer is None:
                writer = stack.enter_context(_writer(stream, table.schema))
            if rest is not None:
                table = pa.concat_tables([rest, table]).unify_dictionaries()
            *complete, rest = Stretches.of(table, ("run", "tag"), sort=True).groups()
            for group in complete:
                writer.write_table(group, row_group_size=_LARGEST)
        writer.write_table(rest, row_group_size=_LARGEST)
        writer.add_key_value_metadata(dict(more()))


def _writer(stream: IO[bytes], schema: pa.Schema, **settings: Any) -> Any:
    import pyarrow.parquet as pq

    labels = [field.name for field in schema if not _is_number(field.type)]
    encodings = {
        field.name: "DELTA_BINARY_PACKED" if pa.types.is_integer(field.type) else "BYTE_STREAM_SPLIT"
        for field in schema
        if field.type in (pa.int64(), pa.float64())
    }
    settings = {"compression": "zstd", "compression_level": _LEVEL, **settings}
    return pq.ParquetWriter(
        stream,
        schema,
        use_dictionary=labels or False,
        column_encoding=encodings or None,
        # None for floats: statistics leave out NaN, but readers treat NaN as larger than all, or as unequal.
        write_statistics=[path for field in schema for path in _exact(field)],
        write_page_index=True,
        write_batch_size=1 << 16,
        **settings,
    )


def _exact(field: pa.Field) -> list[str]:
    """The path of a column, if its statistics cover all its values."""
    kind, path = field.type, field.name
    while pa.types.is_list(kind) or pa.types.is_large_list(kind):
        kind, path = kind.value_type, f"{path}.list.element"
    return [] if pa.types.is_floating(kind) else [path]


def _without_nulls(table: pa.Table) -> pa.Table:
    """The table with columns marked as not nullable if they have no nulls: they need no definition levels then."""
    fields = [
        field
        if pa.types.is_nested(field.type) or pa.types.is_null(field.type)
        else field.with_nullable(table.column(i).null_count > 0)
        for i, field in enumerate(table.schema)
    ]
    return pa.Table.from_arrays(table.columns, schema=pa.schema(fields, table.schema.metadata))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


@dataclass(frozen=True)
class StretchColumn:
    """A column in which stretches differ: its name, the code of each stretch, and the names of codes."""

    column: str
    codes: NDArray[np.signedinteger[Any]]  # one per stretch
    names: pa.Array

    def at(self, stretches: NDArray[Any]) -> StretchColumn:
        """The same column for other stretches."""
        return StretchColumn(self.column, self.codes[stretches], self.names)


@dataclass(frozen=True)
class Stretches:
    """A table, and the first row of each stretch of rows with the same labels."""

    table: pa.Table
    starts: NDArray[np.int64]
    keys: list[StretchColumn]

    @classmethod
    def of(cls, table: pa.Table, by: Sequence[str], sort: bool, beside: Sequence[str] = ()) -> Stretches:
        """Stretches of the same labels in the columns `by` and `beside`. `sort` orders them by the columns `by`; rows
        with the same labels there keep their order."""
        # In a wide table, `tag` may be the name of a metric.
        columns = [
            name
            for name in (*by, *beside)
            if name in table.column_names and not _is_number(table.schema.field(name).type)
        ]
        if not columns or not len(table):
            return cls(table, np.zeros(1, np.int64), [])
        coded = {name: codes_of(table.column(name)) for name in columns}
        starts = starts_of(*(codes for codes, _ in coded.values()))
        keys = [StretchColumn(name, codes[starts], names) for name, (codes, names) in coded.items()]
        if sort:
            ranks = [order_of(key.names)[key.codes] for key in keys if key.column in by]
            order = np.lexsort(ranks[::-1])
            if bool((order != np.arange(len(starts))).any()):
                lengths = np.diff(np.append(starts, len(table)))[order]
                ends = np.cumsum(lengths)
                rows = np.arange(len(table)) + np.repeat(starts[order] - (ends - lengths), lengths)
                return cls(table.take(rows), *_joined(ends - lengths, [key.at(order) for key in keys]))
        return cls(table, starts, keys)

    def groups(self, separate: bool = False) -> Iterator[pa.Table]:
        """Row groups of as many complete stretches as fit, at least one; an empty table is one empty group.

        With `separate`, a first label with many rows gets its own groups.
        """
        ends = np.append(self.starts, len(self.table))[1:]
        turns = self._turns(ends) if separate and self.keys else np.zeros(0, np.int64)
        first = 0
        while first < len(self.starts):
            room = self.starts[first] + _GROUP
            last = max(int(np.searchsorted(ends, room, side="right")), first + 1)
            turn = int(np.searchsorted(turns, first, side="right"))
            if turn < len(turns):
                last = min(last, int(turns[turn]))
            begin, end = int(self.starts[first]), int(ends[last - 1])
            group = self.table.slice(begin, end - begin)
            lengths = ends[first:last] - self.starts[first:last]
            for key in self.keys:
                group = _own_names(group, key.column, key.codes[first:last], lengths, key.names)
            yield group
            first = last

    def _turns(self, ends: NDArray[np.int64]) -> NDArray[np.int64]:
        """The stretches at which a group must begin: where the first label changes, if many rows precede or follow.

        Labels of few rows share a group until it has many.
        """
        codes = self.keys[0].codes
        changes = starts_of(codes)
        begins = self.starts[changes]
        counts = np.diff(np.append(begins, ends[-1]))
        turns: list[int] = []
        together = 0
        for change, count in zip(changes.tolist(), counts.tolist(), strict=True):
            if together and (together >= _LEAST or count >= _LEAST):
                turns.append(change)
                together = 0
            together += count
        return np.array(turns, np.int64)


def _joined(
    starts: NDArray[np.int64], keys: list[StretchColumn]
) -> tuple[NDArray[np.int64], list[StretchColumn]]:
    """Join neighbouring stretches with the same labels."""
    first = starts_of(*(key.codes for key in keys))
    return starts[first], [key.at(first) for key in keys]


def _own_names(
    group: pa.Table, column: str, codes: NDArray[Any], lengths: NDArray[np.int64], names: pa.Array
) -> pa.Table:
    """The group with a dictionary of its own names only, so that its statistics are exact."""
    i = group.column_names.index(column)
    field = group.schema.field(i)
    if not pa.types.is_dictionary(field.type) or bool((codes < 0).any()):
        return group
    used, fresh = np.unique(codes, return_inverse=True)
    rows = np.repeat(fresh.astype(np.int32), lengths) if len(used) > 1 else np.zeros(len(group), np.int32)
    indices = pa.array(rows).cast(field.type.index_type)
    array = pa.DictionaryArray.from_arrays(indices, names.take(pa.array(used)), safe=False)
    return group.set_column(i, field, array if array.type == field.type else array.cast(field.type))
