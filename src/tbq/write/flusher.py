"""The one thread that moves records from memory to disk, and the moments when it must not be too late.

Callers only put messages into a queue whose `put` may interrupt itself, so a signal handler, a destructor
and a training thread can all ask for a flush without a lock between them.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import signal
import sys
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from tbq.write.file import EventFile

Action = Literal["wake", "flush", "close"]

_EXIT_SECONDS = 60.0  # how long a hanging disk may hold up the end of the process
_SIGNAL_SECONDS = 5.0


class Flusher:
    """Drains event files when they are due, full, or asked for."""

    def __init__(self) -> None:
        self._inbox: queue.SimpleQueue[tuple[EventFile, Action, Any]] = queue.SimpleQueue()
        self._starting = threading.RLock()
        self._thread: threading.Thread | None = None

    def ask(
        self, file: EventFile, action: Action, *, wait: bool = False, timeout: float | None = None
    ) -> bool:
        """Do `action` to `file` on the thread; False when `timeout` seconds were not enough."""
        if not self.start():
            self._act(file, action)  # the interpreter is ending: no thread can be had any more
            return True
        done = None
        if wait and threading.current_thread() is not self._thread:
            done = threading.Lock()
            done.acquire()
        self._inbox.put((file, action, done))
        return done is None or done.acquire(timeout=-1 if timeout is None else timeout)

    def start(self) -> bool:
        """Make sure that the thread runs."""
        if self._thread is not None:
            return True
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="tbq-flusher", daemon=True)
                try:
                    self._thread.start()
                except RuntimeError:
                    self._thread = None
                    return False
                _at_process_end()
        return True

    def _run(self) -> None:
        due: dict[EventFile, float] = {}
        while True:
            timeout = max(0.0, min(due.values()) - time.monotonic()) if due else None
            file = action = done = None
            try:
                file, action, done = self._inbox.get(timeout=timeout)
            except queue.Empty:
                now = time.monotonic()
                for late in [one for one, when in due.items() if when <= now]:
                    del due[late]
                    self._drain(late, "flush", due)
                continue
            if action == "wake":
                due.setdefault(file, time.monotonic() + file.flush_secs)
                continue
            due.pop(file, None)
            self._drain(file, action, due)
            if done is not None:
                done.release()

    def _drain(self, file: EventFile, action: Action, due: dict[EventFile, float]) -> None:
        if not self._act(file, action) and action != "close":
            due[file] = time.monotonic() + file.retry_secs

    @staticmethod
    def _act(file: EventFile, action: Action) -> bool:
        try:
            return file.finish() if action == "close" else file.drain()
        except Exception as wrong:  # must not end the thread that all writers share
            file.fail(wrong)
            return False


flusher = Flusher()
_live: dict[int, weakref.ref[EventFile]] = {}


def watch(file: EventFile) -> None:
    """Keep `file` in mind for exit, signals and forks, without keeping it alive."""
    key = id(file)
    _live[key] = weakref.ref(file, lambda _: _live.pop(key, None))
    flusher.start()
    _catch_signals()


def live() -> list[EventFile]:
    """The event files that are open, in this process."""
    return [file for ref in list(_live.values()) if (file := ref()) is not None and not file.closed]


def close_all() -> None:
    """Flush and close every writer: the end of the process."""
    for file in live():
        file.close_at_exit(_EXIT_SECONDS)


atexit.register(close_all)


def _at_process_end() -> None:
    """A forked child of multiprocessing ends without atexit; its own finalizers do run."""
    util = sys.modules.get("multiprocessing.util")
    process = sys.modules.get("multiprocessing.process")
    if util is not None and process is not None and process.parent_process() is not None:
        util.Finalize(None, close_all, exitpriority=10)


def _on_signal(number: int, frame: object) -> None:
    del frame
    for file in live():
        if file.has_pending:
            flusher.ask(file, "flush", wait=True, timeout=_SIGNAL_SECONDS)
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _catch_signals() -> None:
    """Flush before SIGTERM and SIGHUP end the process. A handler that somebody else set is left alone."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            with contextlib.suppress(ValueError):  # only the main thread may set one
                signal.signal(number, _on_signal)


def _in_child() -> None:
    """After fork the thread is gone, and what is pending belongs to the parent."""
    flusher.__init__()  # type: ignore[misc]
    for file in live():
        file.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
