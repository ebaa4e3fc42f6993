"""The process that runs SQL for the server, so that a query cannot harm the server itself.

The server sends pickled messages on stdin, each after its length. Answers are a JSON header and a body, after their
lengths: the server unpickles nothing from a process that ran a user's query.
"""

from __future__ import annotations

import json
import os
import pickle
import queue
import sys
import threading
from typing import Any, BinaryIO

from tbq.errors import TbqError
from tbq.server.http.params import TooMuchError
from tbq.server.sql.memory_limit import MemoryLimit, resident
from tbq.server.sql.watchdog import Interrupter
from tbq.server.sql.worker_calls import CALLS
from tbq.server.sql.worker_pool import LENGTHS, subject

_TIRED = 700_000_000  # bytes; a process with more ends after its answer


class _Control:
    """Reads messages, also while a query runs, because a message may stop it."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self.jobs: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.current: Interrupter | None = None
        threading.Thread(target=self._listen, name="tbq control", daemon=True).start()

    def _listen(self) -> None:
        while True:
            length = self._source.read(8)
            body = self._source.read(int.from_bytes(length, "little")) if len(length) == 8 else b""
            if not body:
                os._exit(0)  # the server has ended
            message = pickle.loads(body)
            if message is not None:
                self.jobs.put(message)
            elif self.current is not None:
                self.current.give_up()


def main() -> None:
    """Answer until the server ends."""
    target = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())  # output of libraries must not mix with answers
    control = _Control(sys.stdin.buffer)
    _send(target, {"ready": True}, b"")
    while True:
        message = control.jobs.get()
        with Interrupter(message["seconds"]) as watchdog, MemoryLimit(message["memory"]):
            control.current = watchdog
            header, body = _answer(message, watchdog)
            control.current = None
        # The end of the process releases the memory that the doctor took.
        header["tired"] = message["call"] == "examine" or resident() > _TIRED
        _send(target, header, body)


def _send(target: BinaryIO, header: dict[str, Any], body: bytes) -> None:
    head = json.dumps(header).encode()
    target.write(LENGTHS.pack(len(head), len(body)) + head)
    target.write(body)
    target.flush()


def _answer(message: dict[str, Any], watchdog: Interrupter) -> tuple[dict[str, Any], bytes]:
    try:
        return {}, CALLS[message["call"]](message, watchdog)
    except TbqError as wrong:
        return {"error": wrong.message, "hint": wrong.hint, "much": isinstance(wrong, TooMuchError)}, b""
    except MemoryError:
        what = subject(message["call"])
        return {"error": f"not enough memory for {what}", "hint": None, "much": True}, b""
    except Exception as wrong:  # a bug in tbq or DuckDB: the next query may work
        return {
            "error": f"{subject(message['call'])} failed: {type(wrong).__name__}",
            "hint": None,
            "much": False,
        }, b""


if __name__ == "__main__":
    main()
