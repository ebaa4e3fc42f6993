"""Graphs as trees: level by level, as the page opens them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tbq.columns.codes import values_of
from tbq.server.answers.media import located
from tbq.server.http.encoding import Answer, json_answer
from tbq.server.http.params import NotFoundError

if TYPE_CHECKING:
    from tbq.server.http.params import Params
    from tbq.server.live_log import LiveLog

_CHILDREN = 2000  # listed of one node


def graph(log: LiveLog, params: Params) -> Answer:
    """The nodes directly below a name, each with the number of nodes below it."""
    run, under = params.run(log), params.text("under", "")
    tag = params.optional("tag")
    tree = log.cache.of("graphs", (run, tag, log.versions.get(run)), lambda: _tree(log, run, tag), limit=4)
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
    """The nodes of a run's last graph, as a tree by the parts of their names."""
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
    return root if root["count"] else None


def _node() -> dict[str, Any]:
    return {"count": 0, "children": {}, "op": None, "inputs": [], "ops": {}}
