"""One value of a tag: at a step, or the last."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from tbq.arguments import bad, keywords, whole
from tbq.arrow import to_pyarrow
from tbq.decode.options import WHICH, Reading, Which
from tbq.errors import DamageError, SelectionError
from tbq.kinds.values import Values, locate

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from PIL import Image

    from tbq.decode.reader import Reader
    from tbq.kinds.histograms import Histogram
    from tbq.kinds.meshes import Mesh
    from tbq.select import Names

# Table -> the method that returns one of its values.
_METHODS = {
    "tensors": "tensor", "others": "tensor", "histograms": "histogram", "images": "image", "audio": "waveform",
    "texts": "text", "meshes": "mesh",
}  # fmt: skip


class FoundValues(NamedTuple):
    """The values of a tag, and the wanted step; None for the last."""

    values: Values
    step: int | None

    def row(self) -> pa.Table:
        """The rows of the value."""
        return to_pyarrow(self.values.at(self.step)[1])


def find(reader: Reader, kind: str, tag: Names, **which: Unpack[Which]) -> FoundValues:
    """The values of a tag at a step; without any there, at every step, so that an error can name other steps."""
    index = ("index",) if kind in ("images", "audio") else ()
    keywords(f"log.{_METHODS.get(kind, 'show')}", which, (*index, *WHICH))
    step, run = which.pop("step", None), which.pop("run", None)
    reading: Reading = which
    step = None if step is None else whole("step", step)
    values = locate(reader, kind, tag, run, step, **reading)
    if step is not None and not len(values):
        values = locate(reader, kind, tag, run, None, **reading)
    return FoundValues(values, step)


def tensor(reader: Reader, tag: str, **which: Unpack[Which]) -> NDArray[Any]:
    """One tensor, of any plugin, known or not."""
    from tbq.kinds.tensors import array

    try:
        row = find(reader, "tensors", tag, **which).row()
    except SelectionError as nothing:
        row = _unknown_tensor(reader, tag, nothing, which)
    if row["shape"][0].as_py() is None:
        raise DamageError("the tensor cannot be decoded", hint="see log.problems for why", code="bad_tensor")
    return array(row["dtype"][0].as_py(), row["shape"][0].as_py(), row["data"][0].as_buffer())


def _unknown_tensor(reader: Reader, tag: str, nothing: SelectionError, which: Which) -> pa.Table:
    """A tensor of an unknown plugin; without any, the error of the first search."""
    quiet: Which = {**which, "on_error": "ignore"}  # the first search has reported these files
    try:
        values = find(reader, "others", tag, **quiet)
    except SelectionError:
        raise nothing from None
    row = values.row()
    if row["form"][0].as_py() != "tensor":
        raise nothing
    return row


def histogram(reader: Reader, tag: str, **which: Unpack[Which]) -> Histogram:
    """One histogram."""
    from tbq.kinds.histograms import HistogramTable

    row = find(reader, "histograms", tag, **which).row()
    return HistogramTable(row, "histograms").histogram(0)


def image(reader: Reader, tag: str, index: int = 0, **which: Unpack[Which]) -> Image.Image:
    """One image; `index` picks one of several logged at once."""
    from tbq.export.pictures import picture

    rows = find(reader, "images", tag, **which).row()
    return picture(_at(rows, index, "images")["data"][0].as_buffer())


def waveform(reader: Reader, tag: str, index: int = 0, **which: Unpack[Which]) -> tuple[int, NDArray[Any]]:
    """One audio clip as `(rate, samples)`."""
    from tbq.kinds.audio import waveform

    rows = find(reader, "audio", tag, **which).row()
    return waveform(_at(rows, index, "audio clips")["data"][0].as_py())


def _at(rows: pa.Table, index: int, what: str) -> pa.Table:
    if not 0 <= whole("index", index) < len(rows):
        raise bad("index", index, f"0 to {len(rows) - 1}: this event has {len(rows):,} {what}")
    return rows.slice(index, 1)


def text(reader: Reader, tag: str, **which: Unpack[Which]) -> str:
    """One text; a text tensor as lines, or as a Markdown table."""
    from tbq.kinds.texts import joined

    values, step = find(reader, "texts", tag, **which)
    return joined(values.at(step)[1])


def mesh(reader: Reader, name: str, **which: Unpack[Which]) -> Mesh:
    """One mesh by its logged name."""
    from tbq.kinds.meshes import SUFFIX, mesh

    tags = f"re:{re.escape(name)}{SUFFIX.pattern}"
    try:
        values, step = find(reader, "meshes", tags, **which)
    except SelectionError as nothing:
        message = nothing.message.replace(f"tag matches {tags!r}", f"mesh is called {name!r}")
        raise SelectionError(message, path=nothing.path, hint=nothing.hint) from None
    failure: DamageError | None = None
    for rows in values.parts(step):
        try:
            return mesh(values.arrow(rows))
        except DamageError as damage:  # an earlier mesh may be readable
            failure = failure or damage
    assert failure is not None
    raise failure
