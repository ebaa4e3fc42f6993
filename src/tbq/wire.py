"""Encodes protobuf messages by hand: the small parts around the messages that the native core encodes."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np

# Field numbers of Summary.Value.
IMAGE, HISTO, AUDIO, TENSOR = 4, 5, 6, 8

# DataType.
DT_FLOAT, DT_STRING = 1, 7


def varint(value: int) -> bytes:
    """A base-128 varint; negative numbers take ten bytes, as in protobuf."""
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(field: int, value: int) -> bytes:
    """A varint field; zero is omitted."""
    return varint(field << 3) + varint(value) if value else b""


def double(field: int, value: float) -> bytes:
    """A fixed64 field; zero is omitted."""
    bits = struct.pack("<d", value)
    return varint(field << 3 | 1) + bits if bits != bytes(8) else b""


def single(field: int, value: float) -> bytes:
    """A fixed32 float field; zero is omitted."""
    return varint(field << 3 | 5) + struct.pack("<f", value) if value else b""


def message(field: int, *parts: bytes) -> bytes:
    """A length-delimited field, present even if it is empty."""
    content = b"".join(parts)
    return varint(field << 3 | 2) + varint(len(content)) + content


def text(field: int, value: str | bytes) -> bytes:
    """A string or bytes field; an empty value is omitted."""
    content = value.encode() if isinstance(value, str) else value
    return message(field, content) if content else b""


def metadata(plugin: str = "", content: bytes = b"", display_name: str = "", description: str = "") -> bytes:
    """A SummaryMetadata."""
    plugin_data = message(1, text(1, plugin), text(2, content)) if plugin or content else b""
    return plugin_data + text(2, display_name) + text(3, description)


def shape(sizes: Iterable[int]) -> bytes:
    """A TensorShapeProto, as field tensor_shape of a TensorProto."""
    return message(2, *(message(2, integer(1, size)) for size in sizes))


def float_tensor(array: np.ndarray[Any, Any]) -> bytes:
    """A TensorProto of dtype float."""
    import numpy as np

    values = np.ascontiguousarray(array, dtype="<f4").tobytes()
    return integer(1, DT_FLOAT) + shape(array.shape) + text(5, values)


def string_tensor(strings: Sequence[bytes], sizes: Iterable[int]) -> bytes:
    """A TensorProto of dtype string."""
    return integer(1, DT_STRING) + shape(sizes) + b"".join(message(8, string) for string in strings)


def value(tag: str, field: int, payload: bytes, meta: bytes = b"") -> bytes:
    """A Summary.Value as field `value` of a Summary."""
    content = message(field, payload) if field else b""
    return message(1, text(1, tag), content, message(9, meta) if meta else b"")


#: The types of hyperparameters: DataType of the hparams plugin.
_STRING, _BOOL, _FLOAT64 = 1, 2, 3
SUCCESS, FAILURE = 1, 2


def hparam(value: str | bool | float) -> tuple[int, bytes]:
    """DataType and google.protobuf.Value; in a oneof, zero and false are encoded too."""
    if isinstance(value, bool):
        return _BOOL, varint(4 << 3) + varint(int(value))
    if isinstance(value, str):
        return _STRING, message(3, value.encode())
    return _FLOAT64, varint(2 << 3 | 1) + struct.pack("<d", value)


def hparams(
    values: Mapping[str, str | bool | float],
    domains: Mapping[str, Iterable[str | bool | float]] = {},
    metrics: Iterable[str] = (),
    group: str = "",
) -> list[tuple[str, bytes]]:
    """(tag, SummaryMetadata) of the experiment and the start of the session: what the hparams plugin reads."""
    infos, session = b"", b""
    for name, value in values.items():
        kind, encoded = hparam(value)
        session += message(1, text(1, name), message(2, encoded))
        domain = domains.get(name)
        members = () if domain is None else (message(1, hparam(member)[1]) for member in domain)
        listed = b"" if domain is None else message(5, *members)
        infos += message(4, text(1, name), integer(4, kind), listed)
    for name in metrics:
        infos += message(5, message(1, text(2, name)))
    return [
        ("_hparams_/experiment", metadata("hparams", message(2, infos))),
        ("_hparams_/session_start_info", metadata("hparams", message(3, session + text(4, group)))),
    ]


def hparams_end(status: int = SUCCESS) -> bytes:
    """The SummaryMetadata of the tag `_hparams_/session_end_info`."""
    return metadata("hparams", message(4, integer(1, status)))
