"""The application: the page's files, the answers and the events, protected by the guard."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from tbq.server.http import page_files
from tbq.server.http.base_path import BasePath
from tbq.server.http.encoding import Answer, json_answer
from tbq.server.http.guard import Guard
from tbq.server.http.params import BusyError
from tbq.server.http.routes import answer, query
from tbq.server.http.sending import Outgoing
from tbq.server.sql.worker_pool import AT_ONCE, Job

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from tbq.server.live_log import Change, LiveLog

_SLOW = 4  # slow answers at the same time
_LONGEST_BODY = 500_000  # bytes of a request
_PAUSE = 0.25  # seconds between two events
_ALIVE = 15.0  # seconds between two signs of life


def make_app(log: LiveLog, guard: Guard, base: str = "", secret: str = "") -> Starlette:
    """The application of a log; `base` is the path below which a proxy shows it, `secret` the next part of it."""
    stop = asyncio.Event()
    # Slow answers have their own limits, so that nothing else waits for them.
    slow, queries, conditions = CapacityLimiter(_SLOW), CapacityLimiter(AT_ONCE), CapacityLimiter(AT_ONCE)
    outgoing = Outgoing()

    async def page(request: Request) -> Response:
        return static_response(outgoing, page_files.index(), request)

    async def static(request: Request) -> Response:
        return static_response(outgoing, page_files.file(request.path_params["path"]), request)

    async def api(request: Request) -> Response:
        path, params = request.path_params["path"], request.query_params.multi_items()
        if path == "filter":
            job = Job()
            reply = await _waited(request, job, conditions, answer, log, path, params, job)
        else:
            limiter = slow if path in ("health", "points") else None
            reply = await to_thread.run_sync(answer, log, path, params, limiter=limiter)
        if reply.headers.get("ETag") and reply.status == 200:
            if names(request.headers.get("if-none-match"), reply.headers["ETag"]):
                return Response(status_code=304, headers=dict(reply.headers))
            if request.headers.get("if-range", reply.headers["ETag"]) == reply.headers["ETag"]:
                reply = part_of(reply, request.headers.get("range"))
        return await run_in_threadpool(respond, outgoing, reply, request.headers.get("accept-encoding", ""))

    async def sql(request: Request) -> Response:
        accepted = request.headers.get("accept-encoding", "")
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            wrong = json_answer({"error": "want JSON", "hint": "Content-Type: application/json"}, 415)
            return respond(outgoing, wrong, accepted)
        body = await _body(request)
        if body is None:
            too_long = json_answer({"error": "the query is too long", "hint": None}, 413)
            return respond(outgoing, too_long, accepted)
        job = Job()
        reply = await _waited(request, job, queries, query, log, body, job)
        return await run_in_threadpool(respond, outgoing, reply, accepted)

    async def events(request: Request) -> Response:
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        return StreamingResponse(
            _events(log, request, stop),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},  # nginx would hold events back
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
    app.add_middleware(GuardedApp, guard=guard, base=base)
    if secret:
        app.add_middleware(BasePath, path=f"/{secret}", required=True)
    if base:
        app.add_middleware(BasePath, path=base)
    return app


class GuardedApp:
    """Refuses requests that the guard refuses, and adds its headers to every reply."""

    def __init__(self, app: ASGIApp, guard: Guard, base: str = "") -> None:
        self.app, self.guard, self.base = app, guard, base

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        request = Request(scope)
        path: str = scope["path"]  # not request.url, which a malformed Host header breaks
        token = request.query_params.get("token")

        async def send_guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                names = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *((name.encode(), value.encode()) for name, value in self.guard.headers.items()
                      if name.lower().encode() not in names),
                ]  # fmt: skip
            await send(message)

        refusal = self.guard.refusal(request.method, path, _joined(request), token)
        if refusal is not None:
            reply = json_answer(refusal._asdict() | {"status": None}, refusal.status)
            response: Any = Response(reply.body, reply.status, {"Cache-Control": "no-store"}, reply.type)
        elif token is not None and path == "/" and self.guard.token is not None:
            response = _entrance(self.guard, self.base)
        else:
            response = self.app
        await response(scope, receive, send_guarded)


def _joined(request: Request) -> dict[str, str]:
    """The headers by name; several Cookie headers are joined."""
    headers = dict(request.headers)
    if "cookie" in headers:
        headers["cookie"] = ";".join(request.headers.getlist("cookie"))
    return headers


def _entrance(guard: Guard, base: str) -> Response:
    """A page that stores the token in a cookie, and loads the address without it.

    Not a redirect: after a link from another site, browsers would not send the cookie with it.
    """
    # Without a link to an icon, browsers ask the proxy for /favicon.ico.
    text = (
        '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=./">'
        '<link rel="icon" href="data:,"><title>tbq</title>'
    )
    response = Response(text, media_type="text/html", headers={"Cache-Control": "no-store"})
    response.set_cookie(guard.cookie, guard.cookie_value, httponly=True, samesite="strict", path=f"{base}/")
    return response


def respond(outgoing: Outgoing, reply: Answer, accepted: str) -> Response:
    """The response, compressed if that saves bytes."""
    try:
        return outgoing.response(reply, accepts_gzip(accepted))
    except BusyError as wrong:
        return outgoing.response(json_answer({"error": wrong.message, "hint": wrong.hint}, 429), False)


def accepts_gzip(accepted: str) -> bool:
    """Whether an Accept-Encoding header accepts gzip.

    >>> accepts_gzip("br, gzip"), accepts_gzip("gzip;q=0, *"), accepts_gzip("identity")
    (True, False, False)
    """
    for each in accepted.lower().split(","):
        name, _, weight = (part.strip() for part in each.partition(";"))
        if name in ("gzip", "x-gzip"):
            return re.fullmatch(r"q\s*=\s*0(\.0*)?", weight) is None
    return False


def names(header: str | None, tag: str) -> bool:
    """Whether an If-None-Match header names this ETag; proxies make ETags weak.

    >>> names('"a", W/"b"', '"b"'), names("*", '"b"'), names('"ab"', '"b"'), names(None, '"b"')
    (True, True, False, False)
    """
    listed = [each.strip().removeprefix("W/") for each in (header or "").split(",")]
    return tag in listed or listed == ["*"]


def static_response(outgoing: Outgoing, file: Answer, request: Request) -> Response:
    """A file of the page, or 304 if the browser has it already."""
    known = file.headers.get("ETag")
    if known is not None and names(request.headers.get("if-none-match"), known):
        return Response(status_code=304, headers={"etag": known})
    return respond(outgoing, file, request.headers.get("accept-encoding", ""))


def part_of(entire: Answer, wanted: str | None) -> Answer:
    """The bytes that a Range header, e.g. of an audio player, asks for."""
    match = re.fullmatch(r"bytes\s*=\s*(\d{0,15})\s*-\s*(\d{0,15})", (wanted or "").strip().lower())
    size = len(entire.body)
    if not entire.headers.get("Accept-Ranges") or match is None or not (match[1] or match[2]):
        return entire
    if match[1]:
        first, last = int(match[1]), min(int(match[2]) if match[2] else size - 1, size - 1)
    else:
        first, last = max(size - int(match[2]), 0), size - 1
    if first > last:
        return Answer(b"", entire.type, 416, {"Content-Range": f"bytes */{size}"})
    headers = {**entire.headers, "Content-Range": f"bytes {first}-{last}/{size}"}
    return Answer(entire.body[first : last + 1], entire.type, 206, headers)


async def _body(request: Request) -> bytes | None:
    """The body of a request; None if it is too long."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _LONGEST_BODY:
            return None
    return body


async def _waited(
    request: Request, job: Job, limiter: CapacityLimiter, function: Callable[..., Answer], *args: Any
) -> Answer:
    """Call a function in a thread; if the client disconnects first, give its job up."""
    work = asyncio.ensure_future(to_thread.run_sync(function, *args, limiter=limiter))
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            job.give_up()
        return await work
    finally:
        gone.cancel()


async def _gone(request: Request) -> None:
    """Wait until the client disconnects."""
    while (await request.receive())["type"] != "http.disconnect":
        continue


async def _events(log: LiveLog, request: Request, stop: asyncio.Event) -> AsyncIterator[bytes]:
    """One message per change, at most four per second; a message covers all changes since the one before."""
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
        except RuntimeError:  # the event loop has ended
            return

    end = log.listen(listener)
    try:
        yield _event(log, log.version, None, left)
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
            yield _event(log, last.version, runs, left)
            # The end of the first reading is sent at once: every page waits for it.
            await _either(complete, stop, _PAUSE)
    finally:
        end()


async def _either(first: asyncio.Event, second: asyncio.Event, seconds: float) -> None:
    """Wait until one of the two events is set, at most this many seconds."""
    waits = [asyncio.ensure_future(each.wait()) for each in (first, second)]
    try:
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


def _event(log: LiveLog, version: int, runs: list[int] | None, left: int) -> bytes:
    data = {"instance": log.instance, "version": version, "runs": runs, "left": left}
    return f"event: changed\ndata: {json.dumps(data)}\n\n".encode()
