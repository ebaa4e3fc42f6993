"""`Answer`, and its formats: JSON that is always valid, and frames of binary columns with a JSON header."""

from __future__ import annotations

import hashlib
import json
import math
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

JSON = "application/json"
FRAME = "application/octet-stream"
TEXT = "text/plain; charset=utf-8"
CSV = "text/csv; charset=utf-8"

_PACKET = 1400  # bytes: a smaller body takes one packet either way
_LONG = re.compile(r"(?<![\d.])\d{16,}(?![\d.eE])")  # perhaps an integer beyond 2^53
_TYPES = {"<f8": "f64", "<f4": "f32", "<u4": "u32", "<u2": "u16", "|u1": "u8"}


@dataclass(frozen=True)
class Answer:
    """The bytes of a reply, their type, and further headers."""

    body: bytes
    type: str = JSON
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    gzip: int | None = zlib.Z_DEFAULT_STRATEGY  # zlib's strategy; None: gzip would hardly make it smaller
    #: instead of a large body: its parts, made one after another, and the bytes of memory that they need meanwhile
    parts: Iterator[bytes] | None = None
    held: int = 0

    @cached_property
    def compressed(self) -> bytes | None:
        """The body as gzip; None if that would not save much."""
        if self.gzip is None or len(self.body) < _PACKET or self.type.startswith(("image/", "audio/")):
            return None
        small = b"".join(gzipped([self.body], self.gzip))
        return small if len(small) < 0.9 * len(self.body) else None


def gzipped(parts: Iterable[bytes], strategy: int = zlib.Z_DEFAULT_STRATEGY) -> Iterator[bytes]:
    """The parts as one gzip stream.

    >>> import gzip
    >>> gzip.decompress(b"".join(gzipped([b"tbq", b"tbq"])))
    b'tbqtbq'
    """
    packer = zlib.compressobj(1, zlib.DEFLATED, 31, strategy=strategy)
    for part in parts:
        yield packer.compress(part)
    yield packer.flush()


def to_json(value: Any) -> bytes:
    """JSON that a browser reads exactly.

    NaN and infinities are null. An integer beyond 2^53 is a text, because JavaScript would round it.

    >>> to_json({"loss": math.nan, "run": "a<b>", "steps": [7, 2**53 + 1]})
    b'{"loss":null,"run":"a<b>","steps":[7,"9007199254740993"]}'
    """
    try:
        text = _dumps(value)
    except ValueError:
        text = _dumps(_exact(value))
    if _LONG.search(text):
        text = _dumps(_exact(value))
    return text.encode("utf-8", "replace")


def _dumps(value: Any) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"), default=_plain)


def _plain(value: Any) -> str:
    return f"<{len(value):,} bytes>" if isinstance(value, bytes) else str(value)


def _exact(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int):
        return value if is_exact(value) else str(value)
    if isinstance(value, dict):
        return {str(key): _exact(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_exact(each) for each in value]
    return value


def unframe(body: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """The facts and the columns of a `frame`.

    >>> unframe(frame({"x": np.array([1.0, 2.0]), "y": ["a", "b"]}, rows=2).body)
    ({'rows': 2}, {'x': [1.0, 2.0], 'y': ['a', 'b']})
    """
    begin = 4 + int.from_bytes(body[:4], "little")
    facts = json.loads(body[4:begin])
    dtypes = {short: long for long, short in _TYPES.items()}
    columns: dict[str, Any] = {}
    for each in facts.pop("columns"):
        if each["type"] == "str":
            columns[each["name"]] = each["values"]
        else:
            array = np.frombuffer(body, dtypes[each["type"]], each["length"], begin + each["offset"])
            columns[each["name"]] = array.tolist()
    return facts, columns


def known_by(body: bytes) -> dict[str, str]:
    """Headers that let a browser cache a body, and revalidate it before each use."""
    return {"ETag": f'"{hashlib.sha256(body).hexdigest()[:20]}"', "Cache-Control": "private, no-cache"}


def is_exact(number: int) -> bool:
    """Whether JavaScript, where every number is a 64-bit float, represents this integer and its neighbours exactly."""
    return abs(number) < 2**53


def beginning(text: str, most: int) -> str:
    """The text, or if it has more than `most` characters, its beginning and its length.

    >>> beginning("loss", 4), beginning("losses", 4)
    ('loss', 'loss … (6 characters)')
    """
    return text if len(text) <= most else f"{text[:most]} … ({len(text):,} characters)"


def json_answer(value: Any, status: int = 200) -> Answer:
    """A reply in JSON."""
    return Answer(to_json(value), JSON, status)


def frame(columns: Mapping[str, NDArray[Any] | Sequence[str]], **facts: Any) -> Answer:
    """A reply of columns: the length of the header as 4 bytes, the header, then the columns, each on 8 bytes.

    Lists of texts are part of the header, and so is a column of integers with one beyond 2^53.

    >>> body = frame({"x": np.array([1.0])}).body
    >>> body[4:4 + int.from_bytes(body[:4], "little")].strip()
    b'{"columns":[{"name":"x","type":"f64","offset":0,"length":1}]}'
    """
    parts: list[bytes] = []
    listed: list[dict[str, Any]] = []
    offset = 0
    for name, column in columns.items():
        if not isinstance(column, np.ndarray):
            listed.append({"name": name, "type": "str", "values": list(column)})
            continue
        if column.dtype.kind in "iub" and column.dtype.str not in _TYPES:
            if column.size and not (is_exact(int(column.min())) and is_exact(int(column.max()))):
                listed.append({"name": name, "type": "str", "values": column.tolist()})
                continue
            column = column.astype("<f8")
        array = np.ascontiguousarray(column, column.dtype.newbyteorder("<"))
        data = array.tobytes()
        listed.append(
            {"name": name, "type": _TYPES[array.dtype.str], "offset": offset, "length": int(array.size)}
        )
        parts.append(data + b"\0" * (-len(data) % 8))
        offset += len(parts[-1])
    header = to_json({"columns": listed, **facts})
    header += b" " * (-(len(header) + 4) % 8)
    return Answer(b"".join([len(header).to_bytes(4, "little"), header, *parts]), FRAME)
