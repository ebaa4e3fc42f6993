"""Event files that are gzip or zlib compressed as a whole are unpacked beside, and read from there."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import weakref
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, NamedTuple

from tbq.limits import FLOOR, RATIO, Limit, Size
from tbq.scratch import Scratch, temporary

_PIECE = 1 << 20
_RESERVE = 256 << 20  # so much of the disk stays free


Stamp = tuple[int, int, int, int]  # device, inode, size, time of the last change


class _Copy(NamedTuple):
    """What a file was unpacked to."""

    stamp: Stamp | None  # of the file then
    path: bytes | None
    before: bytes | None = None  # that of the version before, whose rows may not have been made yet


class Unpacked:
    """Unpacks files when asked, once each as long as they stay as they are, into a folder that goes when this does.

    A small file may unpack to a thousand times its size: what is past the limit on it is not unpacked.
    """

    def __init__(self, max_unpacked: Size | None = None) -> None:
        self._limit = Limit.of(max_unpacked)
        #: what was asked for, or None
        self.limit = self._limit.most
        self._scratch: Scratch | None = None
        self._done: dict[bytes, _Copy] = {}
        self._taken: dict[
            bytes, int
        ] = {}  # of what is spare, by file: all of them share FLOOR beyond their ratio
        self._count = 0
        self._lock = threading.Lock()  # the core asks from several threads
        #: what kept a file from being unpacked to its end, by its path
        self.failures: dict[bytes, str] = {}
        #: the files among them of which there may be more: the disk was full, or a file could not be read
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
        """Where the file was unpacked to when it was last asked for, whatever has become of it since."""
        done = self._done.get(path)
        return done and done.path

    def again(self, path: bytes) -> bytes | None:
        """The same of a file that may have changed since: it is unpacked anew."""
        self.forget([path])
        return self(path)

    def forget(self, paths: Iterable[bytes]) -> None:
        """These files are gone, or others now: what they were unpacked to goes too."""
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
        spare = FLOOR - sum(self._taken.values())
        written = 0
        target = Path()
        try:
            if self._scratch is None or not self._scratch.is_ours:
                self._scratch = temporary("unpacked")
                weakref.finalize(self, self._scratch.remove)
            self._count += 1
            target = self._scratch.folder / str(self._count)
            with open(path, "rb") as packed, target.open("wb", buffering=0) as plain:
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
    """What changes if a file grows or is replaced."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


class _TooMuchError(Exception):
    """The file unpacks to more than it may."""


def _inflate(packed: BinaryIO, plain: BinaryIO, most: int) -> bool:
    """Unpack a file, up to `most` bytes; False if it ends before its end.

    What came before damage has been written when `zlib.error` is raised.
    """
    inflater = zlib.decompressobj(wbits=47)  # gzip or zlib, by its header
    begun = False  # whether the current member has begun
    since_look = 0
    while piece := packed.read(_PIECE):
        while piece:
            if not begun and plain.tell() and not piece.strip(b"\0"):
                break  # blocks of a tape or a disk are filled up with zeros
            before = inflater.copy()
            try:
                out = inflater.decompress(piece, _PIECE)
            except zlib.error:
                _put(plain, _salvage(before, piece), most)
                raise
            begun = True
            since_look += _put(plain, out, most)
            if since_look > _RESERVE // 4:
                since_look = 0
                if shutil.disk_usage(plain.name).free < _RESERVE:
                    raise OSError(0, "the disk for temporary files is almost full")
            piece = inflater.unconsumed_tail
            if inflater.eof:  # a gzip file may have several members
                piece = inflater.unused_data
                inflater = zlib.decompressobj(wbits=47)
                begun = False
    _put(plain, inflater.flush(), most)
    return not begun


def _put(plain: BinaryIO, data: bytes, most: int) -> int:
    """Write all of it, or raise with as much of it written as there is room for, on the disk and up to `most`."""
    room = most - plain.tell()
    taken = data[:room]
    done = 0
    while done < len(taken):
        done += plain.write(taken[done:])
    if len(data) > room:
        raise _TooMuchError
    return done


def _salvage(inflater: zlib._Decompress, piece: bytes) -> bytes:
    """What comes before the damage in a piece."""
    out = bytearray()
    try:
        for at in range(0, len(piece), 64):
            out += inflater.decompress(piece[at : at + 64])
    except zlib.error:
        pass
    return bytes(out)
