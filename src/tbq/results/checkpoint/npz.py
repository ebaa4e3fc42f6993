"""Reader of `.npz`: a zip of `.npy` arrays, each decompressed block by block. Pickled objects are not loaded."""

from __future__ import annotations

import math
import os
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, BinaryIO

import numpy as np

from tbq.errors import SourceError
from tbq.limits import Budget, Limit
from tbq.results.checkpoint.parameter import Parameter, slabs
from tbq.results.dtypes import unreadable

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The errors of zipfile and zlib for a damaged or hostile archive.
ZIP_FAULTS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OSError,
)


def read(path: str, file: BinaryIO, limit: Limit) -> list[Parameter]:
    """The arrays of an open file, in the order of the archive."""
    try:
        archive = zipfile.ZipFile(file)
        budget = Budget(limit, os.fstat(file.fileno()).st_size)
        arrays = []
        for member in archive.infolist():
            if not member.filename.endswith(".npy"):
                continue
            with opened(archive, member) as stream:
                shape, fortran, dtype = header(stream)
            name = member.filename.removesuffix(".npy")
            arrays.append(_parameter(path, archive, member, name, shape, fortran, dtype, budget))
        return arrays
    except ZIP_FAULTS as error:
        raise damaged(path, error) from None


def damaged(path: str, error: BaseException, name: str | None = None) -> SourceError:
    where = f"array '{name}' " if name else "the file "
    return SourceError(
        f"{where}cannot be read: {error or type(error).__name__}", path=path, hint="copy or download it again"
    )


def opened(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> IO[bytes]:
    """Open a stored or deflated member for reading in pieces. zipfile would unpack other methods all at once."""
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise NotImplementedError(
            f"{member.filename} is compressed with method {member.compress_type}, want deflate"
        )
    return archive.open(member)


def header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[np.generic]]:
    """Shape, order and type from the header of a `.npy`; the stream is then at the data."""
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    elif version in ((2, 0), (3, 0)):  # 3.0 differs only in field names, which plain arrays do not have
        shape, fortran, dtype = np.lib.format.read_array_header_2_0(stream)
    else:
        raise ValueError(f"npy format version {version}")
    if any(n < 0 or n >= 1 << 63 for n in shape):
        raise ValueError(f"shape {shape}")
    return shape, fortran, dtype


def blocks(
    stream: IO[bytes], shape: tuple[int, ...], fortran: bool, dtype: np.dtype[np.generic], size: int
) -> Iterator[NDArray[np.generic]]:
    """The elements of a `.npy` after its header, in C order; stops early if the data does."""
    native = dtype.newbyteorder("=")
    left = math.prod(shape)
    if fortran and len(shape) > 1:
        # The elements of a row are spread over the array, so read all of it, as far as it exists.
        data = _upto(stream, left * dtype.itemsize)
        if len(data) == left * dtype.itemsize:
            array = np.frombuffer(data, dtype).reshape(shape, order="F")
            for where in slabs(shape, size):
                yield array[where].reshape(-1).astype(native, copy=False)
        return
    while left > 0:
        want = min(left, size) * dtype.itemsize
        data = _upto(stream, want)
        if len(data) != want:
            return
        yield np.frombuffer(data, dtype).astype(native, copy=False)
        left -= want // dtype.itemsize


def _upto(stream: IO[bytes], size: int) -> bytes | bytearray:
    """`size` bytes, or as many as the stream has; allocates for what exists, not for what the file claims."""
    data = bytearray()
    while len(data) < size:
        more = stream.read(min(size - len(data), 1 << 20))
        if not more:
            break
        if not data and len(more) == size:
            return more
        data += more
    return data


def _parameter(
    path: str,
    archive: zipfile.ZipFile,
    member: zipfile.ZipInfo,
    name: str,
    shape: tuple[int, ...],
    fortran: bool,
    dtype: np.dtype[np.generic],
    budget: Budget,
) -> Parameter:
    if dtype.hasobject:
        why: str | None = "it contains pickled Python objects, which tbq never loads"
    else:
        why = unreadable(dtype.name)
    if why is None:
        size = min(math.prod(shape) * dtype.itemsize, member.file_size)  # both come from the file
        why = budget.refusal(size, member.compress_size)

    def read_blocks(size: int) -> Iterator[NDArray[np.generic]]:
        try:
            with opened(archive, member) as stream:
                header(stream)
                yield from blocks(stream, shape, fortran, dtype, size)
        except ZIP_FAULTS as error:
            raise damaged(path, error, name) from None

    return Parameter(name, shape, str(dtype.name), read_blocks, unreadable=why)
