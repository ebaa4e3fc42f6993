"""Temporary folders: removed after use, at exit, on SIGTERM, and by the next process if this process was killed.

A folder's name contains its machine, and its process holds a lock on a file in it. If the lock of a folder of this
machine is free, its process is dead: the next process that makes a folder beside it removes it.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import functools
import os
import re
import stat
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tbq import termination

if TYPE_CHECKING:
    from collections.abc import Iterator
_NAME = re.compile(r".+\.tbq-([0-9a-f]{12})-[0-9a-f]{8}\.tmp", re.DOTALL)
_LOCK = "lock"
_SWEEP_SECONDS = 60.0  # search a folder for leftovers at most this often

_lock = threading.RLock()  # not held during calls of `termination`, which has its own lock
_open: dict[int, Scratch] = {}
_swept: dict[str, float] = {}


class Scratch:
    """A private temporary folder in `parent`. `stem`, the start of its name, says what it is for.

    >>> with temporary("example") as scratch:
    ...     _ = (scratch.folder / "file").write_text("gone soon")
    >>> scratch.folder.exists()
    False
    """

    def __init__(self, parent: str | os.PathLike[str], stem: str) -> None:
        self._process = os.getpid()
        termination.hold(id(self))
        try:
            with _lock:
                now = time.monotonic()
                if now - _swept.get(os.fspath(parent), -_SWEEP_SECONDS) >= _SWEEP_SECONDS:
                    _swept[os.fspath(parent)] = now
                    sweep(parent)
                self.folder, self._locked = _create(Path(parent), stem)
                _open[id(self)] = self
        except BaseException:
            termination.release(id(self))
            raise

    @property
    def is_ours(self) -> bool:
        """Whether this process made the folder: a forked child has a copy of this object, but does not own it."""
        return os.getpid() == self._process

    @contextlib.contextmanager
    def settled(self) -> Iterator[None]:
        """Keep signals from removing the folder while the block runs; after such a signal the block does not run."""
        with _lock:
            yield

    def remove(self) -> None:
        """Remove the folder and its contents; a second call does nothing."""
        if not self.is_ours:
            return
        with _lock:
            if _open.pop(id(self), None) is None:
                return
            # Windows cannot remove an open file; elsewhere the lock guards the folder during removal.
            if os.name == "nt":
                os.close(self._locked)
            _erase(self.folder)
            if os.name != "nt":
                os.close(self._locked)
        termination.release(id(self))

    def is_above(self, path: Path) -> bool:
        """Whether `path` lies below the same parent, in the same file system, so that a file can be renamed to it."""
        above = self.folder.parent
        try:
            return above in path.parents and above.stat().st_dev == path.parent.stat().st_dev
        except OSError:
            return False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def temporary(stem: str) -> Scratch:
    """A folder in the system's temporary directory."""
    import tempfile

    return Scratch(tempfile.gettempdir(), f"tbq-{stem}")


def beside(target: Path) -> Scratch:
    """A folder beside `target`, in the same file system, so that its files can be renamed to `target`."""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", target.name)[:60]
    return Scratch(target.parent, f".{name}")


def _create(parent: Path, stem: str) -> tuple[Path, int]:
    while True:
        folder = parent / f"{stem}.tbq-{_machine()}-{os.urandom(4).hex()}.tmp"
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
            locked = os.open(folder / _LOCK, flags, 0o600)
        except FileNotFoundError:  # another process removed it as a leftover while it was empty
            continue
        except BaseException:
            with contextlib.suppress(OSError):
                folder.rmdir()
            raise
        if take_lock(locked) != "taken" and _is_at(locked, folder / _LOCK):
            return folder, locked
        os.close(locked)


def take_lock(descriptor: int) -> str:
    """Lock a file: "locked"; "taken" if another process has the lock; "unknown" if the file system has no locks."""
    try:
        import fcntl
    except ImportError:  # Windows: an open file cannot be removed, which serves as a lock
        return "unknown"
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as refused:
        return "taken" if refused.errno in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES) else "unknown"
    return "locked"


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat(follow_symlinks=False))
    except OSError:
        return False


@functools.cache
def _machine() -> str:
    """An id of this machine since its boot: locks of other machines may be invisible here, so their folders stay."""
    with contextlib.suppress(OSError):
        boot = re.sub("[^0-9a-f]", "", Path("/proc/sys/kernel/random/boot_id").read_text())
        if len(boot) == 32:
            return boot[:12]
    import hashlib
    import socket

    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:12]


def sweep(parent: str | os.PathLike[str]) -> None:
    """Remove the folders that dead processes left in this folder."""
    try:
        with os.scandir(parent) as entries:
            names = [entry.name for entry in entries if entry.name.endswith(".tmp")]
    except OSError:
        return
    ours = {scratch.folder.name for scratch in list(_open.values())}
    for name in names:
        match = _NAME.fullmatch(name)
        if match and match[1] == _machine() and name not in ours:
            with contextlib.suppress(OSError):
                _remove_if_dead(Path(parent, name))


def _remove_if_dead(folder: Path) -> None:
    status = folder.stat(follow_symlinks=False)
    if not stat.S_ISDIR(status.st_mode) or (hasattr(os, "geteuid") and status.st_uid != os.geteuid()):
        return
    lock = folder / _LOCK
    if os.name == "nt":
        lock.unlink(missing_ok=True)  # refused while its process lives
        _erase(folder)
        return
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        folder.rmdir()  # its process died before it made a lock, so the folder is empty
        return
    try:
        if take_lock(descriptor) == "locked":
            _erase(folder)
    finally:
        os.close(descriptor)


def _erase(folder: Path) -> None:
    """Remove a folder, its lock last: if this is interrupted, the next process continues."""
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(folder)):
            if entry.is_dir(follow_symlinks=False):
                from shutil import rmtree

                rmtree(entry.path, ignore_errors=True)
            elif entry.name != _LOCK:
                with contextlib.suppress(OSError):
                    Path(entry.path).unlink()
        (folder / _LOCK).unlink(missing_ok=True)
        folder.rmdir()


def _remove_all() -> None:
    """Remove all folders because a signal ends the process; from here on no folder can be made or used."""
    _lock.acquire(timeout=5)
    for scratch in list(_open.values()):
        _erase(scratch.folder)


termination.before_end(_remove_all)


def _at_exit() -> None:
    for scratch in list(_open.values()):
        scratch.remove()


atexit.register(_at_exit)


def _in_child() -> None:
    """Forget the folders after a fork: they belong to the parent."""
    global _lock
    _lock = threading.RLock()
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
