"""Tells whether a file is still being written, and so a growing log from one that was cut off."""

from __future__ import annotations

import os
import sys
import time

from tbq.source.walk import may_be_read

RECENT = 600  # seconds: a file that changed more recently counts as being written


class Growing:
    """Checks many files at one moment. Which files processes have open is looked up once, and only if needed."""

    def __init__(self) -> None:
        self.now = time.time()
        self._opened: set[str] | None = None

    def __call__(self, path: str, size: int | None = None) -> bool:
        """Whether the file changed within the last minutes, is larger than `size`, or is open for writing.

        Open files are known only on Linux, and only those of processes that this user may inspect.
        """
        try:
            info = os.stat(path)
        except OSError:
            return False
        if abs(self.now - info.st_mtime) < RECENT or (size is not None and info.st_size > size):
            return True
        return os.path.realpath(path) in self._open_files()

    def _open_files(self) -> set[str]:
        if self._opened is None:
            self._opened = set(_open_files()) if sys.platform == "linux" else set()
        return self._opened


def _open_files() -> list[str]:
    from pathlib import Path

    targets = []
    for process in Path("/proc").glob("[0-9]*/fd"):
        try:
            for link in process.iterdir():
                target = str(link.readlink())
                # The link's mode tells whether the file was opened for writing.
                if may_be_read(os.path.basename(target)) and link.lstat().st_mode & 0o200:
                    targets.append(target)
        except OSError:
            continue
    return targets
