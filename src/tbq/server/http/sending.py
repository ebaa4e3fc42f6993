"""Replies on their way: in parts, as fast as the client takes them, and all together within a limit of memory."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from starlette.concurrency import iterate_in_threadpool
from starlette.responses import Response, StreamingResponse

from tbq.server.http.encoding import Answer, gzipped
from tbq.server.http.params import BusyError

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

_PART = 1 << 16  # bytes that are handed to the connection at once
_SMALL = 1 << 20  # bytes of a reply that is sent as a whole
_MOST = 400_000_000  # bytes of larger replies that wait for their clients at once
PATIENCE = 30.0  # seconds after which a client that takes nothing is cut off


class Outgoing:
    """Makes responses of answers, and counts what those that were not taken yet hold."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self.held = 0

    def response(self, given: Answer, gzip: bool) -> Response:
        """The response; `BusyError` if clients that do not read hold all the memory there is for that."""
        body = given.compressed if gzip and given.parts is None else None
        headers = {"Cache-Control": "no-store", **given.headers}
        if body is not None or (given.parts is not None and gzip):
            headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        body = given.body if body is None else body
        size = given.held if given.parts is not None else len(body)
        if given.parts is None and size <= _SMALL:
            return Response(body, given.status, headers, given.type)
        with self._lock:
            if self.held + size > self._most:
                raise BusyError("the server is sending too much to others", hint="try again in some seconds")
            self.held += size
        if given.parts is not None:
            parts = iterate_in_threadpool(gzipped(given.parts) if gzip else given.parts)
        else:
            headers["Content-Length"] = str(size)
            parts = _parts(body)
        return _Paced(parts, given.status, headers, given.type, lambda: self._taken(size))

    def _taken(self, size: int) -> None:
        with self._lock:
            self.held -= size


class _Paced(StreamingResponse):
    """Waits for the client after each part; what it holds is given back however it ends."""

    def __init__(
        self,
        parts: AsyncIterator[bytes],
        status: int,
        headers: dict[str, str],
        kind: str,
        taken: Callable[[], object],
    ) -> None:
        super().__init__(parts, status, headers, kind)
        self._taken = taken

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._taken()


async def _parts(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), _PART):
        yield body[start : start + _PART]


def patient(protocol: Any) -> Any:
    """The class of uvicorn's connections, but one whose client takes nothing for `PATIENCE` seconds ends."""

    class Patient(protocol):  # type: ignore[misc]
        _clock: asyncio.TimerHandle | None = None

        def pause_writing(self) -> None:
            super().pause_writing()
            self._look(None)

        def resume_writing(self) -> None:
            super().resume_writing()
            if self._clock is not None:
                self._clock.cancel()

        def connection_lost(self, exc: Exception | None) -> None:
            if self._clock is not None:
                self._clock.cancel()
            super().connection_lost(exc)

        def _look(self, before: int | None) -> None:
            waiting = self.transport.get_write_buffer_size()
            if waiting == before:
                self.transport.abort()
            else:
                self._clock = self.loop.call_later(PATIENCE, self._look, waiting)

    return Patient
