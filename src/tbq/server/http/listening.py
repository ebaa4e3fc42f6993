"""Listens on a port, and runs the server until a signal ends it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import uvicorn
from anyio import to_thread

from tbq.errors import SourceError
from tbq.server.http.app import make_app
from tbq.server.http.sending import patient

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from tbq.server.http.guard import Guard
    from tbq.server.live_log import LiveLog

_THREADS = 8  # for requests
_TRIES = 100  # ports after the requested one


class Listening:
    """A listening socket; `remark` says if its port is not the requested one."""

    def __init__(self, listener: socket.socket, host: str, wanted: int) -> None:
        self.socket = listener
        self.host = host
        self.port: int = listener.getsockname()[1]
        self.remark = (
            f"port {wanted} is in use, taking {self.port}" if wanted and self.port != wanted else None
        )

    @classmethod
    def at(cls, host: str, port: int) -> Listening:
        """Listen on this port, or on the next one that is free."""
        try:
            family, _, _, _, place = socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
        except (socket.gaierror, UnicodeError) as wrong:
            reason = getattr(wrong, "strerror", None) or str(wrong)
            raise SourceError(f"cannot listen on host {host!r}: {reason}", hint="--host 127.0.0.1") from None
        last = port if port == 0 else min(port + _TRIES, 65535)
        failure: OSError | None = None
        for each in range(port, last + 1):
            # Explicitly TCP: asyncio disables Nagle's algorithm only on such sockets.
            listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
            try:
                if os.name == "nt":  # there, SO_REUSEADDR would share a port that is in use
                    listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)  # type: ignore[attr-defined,unused-ignore]
                else:
                    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind((place[0], each, *place[2:]))
                listener.listen(128)
            except OSError as wrong:
                listener.close()
                failure = wrong
                continue
            return cls(listener, host, port)
        reason = (failure.strerror or str(failure)).lower() if failure else "no port"
        raise SourceError(
            f"cannot listen on {host} from port {port} to {last}: {reason}",
            hint="--port 0 takes any free port",
        )

    def address(self, token: str | None, base: str = "") -> str:
        """The address of the page for a browser."""
        name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self.host, self.host)
        if ":" in name and not name.startswith("["):
            name = f"[{name}]"
        query = f"?token={quote(token, safe='')}" if token is not None else ""
        return f"http://{name}:{self.port}{base}/{query}"

    def __enter__(self) -> Listening:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()


class _Server(uvicorn.Server):
    """Ends without waiting for open pages. A signal is the usual end, not a failure."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], object], stop: asyncio.Event) -> None:
        super().__init__(config)
        self._announce = started
        self._stop = stop
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        # More threads would only wait for the store, and each keeps its own memory.
        to_thread.current_default_thread_limiter().total_tokens = _THREADS
        await super().startup(sockets)
        self._announce()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        wanted = [signal.SIGINT, signal.SIGTERM, *([signal.SIGBREAK] if os.name == "nt" else [])]  # type: ignore[attr-defined,unused-ignore]
        before = {number: signal.signal(number, self._end) for number in wanted}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end(self, _number: int, _frame: Any) -> None:
        # Replies that are being sent break off, which is not an error.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL + 1)
        if self.should_exit:
            self.force_exit = True
        self.should_exit = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)


def execute(
    log: LiveLog,
    guard: Guard,
    listening: Listening,
    started: Callable[[], object],
    base: str = "",
    secret: str = "",
) -> None:
    """Serve the page until a signal arrives."""
    app = make_app(log, guard, base, secret)
    run_app(app, listening, started, app.state.stop)


def run_app(
    app: Starlette,
    listening: Listening,
    started: Callable[[], object],
    stop: asyncio.Event,
    *,
    lifespan: bool = False,
) -> None:
    """Serve an application until a signal arrives, which also sets `stop`."""
    config = uvicorn.Config(
        app, log_level="error", access_log=False, lifespan="on" if lifespan else "off", server_header=False,
        proxy_headers=False, timeout_keep_alive=30, timeout_graceful_shutdown=1, ws="none",
    )  # fmt: skip
    config.load()
    config.http_protocol_class = patient(config.http_protocol_class)
    _Server(config, started, stop).run(sockets=[listening.socket])
