"""The processes that run SQL: started when needed, reused, and ended if a query does not end."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import queue
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from tbq.errors import QueryError
from tbq.scratch import Scratch, temporary
from tbq.server.http.params import BusyError, TooMuchError
from tbq.server.sql.memory_limit import EXIT

SECONDS = 10.0  # time limit of a query
AT_ONCE = 2  # queries at the same time, and as many filters; neither waits for the other
MEMORY = (
    2_500_000_000  # bytes that a query may take, DuckDB's own limit and the tables of a small log included
)
OF_ROW = 100  # more bytes per scalar of the log
_STARTING = 60.0  # time limit of the start of a process, in seconds
_GRACE = 2.0  # seconds between the request to stop and the end of a process
LENGTHS = struct.Struct("<QQ")  # of the header and of the body of an answer
_LONGEST = 500_000_000  # bytes of the longest answer
_LESS = "ask for less: a where clause, one run, one tag"
_CANCELLED = "the query was cancelled"
_START = "from tbq.server.sql.worker_main import main; main()"
_SUBJECTS = {
    "examine": "the check of the log", "findings": "the check of the run", "names": "the filter",
    "matching": "the filter",
}  # fmt: skip


class Reply(NamedTuple):
    """The answer of a process."""

    header: dict[str, Any]
    body: bytes


class _GoneError(QueryError):
    """The query was cancelled before it was sent to the process."""


class Job:
    """A question, which another thread can cancel."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.seconds = self.patience = seconds  # time limits of the answer, and of the wait for a process
        self.began = time.monotonic()
        self.gone = False  # cancelled
        #: replies; None if the process has ended, "gone" if the job was cancelled
        self.inbox: queue.SimpleQueue[Reply | str | None] = queue.SimpleQueue()

    def give_up(self) -> None:
        """Cancel: the client does not wait any longer."""
        self.gone = True
        self.inbox.put("gone")


class Worker:
    """One process, which answers one question at a time."""

    def __init__(self) -> None:
        path = os.pathsep.join(each for each in sys.path if each)
        environment = {**os.environ, "PYTHONPATH": path, "MALLOC_ARENA_MAX": "4"}
        own_group: dict[str, Any] = {"start_new_session": True}  # the server handles Ctrl-C
        if os.name == "nt":
            own_group = {"creationflags": subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP}  # type: ignore[attr-defined,unused-ignore]
        # The server removes the files that the process unpacks: a killed process cannot.
        self._scratch: Scratch | None = None
        with contextlib.suppress(OSError):  # no room for temporary files: few queries need them
            self._scratch = temporary("sql")
            environment |= dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(self._scratch.folder))
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", _START], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, env=environment, **own_group,
            )  # fmt: skip
        except BaseException:
            self._clean_up()
            raise
        self._inbox: queue.SimpleQueue[Reply | str | None] = queue.SimpleQueue()
        self._ready = threading.Event()  # the process has imported everything
        self._over = False  # the process has ended
        self._listener = threading.Thread(target=self._listen, name="tbq replies", daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        source = self.process.stdout
        assert source is not None
        with source, contextlib.suppress(OSError, ValueError, struct.error):
            while True:
                head, body = LENGTHS.unpack(source.read(LENGTHS.size))
                if head + body > _LONGEST:
                    break
                reply = Reply(json.loads(source.read(head)), source.read(body))
                if len(reply.body) < body:
                    break
                if self._ready.is_set():
                    self._inbox.put(reply)
                self._ready.set()
        self.process.kill()  # it has ended, or sent something invalid
        self.process.wait()
        self._clean_up()
        self._over = True
        self._inbox.put(None)
        self._ready.set()

    def _send(self, message: Mapping[str, Any] | None) -> None:
        data = pickle.dumps(message)
        assert self.process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # it has ended, which `_listen` notices
            self.process.stdin.write(len(data).to_bytes(8, "little") + data)
            self.process.stdin.flush()

    def ask(self, job: Job, message: Mapping[str, Any]) -> Reply:
        """The answer to a question. If this raises, the process cannot be used again."""
        self._inbox = job.inbox
        began = time.monotonic()
        while not self._ready.wait(0.1):  # does not count as time of the query
            if job.gone:
                raise _GoneError(_CANCELLED)
            if time.monotonic() - began > _STARTING:
                raise BusyError("the process for SQL does not start", hint="try again in a few seconds")
        if self._over:  # perhaps before `_inbox` was set
            raise self._ended(subject(message["call"]))
        # A stopped process reads nothing: if the message exceeds the pipe, only its end ends `_send`.
        timer = threading.Timer(job.seconds + _GRACE, self.process.kill)
        timer.daemon = True
        timer.start()
        try:
            return self._exchange(job, message)
        finally:
            timer.cancel()
            self._inbox = (
                queue.SimpleQueue()
            )  # the end of this process does not concern the job's next question

    def _exchange(self, job: Job, message: Mapping[str, Any]) -> Reply:
        until, what = time.monotonic() + job.seconds + _GRACE, subject(message["call"])
        self._send(message)
        while True:
            try:
                reply = job.inbox.get(timeout=max(until - time.monotonic(), 0))
            except queue.Empty:
                raise late(job.seconds, what) from None
            if isinstance(reply, str):
                until = min(until, time.monotonic() + _GRACE)
                self._send(None)
            elif reply is None:
                raise self._ended(what) if time.monotonic() < until else late(job.seconds, what)
            else:
                return reply

    def _ended(self, what: str) -> Exception:
        if self.process.returncode == EXIT:
            return too_much(what)
        return QueryError(f"{what} ended the process that ran it", hint="change the query")

    def end(self) -> None:
        """End the process now."""
        with contextlib.suppress(OSError):
            self.process.kill()
        with contextlib.suppress(OSError, ValueError):
            assert self.process.stdin is not None
            self.process.stdin.close()
        self.process.wait()
        self._clean_up()

    def _clean_up(self) -> None:
        if self._scratch is not None:
            self._scratch.remove()


def subject(call: str) -> str:
    """The name of a call in messages."""
    return _SUBJECTS.get(call, "the query")


def late(seconds: float, what: str = "the query") -> QueryError:
    """The error for a query that took too long."""
    return QueryError(f"{what} was stopped after {seconds:g} s", hint=_LESS)


def too_much(what: str = "the query") -> TooMuchError:
    """The error for a query that took too much memory."""
    return TooMuchError(f"{what} takes too much memory", hint=_LESS)


class WorkerPool:
    """The processes of a log: up to `most` at the same time, kept for the next question."""

    def __init__(self, most: int) -> None:
        self._slots = threading.BoundedSemaphore(most)
        self._lock = threading.Lock()
        self.idle: list[Worker] = []
        self.started: set[Worker] = set()
        self._closed = False

    @property
    def busy(self) -> int:
        """The number of processes that are answering."""
        with self._lock:
            return len(self.started) - len(self.idle)

    def ask(
        self, job: Job, call: str, rows: int = 0, *, most_memory: int | None = None, **message: Any
    ) -> Reply:
        """The answer to a question; raises its error. `rows` is the number of scalars in the log."""
        if not self._slots.acquire(timeout=job.patience):
            raise BusyError("too many queries are running", hint="try again in a few seconds")
        try:
            child = self._take(job)
            try:
                memory = most_memory or MEMORY + OF_ROW * rows
                reply = child.ask(job, {"call": call, "seconds": job.seconds, "memory": memory, **message})
            except _GoneError:  # the process is unused, and starting it took a second
                with self._lock:
                    self.idle.append(child)
                raise
            except BaseException:
                self._drop(child)
                raise
            if reply.header.get("tired"):
                self._drop(child)
            else:
                with self._lock:
                    self.idle.append(child)
        finally:
            self._slots.release()
        if reply.header.get("error"):
            kind = TooMuchError if reply.header.get("much") else QueryError
            raise kind(str(reply.header["error"]), hint=reply.header.get("hint"))
        return reply

    def _take(self, job: Job) -> Worker:
        with self._lock:
            if self._closed or job.gone:
                raise QueryError(_CANCELLED)
            while self.idle:
                child = self.idle.pop()
                if child.process.poll() is None:
                    return child
                self.started.discard(child)
                child.end()
            try:
                child = Worker()
            except OSError as wrong:  # no memory, or too many files or processes
                raise BusyError(
                    f"the process for SQL cannot be started: {wrong.strerror or type(wrong).__name__}",
                    hint="try again in a few seconds",
                ) from None
            self.started.add(child)
            return child

    def _drop(self, child: Worker) -> None:
        with self._lock:
            self.started.discard(child)
        child.end()

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            self._closed = True
            every, self.started, self.idle = list(self.started), set(), []
        for child in every:
            child.end()
