"""The series of a run in TensorBoard's terms: one for each tag, with a plugin and a data class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tbq.following.listing import Listed

SCALAR, TENSOR, BLOB_SEQUENCE = 1, 2, 3  # the numbers of SummaryMetadata.data_class

#: TensorBoard's tag for a graph.
RUN_GRAPH = "__run_graph__"

# How TensorBoard converts values that are not tensors: their plugin, and its content, which says "converted".
_CONVERTED = {
    "simple_value": ("scalars", b""),
    "histo": ("histograms", b""),
    "image": ("images", b"\x10\x01"),
    "audio": ("audio", b"\x10\x0b\x18\x01"),
}

# The data class of values without one in their metadata.
DATA_CLASSES = {
    "scalars": SCALAR,
    "histograms": TENSOR, "text": TENSOR, "hparams": TENSOR, "pr_curves": TENSOR, "mesh": TENSOR,
    "custom_scalars": TENSOR,
    "images": BLOB_SEQUENCE, "audio": BLOB_SEQUENCE, "graph_run_metadata": BLOB_SEQUENCE,
    "graph_run_metadata_graph": BLOB_SEQUENCE, "graph_keras_model": BLOB_SEQUENCE,
}  # fmt: skip

# Kinds that tbq stores as numbers, not in their logged form.
_KEPT_AS = {"scalars": SCALAR, "histograms": TENSOR}


class IndexedSeries(NamedTuple):
    """One series; `source` is its tag in tbq's tables."""

    tag: str
    source: str
    listed: Listed
    plugin: str
    content: bytes
    display_name: str
    description: str
    data_class: int  # 0 without a class: then no list includes it


def index_run(listed: Iterable[Listed]) -> dict[str, IndexedSeries]:
    """The series of a run by tag. If a tag has values of several kinds, the first kind counts."""
    by_tag: dict[str, IndexedSeries] = {}
    for each in listed:
        series = _series(each)
        if series is None:
            continue
        other = by_tag.get(series.tag)
        if other is None or _precedes(series, other):
            by_tag[series.tag] = series
    return by_tag


def _precedes(a: IndexedSeries, b: IndexedSeries) -> bool:
    # For tbq, values of a scalar tag that are not numbers are tensors; the tag is still a scalar.
    if (a.listed.kind == "scalars") != (b.listed.kind == "scalars") and a.plugin == b.plugin:
        return a.listed.kind == "scalars"
    return a.listed.first_wall_time < b.listed.first_wall_time


def _series(listed: Listed) -> IndexedSeries | None:
    tag = listed.tag
    # A scalar that began as a simple value stays one, whatever came later.
    began_simple = listed.began_as == "simple_value" or not listed.has_metadata
    field = "simple_value" if listed.kind == "scalars" and began_simple else listed.field
    if field in _CONVERTED:
        plugin, content = _CONVERTED[field]
        # TensorBoard adds metadata to each value that it converts, so the first value's metadata counts.
        blank = listed.began_as == field and not listed.began_with_metadata
        name, description = ("", "") if blank else (listed.display_name, listed.description)
        return IndexedSeries(
            tag, tag, listed, plugin, content, name or tag, description, DATA_CLASSES[plugin]
        )
    if listed.field == "graph_def":
        return IndexedSeries(RUN_GRAPH, tag, listed, "graphs", b"", "", "", BLOB_SEQUENCE)
    if listed.field == "run_metadata":
        return IndexedSeries(tag, tag, listed, "graph_tagged_run_metadata", b"", "", "", BLOB_SEQUENCE)
    if listed.field not in ("tensor", "none") or not listed.has_metadata:
        return None
    data_class = listed.data_class or DATA_CLASSES.get(listed.plugin, 0)
    if data_class != _KEPT_AS.get(listed.kind, data_class):  # not stored in a form that can be returned
        data_class = 0
    names = listed.display_name, listed.description
    return IndexedSeries(tag, tag, listed, listed.plugin, listed.content, *names, data_class)
