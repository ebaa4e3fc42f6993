"""Inspects a run's directory: its event files, their last step, and a writer that is still active."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from tbq import _core

# Bytes of a file's end to read in search of its last step; the second size if the first has no step.
_TAILS = (1 << 16, 1 << 23)
_NEWEST = 16  # a run may have one file per step: only the newest are read


def event_files(directory: str) -> list[Path]:
    """The event files of the run in `directory`, by name."""
    try:
        names = sorted(entry.name for entry in os.scandir(directory))
    except OSError:
        return []
    if not names:
        return []
    # Imported late: it takes longer than starting a writer in a new directory.
    from tbq.source.walk import is_event_file

    return [Path(directory, name) for name in names if is_event_file(name)]


def last_step(files: list[Path]) -> int | None:
    """The largest step near the ends of the newest `files`; None if they have no step."""
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
    """Whether `path` is the file with this status."""
    try:
        return os.path.samestat(path.stat(), status)
    except OSError:
        return False


def has_full_records(path: Path, size: int) -> bool:
    """Whether the first `size` bytes of an event file end at the end of a record."""
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
    except (OSError, OverflowError):  # the file was moved away, or the length is impossible
        return False
    return at == size


def lock(descriptor: int) -> None:
    """Mark an event file as being written, for as long as the descriptor is open."""
    try:
        import fcntl
    except ImportError:  # Windows: only writers of this process are known
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
    """The process that wrote a file, from the file's name: `pid 1234 on host`."""
    match = re.fullmatch(r".*tfevents\.\d+\.(?P<host>.+)\.(?P<pid>\d+)\.\d+.*", file.name)
    return f"pid {match['pid']} on {match['host']}" if match else "another process"
