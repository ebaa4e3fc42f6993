"""Questions to a logdir: the methods of `LogDir` that answer in SQL, as frames, and as statistics over runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from tbq.arguments import bad, keywords
from tbq.kinds.values import READING
from tbq.select import Names, Steps

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from tbq.logdir import LogDir
    from tbq.query.dataset import LogDataset
    from tbq.table import Table


class Queries:
    """What can be asked of a log, each in a module of its own that is imported when it is asked."""

    def sql(
        self,
        query: str,
        /,
        *,
        params: Mapping[str, Any] | None = None,
        unsafe: bool = False,
        restarts: str = "resume",
        threads: int | None = None,
        on_error: str = "warn",
        **named: Any,
    ) -> Table:
        """Ask in SQL: all tables are there by name, with `wide` and `summary`; `$name` in the query is a parameter.

        Only what the query needs is read. It cannot write files or load extensions unless `unsafe`.
        """
        from tbq.query.sql import sql

        if not isinstance(query, str):
            raise bad("query", query, "a query as text")
        options = {"unsafe": unsafe, "restarts": restarts, "threads": threads, "on_error": on_error}
        return sql(_log(self), query, {**(params or {}), **named}, **options)  # type: ignore[arg-type]

    def dataset(
        self,
        kind: str = "scalars",
        restarts: str = "resume",
        threads: int | None = None,
        relative_time: bool = False,
    ) -> LogDataset:
        """A table as a `pyarrow.dataset.Dataset`, whose scans read no more than they are asked for.

        `relative_time` adds a column of that name: seconds since the run began.
        """
        from tbq.query.dataset import dataset

        return dataset(_log(self), kind, restarts=restarts, threads=threads, relative_time=relative_time)

    def scan(
        self,
        kind: str = "scalars",
        run: Names = None,
        tag: Names = None,
        steps: Steps = None,
        restarts: str = "resume",
        threads: int | None = None,
        relative_time: bool = False,
    ) -> pa.RecordBatchReader:
        """A table as a stream of Arrow batches, run by run, in the memory of the largest run.

        `relative_time` adds a column of that name: seconds since the run began.
        """
        from tbq.query.scan import scan

        return scan(
            _log(self), kind, run=run, tag=tag, steps=steps, relative_time=relative_time, restarts=restarts,
            threads=threads,
        )  # fmt: skip

    def lazy(
        self,
        kind: str = "scalars",
        restarts: str = "resume",
        threads: int | None = None,
        relative_time: bool = False,
    ) -> pl.LazyFrame:
        """A table as a polars LazyFrame: filters, columns and limits reach the reader.

        `relative_time` adds a column of that name: seconds since the run began.
        """
        from tbq.query.lazy import lazy

        return lazy(_log(self), kind, restarts=restarts, threads=threads, relative_time=relative_time)

    def reduce(
        self,
        group: str | Sequence[str] = "*",
        stats: str | Sequence[str] = ("mean", "std", "min", "max"),
        run: Names = None,
        tag: Names = None,
        steps: Steps = None,
        as_events: str | os.PathLike[str] | None = None,
        **reading: Any,
    ) -> Table:
        """Statistics over runs, step by step: a row a (group, tag, step), a column a statistic, and `n`.

        `group` is a glob, or `re:` with brackets around what names the group: `re:(.*)/seed`. Statistics: mean, std,
        min, max, median, ci95. `as_events` also writes them to a new directory that TensorBoard reads.
        """
        from tbq.query.over_runs import over_runs

        keywords("log.reduce", reading, READING)
        return over_runs(_log(self), group, stats, run, tag, steps, as_events, reading)

    def compare(self, a: str, b: str, tag: Names = None, steps: Steps = None, **reading: Any) -> Table:
        """What differs between two runs: hyperparameters, and last, least and largest values of each scalar."""
        from tbq.query.compare import compare
        from tbq.table import Table

        keywords("log.compare", reading, READING)
        return Table(
            compare(_log(self), a, b, tag=tag, steps=steps, **reading), "comparison", logdir=_log(self).path
        )


def _log(queries: Queries) -> LogDir:
    return cast("LogDir", queries)
