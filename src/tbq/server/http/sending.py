"""Sends replies in parts, as fast as the client reads, within a limit of memory for all replies."""

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

_PART = 1 << 16  # bytes passed to the connection at once
_SMALL = 1 << 20  # bytes: smaller replies are sent at once
_MOST = 400_000_000  # bytes of larger replies that are being sent at the same time
PATIENCE = 30.0  # seconds after which a client that reads nothing is disconnected


class Outgoing:
    """Turns answers into responses, and counts the memory of responses that are being sent."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self.held = 0

    def response(self, answer: Answer, gzip: bool) -> Response:
        """The response; `BusyError` if slow clients already use all the memory for replies."""
        body = answer.compressed if gzip and answer.parts is None else None
        headers = {"Cache-Control": "no-store", **answer.headers}
        if body is not None or (answer.parts is not None and gzip):
            headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        body = answer.body if body is None else body
        size = answer.held if answer.parts is not None else len(body)
        if answer.parts is None and size <= _SMALL:
            return Response(body, answer.status, headers, answer.type)
        with self._lock:
            if self.held + size > self._most:
                raise BusyError(
                    "the server is sending too many large replies", hint="try again in a few seconds"
                )
            self.held += size
        if answer.parts is not None:
            parts = iterate_in_threadpool(gzipped(answer.parts) if gzip else answer.parts)
        else:
            headers["Content-Length"] = str(size)
            parts = _parts(body)
        return _Paced(parts, answer.status, headers, answer.type, lambda: self._sent(size))

    def _sent(self, size: int) -> None:
        with self._lock:
            self.held -= size


class _Paced(StreamingResponse):
    """Waits for the client after each part, and calls `done` however it ends."""

    def __init__(
        self,
        parts: AsyncIterator[bytes],
        status: int,
        headers: dict[str, str],
        kind: str,
        done: Callable[[], object],
    ) -> None:
        super().__init__(parts, status, headers, kind)
        self._done = done

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._done()


async def _parts(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), _PART):
        yield body[start : start + _PART]


def patient(protocol: Any) -> Any:
    """Uvicorn's connection class, which ends if the client reads nothing for `PATIENCE` seconds."""

    class Patient(protocol):  # type: ignore[misc]
        _clock: asyncio.TimerHandle | None = None

        def pause_writing(self) -> None:
            super().pause_writing()
            self._check(None)

        def resume_writing(self) -> None:
            super().resume_writing()
            if self._clock is not None:
                self._clock.cancel()

        def connection_lost(self, exc: Exception | None) -> None:
            if self._clock is not None:
                self._clock.cancel()
            super().connection_lost(exc)

        def _check(self, before: int | None) -> None:
            waiting = self.transport.get_write_buffer_size()
            if waiting == before:
                self.transport.abort()
            else:
                self._clock = self.loop.call_later(PATIENCE, self._check, waiting)

    return Patient
