"""What the page may ask: each path, the parameters it takes, and the function that answers."""

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
    """The function that answers, as `module.function` of this stage: imported when it is first asked."""

    place: str
    params: tuple[str, ...] = ()

    def answer(self, log: LiveLog, params: Params) -> Answer:
        """The answer to a request."""
        module, _, name = self.place.rpartition(".")
        function: Callable[[LiveLog, Params], Answer] = getattr(import_module(f"tbq.server.{module}"), name)
        return function(log, params)


# `mark` asks nothing: it makes another address of another value at the same step.
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
    "summary.csv": Route("sql.filters.summary_csv", ("runs", "columns")),
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
        ("tag", "runs", "x", "low", "high", "smooth", "group", "band", "log", "width"),
    ),
    "schema": Route("sql.queries.tables"),
    "nearest": Route("answers.points.nearest", ("tag", "runs", "x", "axis", "smooth")),
    "points": Route("answers.points.points", ("tag", "runs", "format")),
}


def prepare() -> None:
    """Import what requests will need, so that none of them has to wait for it."""
    for route in ROUTES.values():
        import_module(f"tbq.server.{route.place.rpartition('.')[0]}")


def answer(log: LiveLog, path: str, pairs: Iterable[tuple[str, str]], job: Job | None = None) -> Answer:
    """The reply to `api/PATH?…`; an error is a reply too. `job` says if nobody waits for it any more."""
    route = ROUTES.get(path)
    try:
        if route is None:
            raise NotFoundError(f"no such address: api/{path[:100]}")
        with log.answering(), collected_warnings():
            return route.answer(log, Params(pairs, route.params, job))
    except TbqError as wrong:
        return failed(log, wrong)
    except MemoryError:
        return failed(log, TooMuchError("there is not enough memory for this"))


def query(log: LiveLog, body: bytes, job: Job) -> Answer:
    """The reply to a query in SQL."""
    try:
        try:
            given = json.loads(body)
        except (ValueError, RecursionError):
            given = None
        if not isinstance(given, dict) or not set(given) <= {"query", "limit"} or "query" not in given:
            raise UsageError('got something else, want JSON: {"query": "select …", "limit": 1000}')
        from tbq.server.sql.queries import MOST_ROWS, run_query

        return run_query(log, given["query"], given.get("limit", MOST_ROWS), job)
    except TbqError as wrong:
        return failed(log, wrong)
    except MemoryError:
        return failed(log, TooMuchError("there is not enough memory for this query"))


def failed(log: LiveLog, wrong: TbqError) -> Answer:
    """An error as a reply, without where on this machine it was."""
    kinds: tuple[tuple[type[TbqError], int], ...] = (
        (NotFoundError, 404), (TooMuchError, 413), (BusyError, 429), (SelectionError, 404),
    )  # fmt: skip
    status = next((status for kind, status in kinds if isinstance(wrong, kind)), 400)
    hint = None if wrong.hint is None else log.without_paths(wrong.hint)
    return json_answer({"error": log.without_paths(wrong.message), "hint": hint}, status)
