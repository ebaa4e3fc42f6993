"""Processes that run SQL: started when they are needed, used again, and ended if a query does not end."""

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

SECONDS = 10.0  # that a query may take
AT_ONCE = 2  # queries in SQL, and as many filters: neither waits for the other
MEMORY = (
    2_500_000_000  # bytes that a query may take, DuckDB's own limit and the tables of a small log included
)
OF_ROW = 100  # and for each scalar of the log
_STARTING = 60.0  # seconds that the start of a process may take
_GRACE = 2.0  # seconds until a process that was asked to stop is ended
LENGTHS = struct.Struct("<QQ")  # of the header and of the body of an answer
_LONGEST = 500_000_000  # bytes of an answer
_LESS = "ask for less: a where clause, one run, one tag"
_NOBODY = "nobody waits for this query"
_START = "from tbq.server.sql.worker_main import main; main()"
_SUBJECTS = {"examine": "the check of the log", "names": "the filter", "matching": "the filter"}


class Reply(NamedTuple):
    """What a process answers."""

    header: dict[str, Any]
    body: bytes


class _GoneError(QueryError):
    """Nobody waits any more, and the process was asked nothing yet."""


class Job:
    """A question, which another thread can give up."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.seconds = self.patience = seconds  # to be answered, and to have its turn
        self.began = time.monotonic()
        self.gone = False
        #: replies; None if the process has ended, "gone" if nobody waits any more
        self.inbox: queue.SimpleQueue[Reply | str | None] = queue.SimpleQueue()

    def give_up(self) -> None:
        """Nobody waits for the answer any more."""
        self.gone = True
        self.inbox.put("gone")


class Worker:
    """One process; it answers one question after another."""

    def __init__(self) -> None:
        path = os.pathsep.join(each for each in sys.path if each)
        environment = {**os.environ, "PYTHONPATH": path, "MALLOC_ARENA_MAX": "4"}
        own_group: dict[str, Any] = {"start_new_session": True}  # ctrl-C is the server's business
        if os.name == "nt":
            own_group = {"creationflags": subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP}  # type: ignore[attr-defined,unused-ignore]
        # What it unpacks is the server's to put away: a process that is ended puts nothing away.
        self._scratch: Scratch | None = None
        with contextlib.suppress(OSError):  # no place for temporary files: few queries need one
            self._scratch = temporary("sql")
            environment |= dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(self._scratch.folder))
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", _START], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, env=environment, **own_group,
            )  # fmt: skip
        except BaseException:
            self._put_away()
            raise
        self._inbox: queue.SimpleQueue[Reply | str | None] = queue.SimpleQueue()
        self._ready = threading.Event()  # everything is imported
        self._over = False  # it has ended, which whoever asks next must know
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
        self.process.kill()  # it has ended, or makes no sense
        self.process.wait()
        self._put_away()
        self._over = True
        self._inbox.put(None)
        self._ready.set()

    def _send(self, message: Mapping[str, Any] | None) -> None:
        data = pickle.dumps(message)
        assert self.process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # it has ended, which the other side of it says
            self.process.stdin.write(len(data).to_bytes(8, "little") + data)
            self.process.stdin.flush()

    def ask(self, job: Job, message: Mapping[str, Any]) -> Reply:
        """The answer to a question; after an error that is raised the process is of no use."""
        self._inbox = job.inbox
        began = time.monotonic()
        while not self._ready.wait(0.1):  # which is not the time of the query
            if job.gone:
                raise _GoneError(_NOBODY)
            if time.monotonic() - began > _STARTING:
                raise BusyError("the process for SQL does not start", hint="try again in some seconds")
        if self._over:  # perhaps before this question had an inbox
            raise self._ended(subject(message["call"]))
        # A process that was stopped takes no message longer than a pipe holds: only its end ends the writing of one.
        timer = threading.Timer(job.seconds + _GRACE, self.process.kill)
        timer.daemon = True
        timer.start()
        try:
            return self._exchange(job, message)
        finally:
            timer.cancel()
            self._inbox = queue.SimpleQueue()  # its end does not concern the next question of this job

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
        return QueryError(f"{what} ended the process that ran it", hint="ask in another way")

    def end(self) -> None:
        """End it now."""
        with contextlib.suppress(OSError):
            self.process.kill()
        with contextlib.suppress(OSError, ValueError):
            assert self.process.stdin is not None
            self.process.stdin.close()
        self.process.wait()
        self._put_away()

    def _put_away(self) -> None:
        if self._scratch is not None:
            self._scratch.remove()


def subject(call: str) -> str:
    """What a process was asked to do, as messages name it."""
    return _SUBJECTS.get(call, "the query")


def late(seconds: float, what: str = "the query") -> QueryError:
    """The error of a query that took too long."""
    return QueryError(f"{what} was stopped after {seconds:g} s", hint=_LESS)


def too_much(what: str = "the query") -> TooMuchError:
    """The error of a query that took too much memory."""
    return TooMuchError(f"{what} takes too much memory", hint=_LESS)


class WorkerPool:
    """The processes of a log: as many as questions at once, up to a limit; they are kept for the next question."""

    def __init__(self, most: int) -> None:
        self._slots = threading.BoundedSemaphore(most)
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._all: set[Worker] = set()
        self._closed = False

    def ask(
        self, job: Job, call: str, rows: int = 0, *, most_memory: int | None = None, **message: Any
    ) -> Reply:
        """The answer to a question; what is wrong with it is an error. `rows` is how many scalars the log has."""
        if not self._slots.acquire(timeout=job.patience):
            raise BusyError("too many queries are running", hint="try again in some seconds")
        try:
            child = self._take(job)
            try:
                memory = most_memory or MEMORY + OF_ROW * rows
                reply = child.ask(job, {"call": call, "seconds": job.seconds, "memory": memory, **message})
            except _GoneError:  # others will come, and starting it took a second
                with self._lock:
                    self._idle.append(child)
                raise
            except BaseException:
                self._drop(child)
                raise
            if reply.header.get("tired"):
                self._drop(child)
            else:
                with self._lock:
                    self._idle.append(child)
        finally:
            self._slots.release()
        if reply.header.get("error"):
            kind = TooMuchError if reply.header.get("much") else QueryError
            raise kind(str(reply.header["error"]), hint=reply.header.get("hint"))
        return reply

    def _take(self, job: Job) -> Worker:
        with self._lock:
            if self._closed or job.gone:
                raise QueryError(_NOBODY)
            while self._idle:
                child = self._idle.pop()
                if child.process.poll() is None:
                    return child
                self._all.discard(child)
                child.end()
            try:
                child = Worker()
            except OSError as wrong:  # no memory, too many files or processes
                raise BusyError(
                    f"the process for SQL cannot be started: {wrong.strerror or type(wrong).__name__}",
                    hint="try again in some seconds",
                ) from None
            self._all.add(child)
            return child

    def _drop(self, child: Worker) -> None:
        with self._lock:
            self._all.discard(child)
        child.end()

    def close(self) -> None:
        """End all of them."""
        with self._lock:
            self._closed = True
            every, self._all, self._idle = list(self._all), set(), []
        for child in every:
            child.end()
