"""Unpacks event files that are compressed as a whole (gzip, zlib) into temporary files, which the core reads."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
import zlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from tbq.limits import FLOOR, RATIO, Limit, Size

if TYPE_CHECKING:
    from tbq.scratch import Scratch

_PIECE = 1 << 20
_RESERVE = 256 << 20  # bytes of the disk to leave free


Stamp = tuple[int, int, int, int]  # device, inode, size, time of the last change


class _Copy(NamedTuple):
    """The unpacked copy of a file."""

    stamp: Stamp | None  # of the compressed file when it was unpacked
    path: bytes | None
    before: bytes | None = None  # the copy of the previous version, whose rows may still be read


class Unpacked:
    """Unpacks files on demand, once per version, into a folder that is deleted with this object.

    A small file may unpack to a thousand times its size, so unpacking stops at a limit.
    """

    def __init__(self, max_unpacked: Size | None = None) -> None:
        self._limit = Limit.of(max_unpacked)
        #: the limit that the user set, or None
        self.limit = self._limit.most
        self._scratch: Scratch | None = None
        self._done: dict[bytes, _Copy] = {}
        # File → bytes unpacked beyond its ratio. All files together may use FLOOR such bytes.
        self._taken: dict[bytes, int] = {}
        self._count = 0
        self._lock = threading.Lock()  # the core calls from several threads
        #: path → why the file could not be unpacked to its end
        self.failures: dict[bytes, str] = {}
        #: the failed files that may unpack further later: the disk was full, or the file could not be read
        self.interrupted: set[bytes] = set()

    def __call__(self, path: bytes) -> bytes | None:
        """The path of the unpacked file; None if it is not compressed after all."""
        with self._lock:
            done, stamp = self._done.get(path), stamp_of(path)
            if done is None or done.stamp != stamp:
                if done is not None and done.before is not None:
                    with contextlib.suppress(OSError):
                        os.unlink(done.before)
                done = _Copy(stamp, self._unpack(path), done and done.path)
                self._done[path] = done
            return done.path

    def copy_of(self, path: bytes) -> bytes | None:
        """The path of the file's last unpacked copy, even if the file has changed since."""
        done = self._done.get(path)
        return done and done.path

    def unpack_again(self, path: bytes) -> bytes | None:
        """Unpack a file again, because it may have changed since."""
        self.forget([path])
        return self(path)

    def forget(self, paths: Iterable[bytes]) -> None:
        """Delete the copies of files that are gone or were replaced."""
        with self._lock:
            for path in paths:
                done = self._done.pop(path, None)
                for copy in () if done is None else (done.path, done.before):
                    if copy is not None:
                        with contextlib.suppress(OSError):
                            os.unlink(copy)
                self.failures.pop(path, None)
                self.interrupted.discard(path)
                self._taken.pop(path, None)

    def _unpack(self, path: bytes) -> bytes | None:
        self.failures.pop(path, None)
        self.interrupted.discard(path)
        self._taken.pop(path, None)
        from tbq.scratch import temporary

        spare = FLOOR - sum(self._taken.values())
        written = 0
        target = ""
        try:
            if self._scratch is None or not self._scratch.is_ours:
                self._scratch = temporary("unpacked")
                weakref.finalize(self, self._scratch.remove)
            self._count += 1
            target = os.path.join(self._scratch.folder, str(self._count))
            with open(path, "rb") as packed, open(target, "wb", buffering=0) as plain:
                size = os.fstat(packed.fileno()).st_size
                try:
                    complete = _inflate(packed, plain, self._limit.bytes_of(size, spare))
                except _TooMuchError:
                    self.failures[path] = self._limit.exceeded(size, spare)
                    complete = True
                finally:
                    written = plain.tell()
                    self._taken[path] = max(0, written - RATIO * size)
            if not complete and written:
                self.failures[path] = (
                    f"is cut off: its first {written:,} bytes could be unpacked, the rest is lost"
                )
        except zlib.error as damage:
            if not written:
                return None
            self.failures[path] = (
                f"is damaged inside its compression ({damage}): its first {written:,} bytes could be unpacked, "
                "the rest is lost"
            )
        except OSError as failure:
            reason = (failure.strerror or str(failure)).lower()
            self.interrupted.add(path)
            self.failures[path] = (
                f"could not be unpacked beyond its first {written:,} bytes: {reason}; "
                "free some space for temporary files, or let TMPDIR name another disk"
            )
        return os.fsencode(target) if written else None


def stamp_of(path: bytes | str) -> Stamp | None:
    """A stamp that changes if the file grows or is replaced."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


class _TooMuchError(Exception):
    """The file unpacks to more bytes than the limit."""


def _inflate(packed: BinaryIO, plain: BinaryIO, most: int) -> bool:
    """Unpack a file, up to `most` bytes; returns False if the compressed data is cut off.

    On damage, writes the bytes before it, then raises `zlib.error`.
    """
    from shutil import disk_usage

    inflater = zlib.decompressobj(wbits=47)  # gzip or zlib, by its header
    begun = False  # whether the current member has begun
    since_check = 0
    while piece := packed.read(_PIECE):
        while piece:
            if not begun and plain.tell() and not piece.strip(b"\0"):
                break  # zeros after the end: padding to the block size of a tape or disk
            before = inflater.copy()
            try:
                out = inflater.decompress(piece, _PIECE)
            except zlib.error:
                _put(plain, _salvage(before, piece), most)
                raise
            begun = True
            since_check += _put(plain, out, most)
            if since_check > _RESERVE // 4:
                since_check = 0
                if disk_usage(plain.name).free < _RESERVE:
                    raise OSError(0, "the disk for temporary files is almost full")
            piece = inflater.unconsumed_tail
            if inflater.eof:  # a gzip file may have several members
                piece = inflater.unused_data
                inflater = zlib.decompressobj(wbits=47)
                begun = False
    _put(plain, inflater.flush(), most)
    return not begun


def _put(plain: BinaryIO, data: bytes, most: int) -> int:
    """Write all of the data; if it exceeds `most` or the disk is full, write as much as fits and raise."""
    room = most - plain.tell()
    fitting = data[:room]
    done = 0
    while done < len(fitting):
        done += plain.write(fitting[done:])
    if len(data) > room:
        raise _TooMuchError
    return done


def _salvage(inflater: zlib._Decompress, piece: bytes) -> bytes:
    """The unpacked bytes of a piece before the damage in it."""
    out = bytearray()
    try:
        for at in range(0, len(piece), 64):
            out += inflater.decompress(piece[at : at + 64])
    except zlib.error:
        pass
    return bytes(out)
