"""Gives a finished file the name of an older one, on every system."""

from __future__ import annotations

import contextlib
import os
import time

_WINDOWS = os.name == "nt"
#: Seconds to wait for other programs, e.g. scanners for viruses, which hold a new file for a moment.
_PAUSES = (0.01, 0.05, 0.2, 0.5)


def rename_over(fresh: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Rename `fresh` to `target`, over the file that has this name, even if a program has that file open.

    Windows refuses to replace an open file. But files that tbq reads may be renamed: the old one is moved aside,
    and is gone when the last program closes it.
    """
    for pause in _PAUSES if _WINDOWS else ():
        with contextlib.suppress(PermissionError):
            os.replace(fresh, target)
            return
        with contextlib.suppress(PermissionError):
            _move_aside(fresh, target)
            return
        time.sleep(pause)
    os.replace(fresh, target)


def _move_aside(fresh: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Rename the old file, then the new one; if that fails, the old file gets its name back."""
    aside = f"{os.fspath(target)}.{os.urandom(4).hex()}.old"
    os.rename(target, aside)
    try:
        os.rename(fresh, target)
    except BaseException:
        os.rename(aside, target)
        raise
    with contextlib.suppress(OSError):
        os.unlink(aside)
