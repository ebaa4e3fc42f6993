"""The one way tbq writes a file: beside its target, then renamed; devices and pipes directly."""

from __future__ import annotations

import contextlib
import errno
import io
import itertools
import os
import re
import stat
from collections.abc import Iterator
from contextvars import ContextVar
from typing import IO, TYPE_CHECKING

from tbq.arguments import StrPath
from tbq.errors import OutputError, existing
from tbq.renaming import rename_over
from tbq.source.urls import is_remote, refuse_remote
from tbq.text import Screen, shown_path

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Buffer

    from tbq.scratch import Scratch

_FD = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")
_CONTENT = r"(?s).+?\.tbq-[0-9a-f]{12}-[0-9a-f]{8}\.tmp[/\\]content[^/\\]*(.*)"
_numbers = itertools.count()
_shared: ContextVar[Scratch | None] = ContextVar("tbq_shared_scratch", default=None)
_NAMED_FDS = {"-": 1, "/dev/stdout": 1, "/dev/stderr": 2}


@contextlib.contextmanager
def output(path: StrPath, force: bool = False, *, sync: bool = False) -> Iterator[IO[bytes]]:
    """A binary stream whose bytes become the file `path` if the block succeeds, and are discarded otherwise.

    A replaced file keeps its mode. `sync` waits for the disk before the file gets its name. `-`,
    `/dev/stdout`, pipes and devices are written directly.

    >>> import tempfile, pathlib
    >>> target = pathlib.Path(tempfile.mkdtemp(), "words.txt")
    >>> with output(target) as stream:
    ...     _ = stream.write(b"hello")
    >>> target.read_bytes()
    b'hello'
    """
    direct = _direct(path)
    if direct is not None:
        with _explained("stdout" if path == "-" else path, "the output is incomplete"), direct as stream:
            yield stream
            stream.flush()
        return
    with output_path(path, force) as content, _explained(path), open(content, "xb") as stream:
        yield stream
        stream.flush()
        if sync:
            os.fsync(stream.fileno())


@contextlib.contextmanager
def output_path(path: StrPath, force: bool = False) -> Iterator[Path]:
    """Like `output`, for libraries that need a file name: a name near the target that does not exist yet."""
    if is_remote(path):
        from tbq.export.upload import check_absent, uploaded

        check_absent(path, force)
        with _named(path), uploaded(path, force) as content:
            yield content
        return
    if is_direct(path):
        raise OutputError(
            "this format needs a real file, not a pipe or device", path=path, hint="write to a file name"
        )
    from pathlib import Path

    target = Path(os.path.realpath(path))  # a link stays a link: its target is replaced
    check_free(path, force)
    check_folder_can_be_made(path)
    make_folder(target.parent)
    with _named(path), _explained(path), _place_for(target) as (scratch, content):
        yield content
        _keep_mode(content, target)
        with scratch.settled():
            _rename(content, target, force)


@contextlib.contextmanager
def together(folder: StrPath) -> Iterator[None]:
    """Share one temporary folder for the outputs of this thread below `folder` while the block runs: for many files."""
    from pathlib import Path

    with _explained(folder), _inside(Path(os.path.realpath(folder))) as scratch:
        before = _shared.set(scratch)
        try:
            yield
        finally:
            _shared.reset(before)


@contextlib.contextmanager
def _place_for(target: Path) -> Iterator[tuple[Scratch, Path]]:
    """The temporary place of a file; anything that a library leaves beside it disappears with the folder."""
    from tbq.scratch import beside

    shared = _shared.get()
    if shared is None or not shared.is_above(target):
        with beside(target) as scratch:
            yield scratch, scratch.folder / f"content{target.suffix}"
        return
    content = shared.folder / f"content{next(_numbers)}{target.suffix}"
    try:
        yield shared, content
    finally:
        with contextlib.suppress(OSError):
            content.unlink(missing_ok=True)


@contextlib.contextmanager
def output_folder(path: StrPath, left: str = "no partial output is left") -> Iterator[Path]:
    """An empty folder that becomes the folder `path` if the block succeeds, and is discarded otherwise.

    `path` must not exist, or be an empty folder. `left` as in `unwritable`.

    >>> import tempfile, pathlib
    >>> target = pathlib.Path(tempfile.mkdtemp(), "new")
    >>> with output_folder(target) as folder:
    ...     _ = (folder / "file").write_bytes(b"hello")
    >>> [file.name for file in target.iterdir()]
    ['file']
    """
    from pathlib import Path

    from tbq.scratch import beside

    target = Path(os.path.realpath(path))
    check_folder(path)
    exists = os.path.lexists(target)
    if exists and not is_empty(target):
        raise OutputError("already exists", path=path, hint="choose a new directory")
    with _named(path), _explained(path, left), _inside(target) if exists else beside(target) as scratch:
        content = scratch.folder / "content"
        content.mkdir()
        yield content
        with scratch.settled():
            if len(list(target.iterdir())) != 1 if exists else os.path.lexists(target):
                raise OutputError("another process has created it in the meantime", path=path)
            if exists:
                for entry in list(content.iterdir()):
                    entry.rename(target / entry.name)
            else:
                content.rename(target)


def is_empty(folder: Path) -> bool:
    """Whether this is an empty folder, apart from leftovers of a killed process."""
    from tbq.scratch import sweep

    if not folder.is_dir():
        return False
    sweep(folder)
    return not any(folder.iterdir())


def _inside(folder: Path) -> Scratch:
    """A temporary folder inside an existing folder, which keeps its mode: it may be a mount, or a shell's directory."""
    from tbq.scratch import Scratch

    return Scratch(folder, ".files")


@contextlib.contextmanager
def _named(path: StrPath) -> Iterator[None]:
    """Add the file's path to the error, or replace a temporary path by it."""
    try:
        yield
    except OutputError as failure:
        match = re.match(_CONTENT, failure.path or "")
        if match:
            failure.path = os.fspath(path) + match[1]
        elif failure.path is None:
            failure.path = os.fspath(path)
        raise


def _keep_mode(content: Path, target: Path) -> None:
    """Give a file the mode and the group of the file that it replaces; a new file keeps the system's defaults."""
    try:
        old = target.stat()
    except OSError:
        return
    mode = stat.S_IMODE(old.st_mode) & 0o777
    status = content.stat()
    if hasattr(os, "chown") and not _same_owner(status, old):
        try:
            os.chown(content, -1, old.st_gid)
        except OSError:
            mode &= ~0o070  # the rights of the old group must not pass to another group
        with contextlib.suppress(OSError):
            os.chown(content, old.st_uid, -1)
    content.chmod(mode)


def _same_owner(first: os.stat_result, other: os.stat_result) -> bool:
    return (first.st_uid, first.st_gid) == (other.st_uid, other.st_gid)


def _rename(content: Path, target: Path, force: bool) -> None:
    """Give a file its name; without `force` never over a file that has just appeared."""
    if force:
        rename_over(content, target)
        return
    try:
        if os.name == "nt":
            content.rename(target)
            return
        try:
            target.hardlink_to(content)
        except FileExistsError:
            raise
        except OSError:  # the file system has no hard links: take the name, then replace the empty file
            target.open("xb").close()
            try:
                rename_over(content, target)
            except BaseException:
                target.unlink(missing_ok=True)
                raise
    except FileExistsError:
        raise existing(target) from None


def is_direct(path: StrPath) -> bool:
    """Whether to write a target directly: standard output, a pipe or a device, which cannot be replaced.

    >>> is_direct("-"), is_direct("out.csv")
    (True, False)
    """
    return _direct_fd(path) is not None or _is_special(path)


def check_free(path: StrPath, force: bool) -> None:
    """Raise if `path` cannot be a target: a folder, or without `force` an existing file."""
    if is_remote(path):
        from tbq.export.upload import check_absent

        check_absent(path, force)
        return
    refuse_remote(path, OutputError)
    if is_direct(path):
        return
    if os.path.isdir(path):
        raise OutputError("is a folder, want a file name", path=path)
    if not force and os.path.lexists(path):
        raise existing(path)


def check_folder_can_be_made(path: StrPath) -> None:
    """Raise if the folder of `path` does not exist and cannot be created because a file is in the way."""
    if is_remote(path):
        return  # an object store has no folders
    refuse_remote(path, OutputError)
    if is_direct(path):
        return
    above = os.path.dirname(os.path.realpath(path))
    while not os.path.lexists(above) and above != os.path.dirname(above):
        above = os.path.dirname(above)
    if not os.path.isdir(above):
        raise OutputError(f"{shown_path(above)} is not a folder", path=path, hint="name another path")


def check_folder(path: StrPath) -> None:
    """Raise if the folder of `path` does not exist."""
    refuse_remote(path, OutputError)
    if is_direct(path):
        return
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise OutputError(
            f"the folder {shown_path(folder)} does not exist", path=path, hint="create it first (mkdir -p)"
        )


def make_folder(path: StrPath) -> None:
    """Create a folder and its parents, if they are missing."""
    refuse_remote(path, OutputError)
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as failure:
        raise OutputError(
            f"cannot create the folder: {(failure.strerror or str(failure)).lower()}", path=path
        ) from failure


def _direct_fd(path: StrPath) -> int | None:
    text = os.fspath(path)
    match = _FD.fullmatch(text)
    return int(match[1]) if match else _NAMED_FDS.get(text)


def _is_special(path: StrPath) -> bool:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


class _CountingWriter(io.BufferedWriter):
    """A stream that counts its bytes, because pipes have no position and Parquet needs one."""

    def __init__(self, raw: io.RawIOBase) -> None:
        super().__init__(raw, 1 << 16)
        self._done = 0

    def write(self, data: Buffer) -> int:
        done = super().write(data)
        self._done += done
        return done

    def tell(self) -> int:
        return self._done

    def seekable(self) -> bool:
        return False


class Unclosed(io.RawIOBase):
    """A stream that stays open if a library closes it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer) -> int:
        return self._stream.write(data)

    def tell(self) -> int:
        return self._stream.tell()

    def flush(self) -> None:
        if not self._stream.closed:
            self._stream.flush()


def _direct(path: StrPath) -> _CountingWriter | None:
    fd = _direct_fd(path)
    if fd is not None:
        with _explained(path):
            return _CountingWriter(_harmless(open(os.dup(fd), "wb", buffering=0)))
    if _is_special(path):
        with _explained(path):
            return _CountingWriter(_harmless(open(path, "wb", buffering=0)))
    return None


def _harmless(raw: io.RawIOBase) -> io.RawIOBase:
    """Escape the control characters of a log for a terminal; pipes and devices get every byte."""
    return Screen(raw) if raw.isatty() else raw


@contextlib.contextmanager
def _explained(path: StrPath, left: str = "no partial file is left") -> Iterator[None]:
    """Turn a system error of a write into an OutputError; a closed pipe stays a BrokenPipeError."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as failure:
        raise unwritable(path, failure, left) from failure


def disk_full() -> OSError:
    """The system's error for a full disk, for writers that report it in words of their own."""
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def unwritable(path: StrPath, failure: OSError, left: str = "no partial file is left") -> OutputError:
    """The error for a write that the system refused; `left` says what a full disk leaves behind."""
    hints = {
        errno.ENOSPC: f"free some space, or write elsewhere; {left}",
        errno.EDQUOT: f"free some of your quota, or write elsewhere; {left}",
        errno.EFBIG: f"raise the limit on the size of a file (ulimit -f), or write elsewhere; {left}",
        errno.EACCES: "choose a folder that you may write to",
        errno.EPERM: "choose a folder that you may write to",
        errno.EROFS: "choose a folder that you may write to",
    }
    # pyarrow passes the number of a failed write only in its text.
    number = failure.errno or next((n for n in hints if f"[errno {n}]" in str(failure)), None)
    reason = (os.strerror(number) if number else str(failure)).lower()
    return OutputError(f"cannot be written: {reason}", path=path, hint=hints.get(number or 0))
