"""Histograms on one grid, precision and recall, statistics of tensors, meshes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tbq.arrays import without_overflow
from tbq.errors import TbqError
from tbq.kinds.histograms import Histogram, HistogramTable, shared_edges, solid
from tbq.kinds.tensors import array, corner
from tbq.server.answers.media import keys, located, rows_at
from tbq.server.http.encoding import Answer, beginning, frame, json_answer
from tbq.server.http.params import NotFoundError

if TYPE_CHECKING:
    from tbq.server.http.params import Params
    from tbq.server.live_log import LiveLog

_QUANTILES = (0.0, 0.01, 0.25, 0.5, 0.75, 0.99, 1.0)


def histograms(log: LiveLog, params: Params) -> Answer:
    """All histograms of a tag in one run, on one grid; if they are many, neighbouring steps are merged."""
    run, tag = params.run(log), params.text("tag")
    bins, most = params.whole("bins", 60, 1, 500), params.whole("most", 200, 1, 1000)
    values = located(log, run, "histograms")
    listed = keys(values, tag)
    if not listed:
        raise NotFoundError(f"this run has no histograms of the tag {tag[:200]!r}")
    table = HistogramTable(values.arrow([row for _, _, row in listed]), "histograms")
    arrow = table.to_arrow()
    steps, drawn = [], []
    for place, step in enumerate(arrow["step"].to_pylist()):
        if arrow["left"][place].is_valid:
            full = solid(table.histogram(place))
            if full is not None:
                steps.append(step)
                drawn.append(full)
    if not drawn:
        return frame({"steps": np.zeros(0), "edges": np.zeros(0), "counts": np.zeros(0)},
                     tag=tag, merged=1, total=len(listed))  # fmt: skip
    edges = shared_edges(drawn, bins)
    counts = np.array([each.over(edges) for each in drawn])
    merged = -(-len(drawn) // most)
    starts = np.arange(0, len(drawn), merged)
    last = np.minimum(starts + merged, len(drawn)) - 1
    return frame(
        {
            "steps": np.array(steps, np.int64)[last],
            "first_steps": np.array(steps, np.int64)[starts],
            "edges": edges,
            "counts": np.add.reduceat(counts, starts, axis=0).ravel(),
            "quantiles": np.array([_quantiles(drawn[i]) for i in last]).ravel(),
        },
        tag=tag, bins=bins, merged=merged, total=len(listed), levels=_QUANTILES, version=log.version,
    )  # fmt: skip


def _quantiles(histogram: Histogram) -> list[float]:
    return [float(each) for each in histogram.quantiles(_QUANTILES)]


def pr_curve(log: LiveLog, params: Params) -> Answer:
    """One precision-recall curve."""
    table = rows_at(log, params, "pr_curves")
    names = ("threshold", "precision", "recall", "true_pos", "false_pos", "true_neg", "false_neg")
    columns = {
        name: np.array([np.nan if value is None else value for value in table[name].to_pylist()], np.float64)
        for name in names
    }
    return frame(columns, step=table["step"][0].as_py(), wall_time=table["wall_time"][0].as_py())


def tensor(log: LiveLog, params: Params) -> Answer:
    """The type, shape, statistics and first elements of a tensor."""
    kind = "tensors"
    with log.lock:
        if not log.index.having(kind, params.text("tag"), [params.run(log)]):
            kind = "others"
    row = rows_at(log, params, kind).to_pylist()[0]
    about: dict[str, Any] = {name: row.get(name) for name in ("step", "wall_time", "dtype", "shape")}
    if row.get("shape") is None or row.get("data") is None:
        return json_answer({**about, "error": "the tensor cannot be decoded"})
    try:
        values = array(row["dtype"], row["shape"], row["data"])
    except (TbqError, ValueError) as wrong:
        return json_answer({**about, "error": getattr(wrong, "message", "the tensor cannot be decoded")})
    about["elements"], about["bytes"] = int(values.size), int(values.nbytes)
    if values.dtype == object:
        about["corner"] = [
            beginning(bytes(each).decode("utf-8", "replace"), 1000) for each in values.ravel()[:100]
        ]
        return json_answer(about)
    integral = values.dtype.kind in "iub"  # their first elements, minimum and maximum are exact
    first = corner(values, 8)
    about["corner"] = (
        None if values.dtype.kind == "c" else (first if integral else first.astype(np.float64)).tolist()
    )
    if values.dtype.kind not in "c":
        about |= _statistics(values.astype(np.float64))
    if integral and values.size:
        about |= {"min": int(values.min()), "max": int(values.max())}
    return json_answer(about)


def _statistics(values: Any) -> dict[str, Any]:
    finite = values[np.isfinite(values)]
    about: dict[str, Any] = {"nan": int(np.isnan(values).sum()), "inf": int(np.isinf(values).sum())}
    if finite.size:
        with np.errstate(all="ignore"):
            low, *_, high = quantiles = np.quantile(finite, _QUANTILES).tolist()
            mean, std = (float(without_overflow(each, finite)) for each in (np.mean, np.std))
            about |= {
                "min": low, "max": high, "mean": mean, "std": std,
                "zeros": int((finite == 0).sum()), "quantiles": quantiles, "levels": _QUANTILES,
            }  # fmt: skip
            edges = np.linspace(low, high, 41) if low < high else np.array([low - 0.5, high + 0.5])
            about["histogram"] = {"edges": edges.tolist(), "counts": np.histogram(finite, edges)[0].tolist()}
    return about


def mesh(log: LiveLog, params: Params) -> Answer:
    """The parts of a mesh, each with its type, shape and statistics."""
    table = rows_at(log, params, "meshes")
    parts = []
    for row in table.select(["component", "dtype", "shape", "data"]).to_pylist():
        part = {name: row[name] for name in ("component", "dtype", "shape")}
        if row["data"] is not None and row["shape"] is not None:
            try:
                part |= _statistics(array(row["dtype"], row["shape"], row["data"]).astype(np.float64))
            except (TbqError, ValueError):
                part["error"] = "cannot be decoded"
        parts.append(part)
    return json_answer({"step": table["step"][0].as_py(), "parts": parts})
