"""Event files that are gzip or zlib compressed as a whole are unpacked beside, and read from there."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
import zlib

_PIECE = 1 << 20


class Unpacked:
    """Unpacks files when asked, once each, into a directory that goes when this object does."""

    def __init__(self) -> None:
        self._folder: str | None = None
        self._done: dict[bytes, bytes | None] = {}

    def __call__(self, path: bytes) -> bytes | None:
        """The path of the unpacked file; None where it is not compressed after all."""
        if path not in self._done:
            self._done[path] = self._unpack(path)
        return self._done[path]

    def _unpack(self, path: bytes) -> bytes | None:
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix="tbq-")
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        target = os.path.join(self._folder, str(len(self._done)))
        inflater = zlib.decompressobj(wbits=47)  # gzip or zlib, by its header
        written = 0
        with open(path, "rb") as packed, open(target, "wb") as plain:
            while piece := packed.read(_PIECE):
                while piece:
                    try:
                        written += plain.write(inflater.decompress(piece, _PIECE))
                    except zlib.error:
                        return (
                            os.fsencode(target) if written else None
                        )  # what came before the damage still counts
                    piece = inflater.unconsumed_tail
                    if inflater.eof:  # a gzip file may have several members
                        piece = inflater.unused_data
                        inflater = zlib.decompressobj(wbits=47)
        return os.fsencode(target)
