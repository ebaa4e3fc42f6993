"""The one way tbq writes a file: beside its target, then renamed; devices and pipes directly."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import secrets
import stat
from pathlib import Path
from typing import IO, TYPE_CHECKING

from tbq.errors import OutputError
from tbq.names import shown_path
from tbq.source.remote import refuse_remote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer

StrPath = str | os.PathLike[str]

_FD = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")
_NAMED_FDS = {"-": 1, "/dev/stdout": 1, "/dev/stderr": 2}


@contextlib.contextmanager
def output(path: StrPath, force: bool = False) -> Iterator[IO[bytes]]:
    """A binary stream whose bytes become the file `path` when the block ends well, and else vanish.

    `-`, `/dev/stdout`, pipes and devices are written directly.

    >>> import tempfile, pathlib
    >>> target = pathlib.Path(tempfile.mkdtemp(), "words.txt")
    >>> with output(target) as stream:
    ...     _ = stream.write(b"hello")
    >>> target.read_bytes()
    b'hello'
    """
    direct = _direct(path)
    if direct is not None:
        with _explained(path), direct as stream:
            yield stream
            stream.flush()
        return
    with output_path(path, force) as beside, _explained(path), open(beside, "xb") as stream:
        yield stream
        stream.flush()


@contextlib.contextmanager
def output_path(path: StrPath, force: bool = False) -> Iterator[Path]:
    """Like `output`, for libraries that want a file name: a name beside the target that is not there yet."""
    if is_direct(path):
        raise OutputError(
            "this format needs a real file, not a pipe or device", path=path, hint="write to a file name"
        )
    target = Path(os.path.realpath(path))  # a link stays a link: what it points to is replaced
    check_free(path, force)
    check_folder(path)
    beside = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.tmp")
    try:
        with _explained(path):
            with open(beside, "xb"):  # what the system refuses it says here, and not through a library
                pass
            beside.unlink()
            yield beside
            check_free(path, force)
            beside.replace(target)
    except BaseException as failure:
        if isinstance(failure, OutputError) and failure.path is None:
            failure.path = os.fspath(path)
        for leftover in (beside, *(beside.with_name(beside.name + end) for end in (".wal", "-journal"))):
            with contextlib.suppress(OSError):
                leftover.unlink()
        raise


def is_direct(path: StrPath) -> bool:
    """Whether a target is written as it is: standard output, a pipe or a device, which have no ending and stay.

    >>> is_direct("-"), is_direct("out.csv")
    (True, False)
    """
    return _direct_fd(path) is not None or _is_special(path)


def check_free(path: StrPath, force: bool) -> None:
    """Raise where `path` cannot be a target: a folder, or a file that is there without `force`."""
    refuse_remote(path, OutputError)
    if is_direct(path):
        return
    if Path(path).is_dir():
        raise OutputError("is a folder, want a file name", path=path)
    if not force and os.path.lexists(path):
        raise OutputError("is already there", path=path, hint="use --force (force=True) to replace it")


def check_folder(path: StrPath) -> None:
    """Raise where the folder that `path` would be in is not there."""
    refuse_remote(path, OutputError)
    if is_direct(path):
        return
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise OutputError(
            f"the folder {shown_path(folder)} is not there", path=path, hint="make it first (mkdir -p)"
        )


def make_folder(path: StrPath) -> None:
    """Make a folder and those above it, where they are not there."""
    refuse_remote(path, OutputError)
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        raise OutputError(
            f"the folder cannot be made: {(failure.strerror or str(failure)).lower()}", path=path
        ) from failure


def _direct_fd(path: StrPath) -> int | None:
    text = os.fspath(path)
    found = _FD.fullmatch(text)
    return int(found[1]) if found else _NAMED_FDS.get(text)


def _is_special(path: StrPath) -> bool:
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


class _Counted(io.BufferedWriter):
    """A stream that knows how much went through it, since pipes cannot tell and Parquet asks."""

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
    """A stream that stays open when a library that was handed it closes it."""

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


def _direct(path: StrPath) -> _Counted | None:
    fd = _direct_fd(path)
    if fd is not None:
        with _explained(path):
            return _Counted(open(os.dup(fd), "wb", buffering=0))
    if _is_special(path):
        with _explained(path):
            return _Counted(open(path, "wb", buffering=0))
    return None


@contextlib.contextmanager
def _explained(path: StrPath) -> Iterator[None]:
    """Turn what the system says about a write into an OutputError; a closed pipe stays what it is."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as failure:
        hints = {
            errno.ENOSPC: "free some space, or write elsewhere; no half file was left",
            errno.EDQUOT: "free some of your quota, or write elsewhere; no half file was left",
            errno.EACCES: "choose a folder that you may write to",
            errno.EPERM: "choose a folder that you may write to",
            errno.EROFS: "choose a folder that you may write to",
        }
        # pyarrow passes on the number of a failed write only in its text.
        number = failure.errno or next((n for n in hints if f"[errno {n}]" in str(failure)), None)
        reason = (os.strerror(number) if number else str(failure)).lower()
        raise OutputError(f"cannot be written: {reason}", path=path, hint=hints.get(number or 0)) from failure
