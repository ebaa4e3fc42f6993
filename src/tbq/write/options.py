"""Checks the arguments of `SummaryWriter`, and chooses its directory."""

from __future__ import annotations

import math
import os
import socket
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tbq.arguments import described
from tbq.errors import OutputError, UsageError
from tbq.text import counted
from tbq.write import existing
from tbq.write.arguments import bad
from tbq.write.file import unwritable

if TYPE_CHECKING:
    from collections.abc import Mapping


def directory(log_dir: object, comment: object, run: object) -> str:
    """The absolute directory of a run."""
    if not isinstance(comment, str):
        raise bad("comment", f"got {described(comment)}, want a str")
    if log_dir is None or log_dir == "":
        log_dir = Path("runs", f"{_now_and_here()}{comment}")
    try:
        path: str | bytes = os.fspath(log_dir)  # type: ignore[call-overload]
    except TypeError:
        raise bad("log_dir", f"got {described(log_dir)}, want a path") from None
    path = os.fsdecode(path)
    if "\0" in path:
        raise bad("log_dir", f"got {described(path)}, which has a null character")
    if "://" in path:
        raise bad(
            "log_dir", f"got {path!r}, want a local directory", hint="write locally, then copy or sync it"
        )
    if run is not None:
        if not isinstance(run, str) or not run:
            raise bad("run", f"got {described(run)}, want the name of a run")
        if Path(run).is_absolute() or ".." in Path(run).parts:
            raise bad("run", f"got {run!r}, want a name below log_dir")
        path = str(Path(path, run))
    return os.path.normpath(Path(path).absolute())


def run_name() -> str:
    """A default name for a run; processes that start together get different ones."""
    return f"{_now_and_here()}_{os.getpid()}"


def _now_and_here() -> str:
    return f"{datetime.now():%b%d_%H-%M-%S}_{socket.gethostname()}"


def resumed(directory: str, resume: str) -> str:
    """The directory to write to, depending on existing files and on `resume`."""
    if resume == "auto":
        return directory
    if resume == "error":
        files = existing.event_files(directory)
        if files:
            raise OutputError(
                f"the run exists: {counted(len(files), 'event file')}",
                path=directory,
                hint="pass resume='auto' to continue it, or resume='new' for a new directory",
                code="exists",
            )
        return directory
    number = 0
    while True:
        candidate = directory if number == 0 else f"{directory}-{number}"
        number += 1
        try:
            Path(candidate).mkdir(parents=True)
            return candidate
        except FileExistsError:
            if Path(candidate).is_dir() and not any(Path(candidate).iterdir()):
                return candidate
        except OSError as error:
            raise unwritable(candidate, error) from error


def count(max_queue: object) -> int | None:
    """`max_queue`; 0 means no limit, as in torch."""
    if max_queue is None or (isinstance(max_queue, int) and max_queue >= 0):
        return max_queue or None
    raise bad("max_queue", f"got {described(max_queue)}, want a number of events")


def seconds(argument: str, value: object, *, forever: bool = False) -> float:
    """A number of seconds; infinity only if `forever` makes sense."""
    if isinstance(value, int | float) and value >= 0 and (forever or not math.isinf(value)):
        return float(value)
    raise bad(argument, f"got {described(value)}, want a number of seconds")


def check(options: Mapping[str, object]) -> None:
    """Raise if `SummaryWriter` does not know an option: for integrations, which open the writer much later."""
    import inspect

    from tbq.write.writer import SummaryWriter

    known = inspect.signature(SummaryWriter).parameters
    for name in options:
        if name not in known:
            raise UsageError(
                f"unknown argument {name!r}",
                code="argument",
                hint=f"SummaryWriter accepts {', '.join(known)}",
            )
