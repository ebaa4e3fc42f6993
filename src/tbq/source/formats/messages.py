"""Reads protobuf messages of W&B: the few that are not numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of each field, up to the first that is malformed."""
    at, end = 0, len(message)
    while at < end:
        key, at = _varint(message, at)
        number, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, at = _varint(message, at)
            if at > end:
                return
            yield number, value
            continue
        if wire == _BYTES:
            size, at = _varint(message, at)
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
        else:
            return
        if size > end - at:
            return
        yield number, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message) and shift < 70:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    return 0, len(message) + 1


def text(value: int | bytes) -> str:
    """A text field."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def submessage(value: int | bytes) -> bytes:
    """A field that is a message."""
    return value if isinstance(value, bytes) else b""


def items(message: bytes, number: int) -> dict[str, Any]:
    """The items of a history or configuration, with nested keys as objects in objects."""
    out: dict[str, Any] = {}
    for field, value in fields(message):
        if field == number:
            _add(out, submessage(value))
    return out


def _add(out: dict[str, Any], item: bytes) -> None:
    keys: list[str] = []
    content: Any = None
    for field, value in fields(item):
        if field in (1, 2):
            keys.append(text(value))
        elif field == 7:
            content = text(value)
        elif field in (8, 16):
            try:
                content = json.loads(text(value))
            except (ValueError, RecursionError):
                return
    if not keys:
        return
    inner = out
    for key in keys[:-1]:
        deeper = inner.setdefault(key, {})
        if not isinstance(deeper, dict):
            return
        inner = deeper
    inner[keys[-1]] = content


def seconds(message: bytes) -> float:
    """A Timestamp as seconds since 1970."""
    of = {number: value for number, value in fields(message) if isinstance(value, int)}
    return of.get(1, 0) + of.get(2, 0) / 1e9


def media(values: Mapping[str, Any], above: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Name and content of each object with a `_type`, and of each text."""
    for key, value in values.items():
        name = f"{above}{key}"
        if isinstance(value, str) or (isinstance(value, dict) and "_type" in value):
            yield name, value
        elif isinstance(value, dict) and depth < 32:
            yield from media(value, f"{name}/", depth + 1)
