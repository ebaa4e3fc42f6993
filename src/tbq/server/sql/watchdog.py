"""`Watchdog`: interrupts queries after a time limit, or when they are cancelled."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb


class Interrupter:
    """Interrupts its connections when time is up, or when another thread calls `stop` or `give_up`."""

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
            with contextlib.suppress(Exception):  # a connection that is closed already
                connection.interrupt()

    def give_up(self) -> None:
        """Cancel: interrupt until the query has ended."""
        threading.Thread(target=self._insist, name="tbq watchdog", daemon=True).start()

    def _time_is_up(self) -> None:
        self.late = True
        self._insist()

    def _insist(self) -> None:
        # A query that has not started yet ignores an interrupt, so repeat it until the end.
        while not self._ended.wait(0.05):
            self.stop()

    def __enter__(self) -> Interrupter:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._timer.cancel()
