"""SQL on the log: reading alone, with limits of time, memory and rows; and the tables that can be asked."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tbq.errors import QueryError, UsageError
from tbq.schema import schema
from tbq.server.children import Children, Job
from tbq.server.params import Params
from tbq.server.wire import FRAME, Answer, json_answer
from tbq.source.urls import is_remote
from tbq.text import is_text

if TYPE_CHECKING:
    from tbq.server.state import LiveLog
    from tbq.source.discover import Found, Run

MOST_ROWS = 10_000
_LONGEST = 100_000  # characters of a query
_DERIVED = ("wide", "summary")  # tables whose columns are tags


def run_query(log: LiveLog, query: Any, limit: Any, job: Job) -> Answer:
    """The result of a query as a frame; it runs in a process of its own."""
    if not isinstance(query, str) or len(query) > _LONGEST or not is_text(query):
        raise UsageError(f"query: want a text of at most {_LONGEST:,} characters")
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_ROWS:
        raise UsageError(f"limit: want a whole number from 1 to {MOST_ROWS:,}")
    found, origins = _found(log)
    with log.lock:
        rows = sum(count for _, kinds, count in log.index.totals() if "scalars" in kinds)
    reply = Children.of(log).ask(
        job, "run", rows, found=found, origins=origins, query=query, limit=limit, places=log.places,
        restarts=log.restarts, threads=log.threads, max_unpacked=log.max_unpacked,
    )  # fmt: skip
    return Answer(reply.body, FRAME)


def _found(log: LiveLog) -> tuple[Found, dict[str, str]]:
    """The files of the runs as they are now, and the URLs of those that are copies."""
    follower = log.follower
    runs: list[Run] = []
    origins: dict[str, str] = {}
    for run in list(follower.store.runs):
        if run.remote is not None:
            copies = {path: run.remote.path(path) if is_remote(path) else path for path in run.files}
            origins |= {copy: path for path, copy in copies.items() if copy != path}
            below = frozenset(copies[path] for path in run.below)
            run = run._replace(files=list(copies.values()), remote=None, below=below)
        runs.append(run)
    if not runs:
        raise QueryError("there are no event files yet", hint="wait, or see the log directory")
    return replace(follower.discovery.found, runs=runs, problems=[], remote=None), origins


def tables(log: LiveLog, _params: Params) -> Answer:
    """The tables that a query can ask, and their columns."""
    listed = []
    for name in _names(log):
        if name in _DERIVED:
            columns = [["run", "string"]]
        else:
            columns = [[field.name, _type(field.type)] for field in schema(name)]
        listed.append({"name": name, "columns": columns})
    with log.lock:
        tags = [tag for tag, kinds, _ in log.index.totals() if "scalars" in kinds][:200]
    wide = {"wide": [["run", "string"], ["step", "int64"], *([tag, "double"] for tag in tags)]}
    summary = {
        "summary": [
            ["run", "string"],
            *([f"{tag}{stat}", "double"] for tag in tags for stat in ("", ".min", ".max")),
        ]
    }
    for table in listed:
        table["columns"] = (wide | summary).get(str(table["name"]), table["columns"])
    return json_answer({"version": log.version, "tables": listed})


def _names(log: LiveLog) -> list[str]:
    """The names of the tables; who asks for them will soon send a query, whose process is there then."""
    if "tables" not in log.caches:
        log.caches["tables"] = json.loads(Children.of(log).ask(Job(), "tables").body)
    names: list[str] = log.caches["tables"]
    return names


def _type(kind: pa.DataType) -> str:
    return str(kind.value_type) if pa.types.is_dictionary(kind) else str(kind)
