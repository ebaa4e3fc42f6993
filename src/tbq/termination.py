"""What is done before SIGTERM or SIGHUP ends the process: writers flush, temporary folders go.

A handler that only writes to a pipe wakes a thread (cpp/io/termination.cpp), and the thread does the rest. So it may
take locks, a writer that was opened in a thread is served too, and a main thread inside a long native call does not
keep anybody waiting. The process then ends by the signal. A handler that somebody else set is left alone.
"""

from __future__ import annotations

import _thread
import atexit
import contextlib
import os
import signal
import sys
import threading
import time
import types
from collections.abc import Callable
from typing import NoReturn

_actions: list[Callable[[], object]] = []
_held: set[int] = set()
_lock = threading.RLock()  # also taken by destructors, which may interrupt whoever holds it
_pipe: tuple[int, int] | None = None
_ending = threading.Event()


def before_end(action: Callable[[], object], *, first: bool = False) -> None:
    """Call `action` before a signal ends the process, after those that were given before, or `first`."""
    _actions.insert(0 if first else len(_actions), action)


def hold(key: int) -> None:
    """Catch the signals until `release(key)`; does nothing on systems that have no such signals."""
    if os.name != "posix" or not isinstance(_thread.start_new_thread, types.BuiltinFunctionType):
        return  # also where gevent and its like put in threads of their own, none of which may wait for a pipe
    from tbq import _core

    with _lock:
        if _pipe is not None or _listen():
            assert _pipe is not None
            _held.add(key)
            _core.catch_termination(_pipe[1])


def release(key: int) -> None:
    """There is nothing left to do for `key`; after the last one the signals end the process by themselves."""
    with _lock:
        if key in _held:
            _held.discard(key)
            if not _held and not _ending.is_set():
                _release()


def _release() -> None:
    from tbq import _core

    _core.release_termination()


def _listen() -> bool:
    global _pipe
    try:
        reader, writer = os.pipe()
    except OSError:  # too many files are open: no reason to fail
        return False
    os.set_blocking(writer, False)
    try:
        threading.Thread(target=_wait, args=(reader,), name="tbq-termination", daemon=True).start()
    except RuntimeError:  # the interpreter is ending
        os.close(reader)
        os.close(writer)
        return False
    _pipe = (reader, writer)
    return True


def leave(code: int) -> NoReturn:
    """End the process as `sys.exit` does, but without waiting for requests that threads still answer.

    A thread that comes back from DuckDB or another library while Python is being taken down may abort the process; one
    that comes back from the core rests (cpp/bind/gil.hpp).
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


def leave_signals_to_others() -> None:
    """Let no signal be delivered to this thread: the program's own threads may wait for them, or handle them."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())


def _wait(reader: int) -> None:
    from tbq import _core

    leave_signals_to_others()
    try:
        number = os.read(reader, 1)
    except OSError:  # somebody closed all files: the handler knows, and lets the signals pass
        return
    _ending.set()
    for action in _actions:
        with contextlib.suppress(Exception):  # nothing may keep the process from ending
            action()
    _core.end_by_signal(number[0])


def _at_exit() -> None:
    """The end of the interpreter: no thread listens any more. If a signal has come already, it ends the process."""
    if _ending.is_set():
        time.sleep(60)
    with _lock:
        _held.clear()
        if _pipe is not None:
            _release()


atexit.register(_at_exit)


def _in_child() -> None:
    """After a fork the thread is gone, and the native handler lets the signals end the process."""
    global _lock, _pipe
    _lock = threading.RLock()
    _pipe = None
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
