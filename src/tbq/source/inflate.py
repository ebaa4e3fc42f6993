"""Event files that are gzip or zlib compressed as a whole are unpacked beside, and read from there."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import weakref
import zlib
from typing import BinaryIO

from tbq.limits import FLOOR, RATIO, Limit, Size

_PIECE = 1 << 20
_RESERVE = 256 << 20  # so much of the disk stays free


class Unpacked:
    """Unpacks files when asked, once each, into a directory that goes when this object does.

    A small file may unpack to a thousand times its size: what is past the limit on it is not unpacked.
    """

    def __init__(self, max_unpacked: Size | None = None) -> None:
        self._limit = Limit.of(max_unpacked)
        self._spare = FLOOR  # all files share what each may take beyond its ratio
        self._folder: str | None = None
        self._done: dict[bytes, bytes | None] = {}
        self._lock = threading.Lock()  # the core asks from several threads
        #: what kept a file from being unpacked to its end, by its path
        self.failures: dict[bytes, str] = {}

    def __call__(self, path: bytes) -> bytes | None:
        """The path of the unpacked file; None where it is not compressed after all."""
        with self._lock:
            if path not in self._done:
                self._done[path] = self._unpack(path)
            return self._done[path]

    def _unpack(self, path: bytes) -> bytes | None:
        written = 0
        target = ""
        try:
            if self._folder is None:
                self._folder = tempfile.mkdtemp(prefix="tbq-")
                weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            target = os.path.join(self._folder, str(len(self._done)))
            with open(path, "rb") as packed, open(target, "wb") as plain:
                size = os.fstat(packed.fileno()).st_size
                most = self._limit.bytes_of(size, self._spare)
                try:
                    if not _inflate(packed, plain, most):
                        self.failures[path] = self._limit.exceeded(size, self._spare)
                finally:
                    written = plain.tell()
                    self._spare -= max(0, written - RATIO * size)
        except zlib.error as damage:
            if not written:
                return None
            self.failures[path] = f"damaged inside its compression: {damage}; what lies behind it is lost"
        except OSError as failure:
            self.failures[path] = f"could not be unpacked: {failure.strerror}"
        return os.fsencode(target) if written else None


def _inflate(packed: BinaryIO, plain: BinaryIO, most: int) -> bool:
    """Unpack a file, up to `most` bytes; whether that was all of it.

    What came before damage has been written when `zlib.error` is raised.
    """
    inflater = zlib.decompressobj(wbits=47)  # gzip or zlib, by its header
    begun = False  # whether the current member has given anything
    since_look = 0
    while piece := packed.read(_PIECE):
        while piece:
            if not begun and plain.tell() and not piece.strip(b"\0"):
                break  # blocks of a tape or a disk are filled up with zeros
            before = inflater.copy()
            try:
                out = inflater.decompress(piece, _PIECE)
            except zlib.error:
                plain.write(_salvage(before, piece))
                raise
            begun = begun or bool(out)
            room = most - plain.tell()
            since_look += plain.write(out[:room])
            if len(out) > room:
                return False
            if since_look > _RESERVE // 4:
                since_look = 0
                if shutil.disk_usage(plain.name).free < _RESERVE:
                    raise OSError(0, "the disk for temporary files is almost full")
            piece = inflater.unconsumed_tail
            if inflater.eof:  # a gzip file may have several members
                piece = inflater.unused_data
                inflater = zlib.decompressobj(wbits=47)
                begun = False
    out = inflater.flush()
    room = most - plain.tell()
    plain.write(out[:room])
    return len(out) <= room


def _salvage(inflater: zlib._Decompress, piece: bytes) -> bytes:
    """What comes before the damage in a piece."""
    out = bytearray()
    try:
        for at in range(0, len(piece), 64):
            out += inflater.decompress(piece[at : at + 64])
    except zlib.error:
        pass
    return bytes(out)
