"""The thread that moves records from memory to disk, also before the process exits or a signal ends it.

Callers only put messages into a queue with a reentrant `put`, so that a signal handler, a destructor and a training
thread can all request a flush without sharing a lock. The thread handles requests in order: when it answers,
everything that was logged before the request has been written.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import sys
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, Literal

from tbq import termination

if TYPE_CHECKING:
    from tbq.write.file import EventFile

Action = Literal["wake", "flush", "rest", "close"]

# How long a disk that accepts nothing may delay the end of the process.
_EXIT_SECONDS = 60.0
_SIGNAL_SECONDS = 5.0
# Shortest interval between two checks for values that a device is still computing.
_CHECK_SECONDS = 0.01


class Flusher:
    """Drains event files when they are due, full, or on request."""

    def __init__(self) -> None:
        self.moved = 0  # bytes written so far, which shows progress to waiting callers
        self.write_through = False  # whether to write each event at once, as the process may end any moment
        self._inbox: queue.SimpleQueue[tuple[EventFile, Action, Any]] = queue.SimpleQueue()
        self._starting = threading.RLock()
        self._thread: threading.Thread | None = None
        self._started = False  # what callers ask: a thread that exists may still fail to start
        self._alone = threading.RLock()  # for callers that must write themselves
        self._acting = False

    def ask(
        self, file: EventFile, action: Action, *, wait: bool = False, patience: float | None = None
    ) -> bool:
        """Do `action` to `file` on the thread; False if nothing could be written for `patience` seconds."""
        if not self.start():
            # No thread can be started, or the interpreter is finalizing and the thread has stopped.
            with self._alone:
                return not self._acting and self._act(file, action)
        if not wait or self.is_current_thread():
            self._inbox.put((file, action, None))
            return True
        return self._answered(self._question(file, action), patience)

    def ask_all(self, files: list[EventFile], patience: float) -> None:
        """Flush several files, as long as there is progress."""
        if self.start() and not self.is_current_thread():
            wait = patience
            for file in files:
                if not file.settle(wait):
                    wait = 0.1  # the device has had its time
            for question in [self._question(file, "flush") for file in files]:
                if not self._answered(question, patience):
                    return

    def _question(self, file: EventFile, action: Action) -> Any:
        done = threading.Lock()
        done.acquire()
        self._inbox.put((file, action, done))
        return done

    def _answered(self, done: Any, patience: float | None) -> bool:
        while True:
            moved = self.moved
            if done.acquire(timeout=-1 if patience is None else patience):
                return True
            if self.moved == moved:
                return False

    def is_current_thread(self) -> bool:
        """Whether the caller is the thread itself, which must not wait for itself."""
        return threading.current_thread() is self._thread

    def settle(self) -> None:
        """Flush all files, and write each event at once from now on."""
        self.write_through = True
        from tbq.write.file import failure_of_caller

        failed_by = failure_of_caller()  # multiprocessing calls this while an error ends the process
        for file in live():
            file.failed_by = file.failed_by or failed_by
            file.mark_end(file.failed_by)
        if self._thread is not None:  # otherwise this process has logged nothing yet
            self.ask_all(unfinished(), _EXIT_SECONDS)

    def start(self) -> bool:
        """Start the thread if it is not running; False if that is impossible."""
        if sys.is_finalizing():
            return False
        if self._started:
            return True
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="tbq-flusher", daemon=True)
                try:
                    self._thread.start()
                except RuntimeError:
                    self._thread = None
                    return False
                for file in unfinished():  # opened before a fork
                    termination.hold(id(file))
                _settle_at_process_end()
            self._started = True
        return True

    def _run(self) -> None:
        termination.leave_signals_to_others()
        due: dict[EventFile, float] = {}
        while True:
            timeout = max(0.0, min(due.values()) - time.monotonic()) if due else None
            file = action = done = None
            try:
                file, action, done = self._inbox.get(timeout=timeout)
            except queue.Empty:
                now = time.monotonic()
                for late in [file for file, when in due.items() if when <= now]:
                    del due[late]
                    self._drain(late, "flush", due)
                    del late
                continue
            if action == "wake":
                due.setdefault(file, time.monotonic() + file.flush_secs)
                continue
            due.pop(file, None)
            try:
                self._drain(file, action, due)
            finally:
                file = None  # drop the last reference before answering: afterwards Python may shut down
                if done is not None:
                    done.release()

    def _drain(self, file: EventFile, action: Action, due: dict[EventFile, float]) -> None:
        written = self._act(file, action)
        if action == "close":
            return
        if not written:
            due[file] = time.monotonic() + file.retry_secs
        elif file.pending.events:  # the device is still computing: check again later
            due[file] = time.monotonic() + max(file.flush_secs, _CHECK_SECONDS)

    def _act(self, file: EventFile, action: Action) -> bool:
        self._acting = True
        try:
            if action == "close":
                return file.finish()
            return file.pause() if action == "rest" else file.drain()
        except Exception as failure:  # must not end the thread that all writers share
            with contextlib.suppress(Exception):  # nor must a logging handler
                file.fail(failure)
            return False
        finally:
            self._acting = False


flusher = Flusher()
_live: dict[int, weakref.ref[EventFile]] = {}


def watch(file: EventFile) -> None:
    """Remember `file` for exit, signals and forks, without keeping it alive."""
    key = id(file)
    # Bound here, because at exit a writer may outlive the globals of modules.
    references, release, is_finalizing = _live, termination.release, sys.is_finalizing

    def forget(_: object) -> None:
        references.pop(key, None)
        if not is_finalizing():
            release(key)

    _live[key] = weakref.ref(file, forget)
    flusher.start()
    termination.hold(key)


def live() -> list[EventFile]:
    """The open event files of this process."""
    return [file for file in unfinished() if not file.closed]


def unfinished() -> list[EventFile]:
    """The event files of this process that may have pending records, including those being closed."""
    return [file for ref in list(_live.values()) if (file := ref()) is not None and not file.finished]


def close_all() -> None:
    """Flush and close every writer at the end of the process."""
    patience = _EXIT_SECONDS
    for file in unfinished():
        if not file.close_at_exit(patience):
            patience = 0.1  # the disk has had its time


atexit.register(close_all)


def _settle_at_process_end() -> None:
    """Register a finalizer: a child of multiprocessing may end without `atexit`, but runs its own finalizers.

    The child clears its finalizers when it starts. With forkserver and spawn, a writer among its arguments is created
    before that, so a hook that runs after the clearing registers the finalizer again. Threads may still log after the
    finalizers have run.
    """
    util = sys.modules.get("multiprocessing.util")
    process = sys.modules.get("multiprocessing.process")
    if util is None or process is None:
        return
    util.register_after_fork(flusher, _settle_this_process)
    if process.parent_process() is not None:
        _settle_this_process()


def _settle_this_process(_: object = None) -> None:
    sys.modules["multiprocessing.util"].Finalize(None, flusher.settle, exitpriority=10)


def _flush_before_end() -> None:
    for file in live():
        file.mark_end("ended by a signal")
    flusher.ask_all(unfinished(), _SIGNAL_SECONDS)


termination.before_end(_flush_before_end, first=True)  # data first, cleaning up later


def _in_child() -> None:
    """After a fork the thread is gone, and pending records belong to the parent."""
    flusher.__init__()  # type: ignore[misc]
    for file in unfinished():
        file.after_fork()
    _settle_at_process_end()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
