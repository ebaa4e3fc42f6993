"""`LogDir`: every question that a log answers, each a short method over the stage that answers it.

It is long, and in one file, so that the whole interface stands on one page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Unpack, cast

from tbq.arguments import StrPath
from tbq.decode.options import OnError, Reading, Restarts, Selected, Which
from tbq.decode.reader import Reader
from tbq.kinds import single, tables
from tbq.select import Names, Steps
from tbq.source.discover import Found
from tbq.source.inflate import Unpacked

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray
    from PIL import Image

    from tbq.diagnosis.diagnosis import Diagnosis
    from tbq.kinds.audio import AudioTable
    from tbq.kinds.histograms import Histogram, HistogramTable
    from tbq.kinds.hparams import HparamTable
    from tbq.kinds.meshes import Mesh
    from tbq.kinds.overview import TagTable
    from tbq.kinds.tensors import TensorTable
    from tbq.plot.options import PlotSelected
    from tbq.problems import Problem
    from tbq.progress import Progress
    from tbq.query.dataset import LogDataset
    from tbq.query.log_export import Export, Paths
    from tbq.schema import TableName
    from tbq.summary.table import SummaryTable
    from tbq.table.scalars import Series
    from tbq.table.table import Table


def restored(found: Found, limit: int | None) -> LogDir:
    """Rebuild a pickled log: the same files, read anew."""
    return LogDir(Reader(found, Unpacked(limit)))


class LogDir:
    """The runs below a path. Made by `tbq.open`.

    Tables take `run`, `tag`, `steps`, `restarts`, `threads`, `progress` and `on_error`, as `scalars` explains them.
    Methods that return one value take `run`, needed if several runs have the tag, and `step` (default: the last).
    """

    def __init__(self, reader: Reader, reopen: Callable[[], LogDir] | None = None) -> None:
        self._reader, self._reopen = reader, reopen  # `reopen` opens the log again when it is unpickled

    def __reduce__(self) -> tuple[Any, ...]:
        if self._reopen is not None:
            return self._reopen, ()
        return restored, (self._reader.found, self._reader.unpacked.limit)

    def __repr__(self) -> str:
        return f"<tbq.LogDir {self.path!r}: {len(self.runs):,} runs, {len(self.files):,} files>"

    def _repr_html_(self) -> str:
        from tbq.summary.runs_html import runs_html

        return runs_html(self._reader, repr(self))

    @property
    def path(self) -> str:
        """The opened paths, joined by commas.

        >>> log.path
        'runs'
        """
        return self._reader.path

    @property
    def runs(self) -> list[str]:
        """The names of the runs, sorted.

        >>> log.runs[:2]
        ['diverged', 'lr=0.01/seed=0']
        """
        return self._reader.names

    @property
    def sub_runs(self) -> dict[str, str]:
        """The directories of `add_hparams` that are part of a run, by the names that they would have as runs.

        >>> log.sub_runs
        {}
        """
        return {name: run.name for run in self._reader.runs for name in run.folded}

    @property
    def files(self) -> list[str]:
        """The paths of the event files, run by run.

        >>> len(log.files)
        10
        """
        return [path for run in self._reader.runs for path in run.files]

    @property
    def problems(self) -> list[Problem]:
        """What was lost or dropped in the data read so far; reads everything once if nothing was read yet.

        >>> log.problems[0].code
        'restart'
        """
        if not self._reader.has_read:
            self._reader.survey()
        return list(self._reader.problems)

    def scalars(
        self,
        tag: Names = None,
        *,
        run: Names = None,
        steps: Steps = None,
        restarts: Restarts = "resume",
        threads: int | None = None,
        progress: Progress | None = None,
        on_error: OnError = "warn",
    ) -> Table:
        """Every scalar: one row per value, columns `run, tag, step, wall_time, value`.

        `run` and `tag` take names, globs, `re:` expressions or lists; `steps` includes both ends. `restarts` chooses
        the rows of a resumed run that count, `on_error` what damage does. `progress` is True for a bar, or a callable.

        >>> log.scalars("val/loss", run="lr=0.1", steps="100:").shape
        (10, 5)
        """
        from tbq.table.scalars import scalars

        options = {"restarts": restarts, "threads": threads, "progress": progress, "on_error": on_error}
        return scalars(self._reader.with_options(options), tag, run, steps, **cast("Reading", options))

    def series(
        self, tag: str, *, run: str | None = None, steps: Steps = None, **reading: Unpack[Reading]
    ) -> Series:
        """One scalar tag of one run as NumPy arrays: steps, wall_times, values.

        >>> log.series("val/loss", run="diverged").steps[:3].tolist()
        [19, 39, 59]
        """
        from tbq.table.scalars import series

        return series(self._reader.with_options(reading), tag, run, steps, **reading)

    def tags(self, tag: Names = None, *, run: Names = None, **reading: Unpack[Reading]) -> TagTable:
        """What was logged: one row per run and tag, with its kind, count and steps. Values are skipped, not stored.

        >>> log.tags(run="media").by_kind()["audio"]
        ['tone']
        """
        return tables.table(self._reader.with_options(reading), "tags", tag, run=run, **reading)

    def table(self, name: TableName, *, tag: Names = None, **selected: Unpack[Selected]) -> Table:
        """A table by its name: "scalars", "images", "tags", "runs", "problems", … (all are in `tbq.schema.KINDS`).

        >>> log.table("runs")["health"][0]
        'ok'
        """
        return tables.table(self._reader.with_options(selected), name, tag, **selected)

    def tables(self, tag: Names = None, **selected: Unpack[Selected]) -> dict[str, Table]:
        """Every table of values that has rows, by name, from two readings of the files.

        >>> list(log.tables(run="diverged"))
        ['scalars', 'hparams', 'hparam_metrics', 'hparam_domains']
        """
        return tables.tables(self._reader.with_options(selected), tag, **selected)

    def tensors(self, tag: Names = None, **selected: Unpack[Selected]) -> TensorTable:
        """Every tensor: `dtype, shape, data` (raw little-endian bytes), `display_name, description`.

        >>> log.tensors().arrays()[0].shape
        (3, 4)
        """
        return tables.table(self._reader.with_options(selected), "tensors", tag, **selected)

    def tensor(self, tag: str, **which: Unpack[Which]) -> NDArray[Any]:
        """One tensor as a NumPy array, at `step` or else the last; of any plugin, known or not.

        >>> log.tensor("embedding").dtype
        dtype('float32')
        """
        return single.tensor(self._reader.with_options(which), tag, **which)

    def histograms(self, tag: Names = None, **selected: Unpack[Selected]) -> HistogramTable:
        """Every histogram, of any format: statistics if they were logged, and lists `left, right, count`.

        >>> log.histograms().quantiles([0.5]).columns
        ['run', 'tag', 'step', 'wall_time', 'q0.5']
        """
        return tables.table(self._reader.with_options(selected), "histograms", tag, **selected)

    def histogram(self, tag: str, **which: Unpack[Which]) -> Histogram:
        """One histogram: quantiles, a density, NumPy's `(counts, edges)`.

        >>> log.histogram("weights/layer1", step=100).total
        1000.0
        """
        return single.histogram(self._reader.with_options(which), tag, **which)

    def images(self, tag: Names = None, **selected: Unpack[Selected]) -> Table:
        """Every image: `index` inside its event, `width, height, format, colorspace`, and the encoded `data`.

        >>> log.images().image(0).size
        (32, 32)
        """
        return tables.table(self._reader.with_options(selected), "images", tag, **selected)

    def image(self, tag: str, *, index: int = 0, **which: Unpack[Which]) -> Image.Image:
        """One image as a PIL image; `index` picks one of several logged at once.

        >>> log.image("samples").size
        (32, 32)
        """
        return single.image(self._reader.with_options(which), tag, index, **which)

    def audio(self, tag: Names = None, **selected: Unpack[Selected]) -> AudioTable:
        """Every audio clip: `index, sample_rate, channels, frames, content_type, label`, and the encoded `data`.

        >>> log.audio().waveform(0)[0]
        8000
        """
        return tables.table(self._reader.with_options(selected), "audio", tag, **selected)

    def waveform(self, tag: str, *, index: int = 0, **which: Unpack[Which]) -> tuple[int, NDArray[Any]]:
        """One audio clip as `(rate, samples)`, samples of shape (frames, channels).

        >>> log.waveform("tone")[1].shape
        (2000, 1)
        """
        return single.waveform(self._reader.with_options(which), tag, index, **which)

    def texts(self, tag: Names = None, **selected: Unpack[Selected]) -> Table:
        """Every text: `index` of the element in its tensor (empty for a plain text), and `text`.

        >>> log.texts("notes")["text"][0]
        '**step 0**: the picture turns, the weights spread'
        """
        return tables.table(self._reader.with_options(selected), "texts", tag, **selected)

    def text(self, tag: str, **which: Unpack[Which]) -> str:
        """One text; a text tensor as lines, or as a Markdown table.

        >>> log.text("notes", step=100)
        '**step 100**: the picture turns, the weights spread'
        """
        return single.text(self._reader.with_options(which), tag, **which)

    def hparams(self, tag: Names = None, **selected: Unpack[Selected]) -> HparamTable:
        """Every hyperparameter of every session, one row each; `.wide()` has one row per run.

        `log.table("hparam_metrics")` and `log.table("hparam_domains")` hold an experiment's metrics and domains.

        >>> log.hparams(run="diverged")["name"].tolist()
        ['lr', 'seed', 'optimizer', 'augment']
        """
        return tables.table(self._reader.with_options(selected), "hparams", tag, **selected)

    def pr_curves(self, tag: Names = None, **selected: Unpack[Selected]) -> Table:
        """Every precision-recall curve, one row per threshold.

        >>> log.pr_curves()["threshold"][:2].tolist()
        [0.0, 0.05]
        """
        return tables.table(self._reader.with_options(selected), "pr_curves", tag, **selected)

    def meshes(self, tag: Names = None, **selected: Unpack[Selected]) -> Table:
        """Every part of every mesh: its `name`, `component` (vertex, face, color), `dtype, shape, data`.

        >>> log.meshes()["component"].tolist()
        ['color', 'face', 'vertex']
        """
        return tables.table(self._reader.with_options(selected), "meshes", tag, **selected)

    def mesh(self, name: str, **which: Unpack[Which]) -> Mesh:
        """One mesh by the name it was logged under: vertices, faces and colours as arrays, or a PLY file.

        >>> log.mesh("cube").vertices.shape
        (1, 8, 3)
        """
        return single.mesh(self._reader.with_options(which), name, **which)

    def graphs(self, tag: Names = None, **selected: Unpack[Selected]) -> Table:
        """Every graph: its `format` (graph_def, meta_graph_def, keras_model), number of `nodes`, and bytes.

        >>> log.graphs()["nodes"].tolist()
        [4]
        """
        return tables.table(self._reader.with_options(selected), "graphs", tag, **selected)

    def nodes(self, tag: Names = None, **selected: Unpack[Selected]) -> Table:
        """The nodes of graphs: `name, op, device, inputs`, and the `function` they are in; layers of Keras models.

        >>> log.nodes()["op"].tolist()
        ['Placeholder', 'Const', 'MatMul', 'Mean']
        """
        return tables.table(self._reader.with_options(selected), "nodes", tag, **selected)

    def custom_scalars(self, tag: Names = None, **selected: Unpack[Selected]) -> Table:
        """The custom scalar layouts, one row per tag pattern of a chart; `data` is on a layout's first row.

        >>> log.custom_scalars()["chart"].tolist()
        ['loss', 'loss']
        """
        return tables.table(self._reader.with_options(selected), "custom_scalars", tag, **selected)

    def summary(
        self,
        tag: Names = None,
        *,
        stats: Sequence[str] | str = ("last",),
        run: Names = None,
        steps: Steps = None,
        by: str | Sequence[str] | None = None,
        best: Mapping[str, Literal["min", "max"]] | None = None,
        sort: Sequence[str] | str = (),
        top: int | None = None,
        require: Sequence[str] | str = (),
        media: bool = False,
        **reading: Unpack[Reading],
    ) -> SummaryTable:
        """One row per run: statistics of its scalars, and `hparam.<name>`; with `media`, its last texts and images.

        `best={"val/loss": "min"}` adds `val/loss.best` and its step, and puts the best run first; `sort` takes columns
        ("lr", "lr:desc"), `top` limits the number of rows. `require` leaves out runs that lack one of these columns;
        `media=True` adds texts and images even if `tag` or `require` does not name them.

        With `by` ("hparam.lr", or a list; as in `reduce`), one row per configuration: over the best values of its runs
        `n, mean, std, ci95`, `p` of the difference from the best configuration (Welch's test), `best`, `worst`.
        `left_out` runs have no finite best value. `.verdict` says whether the first differs from the second beyond
        chance, and which runs count although they diverged or crashed.

        >>> log.summary(best={"val/loss": "min"}, top=1)["run"][0]
        'lr=0.1/seed=0'
        >>> log.summary(by="hparam.lr", best={"val/loss": "min"}, run=["lr=0.1*", "lr=0.03*"]).verdict.split("; ")[0]
        "lr=0.1 and lr=0.03 differ beyond chance: p = 0.048 (Welch's t-test, 2 and 2 runs)"
        """
        from tbq.query.configurations import configurations
        from tbq.summary.leaderboard import leaderboard

        reader = self._reader.with_options(reading)
        options: dict[str, Any] = {
            "stats": stats, "run": run, "tag": tag, "steps": steps, "best": best, "sort": sort, "top": top,
            "require": require, "media": media, **reading,
        }  # fmt: skip
        return leaderboard(reader, **options) if by is None else configurations(reader, by, **options)

    def importance(
        self,
        tag: str,
        *,
        best: Literal["min", "max"] | None = None,
        run: Names = None,
        steps: Steps = None,
        **reading: Unpack[Reading],
    ) -> Table:
        """Which hyperparameters matter: one row each, the most important first.

        `importance` is the share, from 0 to 1, of the variance of the runs' ranks by `tag` that the parameter predicts,
        of whatever shape; `direction` is the rank correlation, if the metric only rises or only falls; `best` is the
        value with the best ranks; then `n` runs, the number of different `values`, and a `note`. A run's value is its
        `best` one, "min" or "max", by default what the tag's name suggests.

        >>> log.importance("val/loss", run="lr=*").to_dicts()[0]["hparam"]
        'lr'
        """
        from tbq.query.importance import importance

        return importance(self._reader.with_options(reading), tag, best, run, steps, **reading)

    def diagnose(self, run: str, **reading: Unpack[Reading]) -> Diagnosis:
        """What happened to a run, and why: its state, where a loss left its course, restarts, what changed before.

        It also has the doctor's findings about the run, and how the runs with nearly the same hyperparameters fared.

        >>> log.diagnose("diverged").happened[0][:45]
        'train/loss left its course after step 0 (2.3)'
        """
        from tbq.diagnosis.of_run import diagnose

        return diagnose(self._reader.with_options(reading), run, **reading)

    def show(self, tag: str, **which: Unpack[Which]) -> str:
        """The value of a tag at a step, or the last value, as a few lines of text that a terminal can show.

        >>> print(log.show("lr", run="diverged"))
        scalars · tag lr · 20 points, steps 0 to 190
        last 0.125 at step 190
        min  0.125 at step 150
        max  1 at step 0
        """
        from tbq.kinds.show import show

        return show(self._reader.with_options(which), tag, **which)

    def write(
        self, path: StrPath, *, kind: TableName | Literal["all"] = "all", **options: Unpack[Export]
    ) -> Paths:
        """Write every table into a folder or into one xlsx, sqlite or duckdb file, or only `kind` into a file.

        Takes the keywords of a table, and those of `table.write`. Returns the written paths.

        >>> log.write("out", run="diverged")
        ['out/scalars.parquet', 'out/hparams.parquet', 'out/hparam_metrics.parquet', 'out/hparam_domains.parquet']
        """
        from tbq.query.log_export import write

        return write(self._reader.with_options(options), path, kind, **options)

    def write_media(
        self,
        path: StrPath,
        *,
        tag: Names = None,
        every: int = 1,
        kinds: Sequence[str] | str | None = None,
        force: bool = False,
        **selected: Unpack[Selected],
    ) -> Table:
        """Write images, audio, texts, tensors (NPY), meshes (PLY) and graphs as files below `path`: run/tag/step.

        Returns the rows of `manifest.csv`. `every=10` takes each tenth value of a tag; `kinds` takes some of images,
        audio, texts, tensors, meshes, graphs. Existing files stay unless `force`.

        >>> len(log.write_media("media", kinds="images"))
        3
        """
        from tbq.kinds.media import write_media

        return write_media(self._reader.with_options(selected), path, tag, every, kinds, force, **selected)

    def sql(
        self,
        query: str,
        *,
        params: Mapping[str, Any] | None = None,
        unsafe: bool = False,
        **reading: Unpack[Reading],
    ) -> Table:
        """Query all tables by name in SQL, `wide` and `summary` included; `$name` in the query is a parameter.

        Reads only what the query needs. The query cannot write files or load extensions unless `unsafe`.

        >>> log.sql("select count(*) as n from scalars where tag = $tag", params={"tag": "lr"}).to_dicts()
        [{'n': 160}]
        """
        from tbq.query.sql import sql

        return sql(self._reader.with_options(reading), query, params, unsafe=unsafe, **reading)

    def dataset(
        self, *, kind: TableName = "scalars", relative_time: bool = False, **reading: Unpack[Reading]
    ) -> LogDataset:
        """A table as a `pyarrow.dataset.Dataset`: a scan reads only the rows and columns it needs.

        `relative_time` adds a column of that name: seconds since the run began.

        >>> log.dataset().count_rows()
        3527
        """
        from tbq.query.dataset import dataset

        return dataset(self._reader.with_options(reading), kind, relative_time, **reading)

    def scan(
        self,
        tag: Names = None,
        *,
        kind: TableName = "scalars",
        relative_time: bool = False,
        **selected: Unpack[Selected],
    ) -> pa.RecordBatchReader:
        """A table as a stream of Arrow batches, run by run, in the memory of the largest run.

        `relative_time` adds a column of that name: seconds since the run began.

        >>> sum(batch.num_rows for batch in log.scan("lr"))
        160
        """
        from tbq.query.scan import scan

        return scan(self._reader.with_options(selected), kind, tag, relative_time, **selected)

    def lazy(
        self, *, kind: TableName = "scalars", relative_time: bool = False, **reading: Unpack[Reading]
    ) -> pl.LazyFrame:
        """A table as a polars LazyFrame: filters, columns and limits reach the reader.

        `relative_time` adds a column of that name: seconds since the run began.

        >>> log.lazy().head(3).collect().height
        3
        """
        from tbq.query.lazy import lazy

        return lazy(self._reader.with_options(reading), kind, relative_time, **reading)

    def reduce(
        self,
        tag: Names = None,
        *,
        by: str | Sequence[str] = "*",
        stats: str | Sequence[str] = ("mean", "std", "min", "max"),
        best: Mapping[str, Literal["min", "max"]] | None = None,
        sort: Sequence[str] | str = (),
        top: int | None = None,
        **selected: Unpack[Selected],
    ) -> Table:
        """Statistics over runs, step by step: one row per group, tag and step, one column per statistic, and `n`.

        `by` is "hparam.lr", a glob, or `re:` with brackets around the group's name; if several match a run, the first
        counts. Statistics: mean, std, min, max, median, ci95, sem, q25, q75. `best={"val/loss": "min"}` puts the best
        group first, as `summary` ranks them; `sort` takes columns ("mean:desc"); `top` keeps the first groups.

        >>> log.reduce("val/loss", by="re:(lr=.*)/seed=.*", stats="mean").columns
        ['group', 'tag', 'step', 'mean', 'n']
        """
        from tbq.query.configurations import reduced

        return reduced(self._reader.with_options(selected), by, stats, tag, best, sort, top, **selected)

    def write_reduced(
        self,
        path: StrPath,
        *,
        tag: Names = None,
        by: str | Sequence[str] = "*",
        stats: str | Sequence[str] = ("mean", "std", "min", "max"),
        **selected: Unpack[Selected],
    ) -> list[str]:
        """Write the table of `reduce` as event files for TensorBoard, to a new directory; returns its runs.

        >>> log.write_reduced("seeds", by="re:(lr=.*)/seed=.*", stats="mean", tag="val/loss")
        ['lr=0.01/mean', 'lr=0.01/n', 'lr=0.03/mean', 'lr=0.03/n', 'lr=0.1/mean', 'lr=0.1/n']
        """
        from tbq.query.over_runs import over_runs
        from tbq.write.reduced import check_events, write_events

        check_events(path)
        table, wall_times = over_runs(self._reader.with_options(selected), by, stats, tag, **selected)
        return write_events(table.to_arrow(), wall_times, path)

    def compare(
        self,
        a: str,
        b: str,
        *,
        stats: Sequence[str] | str = ("last", "min", "max"),
        tag: Names = None,
        steps: Steps = None,
        **reading: Unpack[Reading],
    ) -> Table:
        """What differs between two runs: hyperparameters, and the statistics of each scalar.

        >>> log.compare("lr=0.1/seed=0", "lr=0.03/seed=0", tag="lr", stats="last").to_dicts()[0]["a_text"]
        '0.1'
        """
        from tbq.query.compare import compare

        return compare(self._reader.with_options(reading), a, b, stats, tag, steps, **reading)

    def plot(
        self,
        tag: Names = None,
        *,
        run: Names = None,
        ax: Axes | None = None,
        **plotting: Unpack[PlotSelected],
    ) -> Figure | Axes:
        """A matplotlib figure of curves, or of the tag's other data; with `ax`, drawn on it. Needs the extra `plot`.

        `x` is "step", "relative", "wall" or a tag; `by` groups runs by `hparam.lr` or `re:(.*)/seed.*`, `band` draws
        their mean with "std", "sem", "ci95", "minmax" or "quantiles"; see docs/plot.md for `smooth`, `style`, …

        >>> log.plot("val/loss", by="hparam.lr", band="minmax").axes[0].get_ylabel()
        'val/loss'
        """
        from tbq.plot.options import split
        from tbq.plot.pictures import picture

        options, reading = split("log.plot", plotting, "ax")
        drawn: Figure | Axes = picture(self._reader.with_options(reading), tag, run, options, reading, ax)
        return drawn

    def write_plot(
        self,
        path: StrPath,
        *,
        tag: Names = None,
        run: Names = None,
        format: str | None = None,
        force: bool = False,
        **plotting: Unpack[PlotSelected],
    ) -> str:
        """Write the figure of `plot` to a png, svg, pdf, pgf or html file, by extension; returns the path.

        >>> log.write_plot("loss.svg", tag="val/loss")
        'loss.svg'
        """
        from tbq.plot import files
        from tbq.plot.options import split
        from tbq.plot.pictures import picture

        options, reading = split("log.write_plot", plotting, "format", "force")
        reader = self._reader.with_options(reading)
        return files.save(
            lambda vectors: picture(reader, tag, run, options, reading, vectors=vectors),
            path,
            format=format,
            force=force,
            title=options.title,
        )

    def plot_text(
        self,
        tag: Names = None,
        *,
        run: Names = None,
        width: int = 100,
        height: int | None = None,
        colour: bool = False,
        **plotting: Unpack[PlotSelected],
    ) -> str:
        """The figure of `plot` as braille text for a terminal, `width` cells wide; `colour` adds escape codes.

        >>> "val/loss" in log.plot_text("val/loss", width=60)
        True
        """
        from tbq.plot.options import split
        from tbq.plot.terminal import text

        options, reading = split("log.plot_text", plotting, "width", "height", "colour")
        return text(self._reader.with_options(reading), tag, run, options, reading, width, height, colour)

    def image_text(
        self,
        tag: str,
        *,
        index: int = 0,
        width: int = 80,
        height: int = 40,
        protocol: Literal["blocks", "kitty", "iterm"] = "blocks",
        **which: Unpack[Which],
    ) -> str:
        """One image as text for a terminal: coloured half blocks, or kitty's or iTerm's protocol. Needs Pillow.

        >>> log.image_text("samples", width=8).count("▀")
        32
        """
        from tbq.plot.screens import image_text

        return image_text(self._reader.with_options(which), tag, index, width, height, protocol, which)

    def sparklines(
        self, tag: str, *, run: Names = None, width: int = 16, steps: Steps = None, **reading: Unpack[Reading]
    ) -> dict[str, str]:
        """The curve of a tag as a few characters, for each selected run; blank if the run lacks the tag.

        >>> log.sparklines("val/loss", width=8)["lr=0.1/seed=0"]
        '█▃▂▁▁▁▁▁'
        """
        from tbq.arguments import whole
        from tbq.table.sparks import sparklines

        return sparklines(
            self._reader.with_options(reading),
            tag,
            run,
            whole("width", width, least=1, most=1000),
            steps,
            reading,
        )

    def report(
        self,
        path: StrPath,
        *,
        title: str | None = None,
        text: str = "",
        tag: Names = None,
        run: Names = None,
        steps: Steps = None,
        by: str | None = None,
        band: Literal["std", "sem", "ci95", "minmax", "none"] = "std",
        smooth: float = 0.0,
        restarts: Restarts = "resume",
        threads: int | None = None,
        force: bool = False,
        progress: Progress | None = None,
        on_error: OnError = "warn",
    ) -> str:
        """Write the page of `tbq serve` with its data into one HTML file, to send to someone; returns the path.

        It has the runs, the curves of the chosen tags with the band of each group (`by` as in `plot`), thumbnails of
        images, texts, the doctor's findings, and `text` in Markdown at the top.

        >>> log.report("report.html", tag="val/*", by="hparam.lr", title="Learning rates")
        'report.html'
        """
        from tbq.server.report.writing import write_report

        return write_report(
            self._reader, path, title=title, text=text, tag=tag, run=run, steps=steps, by=by, band=band,
            smooth=smooth, restarts=restarts, threads=threads, force=force, progress=progress, on_error=on_error,
        )  # fmt: skip
