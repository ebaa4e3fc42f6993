"""`tbq.ray.read`: a table of a log or a lake as a Ray Dataset, decoded by the workers of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

import pyarrow as pa

from tbq.arguments import choice, keywords
from tbq.columns.rows import with_strings
from tbq.decode.options import SELECTED, Selected
from tbq.decode.reader import Reader
from tbq.errors import UsageError
from tbq.lake.cluster import share_bytes, started
from tbq.lake.share import shares
from tbq.opening import open as open_log
from tbq.query.prune import Filter
from tbq.query.scan import runs_of
from tbq.schema import SERIES, schema
from tbq.select import Selection

if TYPE_CHECKING:
    import pyarrow.compute as pc

    from tbq.decode.sub_runs import SubRunsAs
    from tbq.logdir import LogDir
    from tbq.select import Names
    from tbq.source import Run
    from tbq.source.discover import Source
    from tbq.storage import Storage

#: Bytes in memory per byte of event file, roughly.
_INFLATION = {"scalars": 1.2}

__all__ = ["read"]


def read(
    path: Source,
    *,
    table: str = "scalars",
    tag: Names = None,
    columns: Sequence[str] | None = None,
    storage: Storage | None = None,
    parallelism: int = -1,
    sub_runs: SubRunsAs = "fold",
    **selected: Unpack[Selected],
) -> Any:
    """A table of a log directory or a lake as a `ray.data.Dataset`. Starts Ray if there is no cluster.

    `tag`, `run`, `steps` and `restarts` are as in `log.scalars`; tbq decodes only what they select. Each read task gets
    about the same number of bytes, and no run is split. Workers must see the same paths. If Ray's own `select_columns`
    and `filter(expr=…)` follow directly, they also reduce what is decoded. `sub_runs` is as in `tbq.open`.

    >>> tbq.ray.read("runs", tag="val/loss").count()  # doctest: +SKIP
    80
    """
    choice("table", table, SERIES)
    keywords("tbq.ray.read", selected, SELECTED)
    names = schema(table).names
    for column in columns or ():
        choice("columns", column, names)
    log = open_log(path, storage=storage, sub_runs=sub_runs)
    chosen = log._reader.choose(selected.pop("run", None))
    if not chosen:
        raise UsageError("no run was selected", hint="omit run=")
    ray = started()
    tags = Selection.of(tag)
    if tags.names_of_patterns:
        tags = _settled(ray, log, chosen, tags)
    wanted = None if columns is None else list(columns)
    source = _datasource(log, chosen, table, wanted, {"tag": tags, **selected})
    return ray.data.read_datasource(source, override_num_blocks=parallelism if parallelism > 0 else None)


def _settled(ray: Any, log: LogDir, runs: Sequence[Run], tags: Selection) -> Selection:
    """Resolve which patterns are names of tags, because each task sees only some of the runs: tasks look for them."""
    if type(log._reader) is not Reader:  # a lake knows its tags
        return log._reader.settled(tags, runs)
    task: Any = ray.remote(max_retries=3)(_known_names)
    parts = shares(runs, share_bytes(ray, runs), log._reader.size_of)
    known = ray.get([task.remote(_of(log, share), [run.name for run in share], tags) for share in parts])
    return tags.settled(name for names in known for name in names)


def _known_names(log: LogDir, names: list[str], tags: Selection) -> list[str]:
    reader = log._reader
    return sorted(reader.settled(tags, reader.choose(names)).known)


def _datasource(
    log: LogDir, runs: Sequence[Run], table: str, columns: list[str] | None, selected: dict[str, Any]
) -> Any:
    """The table as a Ray datasource."""
    from ray.data.block import BlockMetadata
    from ray.data.datasource import Datasource, ReadTask

    class LogSource(Datasource):  # type: ignore[misc]
        """A table of a log, in tasks of complete runs. Reads only what `select_columns` and `filter` keep."""

        def __init__(self) -> None:
            super().__init__()
            self._projection_map = None if columns is None else {name: name for name in columns}

        def get_name(self) -> str:
            return f"tbq {table}"

        def supports_projection_pushdown(self) -> bool:
            return True

        def supports_predicate_pushdown(self) -> bool:
            return True

        def estimate_inmemory_data_size(self) -> int | None:
            return _memory(log, self._runs(), table, self._columns())

        def get_read_tasks(self, parallelism: int, *_: Any, **_more: Any) -> list[Any]:
            chosen, where, wanted = self._runs(), self._where(), self._columns()
            total = sum(map(log._reader.size_of, chosen))
            tasks = []
            # About `parallelism` groups of equal size, at most.
            for share in shares(chosen, max(1, -(-total // max(1, parallelism))), log._reader.size_of):
                metadata = BlockMetadata(
                    num_rows=None,
                    size_bytes=_memory(log, share, table, wanted),
                    input_files=[path for run in share for path in run.files],
                    exec_stats=None,
                )
                names = [run.name for run in share]
                read = partial(_rows, _of(log, share), names, table, wanted, where, selected)
                tasks.append(ReadTask(read, metadata))
            return tasks

        def _columns(self) -> list[str] | None:
            return None if self._projection_map is None else list(self._projection_map)

        def _where(self) -> pc.Expression | None:
            predicate = self.get_current_predicate()
            return None if predicate is None else predicate.to_pyarrow()

        def _runs(self) -> Sequence[Run]:
            """The runs that the filter may let through; if none, the first run, because Ray needs a task."""
            where = self._where()
            return runs if where is None else runs_of(Filter(where, schema(table)), runs) or runs[:1]

    return LogSource()


def _memory(log: LogDir, runs: Iterable[Run], table: str, columns: Sequence[str] | None) -> int:
    share = 1.0 if columns is None else len(columns) / len(schema(table).names)
    return int(sum(map(log._reader.size_of, runs)) * _INFLATION.get(table, 1.0) * share)


def _of(log: LogDir, runs: Sequence[Run]) -> LogDir:
    """The log with only these runs, so that a task carries no more."""
    from tbq.logdir import LogDir

    reader = log._reader
    if type(reader) is not Reader:  # a lake: a task carries only its location
        return log
    return LogDir(Reader(reader.found._replace(runs=list(runs)), reader.unpacked))


def _rows(
    log: LogDir,
    names: list[str],
    table: str,
    columns: list[str] | None,
    where: pc.Expression | None,
    selected: dict[str, Any],
) -> Iterator[pa.Table]:
    """The rows of a task, batch by batch; runs on the worker."""
    import warnings

    from tbq.errors import SelectionError, TbqWarning
    from tbq.query.scan import scan

    kept = columns or ["run"]  # a table without columns would lose its row count
    wanted = None if columns is None else kept
    yield _plain(
        pa.schema([schema(table).field(name) for name in wanted or schema(table).names]).empty_table()
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TbqWarning)
        reader = log._reader.with_options(selected)
        try:
            for batch in scan(reader, table, run=names, columns=wanted, where=where, **selected):
                yield _plain(pa.Table.from_batches([batch]))
        except SelectionError:  # no run of this task has such a tag
            return


def _plain(table: pa.Table) -> pa.Table:
    """Labels as plain strings: blocks of different tasks have different dictionaries.

    >>> import pyarrow as pa
    >>> _plain(pa.table({"run": pa.array(["a"]).dictionary_encode()})).schema.field("run").type
    DataType(string)
    """
    return table.cast(with_strings(table.schema))
