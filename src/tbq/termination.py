"""Actions before SIGTERM or SIGHUP ends the process: writers flush, temporary folders are removed.

On Windows the same holds for Ctrl-Break, a console that is closed, and the shutdown.

The signal handler only writes to a pipe. That wakes a thread (cpp/io/termination.cpp), and the thread does the rest.
So it may take locks, it serves writers of any thread, and it does not wait for a main thread inside a long native
call. The process then ends by the signal. If another library set a handler, that handler stays.
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
_lock = threading.RLock()  # reentrant: a destructor may take it in the thread that holds it
_pipe: tuple[int, int] | None = None
_ending = threading.Event()


def before_end(action: Callable[[], object], *, first: bool = False) -> None:
    """Call `action` before a signal ends the process, after earlier actions, or before them if `first`."""
    _actions.insert(0 if first else len(_actions), action)


def hold(key: int) -> None:
    """Catch the signals until `release(key)`."""
    if not isinstance(_thread.start_new_thread, types.BuiltinFunctionType):
        return  # also under gevent and the like, whose threads must not block on a pipe
    from tbq import _core

    with _lock:
        if _pipe is not None or _listen():
            assert _pipe is not None
            _held.add(key)
            _core.catch_termination(_pipe[1])


def release(key: int) -> None:
    """Stop catching the signals for `key`; after the last key the signals end the process directly."""
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
    except OSError:  # too many open files: not a reason to fail
        return False
    if os.name == "posix":  # elsewhere a handler writes one byte only
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
    """End the process like `sys.exit`, but without waiting for threads that still answer requests.

    A thread that returns from DuckDB or another library during Python's shutdown may abort the process; a thread
    that returns from the core pauses (cpp/bind/gil.hpp).
    """
    from tbq import _core

    atexit._run_exitfuncs()
    _core.write_exit_marks(code)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


def leave_signals_to_others() -> None:
    """Block all signals in this thread: the program's own threads may wait for them or handle them."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())


def _wait(reader: int) -> None:
    from tbq import _core

    leave_signals_to_others()
    try:
        number = os.read(reader, 1)
    except OSError:  # the program closed all files: the handler notices, and lets the signals pass
        return
    _ending.set()
    for action in _actions:
        with contextlib.suppress(Exception):  # no error may keep the process from ending
            action()
    _core.end_by_signal(number[0])


def _at_exit() -> None:
    """Stop listening at the interpreter's end. If a signal has come already, let it end the process."""
    if _ending.is_set():
        time.sleep(60)
    with _lock:
        _held.clear()
        if _pipe is not None:
            _release()


atexit.register(_at_exit)


def _in_child() -> None:
    """Reset after a fork: the thread is gone, and the native handler lets the signals end the process."""
    global _lock, _pipe
    _lock = threading.RLock()
    _pipe = None
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
