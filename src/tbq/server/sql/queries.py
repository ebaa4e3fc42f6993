"""Read-only SQL on the log, with limits of time, memory and rows; and the list of tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tbq.errors import QueryError, UsageError
from tbq.schema import schema
from tbq.server.answers.points import attachment
from tbq.server.http.encoding import CSV, FRAME, Answer, json_answer
from tbq.server.http.params import Params
from tbq.server.sql.worker_pool import Job
from tbq.text import is_text

if TYPE_CHECKING:
    from tbq.server.live_log import LiveLog
    from tbq.source.discover import Found, Run

MOST_ROWS = 10_000
_LONGEST = 100_000  # characters of the longest query
_DERIVED = ("wide", "summary")  # tables with one column per tag
_FIRST = ("summary", "scalars", "runs", "wide", "tags", "hparams")
_ALWAYS = ("runs", "tags", "files")  # tables about the log itself


def run_query(log: LiveLog, query: Any, limit: Any, job: Job, form: Any = "frame") -> Answer:
    """The result of a query as a frame or as CSV. The query runs in another process."""
    if not isinstance(query, str) or len(query) > _LONGEST or not is_text(query):
        raise UsageError(f"query: want a text of at most {_LONGEST:,} characters")
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_ROWS:
        raise UsageError(f"limit: want a whole number from 1 to {MOST_ROWS:,}")
    if form not in ("frame", "csv"):
        raise UsageError("format: want frame or csv")
    found, origins = found_files(log)
    with log.lock:
        rows = sum(count for _, kinds, count in log.index.totals() if "scalars" in kinds)
    reply = log.workers.ask(
        job, "run", rows, found=found, origins=origins, query=query, limit=limit, places=log.places,
        restarts=log.restarts, threads=log.threads, max_unpacked=log.max_unpacked, csv=form == "csv",
    )  # fmt: skip
    return (
        Answer(reply.body, FRAME)
        if form == "frame"
        else Answer(reply.body, CSV, headers=attachment("query.csv"))
    )


def found_files(log: LiveLog) -> tuple[Found, dict[str, str]]:
    """The current files of the runs, and the URLs of copies of remote files."""
    follower = log.follower
    runs: list[Run] = []
    origins: dict[str, str] = {}
    for run in list(follower.store.runs):
        if run.remote is not None:
            copies = {path: run.remote.path(path) if run.remote.has(path) else path for path in run.files}
            origins |= {copy: path for path, copy in copies.items() if copy != path}
            below = frozenset(copies[path] for path in run.below)
            run = run._replace(files=list(copies.values()), remote=None, below=below)
        runs.append(run)
    if not runs:
        raise QueryError("there are no event files yet", hint="wait, or check the log directory")
    return follower.discovery.found._replace(runs=runs, problems=[], remote=None), origins


def tables(log: LiveLog, _params: Params) -> Answer:
    """The tables for queries, and their columns."""
    listed: list[dict[str, Any]] = []
    for name in _names(log):
        if name in _DERIVED:
            columns = [["run", "string"]]
        else:
            columns = [[field.name, _type(field.type)] for field in schema(name)]
        listed.append({"name": name, "columns": columns})
    with log.lock:
        totals = list(log.index.totals())
        hparams = sorted(
            {name for run in log.shown() if (each := log.hparams.get(run)) for name in each.values}
        )
    tags = [tag for tag, kinds, _ in totals if "scalars" in kinds][:200]
    filled = {*_ALWAYS, *(kind for _, kinds, _ in totals for kind in kinds)}
    filled |= {"hparams"} if hparams else set()
    filled |= {"problems"} if log.follower.problems else set()
    filled |= {*_DERIVED} if tags or hparams else set()
    wide = {"wide": [["run", "string"], ["step", "int64"], *([tag, "double"] for tag in tags)]}
    summary = {
        "summary": [
            ["run", "string"],
            *([f"hparam.{name}", "hparam"] for name in hparams[:100]),
            *([f"{tag}{stat}", "double"] for tag in tags for stat in ("", ".min", ".max")),
        ]
    }
    for table in listed:
        table["columns"] = (wide | summary).get(str(table["name"]), table["columns"])
        table["empty"] = table["name"] not in filled
    # Tables with data come first; of these, the most used ones.
    listed.sort(key=lambda table: (table["empty"], _place(str(table["name"]))))
    return json_answer({"version": log.version, "tables": listed})


def _place(name: str) -> int:
    return _FIRST.index(name) if name in _FIRST else len(_FIRST)


def _names(log: LiveLog) -> list[str]:
    """The names of the tables, from the process that the next query will need."""
    return log.cache.of("tables", None, lambda: json.loads(log.workers.ask(Job(), "tables").body))


def _type(kind: pa.DataType) -> str:
    return str(kind.value_type) if pa.types.is_dictionary(kind) else str(kind)
