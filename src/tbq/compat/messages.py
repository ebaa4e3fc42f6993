"""Light, read-only protobuf messages: the attributes and methods that scripts use, parsed on demand."""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from tbq.compat import schema
from tbq.compat.schema import FieldSpec, MessageSpec
from tbq.compat.text_format import text_of

_FIXED = {
    "double": ("<d", "<f8"), "float": ("<f", "<f4"), "fixed64": ("<Q", "<u8"), "fixed32": ("<I", "<u4"),
    "sfixed64": ("<q", "<i8"), "sfixed32": ("<i", "<i4"),
}  # fmt: skip


class DecodeError(ValueError):
    """Bytes that are not a message."""


class Message:
    """A message stored as its bytes, and parsed on first access to a field.

    Each protobuf message has its own class; `message_class("tensorboard.Event")` returns it.
    """

    __slots__ = ("_data", "_fields")
    DESCRIPTOR: ClassVar[MessageSpec]
    __hash__ = None  # type: ignore[assignment]  # as in protobuf

    def __init__(self, data: bytes = b"") -> None:
        object.__setattr__(self, "_data", data)
        object.__setattr__(self, "_fields", None)

    @classmethod
    def FromString(cls, data: bytes) -> Message:
        """Parse bytes as a message; `DecodeError` if they are not one."""
        message = cls(bytes(data))
        message._parsed()
        return message

    def _parsed(self) -> dict[str, Any]:
        fields: dict[str, Any] | None = self._fields
        if fields is None:
            fields = _parse(self._data, self.DESCRIPTOR)
            object.__setattr__(self, "_fields", fields)
        return fields

    def __getattr__(self, name: str) -> Any:
        field = type(self).DESCRIPTOR.fields_by_name.get(name)
        if field is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        fields = self._parsed()
        return fields[name] if name in fields else _empty(field)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"{type(self).__name__} of tbq is read-only: to_protobuf() returns a message that can be changed"
        )

    def HasField(self, name: str) -> bool:
        """Whether a field is set; raises protobuf's ValueError for fields without presence."""
        spec = self.DESCRIPTOR
        if name in spec.oneofs_by_name:
            return self.WhichOneof(name) is not None
        field = spec.fields_by_name.get(name)
        if field is None:
            raise ValueError(f'Protocol message {spec.name} has no "{name}" field.')
        if field.repeated:
            raise ValueError(f'Protocol message {spec.name} has no singular "{name}" field.')
        if not field.presence:
            raise ValueError(f"Field {spec.full_name}.{name} does not have presence.")
        return name in self._parsed()

    def WhichOneof(self, name: str) -> str | None:
        """The name of the field that is set in a oneof."""
        spec = self.DESCRIPTOR
        if name not in spec.oneofs_by_name:
            raise ValueError(f'Protocol message {spec.name} has no oneof "{name}" field.')
        fields = self._parsed()
        return next((field for field in spec.oneofs_by_name[name] if field in fields), None)

    def ListFields(self) -> list[tuple[FieldSpec, Any]]:
        """The fields that are set, by number: descriptor and value."""
        fields = self._parsed()
        return [
            (field, fields[field.name])
            for field in self.DESCRIPTOR.fields
            if field.name in fields and _counts(field, fields[field.name])
        ]

    def SerializeToString(self, deterministic: bool | None = None) -> bytes:  # noqa: ARG002 - protobuf's signature
        """The bytes of the message, as logged."""
        data: bytes = self._data
        return data

    SerializePartialToString = SerializeToString

    def ByteSize(self) -> int:
        return len(self._data)

    def IsInitialized(self) -> bool:
        return True

    def to_protobuf(self) -> Any:
        """The same message in the class of the tensorboard package."""
        from tbq.compat.real_messages import real_class

        return real_class(self.DESCRIPTOR.full_name).FromString(self._data)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            name = getattr(getattr(other, "DESCRIPTOR", None), "full_name", "")
            if _bare(name) != _bare(self.DESCRIPTOR.full_name):
                return NotImplemented
            other = type(self)(other.SerializeToString())  # type: ignore[attr-defined]
        if type(self) is not type(other):
            return NotImplemented
        same: bool = self._data == other._data  # NaN equals itself, as in protobuf
        return same or self.ListFields() == other.ListFields()

    def __copy__(self) -> Message:
        return self

    def __deepcopy__(self, memo: object) -> Message:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.DESCRIPTOR.full_name, self._data)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.DESCRIPTOR.fields_by_name]

    def __str__(self) -> str:
        return text_of(self)

    __repr__ = __str__


@functools.cache
def message_class(full_name: str) -> type[Message]:
    """The class of a message, with its nested messages and enums as attributes."""
    spec = schema.message_spec(full_name)
    members: dict[str, Any] = {"__slots__": (), "DESCRIPTOR": spec, **schema.enums_within(full_name)}
    for name, nested in schema.messages_within(full_name).items():
        members[name] = message_class(nested)
    return type(spec.name, (Message,), members)


def _empty(field: FieldSpec) -> Any:
    """The value of a field that is not set."""
    if field.repeated:
        return {} if field.key_type else []
    return message_class(field.type_name)() if field.is_message else field.default


def _restored(full_name: str, data: bytes) -> Message:
    return message_class(full_name)(data)


def _bare(full_name: str) -> str:
    """A name without its package: TensorFlow and TensorBoard have the same messages in different packages."""
    return full_name.removeprefix("tensorboard.").removeprefix("tensorflow.")


def _counts(field: FieldSpec, value: Any) -> bool:
    """Whether protobuf lists a field with this value: not for a default value without presence."""
    if field.repeated:
        return bool(value)
    if field.presence or value != field.default:
        return True
    return isinstance(value, float) and math.copysign(1, value) < 0  # -0.0 is not the default


def raw_fields(data: bytes) -> Iterator[tuple[int, int, int, int, int, int]]:
    """The fields of a message: number, wire type, varint, and the starts of the field, its content and the next."""
    at, end = 0, len(data)
    while at < end:
        begin = at
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if number == 0:
            raise DecodeError("Error parsing message: a field has no number")
        raw, start, at = _content(data, at, wire, number)
        if at > end:
            raise DecodeError("Error parsing message: it ends inside a field")
        yield number, wire, raw, begin, start, at


def _parse(data: bytes, spec: MessageSpec) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for number, wire, raw, _, start, end in raw_fields(data):
        field = spec.fields_by_number.get(number)
        if field is not None:
            _store(fields, spec, field, wire, raw, data[start:end])
    return fields


def _store(
    fields: dict[str, Any], spec: MessageSpec, field: FieldSpec, wire: int, raw: int, content: bytes
) -> None:
    """Store one field; a field of an unexpected wire type is ignored as unknown, as in protobuf."""
    name = field.name
    if field.key_type:
        if wire == schema.BYTES:
            key, value = _map_entry(content, field)
            fields.setdefault(name, {})[key] = value
    elif field.repeated and wire == schema.BYTES and field.wire != schema.BYTES:
        fields.setdefault(name, []).extend(_packed(content, field))
    elif wire == field.wire:
        value = _value(field.type_name, raw, content)
        if field.repeated:
            fields.setdefault(name, []).append(value)
            return
        if field.oneof:
            for other in spec.oneofs_by_name[field.oneof]:
                if other != name:
                    fields.pop(other, None)
        if field.is_message and name in fields:  # protobuf merges repeated parts of a message
            value = type(value)(fields[name].SerializeToString() + content)
        fields[name] = value


def _value(type_name: str, raw: int, content: bytes) -> Any:
    if "." in type_name:
        return message_class(type_name)(content)
    if type_name == "string":
        return content.decode("utf-8", "backslashreplace")
    if type_name == "bytes":
        return content
    if type_name in _FIXED:
        return struct.unpack(_FIXED[type_name][0], content)[0]
    return _integer(type_name, raw)


def _integer(type_name: str, raw: int) -> int | bool:
    if type_name == "bool":
        return raw != 0
    if type_name in ("uint64", "uint32"):
        return raw & 0xFFFFFFFF if type_name == "uint32" else raw
    bits = 64 if type_name == "int64" else 32
    raw &= (1 << bits) - 1
    return raw - (1 << bits) if raw >> (bits - 1) else raw


def _packed(content: bytes, field: FieldSpec) -> list[Any]:
    if field.type_name in _FIXED:
        dtype = np.dtype(_FIXED[field.type_name][1])
        if len(content) % dtype.itemsize:
            raise DecodeError("Error parsing message: packed values end inside a value")
        values: list[Any] = np.frombuffer(content, dtype).tolist()
        return values
    values, at = [], 0
    while at < len(content):
        raw, at = _varint(content, at)
        values.append(_integer(field.type_name, raw))
    return values


def _map_entry(content: bytes, field: FieldSpec) -> tuple[Any, Any]:
    key_field = FieldSpec("key", 1, field.key_type, False, "", False, "", "")
    value_field = FieldSpec("value", 2, field.type_name, False, "", False, "", field.enum)
    by_name = {"key": key_field, "value": value_field}
    spec = MessageSpec("entry", (key_field, value_field), by_name, {1: key_field, 2: value_field}, {})
    parsed = _parse(content, spec)
    return parsed.get("key", key_field.default), parsed.get("value", _empty(value_field))


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise DecodeError("Error parsing message: it ends inside a number")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
    raise DecodeError("Error parsing message: a number has more than ten bytes")


def _content(data: bytes, at: int, wire: int, number: int) -> tuple[int, int, int]:
    """The varint of a field, which is a length for bytes, and the starts of its content and of the next field."""
    if wire == schema.VARINT:
        raw, end = _varint(data, at)
        return raw, at, end
    if wire == schema.BYTES:
        raw, start = _varint(data, at)
        return raw, start, start + raw
    if wire in (schema.FIXED64, schema.FIXED32):
        return 0, at, at + (8 if wire == schema.FIXED64 else 4)
    if wire == schema.GROUP:
        return 0, at, _after_group(data, at, number)
    raise DecodeError("Error parsing message: a field has an unknown wire type")


def _after_group(data: bytes, at: int, number: int) -> int:
    open_groups = [number]
    while open_groups:
        key, at = _varint(data, at)
        if key & 7 == schema.GROUP:
            open_groups.append(key >> 3)
        elif key & 7 == schema.END_GROUP:
            if open_groups.pop() != key >> 3:
                raise DecodeError("Error parsing message: a group ends that was not started")
        else:
            _, _, at = _content(data, at, key & 7, 0)
    return at
