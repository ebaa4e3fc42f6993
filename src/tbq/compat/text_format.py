"""Light messages as protobuf prints them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tbq.compat import schema

if TYPE_CHECKING:
    from tbq.compat.messages import Message
    from tbq.compat.schema import FieldSpec

_ESCAPES = {9: "\\t", 10: "\\n", 13: "\\r", 34: '\\"', 39: "\\'", 92: "\\\\"}


def text_of(message: Message) -> str:
    """A message in protobuf's text format."""
    return "".join(f"{line}\n" for line in _lines(message))


def _lines(message: Message) -> Iterator[str]:
    for field, value in message.ListFields():
        if field.key_type:
            for key in sorted(value):
                yield f"{field.name} {{"
                yield f"  key: {_scalar(field.key_type, '', key)}"
                if field.is_message:
                    yield "  value {"
                    yield from (f"    {line}" for line in _lines(value[key]))
                    yield "  }"
                else:
                    yield f"  value: {_scalar(field.type_name, field.enum, value[key])}"
                yield "}"
            continue
        for item in value if field.repeated else [value]:
            yield from _item(field, item)


def _item(field: FieldSpec, item: Any) -> Iterator[str]:
    if field.is_message:
        yield f"{field.name} {{"
        yield from (f"  {line}" for line in _lines(item))
        yield "}"
    else:
        yield f"{field.name}: {_scalar(field.type_name, field.enum, item)}"


def _scalar(type_name: str, enum: str, value: Any) -> str:
    if type_name == "enum":
        names = {number: name for name, number in schema.enum_values(enum).items()}
        return names.get(value, str(value))
    if type_name == "bool":
        return "true" if value else "false"
    if type_name in ("string", "bytes"):
        codes = map(ord, value) if isinstance(value, str) else value
        return f'"{"".join(_escaped(code, text=isinstance(value, str)) for code in codes)}"'
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        short, exact = (".6g", ".9g") if type_name == "float" else (".15g", ".17g")
        text = format(value, short)
        same = np.float32(text) == np.float32(value) if type_name == "float" else float(text) == value
        return text if same else format(value, exact)
    return str(value)


def _escaped(code: int, *, text: bool) -> str:
    """A character of a string, or a byte."""
    if code in _ESCAPES:
        return _ESCAPES[code]
    return chr(code) if 32 <= code < 127 or (text and code > 127) else f"\\{code:03o}"
