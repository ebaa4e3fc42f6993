"""Every kind of data beside scalars: the methods of `LogDir` that give their tables and single values."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Unpack

from tbq.arguments import bad, keywords, whole
from tbq.errors import DamageError, SelectionError
from tbq.kinds.values import READING, Reading, Values, locate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray
    from PIL import Image

    from tbq.kinds.audio import AudioTable
    from tbq.kinds.histograms import Histogram, HistogramTable
    from tbq.kinds.hparams import HparamTable
    from tbq.kinds.images import ImageTable
    from tbq.kinds.meshes import Mesh
    from tbq.kinds.summary import SummaryTable
    from tbq.kinds.tensors import TensorTable
    from tbq.select import Names, Steps
    from tbq.table import Table

# Table -> the class that adds to Table what its rows can do.
_CLASSES = {
    "tensors": ("tbq.kinds.tensors", "TensorTable"),
    "histograms": ("tbq.kinds.histograms", "HistogramTable"),
    "images": ("tbq.kinds.images", "ImageTable"),
    "audio": ("tbq.kinds.audio", "AudioTable"),
    "hparams": ("tbq.kinds.hparams", "HparamTable"),
}


# Table -> the method that gives one value of it.
_ONE = {
    "tensors": "tensor", "others": "tensor", "histograms": "histogram", "images": "image", "audio": "waveform",
    "texts": "text", "meshes": "mesh",
}  # fmt: skip


def table_of(
    arrow: pa.Table, kind: str, logdir: str | None = None, began: Mapping[str, float] | None = None
) -> Any:
    """The Table of that kind, with its methods."""
    import importlib

    module, name = _CLASSES.get(kind, ("tbq.table", "Table"))
    return getattr(importlib.import_module(module), name)(arrow, kind, logdir=logdir, began=began)


class Kinds:
    """The tables beside scalars. Every one takes run, tag, steps, restarts, threads, progress and on_error."""

    def tensors(
        self, run: Names = None, tag: Names = None, steps: Steps = None, **reading: Unpack[Reading]
    ) -> TensorTable:
        """Every tensor: `dtype, shape, data` (raw little-endian bytes), `display_name, description`."""
        table: TensorTable = self._table("tensors", run, tag, steps, reading)
        return table

    def tensor(
        self, tag: str, step: int | None = None, run: str | None = None, **reading: Unpack[Reading]
    ) -> NDArray[Any]:
        """One tensor as a NumPy array: that of `step`, else the last one; of any plugin, known or not."""
        from tbq.errors import DamageError
        from tbq.kinds.tensors import array

        try:
            row = self._find("tensors", run, tag, step, reading).row(step)
        except SelectionError as nothing:
            row = self._unknown_tensor(run, tag, step, reading, nothing)
        if row["shape"][0].as_py() is None:
            raise DamageError(
                "the tensor cannot be decoded", hint="see log.problems for why", code="bad_tensor"
            )
        return array(row["dtype"][0].as_py(), row["shape"][0].as_py(), row["data"][0].as_buffer())

    def histograms(
        self, run: Names = None, tag: Names = None, steps: Steps = None, **reading: Unpack[Reading]
    ) -> HistogramTable:
        """Every histogram, old and new alike: statistics where logged, and lists `left, right, count`."""
        table: HistogramTable = self._table("histograms", run, tag, steps, reading)
        return table

    def histogram(
        self, tag: str, step: int | None = None, run: str | None = None, **reading: Unpack[Reading]
    ) -> Histogram:
        """One histogram: quantiles, a density, NumPy's `(counts, edges)`."""
        table: HistogramTable = table_of(
            self._find("histograms", run, tag, step, reading).row(step), "histograms"
        )
        return table.histogram(0)

    def images(
        self, run: Names = None, tag: Names = None, steps: Steps = None, **reading: Unpack[Reading]
    ) -> ImageTable:
        """Every image: `index` inside its event, `width, height, format, colorspace`, and the encoded `data`."""
        table: ImageTable = self._table("images", run, tag, steps, reading)
        return table

    def image(
        self,
        tag: str,
        step: int | None = None,
        run: str | None = None,
        index: int = 0,
        **reading: Unpack[Reading],
    ) -> Image.Image:
        """One image as a PIL image; `index` picks one of several logged at once."""
        from tbq.kinds.images import picture

        rows = self._find("images", run, tag, step, reading).row(step)
        return picture(_at(rows, index, "images")["data"][0].as_buffer())

    def audio(
        self, run: Names = None, tag: Names = None, steps: Steps = None, **reading: Unpack[Reading]
    ) -> AudioTable:
        """Every audio clip: `index, sample_rate, channels, frames, content_type, label`, and the encoded `data`."""
        table: AudioTable = self._table("audio", run, tag, steps, reading)
        return table

    def waveform(
        self,
        tag: str,
        step: int | None = None,
        run: str | None = None,
        index: int = 0,
        **reading: Unpack[Reading],
    ) -> tuple[int, NDArray[Any]]:
        """One audio clip as `(rate, samples)`, samples of shape (frames, channels)."""
        from tbq.kinds.audio import waveform

        rows = self._find("audio", run, tag, step, reading).row(step)
        return waveform(_at(rows, index, "audio clips")["data"][0].as_py())

    def texts(
        self, run: Names = None, tag: Names = None, steps: Steps = None, **reading: Unpack[Reading]
    ) -> Table:
        """Every text: `index` of the element in its tensor (empty for a plain text), and `text`."""
        table: Table = self._table("texts", run, tag, steps, reading)
        return table

    def text(
        self, tag: str, step: int | None = None, run: str | None = None, **reading: Unpack[Reading]
    ) -> str:
        """One text; a text tensor as lines, or as a Markdown table."""
        from tbq.kinds.texts import joined

        return joined(self._find("texts", run, tag, step, reading).row(step))

    def hparams(
        self, run: Names = None, tag: Names = None, steps: Steps = None, **reading: Unpack[Reading]
    ) -> HparamTable:
        """Every hyperparameter of every session, a row each; `.wide()` has a row a run.

        What an experiment says of its metrics and domains is in `log.table("hparam_metrics")` and
        `log.table("hparam_domains")`.
        """
        table: HparamTable = self._table("hparams", run, tag, steps, reading)
        return table

    def pr_curves(
        self, run: Names = None, tag: Names = None, steps: Steps = None, **reading: Unpack[Reading]
    ) -> Table:
        """Every precision-recall curve, a row a threshold."""
        table: Table = self._table("pr_curves", run, tag, steps, reading)
        return table

    def meshes(
        self, run: Names = None, tag: Names = None, steps: Steps = None, **reading: Unpack[Reading]
    ) -> Table:
        """Every part of every mesh: its `name`, `component` (vertex, face, color), `dtype, shape, data`."""
        table: Table = self._table("meshes", run, tag, steps, reading)
        return table

    def mesh(
        self, name: str, step: int | None = None, run: str | None = None, **reading: Unpack[Reading]
    ) -> Mesh:
        """One mesh by the name it was logged under: vertices, faces and colours as arrays, or a PLY file."""
        import re

        from tbq.kinds.meshes import SUFFIX, mesh

        tags = f"re:{re.escape(name)}{SUFFIX.pattern}"
        try:
            values = self._find("meshes", run, tags, step, reading)
        except SelectionError as nothing:
            said = nothing.message.replace(f"tag matches {tags!r}", f"mesh is called {name!r}")
            raise SelectionError(said, path=nothing.path, hint=nothing.hint) from None
        wrong: DamageError | None = None
        for rows in values.parts(step):
            try:
                return mesh(values.arrow(rows))
            except DamageError as damage:  # an earlier one may be whole
                wrong = wrong or damage
        assert wrong is not None
        raise wrong

    def graphs(
        self, run: Names = None, tag: Names = None, steps: Steps = None, **reading: Unpack[Reading]
    ) -> Table:
        """Every graph: its `format` (graph_def, meta_graph_def, keras_model), number of `nodes`, and bytes."""
        table: Table = self._table("graphs", run, tag, steps, reading)
        return table

    def graph(self, run: Names = None, **reading: Unpack[Reading]) -> Table:
        """The nodes of a run's graphs: `name, op, device, inputs`, and the `function` they are in.

        Of a Keras model they are its layers, with their class as `op`.
        """
        table: Table = self._table("nodes", run, None, None, reading)
        return table

    def run_metadata(
        self, run: Names = None, tag: Names = None, steps: Steps = None, **reading: Unpack[Reading]
    ) -> Table:
        """The RunMetadata protobufs that TensorFlow's profiler logged, as bytes."""
        table: Table = self._table("run_metadata", run, tag, steps, reading)
        return table

    def custom_scalars(
        self, run: Names = None, tag: Names = None, steps: Steps = None, **reading: Unpack[Reading]
    ) -> Table:
        """The custom scalar layouts, a row a tag pattern of a chart; `data` stands on a layout's first row."""
        table: Table = self._table("custom_scalars", run, tag, steps, reading)
        return table

    def others(
        self, run: Names = None, tag: Names = None, steps: Steps = None, **reading: Unpack[Reading]
    ) -> Table:
        """Values of plugins that tbq does not know: their bytes, and the plugin's `content`."""
        table: Table = self._table("others", run, tag, steps, reading)
        return table

    def logs(
        self, run: Names = None, tag: Names = None, steps: Steps = None, **reading: Unpack[Reading]
    ) -> Table:
        """Log messages and session logs: `level, message, checkpoint_path`."""
        table: Table = self._table("logs", run, tag, steps, reading)
        return table

    def summary(
        self,
        stats: Sequence[str] | str = ("last",),
        run: Names = None,
        tag: Names = None,
        steps: Steps = None,
        require: Sequence[str] | str = (),
        best: Mapping[str, str] | None = None,
        media: bool = True,
        **reading: Unpack[Reading],
    ) -> SummaryTable:
        """A row a run: statistics of its scalars, `hparam.<name>`, its last texts and images.

        The sub-run that `add_hparams` made is folded into its parent. `require` leaves out runs that lack one
        of these columns; `best={"val/loss": "min"}` adds `val/loss.best` and the step it was reached at;
        `media=False` leaves out texts and images that are not named in `tag` or `require`.
        """
        from tbq.kinds.summary import summary

        keywords("log.summary", reading, READING)
        return summary(self, stats, run, tag, steps, require, best or {}, media, reading)  # type: ignore[arg-type]

    def media(
        self,
        out: str | os.PathLike[str],
        run: Names = None,
        tag: Names = None,
        steps: Steps = None,
        every: int = 1,
        kinds: Sequence[str] | None = None,
        force: bool = False,
        **reading: Unpack[Reading],
    ) -> Table:
        """Write images, audio, texts, meshes (PLY) and graphs as files below `out`, in a tree run/tag/step.

        Returns what `manifest.csv` there says. `every=10` takes each tenth value of a tag; `kinds` some of
        images, audio, texts, meshes, graphs; files that are there already are kept unless `force`.
        """
        import pyarrow as pa

        from tbq.export.media import media
        from tbq.schema import schema
        from tbq.table import Table

        keywords("log.media", reading, ("run", "tag", "steps", "every", "kinds", "force", *READING))
        rows = media(
            self,  # type: ignore[arg-type]
            out,
            run=run,
            tag=tag,
            steps=steps,
            every=every,
            kinds=kinds,
            force=force,
            **reading,
        )
        return Table(pa.Table.from_pylist(rows, schema=schema("media")), "media")

    def _unknown_tensor(
        self, run: Names, tag: Names, step: int | None, reading: Reading, nothing: SelectionError
    ) -> pa.Table:
        """A tensor among the values of unknown plugins; if there is none either, the error of the first search."""
        quiet: Reading = {**reading, "on_error": "ignore"}  # the same files again
        try:
            values = self._find("others", run, tag, step, quiet)
        except SelectionError:
            raise nothing from None
        row = values.row(step)
        if row["form"][0].as_py() != "tensor":
            raise nothing
        return row

    def _table(self, name: str, run: Names, tag: Names, steps: Steps, reading: Reading) -> Any:
        keywords(f"log.{name}", reading, ("run", "tag", "steps", *READING))
        values = locate(self, name, run, tag, steps, **reading)  # type: ignore[arg-type]
        return table_of(values.arrow(), name, values.logdir, values.began)

    def _find(self, name: str, run: Names, tag: Names, step: int | None, reading: Reading) -> Values:
        keywords(f"log.{_ONE[name]}", reading, ("step", "run", "index", *READING))
        step = None if step is None else whole("step", step)
        values = locate(self, name, run, tag, step, **reading)  # type: ignore[arg-type]
        if step is not None and not len(values):
            return locate(self, name, run, tag, None, **reading)  # type: ignore[arg-type]
        return values


def _at(rows: pa.Table, index: int, what: str) -> pa.Table:
    if not 0 <= whole("index", index) < len(rows):
        raise bad("index", index, f"0 to {len(rows) - 1}: there are {len(rows):,} {what} in this event")
    return rows.slice(index, 1)
