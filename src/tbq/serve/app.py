"""The application: the page's files, the answers, the events, all behind the guard."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from tbq.serve import files
from tbq.serve.children import AT_ONCE, Job
from tbq.serve.guard import HEADERS, Guard, is_local
from tbq.serve.routes import answer, query
from tbq.serve.wire import Answer, json_answer

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from tbq.serve.state import Change, LiveLog

_SLOW = 4
_LONGEST_BODY = 500_000
_PLAIN = 2_700_000  # bytes of curves that a browser on this machine gets sooner if they are not compressed
_PAUSE = 0.25  # seconds between two events
_ALIVE = 15.0  # seconds between two signs of life


def make_app(log: LiveLog, guard: Guard) -> Starlette:
    """The application of a log."""
    stop = asyncio.Event()
    # Threads for what may take its time, so that nothing else has to wait for it.
    slow, queries = CapacityLimiter(_SLOW), CapacityLimiter(AT_ONCE)

    async def page(request: Request) -> Response:
        return static_response(files.index(), request)

    async def static(request: Request) -> Response:
        return static_response(files.file(request.path_params["path"]), request)

    async def api(request: Request) -> Response:
        path, params = request.path_params["path"], request.query_params.multi_items()
        limiter = slow if path in ("health", "filter", "points") else None
        given = await to_thread.run_sync(answer, log, path, params, limiter=limiter)
        if given.headers.get("Accept-Ranges") and given.status == 200:
            given = part_of(given, request.headers.get("range"))
        if given.squeeze == "runs" and len(given.body) < _PLAIN and _is_here(request):
            return to_response(given)
        return await run_in_threadpool(respond, given, request.headers.get("accept-encoding", ""))

    async def sql(request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return to_response(
                json_answer({"error": "want JSON", "hint": "Content-Type: application/json"}, 415)
            )
        body = await _body(request)
        if body is None:
            return to_response(json_answer({"error": "the query is too long", "hint": None}, 413))
        job = Job()
        work = asyncio.ensure_future(to_thread.run_sync(query, log, body, job, limiter=queries))
        gone = asyncio.ensure_future(_gone(request))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                job.give_up()
            return await run_in_threadpool(respond, await work, request.headers.get("accept-encoding", ""))
        finally:
            gone.cancel()

    async def events(request: Request) -> Response:
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        return StreamingResponse(
            _events(log, request, stop), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
        )

    app = Starlette(
        routes=[
            Route("/", page),
            Route("/static/{path:path}", static),
            Route("/api/events", events),
            Route("/api/sql", sql, methods=["POST"]),
            Route("/api/{path:path}", api),
        ]
    )
    app.state.stop = stop
    app.add_middleware(_Guarded, guard=guard)
    return app


class _Guarded:
    """Refuses what the guard refuses, and puts its headers on every reply."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self.app, self.guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        request = Request(scope)
        token = request.query_params.get("token")

        async def send_guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                names = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *((name.encode(), value.encode()) for name, value in HEADERS.items()
                      if name.lower().encode() not in names),
                ]  # fmt: skip
            await send(message)

        refusal = self.guard.refusal(request.method, request.url.path, request.headers, token)
        if refusal is not None:
            response: Any = to_response(json_answer(refusal._asdict() | {"status": None}, refusal.status))
        elif token is not None and request.url.path == "/" and self.guard.token is not None:
            response = _entrance(self.guard)
        else:
            response = self.app
        await response(scope, receive, send_guarded)


def _entrance(guard: Guard) -> Response:
    """Keep the token in a cookie and go on to the address without it.

    Not by a redirect: after a link on another site, browsers would not send the cookie with that.
    """
    text = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=./"><title>tbq</title>'
    response = Response(text, media_type="text/html", headers={"Cache-Control": "no-store"})
    response.set_cookie(guard.cookie, guard.token or "", httponly=True, samesite="strict", path="/")
    return response


def to_response(given: Answer) -> Response:
    """A reply as Starlette has it."""
    headers = {"Cache-Control": "no-store", **given.headers}
    return Response(given.body, given.status, headers, given.type)


def respond(given: Answer, accepted: str) -> Response:
    """The reply, compressed if that saves something."""
    body = given.squeezed if "gzip" in accepted and not given.type.startswith(("image/", "audio/")) else None
    if body is None:
        return to_response(given)
    headers = {**given.headers, "Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    return to_response(replace(given, body=body, headers=headers))


def static_response(given: Answer, request: Request) -> Response:
    """A file of the page; nothing but its tag if the browser has it already."""
    known = given.headers.get("ETag")
    if known is not None and request.headers.get("if-none-match") == known:
        return Response(status_code=304, headers={"etag": known})
    return respond(given, request.headers.get("accept-encoding", ""))


def part_of(given: Answer, wanted: str | None) -> Answer:
    """The bytes that a Range header asks for; players of audio do."""
    match = re.fullmatch(r"bytes=(\d{0,15})-(\d{0,15})", (wanted or "").strip())
    size = len(given.body)
    if match is None or not (match[1] or match[2]):
        return given
    if match[1]:
        first, last = int(match[1]), min(int(match[2]) if match[2] else size - 1, size - 1)
    else:
        first, last = max(size - int(match[2]), 0), size - 1
    if first > last:
        return Answer(b"", given.type, 416, {"Content-Range": f"bytes */{size}"})
    headers = {**given.headers, "Content-Range": f"bytes {first}-{last}/{size}"}
    return Answer(given.body[first : last + 1], given.type, 206, headers)


async def _body(request: Request) -> bytes | None:
    """The body of a request; None if it is too long."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _LONGEST_BODY:
            return None
    return body


def _is_here(request: Request) -> bool:
    """Whether the browser, or a tunnel to it, is on this machine."""
    return request.client is not None and is_local(request.client.host)


async def _gone(request: Request) -> None:
    """Wait until the browser has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        continue


async def _events(log: LiveLog, request: Request, stop: asyncio.Event) -> AsyncIterator[bytes]:
    """A message after each change, at most one in a quarter of a second; what happens between is added up."""
    loop = asyncio.get_running_loop()
    changed, complete = asyncio.Event(), asyncio.Event()
    waiting: list[Change] = []
    left = log.left

    def take(change: Change) -> None:
        waiting.append(change)
        changed.set()
        if left and not change.left:
            complete.set()

    def listener(change: Change) -> None:
        try:
            loop.call_soon_threadsafe(take, change)
        except RuntimeError:  # the loop has ended
            return

    end = log.listen(listener)
    try:
        yield _event({"version": log.version, "runs": None, "left": left})
        while True:
            await _either(changed, stop, _ALIVE)
            if stop.is_set():
                return
            if not changed.is_set():
                yield b": alive\n\n"
                if await request.is_disconnected():
                    return
                continue
            changes, waiting[:] = list(waiting), []
            changed.clear()
            numbers: set[int] | None = set()
            for change in changes:
                numbers = None if numbers is None or change.runs is None else numbers | set(change.runs)
            if numbers is not None and len(numbers) > 100:
                numbers = None
            last = changes[-1]
            runs = None if numbers is None else sorted(numbers)
            left = last.left
            complete.clear()
            yield _event({"version": last.version, "runs": runs, "left": left})
            # What ends the reading of the log is said at once: everybody waits for it.
            await _either(complete, stop, _PAUSE)
    finally:
        end()


async def _either(first: asyncio.Event, second: asyncio.Event, seconds: float) -> None:
    """Wait until one of the two is set, or for so many seconds."""
    waits = [asyncio.ensure_future(each.wait()) for each in (first, second)]
    try:
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


def _event(data: dict[str, Any]) -> bytes:
    return f"event: changed\ndata: {json.dumps(data)}\n\n".encode()
