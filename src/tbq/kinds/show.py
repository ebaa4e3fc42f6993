"""One value for people: a text, a tensor's statistics, a histogram's bars, an image's size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from tbq.arguments import keywords, whole
from tbq.columns.codes import values_of
from tbq.decode.options import WHICH, Reading, Which
from tbq.errors import SelectionError
from tbq.kinds.overview import overview
from tbq.kinds.single import find
from tbq.select import Selection, several
from tbq.table.scalars import series as read_series
from tbq.text import counted, page, printable, shell_word

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.decode.reader import Reader

# The kind to show of a tag with values of several kinds: the first of these.
_ORDER = ("texts", "images", "histograms", "tensors", "audio", "hparams", "pr_curves", "meshes", "custom_scalars",
          "graphs", "run_metadata", "others", "logs", "scalars")  # fmt: skip


def show(reader: Reader, tag: str, **which: Unpack[Which]) -> str:
    """The value of a tag at a step, or the last value, as a few lines of text that a terminal can show."""
    keywords("log.show", which, WHICH)
    kind = _kind(reader, tag, which.get("run"))
    if kind == "scalars":
        return _scalars(reader, tag, which)
    values, step = find(reader, kind, tag, **which)
    key, rows = values.at(step)
    head = printable(f"{kind} · run {key['run']} · tag {key['tag']} · step {key['step']:,}")
    if not len(rows):
        return f"{head}\n(cannot be decoded)"
    return f"{head}\n{described(kind, rows, key)}"


def described(kind: str, rows: pa.Table, key: dict[str, Any]) -> str:
    """The value in these rows of a kind's table as a few harmless lines; `key` has its run, tag and step."""
    return page(_BODIES.get(kind, _plain)(rows, key))


def _kind(reader: Reader, tag: str, run: str | None) -> str:
    table = overview(reader, "tags", run=run)
    kinds: dict[str, set[str]] = {}
    for name, kind in zip(values_of(table["tag"]), values_of(table["kind"]), strict=True):
        kinds.setdefault(name, set()).add(kind)
    names = Selection.of(tag).require(list(kinds), where=reader.path, others=lambda: reader.names)
    if len(names) > 1:
        raise several("tag", names)
    return next(kind for kind in _ORDER if kind in kinds[names[0]])


def _scalars(reader: Reader, tag: str, which: Which) -> str:
    import numpy as np

    step, run = which.pop("step", None), which.pop("run", None)
    step = None if step is None else whole("step", step)
    reading: Reading = which
    series = read_series(reader, tag, run, **reading)
    values = series.values
    steps = f"steps {series.steps.min():,} to {series.steps.max():,}"
    head = f"scalars · tag {printable(tag)} · {len(values):,} points, {steps}"
    if step is not None:
        at_step = np.flatnonzero(series.steps == step)
        if not len(at_step):
            near = int(series.steps[np.argmin(np.abs(series.steps - step))])
            raise SelectionError(f"{tag} has no value at step {step:,}; closest: {near:,}", path=reader.path)
        return f"{head}\nvalue {values[at_step[-1]]:.9g} at step {step:,}"
    known = values[~np.isnan(values)]
    lines = [head, f"last {values[-1]:.9g} at step {series.steps[-1]:,}"]
    if len(known):
        low, high = int(np.nanargmin(values)), int(np.nanargmax(values))
        lines.append(f"min  {values[low]:.9g} at step {series.steps[low]:,}")
        lines.append(f"max  {values[high]:.9g} at step {series.steps[high]:,}")
    if len(known) < len(values):
        lines.append(f"NaN  {len(values) - len(known):,} times")
    return "\n".join(lines)


def _text(rows: pa.Table, _key: dict[str, Any]) -> str:
    from tbq.kinds.texts import joined

    return joined(rows)


def _tensor(rows: pa.Table, _key: dict[str, Any]) -> str:
    import numpy as np

    from tbq.arrays import without_overflow
    from tbq.kinds.tensors import array, corner

    dtype, shape = rows["dtype"][0].as_py(), rows["shape"][0].as_py()
    if shape is None:
        return (
            f"{dtype or 'unknown'} tensor, cannot be decoded, {len(rows['data'][0].as_py() or b''):,} bytes"
        )
    values = array(dtype, shape, rows["data"][0].as_buffer())
    lines = [f"{dtype} {list(shape)}, {values.size:,} elements, {values.nbytes:,} bytes"]
    if values.size and values.dtype.kind in "fiub" and dtype != "bool":
        wide = values.astype(np.float64)
        finite = wide[np.isfinite(wide)]
        if finite.size:
            mean, std = (float(without_overflow(each, finite)) for each in (np.mean, np.std))
            lines.append(f"min {finite.min():.6g}  max {finite.max():.6g}  mean {mean:.6g}  std {std:.6g}")
        odd = wide.size - finite.size
        lines += [f"{odd:,} NaN or infinite"] if odd else []
    shown = corner(values)
    lines.append(np.array2string(shown, precision=5, threshold=300))
    if shown.size < values.size:
        lines.append(f"(the first {list(shown.shape)} of {list(values.shape)})")
    return "\n".join(lines)


def _histogram(rows: pa.Table, _key: dict[str, Any]) -> str:
    from tbq.kinds.histograms import HistogramTable, bars

    histogram = HistogramTable(rows, "histograms").histogram(0)
    if not len(histogram.count):
        return "(empty)"
    low, middle, high = histogram.quantiles([0.0, 0.5, 1.0])
    return f"{histogram.total:g} values from {low:.6g} to {high:.6g}, median {middle:.6g}\n{bars(histogram)}"


def _image(rows: pa.Table, key: dict[str, Any]) -> str:
    lines = []
    for row in rows.select(["index", "width", "height", "format", "data"]).to_pylist():
        size = f"{row['width']} × {row['height']}" if row["width"] else "unknown size"
        lines.append(
            f"[{row['index']}] {size} {row['format'] or 'of unknown format'}, {len(row['data']):,} bytes"
        )
    return "\n".join([*lines, _extract(key)])


def _audio(rows: pa.Table, key: dict[str, Any]) -> str:
    lines = []
    for row in rows.select(
        ["index", "sample_rate", "channels", "frames", "content_type", "data"]
    ).to_pylist():
        seconds = (
            f"{row['frames'] / row['sample_rate']:.3g} s" if row["sample_rate"] and row["frames"] else "?"
        )
        lines.append(
            f"[{row['index']}] {seconds}, {row['sample_rate'] or 0:g} Hz, {counted(row['channels'] or 0, 'channel')}, "
            f"{row['content_type']}, {len(row['data']):,} bytes"
        )
    return "\n".join([*lines, _extract(key)])


def _extract(key: dict[str, Any]) -> str:
    return (
        f"as files: tbq media LOGDIR --run {shell_word(key['run'])} --tag {shell_word(key['tag'])} "
        f"--steps {key['step']} -o DIR"
    )


def _plain(rows: pa.Table, _key: dict[str, Any]) -> str:
    from tbq.table.draw import text

    keys = ("run", "tag", "step", "wall_time")
    return text(rows.select([name for name in rows.column_names if name not in keys]), "rows")


_BODIES = {
    "texts": _text,
    "tensors": _tensor,
    "histograms": _histogram,
    "images": _image,
    "audio": _audio,
}
