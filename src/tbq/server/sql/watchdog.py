"""Queries that may not run for ever: interrupted after some seconds, or when nobody waits for them any more."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

    import duckdb


class Interrupter:
    """Interrupts the connections it watches when time is up, or when `stop` is called from another thread."""

    def __init__(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._time_is_up)
        self._timer.daemon = True
        self._lock = threading.Lock()
        self._connections: list[duckdb.DuckDBPyConnection] = []
        self._stopped = False
        self._ended = threading.Event()
        self.late = False  # time is up

    def watch(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Interrupt this connection too."""
        with self._lock:
            self._connections.append(connection)
            stopped = self._stopped
        if stopped:
            self.stop()

    def stop(self) -> None:
        """Interrupt now."""
        with self._lock:
            self._stopped = True
            connections = list(self._connections)
        for connection in connections:
            with contextlib.suppress(Exception):  # one that is closed already
                connection.interrupt()

    def give_up(self) -> None:
        """Nobody waits for the answer any more: interrupt until it has ended."""
        threading.Thread(target=self._insist, name="tbq watchdog", daemon=True).start()

    def _time_is_up(self) -> None:
        self.late = True
        self._insist()

    def _insist(self) -> None:
        # A query that has not begun to run yet would not notice: again and again until the end.
        while not self._ended.wait(0.05):
            self.stop()

    def __enter__(self) -> Interrupter:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._timer.cancel()
