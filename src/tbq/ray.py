"""`tbq.ray.read`: a table of a log or a lake as a Ray Dataset, decoded by the workers of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from tbq.arguments import choice, keywords
from tbq.decode.options import SELECTED, Selected
from tbq.errors import UsageError
from tbq.lake.cluster import started
from tbq.lake.work import shares
from tbq.opening import open as open_log
from tbq.schema import SERIES, schema

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.logdir import LogDir
    from tbq.select import Names
    from tbq.source import Run
    from tbq.source.discover import Source
    from tbq.storage import Storage

#: How many bytes a row takes in memory for one byte in its event file, about.
_INFLATION = {"scalars": 1.2}

__all__ = ["read"]


def read(
    path: Source,
    *,
    table: str = "scalars",
    run: Names = None,
    columns: Sequence[str] | None = None,
    storage: Storage | None = None,
    parallelism: int = -1,
    **selected: Unpack[Selected],
) -> Any:
    """A table of a log directory or a lake as a `ray.data.Dataset`. Ray is started here if there is no cluster.

    `run`, `tag`, `steps` and `restarts` are those of `log.scalars`; only what they select is decoded. Read tasks have
    about the same number of bytes each, and a run is never torn apart. Workers must see the same paths.

    >>> tbq.ray.read("runs", tag="val/loss").count()  # doctest: +SKIP
    80
    """
    choice("table", table, SERIES)
    keywords("tbq.ray.read", selected, SELECTED)
    names = schema(table).names
    for column in columns or ():
        choice("columns", column, names)
    log = open_log(path, storage=storage)
    chosen = log._reader.choose(run)
    if not chosen:
        raise UsageError("no run was selected", hint="omit run=")
    ray = started()
    source = _datasource(log, chosen, table, None if columns is None else list(columns), dict(selected))
    return ray.data.read_datasource(source, override_num_blocks=parallelism if parallelism > 0 else None)


def _datasource(
    log: LogDir, runs: Sequence[Run], table: str, columns: list[str] | None, selected: dict[str, Any]
) -> Any:
    """The table as Ray's own interface has it."""
    from ray.data.block import BlockMetadata
    from ray.data.datasource import Datasource, ReadTask

    class LogSource(Datasource):  # type: ignore[misc]
        """A table of a log, in tasks of whole runs."""

        def get_name(self) -> str:
            return f"tbq {table}"

        def estimate_inmemory_data_size(self) -> int | None:
            return _memory(log, runs, table)

        def get_read_tasks(self, parallelism: int, *_: Any, **_more: Any) -> list[Any]:
            total = sum(map(log._reader.size_of, runs))
            tasks = []
            for share in _balanced(log, runs, max(1, parallelism), total):
                metadata = BlockMetadata(
                    num_rows=None,
                    size_bytes=_memory(log, share, table),
                    input_files=[path for run in share for path in run.files],
                    exec_stats=None,
                )
                names = [run.name for run in share]
                tasks.append(
                    ReadTask(partial(_rows, _of(log, share), names, table, columns, selected), metadata)
                )
            return tasks

    return LogSource()


def _balanced(log: LogDir, runs: Sequence[Run], count: int, total: int) -> Iterator[list[Run]]:
    """Runs in at most about `count` groups of the same size."""
    return shares(runs, max(1, -(-total // count)), log._reader.size_of)


def _memory(log: LogDir, runs: Iterable[Run], table: str) -> int:
    return int(sum(map(log._reader.size_of, runs)) * _INFLATION.get(table, 1.0))


def _of(log: LogDir, runs: Sequence[Run]) -> LogDir:
    """The log with these runs alone, so that a task carries no others."""
    from tbq.decode.reader import Reader
    from tbq.logdir import LogDir

    reader = log._reader
    if type(reader) is not Reader:  # a lake: what a task carries is where it lies
        return log
    return LogDir(Reader(replace(reader.found, runs=list(runs)), reader.unpacked))


def _rows(
    log: LogDir, names: list[str], table: str, columns: list[str] | None, selected: dict[str, Any]
) -> Iterator[pa.Table]:
    """The rows of a task, batch by batch; on the worker."""
    import warnings

    from tbq.errors import SelectionError, TbqWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TbqWarning)
        try:
            found = log.table(table, run=names, **selected).to_arrow()
        except SelectionError:  # no run of this task has such a tag
            found = schema(table).empty_table()
    yield _plain(found if columns is None else found.select(columns))


def _plain(table: pa.Table) -> pa.Table:
    """Labels as plain strings: blocks of different tasks have different dictionaries.

    >>> import pyarrow as pa
    >>> _plain(pa.table({"run": pa.array(["a"]).dictionary_encode()})).schema.field("run").type
    DataType(string)
    """
    import pyarrow as pa

    fields = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))
