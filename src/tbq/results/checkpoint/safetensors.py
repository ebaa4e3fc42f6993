"""Reader of `.safetensors`: a length, a JSON header, then the bytes of each tensor, read by offset in blocks.

The header is untrusted, so everything in it is checked before use, with the rules of the safetensors library itself:
its length against the file, the bytes of each tensor against its shape and type, and that the tensors are contiguous,
without holes or overlaps.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from tbq.arrays import widen
from tbq.errors import SourceError
from tbq.results.checkpoint.parameter import Parameter
from tbq.results.dtypes import stored, unreadable

if TYPE_CHECKING:
    from numpy.typing import NDArray

HEADER_LIMIT = 100_000_000  # as in the safetensors library
_RANK_LIMIT = 64
_NAMES = {  # code in the file -> (our name, bits)
    "BOOL": ("bool", 8),
    "U8": ("uint8", 8),
    "I8": ("int8", 8),
    "U16": ("uint16", 16),
    "I16": ("int16", 16),
    "U32": ("uint32", 32),
    "I32": ("int32", 32),
    "U64": ("uint64", 64),
    "I64": ("int64", 64),
    "F16": ("float16", 16),
    "BF16": ("bfloat16", 16),
    "F32": ("float32", 32),
    "F64": ("float64", 64),
    "C64": ("complex64", 64),
    "F8_E4M3": ("float8_e4m3fn", 8),
    "F8_E5M2": ("float8_e5m2", 8),
    "F8_E4M3FNUZ": ("float8_e4m3fnuz", 8),
    "F8_E5M2FNUZ": ("float8_e5m2fnuz", 8),
    "F8_E8M0": ("float8_e8m0fnu", 8),
    "F4": ("float4_e2m1fn", 4),
    "F6_E2M3": ("float6_e2m3fn", 6),
    "F6_E3M2": ("float6_e3m2fn", 6),
}


def read(path: str, file: BinaryIO) -> list[Parameter]:
    """The parameters of an open file, in the order of their bytes; `file` must stay open while they are read."""
    size = os.fstat(file.fileno()).st_size

    def bad(message: str, offset: int = 0) -> SourceError:
        return SourceError(
            f"not a valid safetensors file: {message}",
            path=path,
            offset=offset,
            hint="copy or download it again; tbq does not read files with a wrong header",
        )

    head = file.read(8)
    if len(head) < 8:
        raise bad(f"got {len(head)} bytes, want at least 8 for the length of the header")
    length = int.from_bytes(head, "little")
    if length > HEADER_LIMIT:
        raise bad(f"the header claims {length} bytes, want at most {HEADER_LIMIT}")
    if length > size - 8:
        raise bad(f"the header claims {length} bytes, the file has {size - 8} after its length")
    try:
        header = json.loads(file.read(length).decode("utf-8"), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise bad(f"the header is not JSON ({error})", 8) from None
    if not isinstance(header, dict):
        raise bad(f"the header is a {type(header).__name__}, want an object", 8)
    header.pop("__metadata__", None)

    data = 8 + length
    tensors: list[tuple[int, int, Parameter]] = []
    for name, entry in header.items():
        try:
            code, shape, begin, end = _entry(entry)
        except ValueError as error:
            raise bad(f"tensor {name!r}: {error}", 8) from None
        dtype, bits = _NAMES.get(code, (code, 0))
        if bits:
            want = math.prod(shape) * bits
            if want % 8 or want // 8 != end - begin:
                raise bad(f"tensor {name!r}: {end - begin} bytes for shape {list(shape)} of {code}", 8)
        if begin > end or end > size - data:
            raise bad(
                f"tensor {name!r}: bytes {begin} to {end}, the file holds {max(size - data, 0)} of data", data
            )
        tensors.append((begin, end, _parameter(path, file, name, shape, dtype, data + begin)))
    tensors.sort(key=lambda item: item[:2])
    at = 0
    for begin, end, parameter in tensors:
        if begin != at:
            fault = "overlaps the tensor before it" if begin < at else "leaves a hole before it"
            raise bad(f"tensor {parameter.name!r} {fault}", data + begin)
        at = end
    if at != size - data:
        raise bad(f"{size - data - at} bytes after the last tensor", data + at)
    return [parameter for _, _, parameter in tensors]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        raise ValueError("a name occurs twice")
    return entries


def _entry(entry: Any) -> tuple[str, tuple[int, ...], int, int]:
    if not isinstance(entry, dict):
        raise ValueError(f"got a {type(entry).__name__}, want an object")
    code, shape, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if not isinstance(code, str):
        raise ValueError(f"dtype {code!r}")
    if not (isinstance(shape, list) and len(shape) <= _RANK_LIMIT and all(map(_size, shape))):
        raise ValueError(f"shape {str(shape)[:80]}")
    if not (isinstance(offsets, list) and len(offsets) == 2 and all(map(_size, offsets))):
        raise ValueError(f"data_offsets {str(offsets)[:80]}")
    return code, tuple(shape), offsets[0], offsets[1]


def _size(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _parameter(
    path: str, file: BinaryIO, name: str, shape: tuple[int, ...], dtype: str, offset: int
) -> Parameter:
    def blocks(size: int) -> Iterator[NDArray[np.generic]]:
        raw = stored(dtype)
        left, at = math.prod(shape), offset
        while left > 0:
            block = np.empty(min(left, size), raw)
            file.seek(at)
            if file.readinto(block.data.cast("B")) != block.nbytes:  # type: ignore[attr-defined]
                raise SourceError(f"the file ended inside tensor {name!r}", path=path, offset=at)
            yield widen(block, dtype)
            left -= block.size
            at += block.nbytes

    return Parameter(name, shape, dtype, blocks, unreadable=unreadable(dtype))
