"""Histograms on one grid, precision and recall, statistics of tensors, meshes, graphs as trees, hyperparameters."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

from tbq.arrays import without_overflow
from tbq.columns.codes import values_of
from tbq.errors import TbqError
from tbq.kinds.histograms import Histogram, HistogramTable, shared_edges, solid
from tbq.kinds.tensors import array, corner
from tbq.server.media import keys, located, rows_at
from tbq.server.params import NotFoundError
from tbq.server.wire import Answer, frame, json_answer

if TYPE_CHECKING:
    from tbq.server.params import Params
    from tbq.server.state import LiveLog

_CHILDREN = 2000  # of one node that are listed
_QUANTILES = (0.0, 0.01, 0.25, 0.5, 0.75, 0.99, 1.0)


def histograms(log: LiveLog, params: Params) -> Answer:
    """All histograms of a tag in one run, on one grid; many steps are merged, none is left out."""
    run, tag = params.run(log), params.text("tag")
    bins, most = params.whole("bins", 60, 1, 500), params.whole("most", 200, 1, 1000)
    listed = keys(log, run, "histograms", tag)
    if not listed:
        raise NotFoundError(f"this run has no histograms of the tag {tag[:200]!r}")
    table = HistogramTable(located(log, run, "histograms").arrow([row for _, _, row in listed]), "histograms")
    arrow = table.to_arrow()
    steps, walls, drawn = [], [], []
    columns = zip(arrow["step"].to_pylist(), arrow["wall_time"].to_pylist(), strict=True)
    for place, (step, wall) in enumerate(columns):
        if arrow["left"][place].is_valid:
            full = solid(table.histogram(place))
            if full is not None:
                steps.append(step)
                walls.append(wall)
                drawn.append(full)
    if not drawn:
        return frame({"steps": np.zeros(0), "wall": np.zeros(0), "edges": np.zeros(0), "counts": np.zeros(0)},
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
            "wall": np.array(walls, np.float64)[last],
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
    """What a tensor is, its statistics, and its first elements."""
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
            str(bytes(each).decode("utf-8", "replace"))[:1000] for each in values.ravel()[:100]
        ]
        return json_answer(about)
    integral = values.dtype.kind in "iub"  # their first elements, least and largest are exact
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
    """The parts of a mesh: what each is, and its extent."""
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


def graph(log: LiveLog, params: Params) -> Answer:
    """The nodes directly below a name of a graph, with how many there are below each; level by level."""
    run, under = params.run(log), params.text("under", "")
    tree = _tree(log, run, params.optional("tag"))
    if tree is None:
        raise NotFoundError("this run has no graph that can be read")
    node: dict[str, Any] | None = tree
    for part in [part for part in under.split("/") if part]:
        node = node["children"].get(part) if node is not None else None
    if node is None:
        raise NotFoundError(f"the graph has no node below {under[:200]!r}")
    below = sorted(node["children"].items(), key=lambda item: (-item[1]["count"], item[0]))
    listed = [
        {
            "name": name,
            "path": f"{under.strip('/')}/{name}".strip("/"),
            "count": child["count"],
            "leaf": not child["children"],
            "op": child["op"],
            "inputs": child["inputs"][:100],
            "ops": dict(sorted(child["ops"].items(), key=lambda item: -item[1])[:8]),
        }
        for name, child in below[:_CHILDREN]
    ]
    return json_answer(
        {"under": under, "count": node["count"], "children": listed, "more": max(len(below) - _CHILDREN, 0)}
    )


def _tree(log: LiveLog, run: str, tag: str | None) -> dict[str, Any] | None:
    """The nodes of a run's last graph as a tree by the parts of their names."""
    key = run, tag, log.versions.get(run)
    with log.lock:
        cache: OrderedDict[Any, Any] = log.caches.setdefault("graphs", OrderedDict())
        if key in cache:
            return dict(cache[key]) if cache[key] is not None else None
    values = located(log, run, "nodes")
    table = values.arrow()
    if tag is None and len(table):
        tag = values_of(table["tag"])[-1]
    root = _node()
    columns = (values_of(table[name]) for name in ("tag", "name", "op", "inputs", "function"))
    for of_tag, name, op, inputs, function in zip(*columns, strict=True):
        if of_tag != tag:
            continue
        node = root
        node["count"] += 1
        parts = [
            *([f"function {function}"] if function else []),
            *(part for part in (name or "?").split("/")[:64]),
        ]
        for part in parts:
            node["ops"][op] = node["ops"].get(op, 0) + 1
            node = node["children"].setdefault(part, _node())
            node["count"] += 1
        node["op"], node["inputs"] = op, list(inputs or [])
    tree = root if root["count"] else None
    with log.lock:
        cache[key] = tree
        while len(cache) > 4:
            cache.popitem(last=False)
    return tree


def _node() -> dict[str, Any]:
    return {"count": 0, "children": {}, "op": None, "inputs": [], "ops": {}}


def hparams(log: LiveLog, _params: Params) -> Answer:
    """The hyperparameters: their names, types and values by run, and the metrics that experiments name."""
    rows = log.shown()
    with log.lock:
        version = log.version
        given = {run: log.hparams[run] for run in rows if run in log.hparams}
        wanted = [run for run in log.hparams if run in log.states]
    values = {run: dict(each.values) for run, each in given.items()}
    listed = []
    for name in sorted({name for of_run in values.values() for name in of_run}):
        there = [of_run[name] for of_run in values.values() if name in of_run]
        kinds = {
            "bool" if isinstance(each, bool) else "number" if isinstance(each, float) else "string"
            for each in there
        }
        kind = kinds.pop() if len(kinds) == 1 else "string"
        listed.append({"name": name, "type": kind, "runs": len(there), "values": len(set(map(str, there)))})
    return json_answer(
        {
            "version": version,
            "hparams": listed,
            "metrics": _metrics(log, wanted),
            "runs": [
                {
                    "id": log.id_of(run),
                    "values": of_run,
                    "group": given[run].group,
                    "status": given[run].status,
                }
                for run, of_run in values.items()
            ],
        }
    )


def _metrics(log: LiveLog, runs: list[str]) -> list[dict[str, Any]]:
    from tbq.kinds.values import Values

    if not runs:
        return []
    key = log.version_of(runs)
    with log.lock:
        cached = log.caches.get("hparam_metrics")
    if cached is not None and cached[0] == key:
        return list(cached[1])
    result, known = log.follower.store.of_runs("hparams", runs)
    table = Values(log.follower.reader, "hparam_metrics", result, known, None, "ignore").arrow()
    metrics: dict[str, dict[str, Any]] = {}
    columns = (values_of(table[name]) for name in ("group", "name", "display_name", "description"))
    for group, name, display, description in zip(*columns, strict=True):
        tag = f"{group}/{name}" if group else name
        metrics.setdefault(tag, {"tag": tag, "display_name": display, "description": description})
    with log.lock:
        log.caches["hparam_metrics"] = key, list(metrics.values())
    return list(metrics.values())
