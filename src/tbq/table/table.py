"""`Table`: one Arrow table of a kind, with the ways out of it and the layouts of scalars."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tbq.errors import UsageError, missing
from tbq.select import Names, Selection

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    import polars as pl
    import pyarrow as pa


class Table:
    """Rows of one kind. Anything that takes the Arrow PyCapsule takes a Table as it is.

    >>> import pyarrow as pa
    >>> table = Table(pa.table({"run": ["a", "a"], "tag": ["loss", "lr"], "step": [1, 1],
    ...                         "wall_time": [0.0, 0.0], "value": [0.5, 0.1]}))
    >>> table.wide().columns
    ['run', 'step', 'loss', 'lr']
    """

    def __init__(
        self,
        arrow: pa.Table,
        kind: str = "scalars",
        *,
        tags: Sequence[str] | None = None,
        logdir: str | os.PathLike[str] | None = None,
        began: Mapping[str, float] | None = None,
    ) -> None:
        """`tags`: the columns of a wide table, where tags were asked for by name. `logdir`: the origin. `began`: when
        each run began, for relative times."""
        self._arrow = arrow
        self.kind = kind
        self.logdir = os.fspath(logdir) if logdir is not None else None
        self.began = began
        self._tags = list(tags) if tags is not None else None

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._arrow.column_names)

    def __len__(self) -> int:
        return int(self._arrow.num_rows)

    def to_arrow(self) -> pa.Table:
        """The `pyarrow.Table` inside, not a copy."""
        return self._arrow

    def to_pandas(self, categories: bool = False) -> pd.DataFrame:
        """A pandas DataFrame; runs and tags are strings, or categoricals with `categories=True`."""
        try:
            import pandas  # noqa: F401 - pyarrow would fail later, and say less
        except ImportError:
            raise missing("pandas", needed_for="to_pandas()", extra="pandas") from None
        if categories:
            frame: pd.DataFrame = self._arrow.unify_dictionaries().to_pandas()
        else:
            frame = _plain(self._arrow).to_pandas()
        return frame

    def to_polars(self) -> pl.DataFrame:
        """A polars DataFrame; runs and tags are categoricals."""
        try:
            import polars as pl
        except ImportError:
            raise missing("polars", needed_for="to_polars()", extra="polars") from None
        frame = pl.from_arrow(self._arrow.unify_dictionaries())
        assert isinstance(frame, pl.DataFrame)
        return frame

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._arrow.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._arrow.schema.__arrow_c_schema__()

    def write(
        self,
        path: str | os.PathLike[str],
        force: bool = False,
        format: str | None = None,
        **options: Any,
    ) -> None:
        """Write to a file, in the format of its ending; options as in `tbq.export.write`."""
        from tbq.export import write

        write(self, path, force=force, format=format, **options)

    def wide(self, tags: Names = None) -> Table:
        """A row a (run, step), a column a tag: those asked for, in that order, else all by name."""
        from tbq.table.wide import wide

        return self._derived(wide(self._scalars("wide"), self._order(tags)), "wide")

    def summary(self, stats: Sequence[str] | str = ("last",), tags: Names = None) -> Table:
        """A row a run: `last` of each tag under its name, other statistics as `<tag>.<stat>`.

        Statistics: first, last, min, max, mean, std, count, and min_step, max_step, the steps of min and max.
        """
        from tbq.table.summary import summary

        return self._derived(summary(self._scalars("summary"), stats, self._order(tags)), "summary")

    def with_relative_time(self) -> Table:
        """The table with a column `relative_time`: seconds since the run began, whatever rows were selected."""
        from tbq.table.relative import COLUMN, relative_times, run_column

        arrow = self._arrow
        if "wall_time" not in arrow.column_names:
            raise UsageError(
                f"a table of {self.kind} has no wall_time",
                hint="log.scalars() and every other kind of data have",
            )
        column = relative_times(arrow["wall_time"], run_column(arrow), self.began)
        if COLUMN in arrow.column_names:
            return self._same(arrow.set_column(arrow.column_names.index(COLUMN), COLUMN, column))
        return self._same(arrow.append_column(COLUMN, column))

    def smooth(self, weight: float) -> Table:
        """Scalars smoothed as TensorBoard's slider does; 0 changes nothing, 0.99 smooths much."""
        from tbq.query.smooth import smooth

        return self._same(smooth(self._scalars("smooth"), weight))

    def every(self, n: int) -> Table:
        """Every nth row of each run and tag, from the first on."""
        from tbq.query.downsample import every

        return self._same(every(self._scalars("every"), n))

    def max_points(self, n: int, method: str = "triangle") -> Table:
        """At most `n` rows of each run and tag that keep the curve's shape: "triangle" or "minmax"."""
        from tbq.query.downsample import max_points

        return self._same(max_points(self._scalars("max_points"), n, method))

    def __repr__(self) -> str:
        from tbq.table.draw import text

        return text(self._arrow, self.kind)

    def _repr_html_(self) -> str:
        from tbq.table.draw import page

        return page(self._arrow, self.kind)

    def _scalars(self, layout: str) -> pa.Table:
        if not {"run", "tag", "step", "value"} <= set(self._arrow.column_names):
            raise UsageError(
                f"{layout} is for scalars, this is a table of {self.kind}",
                hint="use log.scalars()",
            )
        return self._arrow

    def _order(self, tags: Names) -> list[str] | None:
        if tags is None:
            return self._tags
        selection = Selection.of(tags)
        known = self._arrow.column("tag").unique().to_pylist()
        if selection.resolve(known).names:
            selection.require(known)  # warns of what matched nothing
        return selection.columns(known)

    def _same(self, arrow: pa.Table) -> Table:
        """Other rows of the same kind."""
        return Table(arrow, self.kind, tags=self._tags, logdir=self.logdir, began=self.began)

    def _derived(self, arrow: pa.Table, kind: str) -> Table:
        return Table(arrow, kind, logdir=self.logdir, began=self.began)


def _plain(table: pa.Table) -> pa.Table:
    """The table with plain strings where it has dictionaries."""
    import pyarrow as pa

    fields = [
        field.with_type(pa.large_string()) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))
