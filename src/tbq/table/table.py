"""`Table`: one Arrow table of a kind, with conversions and the layouts of scalars."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from tbq.arguments import StrPath, bad, choice, keywords, whole
from tbq.arrow import dicts_of, is_pyarrow, part, rows_of, to_pyarrow
from tbq.errors import UsageError, missing
from tbq.select import Names, Selection, closest_tip

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.compute as pc
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray
    from PIL import Image

    from tbq.arrow import Arrow
    from tbq.export.options import Writing
    from tbq.plot.options import Plotting
    from tbq.select import Steps


class Table:
    """Rows of one kind. Anything that accepts the Arrow PyCapsule accepts a Table directly.

    >>> import pyarrow as pa
    >>> table = Table(pa.table({"run": ["a", "a"], "tag": ["loss", "lr"], "step": [1, 1],
    ...                         "wall_time": [0.0, 0.0], "value": [0.5, 0.1]}))
    >>> table.shape
    (2, 5)
    >>> [row.value for row in table]
    [0.5, 0.1]
    >>> table.wide().columns
    ['run', 'step', 'loss', 'lr']
    """

    def __init__(
        self,
        arrow: Arrow,
        kind: str = "scalars",
        *,
        tags: Sequence[str] | None = None,
        logdir: StrPath | None = None,
        began: Mapping[str, float] | None = None,
    ) -> None:
        """`tags`: the columns of a wide table, if the user selected tags by name. `logdir`: the origin. `began`: the
        start of each run, for relative times."""
        self._source = arrow
        self.kind = kind
        self.logdir = os.fspath(logdir) if logdir is not None else None
        self.began = began
        self._tags = list(tags) if tags is not None else None

    @property
    def _arrow(self) -> pa.Table:
        if not is_pyarrow(self._source):
            self._source = to_pyarrow(self._source)
        return self._source

    def __getstate__(self) -> dict[str, Any]:
        return {
            **vars(self),
            "_source": self._arrow,
        }  # other processes get a pyarrow table: arro3's has no pickle

    @property
    def columns(self) -> list[str]:
        """The names of the columns.

        >>> log.scalars().columns
        ['run', 'tag', 'step', 'wall_time', 'value']
        """
        return list(self._source.column_names)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and columns.

        >>> log.scalars("lr", run="diverged").shape
        (20, 5)
        """
        return self._source.num_rows, self._source.num_columns

    def __len__(self) -> int:
        return int(self._source.num_rows)

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the columns, as an Arrow schema.

        >>> log.scalars().schema.field("step").type
        DataType(int64)
        """
        return self._arrow.schema

    @overload
    def __getitem__(self, column: str) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, column: list[str]) -> Table: ...
    def __getitem__(self, column: str | list[str]) -> NDArray[Any] | Table:
        """One column as a NumPy array, or a list of columns as a Table.

        Numbers keep their type, with NaN for an absent value; everything else becomes objects.

        >>> import pyarrow as pa
        >>> Table(pa.table({"step": [1, 2]}))["step"].tolist()
        [1, 2]
        >>> log.scalars()[["run", "step"]].columns
        ['run', 'step']
        """
        if isinstance(column, list):
            return self.select(column)
        from tbq.columns.codes import decoded

        return decoded(self._arrow.column(self._index(column)))

    def __iter__(self) -> Iterator[Any]:
        """The rows as named tuples; a column whose name is not a Python identifier is accessible by its position.

        >>> import pyarrow as pa
        >>> next(iter(Table(pa.table({"step": [1], "value": [0.5]}))))
        Row(step=1, value=0.5)
        """
        from collections import namedtuple

        row = namedtuple("Row", self.columns, rename=True)  # type: ignore[misc]
        for columns in rows_of(self._source):
            yield from map(row._make, zip(*columns, strict=True))

    def head(self, n: int = 5) -> Table:
        """The first `n` rows.

        >>> import pyarrow as pa
        >>> len(Table(pa.table({"step": range(9)})).head(3))
        3
        """
        return self._same(part(self._source, 0, whole("n", n, least=0)))

    def tail(self, n: int = 5) -> Table:
        """The last `n` rows.

        >>> import pyarrow as pa
        >>> Table(pa.table({"step": range(9)})).tail(2)["step"].tolist()
        [7, 8]
        """
        count = min(whole("n", n, least=0), len(self))
        return self._same(part(self._source, len(self) - count, count))

    def select(self, columns: Sequence[str] | str) -> Table:
        """Only these columns, in this order: a list, or names separated by commas.

        >>> log.scalars().select("run,value").columns
        ['run', 'value']
        """
        names = columns.split(",") if isinstance(columns, str) else _listed("select", columns)
        return self._same(self._source.select([self._index(name) for name in names]))

    def sort(self, columns: Sequence[str] | str) -> Table:
        """The rows sorted by one or more columns: "value", "value:desc". Absent values and NaN come last.

        >>> log.scalars("lr", run="diverged").sort("value:desc").head(1)["value"].item()
        1.0
        """
        from tbq.table.sort import sort_key, sorted_rows

        keys = [columns] if isinstance(columns, str) else _listed("sort", columns)
        return self._same(sorted_rows(self._arrow, [sort_key(each, self.columns) for each in keys]))

    def filter(
        self,
        where: pc.Expression | ArrayLike | None = None,
        *,
        tag: Names = None,
        run: Names = None,
        steps: Steps = None,
    ) -> Table:
        """The rows that pass a condition: one bool per row, or an expression of `pyarrow.compute`.

        `tag`, `run` and `steps` select as in `log.scalars`.

        >>> import pyarrow.compute as pc
        >>> table = log.scalars(run="diverged")
        >>> len(table.filter(table["value"] > 2)) == len(table.filter(pc.field("value") > 2)) > 0
        True
        >>> len(table.filter(tag="val/*", steps="100:"))
        10
        """
        from tbq.table.filter import filtered

        return self._same(filtered(self._arrow, where, tag=tag, run=run, steps=steps, origin=self.logdir))

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dicts.

        >>> import pyarrow as pa
        >>> Table(pa.table({"step": [1]})).to_dicts()
        [{'step': 1}]
        """
        return dicts_of(self._source)

    def to_arrow(self) -> pa.Table:
        """The underlying `pyarrow.Table`, not a copy.

        >>> log.scalars().to_arrow().schema.field("value").type
        DataType(double)
        """
        return self._arrow

    def to_pandas(
        self, *, categories: bool = False, images: Literal["bytes", "pil"] = "bytes"
    ) -> pd.DataFrame:
        """A pandas DataFrame; runs and tags are strings, or categoricals with `categories=True`.

        `images="pil"` converts every column of encoded images to PIL images.

        >>> log.images().to_pandas(images="pil")["data"][0].size
        (32, 32)
        """
        try:
            import pandas  # noqa: F401 - pyarrow would fail later, with less detail
        except ImportError:
            raise missing("pandas", needed_for="to_pandas()", extra="pandas") from None
        choice("images", images, ("bytes", "pil"))
        frame: pd.DataFrame = self._labelled(categories).to_pandas()
        if images == "pil":
            from tbq.export.pictures import pictures

            for name, column in pictures(self._arrow):
                frame[name] = column
        return frame

    def to_polars(self, *, categories: bool = False) -> pl.DataFrame:
        """A polars DataFrame; runs and tags are strings, or categoricals with `categories=True`.

        >>> log.scalars("lr", run="diverged").to_polars()["value"].min()
        0.125
        """
        try:
            import polars as pl
        except ImportError:
            raise missing("polars", needed_for="to_polars()", extra="polars") from None
        frame = pl.from_arrow(self._labelled(categories))
        assert isinstance(frame, pl.DataFrame)
        return frame

    def image(self, row: int, column: str = "data") -> Image.Image:
        """The image in a cell as a PIL image.

        >>> log.summary(run="media", media=True).image(0, "samples").size
        (32, 32)
        """
        from tbq.export.pictures import picture

        cell = self._arrow.column(self._index(column))[self._row(row)]
        if not cell.is_valid or not hasattr(cell, "as_buffer"):
            raise UsageError(f"row {row} of column {column!r} is not an image")
        return picture(cell.as_buffer())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        stream: object = self._source.__arrow_c_stream__(requested_schema)
        return stream

    def __arrow_c_schema__(self) -> object:
        return self._source.schema.__arrow_c_schema__()

    def write(self, path: StrPath, **options: Unpack[Writing]) -> list[str]:
        """Write a file in the format of its extension, or one per run if the path has `{run}`; returns the paths.

        Options as in `tbq.export.write`: `format`, `force`, `time`, `csv_safe`, `json_nan`, `columns`, `drop_bytes`,
        `digits`, `storage`.

        >>> log.scalars("lr", run="lr=0.1").write("{run}.csv", columns="step,value")
        ['lr=0.1_seed=0.csv', 'lr=0.1_seed=1.csv']
        """
        from tbq.export import write
        from tbq.export.options import WRITING

        keywords("table.write", options, WRITING)
        return write(self, path, **options)

    def wide(self, tag: Names = None, *, wall_time: bool = False, asof: str | None = None) -> Table:
        """One row per run and step, one column per tag: the selected tags in their order, or all by name.

        `wall_time=True` adds the column `wall_time`: the time at which the row's last value was logged.
        `asof="val/loss"` joins tags that were logged at different steps: only the steps of this tag, and each other tag
        with its last value up to there (SQL's asof join, pandas' merge_asof).

        >>> log.scalars(run="diverged").wide(["lr", "val/*"]).columns
        ['run', 'step', 'lr', 'val/accuracy', 'val/loss']
        >>> log.scalars(["lr", "val/loss"], run="diverged").wide(asof="val/loss").to_dicts()[0]
        {'run': 'diverged', 'step': 19, 'lr': 1.0, 'val/loss': 6.490436553955078}
        """
        from tbq.table.wide import wide

        arrow = wide(self._scalars("wide"), self._order(tag), wall_time, asof)
        return self._derived(arrow, "wide")

    def summary(self, tag: Names = None, *, stats: Sequence[str] | str = ("last",)) -> Table:
        """One row per run: `last` of each tag under its name, other statistics as `<tag>.<stat>`.

        Statistics: first, last, min, max, mean, std, count, and min_step, max_step, the steps of min and max.

        >>> log.scalars(run="diverged").summary("lr", stats="last,min").to_dicts()
        [{'run': 'diverged', 'lr': 0.125, 'lr.min': 0.125}]
        """
        from tbq.summary.statistics import summary

        return self._derived(summary(self._scalars("summary"), stats, self._order(tag)), "summary")

    def with_relative_time(self) -> Table:
        """The table with a column `relative_time`: seconds since the run began, whichever rows are selected.

        >>> log.scalars("lr", run="diverged").with_relative_time()["relative_time"][:2].tolist()
        [1.0, 6.0]
        """
        from tbq.columns.relative import COLUMN, relative_times, run_column

        arrow = self._arrow
        if "wall_time" not in arrow.column_names:
            raise UsageError(
                f"a table of {self.kind} has no wall_time",
                hint="log.scalars() and the other kinds of data have it",
            )
        column = relative_times(arrow["wall_time"], run_column(arrow), self.began)
        if COLUMN in arrow.column_names:
            return self._same(arrow.set_column(arrow.column_names.index(COLUMN), COLUMN, column))
        return self._same(arrow.append_column(COLUMN, column))

    def smooth(self, weight: float) -> Table:
        """Scalars smoothed like TensorBoard's slider; 0 changes nothing, 0.99 smooths strongly.

        >>> log.scalars("lr", run="diverged").smooth(0.6)["value"].min().round(4).item()
        0.1364
        """
        from tbq.table.smooth import smooth

        return self._same(smooth(self._scalars("smooth"), weight))

    def every(self, n: int) -> Table:
        """Every nth row of each run and tag, starting with the first.

        >>> log.scalars("lr", run="diverged").every(8)["step"].tolist()
        [0, 80, 160]
        """
        from tbq.table.downsample import every

        return self._same(every(self._scalars("every"), n))

    def max_points(self, n: int, *, method: Literal["triangle", "minmax"] = "triangle") -> Table:
        """At most `n` rows of each run and tag that keep the curve's shape.

        >>> len(log.scalars("train/loss", run="diverged").max_points(50))
        50
        """
        from tbq.table.downsample import max_points

        return self._same(max_points(self._scalars("max_points"), n, method))

    def plot(
        self, tag: Names = None, *, run: Names = None, ax: Axes | None = None, **plotting: Unpack[Plotting]
    ) -> Figure | Axes:
        """A matplotlib figure of the table; options as in `log.plot`. Needs the extra `plot`.

        >>> log.scalars().plot("lr").axes[0].get_xlabel()
        'step'
        """
        from tbq.plot.tables import picture

        drawn: Figure | Axes = picture(self, tag, run, ax, plotting)
        return drawn

    def write_plot(
        self,
        path: StrPath,
        *,
        tag: Names = None,
        run: Names = None,
        format: str | None = None,
        force: bool = False,
        **plotting: Unpack[Plotting],
    ) -> str:
        """Write the figure of `plot` to a png, svg, pdf, pgf or html file; returns the path.

        >>> log.scalars().write_plot("lr.svg", tag="lr")
        'lr.svg'
        """
        from tbq.plot.tables import write

        return write(self, path, tag, run, format, force, plotting)

    def __repr__(self) -> str:
        from tbq.table.draw import text

        return text(self._source, self.kind)

    def _repr_html_(self) -> str:
        from tbq.table.draw import page

        return page(self._source, self.kind)

    def _index(self, column: str) -> int:
        names = self.columns
        if column not in names:
            tip = closest_tip(str(column), names)
            raise MissingColumnError(f"no column {column!r}{tip}", hint=f"columns: {', '.join(names)}")
        return int(names.index(column))

    def _row(self, row: int) -> int:
        place = whole("row", row)
        if not -len(self) <= place < len(self):
            raise UsageError(f"no row {row}: the table has {len(self):,} rows")
        return place % len(self)

    def _labelled(self, categories: bool) -> pa.Table:
        """The table for another library: labels as dictionaries, or as plain strings."""
        import pyarrow as pa

        if categories:
            return self._arrow.unify_dictionaries()
        fields = [
            field.with_type(pa.large_string()) if pa.types.is_dictionary(field.type) else field
            for field in self._arrow.schema
        ]
        return self._arrow.cast(pa.schema(fields))

    def _scalars(self, layout: str) -> pa.Table:
        if not {"run", "tag", "step", "value"} <= set(self.columns):
            raise UsageError(
                f"{layout} is for scalars, this is a table of {self.kind}",
                hint="use log.scalars()",
            )
        return self._arrow

    def _order(self, tag: Names) -> list[str] | None:
        from tbq.columns.codes import names_in

        if tag is None:
            return self._tags
        selection = Selection.of(tag)
        known = names_in(self._arrow.column("tag"))
        if known:  # a table without rows has the columns that were asked for
            selection.require(known, where=self.logdir)
        return selection.columns(known)

    def _same(self, arrow: Arrow) -> Table:
        """A table of the same kind with other rows."""
        return type(self)(arrow, self.kind, tags=self._tags, logdir=self.logdir, began=self.began)

    def _derived(self, arrow: Arrow, kind: str) -> Table:
        return Table(arrow, kind, logdir=self.logdir, began=self.began)


def _listed(argument: str, columns: object) -> list[str]:
    if not isinstance(columns, Iterable):
        raise bad(argument, columns, "the names of columns")
    return list(columns)


class MissingColumnError(UsageError, KeyError):
    """A column that the table lacks; also a KeyError, as for a mapping."""
