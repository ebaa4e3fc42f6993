"""What the page may ask: each path, the parameters it takes, and the function that answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from tbq.errors import SelectionError, TbqError
from tbq.serve import curves, runs
from tbq.serve.params import BusyError, NotFoundError, Params, TooMuchError
from tbq.serve.wire import Answer, json_answer

if TYPE_CHECKING:
    from tbq.serve.state import LiveLog


class Route(NamedTuple):
    answer: Callable[[LiveLog, Params], Answer]
    params: tuple[str, ...] = ()


ROUTES: dict[str, Route] = {
    "state": Route(runs.state),
    "runs": Route(runs.runs),
    "tags": Route(runs.tags),
    "curves": Route(curves.curves, ("tag", "runs", "x", "low", "high", "width", "smooth")),
}


def answer(log: LiveLog, path: str, pairs: Iterable[tuple[str, str]]) -> Answer:
    """The reply to `api/PATH?…`; an error is a reply too."""
    route = ROUTES.get(path)
    try:
        if route is None:
            raise NotFoundError(f"no such address: api/{path[:100]}")
        with log.asking():
            return route.answer(log, Params(pairs, route.params))
    except TbqError as wrong:
        return failed(wrong)


def failed(wrong: TbqError) -> Answer:
    """An error as a reply, without where on this machine it was."""
    kinds: tuple[tuple[type[TbqError], int], ...] = (
        (NotFoundError, 404), (TooMuchError, 413), (BusyError, 429), (SelectionError, 404),
    )  # fmt: skip
    status = next((status for kind, status in kinds if isinstance(wrong, kind)), 400)
    return json_answer({"error": wrong.message, "hint": wrong.hint}, status)
