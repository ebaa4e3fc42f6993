"""What a directory already holds: event files, the last step in them, and a writer that is still at work."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from tbq import _core

_TAILS = (
    1 << 16,
    1 << 23,
)  # how much of a file's end is read for its last step; the second if the first has none
_NEWEST = 16  # of a run written anew for each step, only so many files are looked at


def event_files(directory: str) -> list[Path]:
    """The event files of the run in `directory`, by name."""
    try:
        names = sorted(entry.name for entry in os.scandir(directory))
    except OSError:
        return []
    return [
        Path(directory, name) for name in names if "tfevents" in name and not name.endswith(".profile-empty")
    ]


def last_step(files: list[Path]) -> int | None:
    """The largest step near the end of the newest of `files`; None when there is none."""
    steps = [step for file in files[-_NEWEST:] if (step := _last_step(file)) is not None]
    return max(steps, default=None)


def _last_step(file: Path) -> int | None:
    try:
        with file.open("rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            for tail in _TAILS:
                stream.seek(max(0, size - tail))
                step = _core.last_step(stream.read(tail))
                if step is not None or size <= tail:
                    return step
    except OSError:
        pass
    return None


def is_same(path: Path, status: os.stat_result) -> bool:
    """Whether `path` is the file that has this status."""
    try:
        return os.path.samestat(path.stat(), status)
    except OSError:
        return False


def is_whole(path: Path, size: int) -> bool:
    """Whether the first `size` bytes of an event file are whole records."""
    if size == 0:
        return True
    at = 0
    try:
        with path.open("rb") as stream:
            while at < size and len(header := stream.read(12)) == 12:
                crc = _core.crc32c(header[:8])
                masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
                if int.from_bytes(header[8:], "little") != masked:
                    return False
                at = stream.seek(at + 16 + int.from_bytes(header[:8], "little"))
    except (OSError, OverflowError):  # moved away, or a length that no file has
        return False
    return at == size


def lock(descriptor: int) -> None:
    """Mark an event file as being written, for as long as the descriptor is open."""
    try:
        import fcntl
    except ImportError:  # Windows: only writers of the same process are known
        return
    with contextlib.suppress(OSError):  # a file system without locks
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def written_now(files: list[Path]) -> Path | None:
    """The first of `files` that a tbq writer, in any process, has open."""
    try:
        import fcntl
    except ImportError:
        return None
    for file in reversed(files[-_NEWEST:]):
        try:
            descriptor = os.open(file, os.O_RDONLY)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return file
        except OSError:
            continue
        finally:
            os.close(descriptor)
    return None


def process_of(file: Path) -> str:
    """The process that wrote a file, as its name tells: `pid 1234 on host`."""
    found = re.fullmatch(r".*tfevents\.\d+\.(?P<host>.+)\.(?P<pid>\d+)\.\d+.*", file.name)
    return f"pid {found['pid']} on {found['host']}" if found else "another process"
