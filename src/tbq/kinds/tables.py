"""Every table of a log by its name, with the class that adds methods for its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from tbq.arguments import keywords
from tbq.decode.options import SELECTED, Selected
from tbq.errors import UsageError
from tbq.kinds.overview import OVERVIEWS, overview
from tbq.kinds.values import locate, locate_all
from tbq.schema import columns_of
from tbq.table.scalars import scalars
from tbq.table.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tbq.arrow import Arrow
    from tbq.decode.reader import Reader
    from tbq.kinds.audio import AudioTable
    from tbq.kinds.histograms import HistogramTable
    from tbq.kinds.hparams import HparamTable
    from tbq.kinds.overview import TagTable
    from tbq.kinds.tensors import TensorTable
    from tbq.select import Names

# Table -> the class that adds methods for its rows.
_CLASSES = {
    "tensors": ("tbq.kinds.tensors", "TensorTable"),
    "histograms": ("tbq.kinds.histograms", "HistogramTable"),
    "audio": ("tbq.kinds.audio", "AudioTable"),
    "hparams": ("tbq.kinds.hparams", "HparamTable"),
    "tags": ("tbq.kinds.overview", "TagTable"),
    "summary": ("tbq.summary.table", "SummaryTable"),
}


def table_of(
    arrow: Arrow, kind: str, logdir: str | None = None, began: Mapping[str, float] | None = None
) -> Any:
    """The Table of that kind, with its methods."""
    import importlib

    module, name = _CLASSES.get(kind, ("tbq.table.table", "Table"))
    return getattr(importlib.import_module(module), name)(arrow, kind, logdir=logdir, began=began)


@overload
def table(
    reader: Reader, kind: Literal["tensors"], tag: Names = None, **selected: Unpack[Selected]
) -> TensorTable: ...
@overload
def table(
    reader: Reader, kind: Literal["histograms"], tag: Names = None, **selected: Unpack[Selected]
) -> HistogramTable: ...
@overload
def table(
    reader: Reader, kind: Literal["audio"], tag: Names = None, **selected: Unpack[Selected]
) -> AudioTable: ...
@overload
def table(
    reader: Reader, kind: Literal["hparams"], tag: Names = None, **selected: Unpack[Selected]
) -> HparamTable: ...
@overload
def table(
    reader: Reader, kind: Literal["tags"], tag: Names = None, **selected: Unpack[Selected]
) -> TagTable: ...
@overload
def table(reader: Reader, kind: str, tag: Names = None, **selected: Unpack[Selected]) -> Table: ...
def table(reader: Reader, kind: str, tag: Names = None, **selected: Unpack[Selected]) -> Any:
    """A table of a log; an argument that it does not support is an error."""
    from tbq import _core

    columns_of(kind)  # raises if there is no such table
    if kind in OVERVIEWS:
        return table_of(overview(reader, kind, tag, **selected), kind, reader.path, reader.began)
    keywords(f"log.{kind}", selected, SELECTED)
    if kind == "scalars":
        return scalars(reader, tag=tag, **selected)
    if kind not in _core.tables():
        raise UsageError(
            f"{kind} is not a table of a log", hint="log.write_media(path) writes it, with the files it lists"
        )
    values = locate(reader, kind, tag, **selected)
    return table_of(values.table(), kind, reader.path, reader.began)


def tables(reader: Reader, tag: Names = None, **selected: Unpack[Selected]) -> dict[str, Table]:
    """Every table of values that has rows, by name, from two reads of the files."""
    from tbq import _core

    keywords("log.tables", selected, SELECTED)
    out: dict[str, Table] = {}
    values = locate_all(reader, ["scalars", *_core.tables()], tag, **selected)
    if values.pop("scalars", None) is not None:
        out["scalars"] = scalars(reader, tag=tag, **selected)
    for name, of_kind in values.items():
        out[name] = table_of(of_kind.table(), name, reader.path, reader.began)
    return {name: each for name, each in out.items() if len(each)}
