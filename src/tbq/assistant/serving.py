"""Serves the tools: over stdin and stdout, or over HTTP on this machine, behind the page's guard."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.transport_security import TransportSecuritySettings

from tbq.assistant import PATH
from tbq.assistant.tools import make_server
from tbq.server.http.app import GuardedApp
from tbq.server.http.guard import Guard, new_token
from tbq.server.http.listening import Listening, run_app

if TYPE_CHECKING:
    from tbq.server.live_log import LiveLog

HOST = "127.0.0.1"


def over_stdio(log: LiveLog) -> None:
    """Answer on stdin and stdout until the client closes them."""
    server = make_server(log)
    with _ended_by_signals(log):
        anyio.run(server.run_stdio_async)


def over_http(
    log: LiveLog, port: int, token: str | None, on_start: Callable[[str, str], object] | None
) -> None:
    """Answer over streamable HTTP until a signal arrives."""
    token = token or new_token()
    # The guard checks hosts and origins; it also asks for the token.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app: Any = make_server(log).streamable_http_app(
        streamable_http_path=PATH,
        host=HOST,
        transport_security=security,
        stateless_http=True,
        json_response=True,
    )
    app.add_middleware(GuardedApp, guard=Guard(HOST, token))
    with Listening.at(HOST, port) as listening:
        address = f"http://{HOST}:{listening.port}{PATH}"

        def started() -> None:
            if on_start is not None:
                on_start(address, token)
            else:
                print(f"{address}\nAuthorization: Bearer {token}", file=sys.stderr, flush=True)

        run_app(app, listening, started, asyncio.Event(), lifespan=True)


@contextlib.contextmanager
def _ended_by_signals(log: LiveLog) -> Iterator[None]:
    """End the process at once on SIGTERM: a thread that waits for stdin cannot be interrupted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _frame: object) -> None:
        log.workers.close()
        os._exit(0 if number == signal.SIGTERM else 130)

    wanted = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, end) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
