"""`ROUTES`: each path of the API, its parameters, and the function that answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from tbq.errors import SelectionError, TbqError, UsageError, collected_warnings
from tbq.server.http.encoding import Answer, json_answer
from tbq.server.http.params import BusyError, NotFoundError, Params, TooMuchError

if TYPE_CHECKING:
    from tbq.server.live_log import LiveLog
    from tbq.server.sql.worker_pool import Job


class Route(NamedTuple):
    """The function that answers, as a path below `tbq.server`; imported at its first use."""

    place: str
    params: tuple[str, ...] = ()

    def answer(self, log: LiveLog, params: Params) -> Answer:
        """The answer to a request."""
        module, _, name = self.place.rpartition(".")
        function: Callable[[LiveLog, Params], Answer] = getattr(import_module(f"tbq.server.{module}"), name)
        return function(log, params)


# Answers ignore `mark`: it gives each value its own address, also if a step is logged twice.
ROUTES: dict[str, Route] = {
    "state": Route("answers.runs.state"),
    "runs": Route("answers.runs.runs"),
    "tags": Route("answers.runs.tags"),
    "groups": Route("answers.groups.groups", ("by",)),
    "curves": Route(
        "answers.curves.curves",
        ("tag", "runs", "x", "low", "high", "width", "smooth", "group", "band", "log"),
    ),
    "metrics": Route("answers.metrics.metrics", ("columns",)),
    "filter": Route("sql.filters.filter_runs", ("where", "maybe")),
    "summary.csv": Route("sql.filters.summary_csv", ("runs", "columns", "group")),
    "series": Route("answers.media.series", ("kind", "tag", "runs")),
    "image": Route("answers.media.image", ("run", "tag", "step", "index", "mark")),
    "audio": Route("answers.media.audio", ("run", "tag", "step", "index", "mark")),
    "waveform": Route("answers.media.waveform", ("run", "tag", "step", "index", "width", "mark")),
    "text": Route("answers.media.text", ("run", "tag", "step", "mark", "whole")),
    "histograms": Route("answers.values.histograms", ("run", "tag", "bins", "most")),
    "pr": Route("answers.values.pr_curve", ("run", "tag", "step", "mark")),
    "tensor": Route("answers.values.tensor", ("run", "tag", "step", "mark")),
    "mesh": Route("answers.values.mesh", ("run", "tag", "step", "mark")),
    "graph": Route("answers.graphs.graph", ("run", "tag", "under", "mark")),
    "hparams": Route("answers.hparams.hparams"),
    "configurations": Route("answers.decisions.configurations", ("by", "tag", "stat", "runs")),
    "importance": Route("answers.decisions.importance", ("tag", "stat", "runs")),
    "health": Route("answers.health.health", ("wait",)),
    "explain": Route("answers.health.explain", ("code",)),
    "command": Route(
        "answers.plot_command.command",
        ("tag", "runs", "x", "low", "high", "smooth", "group", "band", "log", "width", "entire"),
    ),
    "views": Route("answers.views.views"),
    "schema": Route("sql.queries.tables"),
    "nearest": Route("answers.points.nearest", ("tag", "runs", "x", "axis", "smooth")),
    "points": Route("answers.points.points", ("tag", "runs", "format")),
}


def prepare() -> None:
    """Import the modules that requests need, so that the first requests need not wait."""
    for route in ROUTES.values():
        import_module(f"tbq.server.{route.place.rpartition('.')[0]}")


def answer(log: LiveLog, path: str, pairs: Iterable[tuple[str, str]], job: Job | None = None) -> Answer:
    """The reply to `api/PATH?…`; errors are replies too. `job` ends if the client disconnects."""
    route = ROUTES.get(path)
    try:
        if route is None:
            raise NotFoundError(f"no such address: api/{path[:100]}")
        with log.answering(), collected_warnings():
            return route.answer(log, Params(pairs, route.params, job))
    except TbqError as wrong:
        return failed(log, wrong)
    except MemoryError:
        return failed(log, TooMuchError("not enough memory for this request"))


def query(log: LiveLog, body: bytes, job: Job) -> Answer:
    """The reply to a query in SQL."""
    try:
        try:
            request = json.loads(body)
        except (ValueError, RecursionError):
            request = None
        if not isinstance(request, dict) or not {"query"} <= set(request) <= {"query", "limit", "format"}:
            raise UsageError('invalid request, want JSON: {"query": "select …", "limit": 1000}')
        from tbq.server.sql.queries import MOST_ROWS, run_query

        limit, form = request.get("limit", MOST_ROWS), request.get("format", "frame")
        return run_query(log, request["query"], limit, job, form)
    except TbqError as wrong:
        return failed(log, wrong)
    except MemoryError:
        return failed(log, TooMuchError("not enough memory for this query"))


def failed(log: LiveLog, wrong: TbqError) -> Answer:
    """An error as a reply, without paths of this machine."""
    kinds: tuple[tuple[type[TbqError], int], ...] = (
        (NotFoundError, 404), (TooMuchError, 413), (BusyError, 429), (SelectionError, 404),
    )  # fmt: skip
    status = next((status for kind, status in kinds if isinstance(wrong, kind)), 400)
    hint = None if wrong.hint is None else log.without_paths(wrong.hint)
    return json_answer({"error": log.without_paths(wrong.message), "hint": hint}, status)
