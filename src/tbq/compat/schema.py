"""The protobuf messages of event files, from `messages.txt`: fields, types, oneofs and enums."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import NamedTuple, NoReturn

#: Wire types of protobuf.
VARINT, FIXED64, BYTES, GROUP, END_GROUP, FIXED32 = range(6)

_WIRES = {
    "double": FIXED64, "fixed64": FIXED64, "sfixed64": FIXED64, "float": FIXED32, "fixed32": FIXED32,
    "sfixed32": FIXED32, "string": BYTES, "bytes": BYTES,
}  # fmt: skip
_DEFAULTS: dict[str, object] = {"double": 0.0, "float": 0.0, "bool": False, "string": "", "bytes": b""}


def _absent(name: str) -> NoReturn:
    """Raise for attributes that only protobuf's own functions use, such as those of json_format."""
    raise AttributeError(
        f"the descriptor of a light message has no {name!r}; for functions of the protobuf package use "
        "message.to_protobuf(), or create the reader with protobuf=True",
        name=name,
    )


class FieldSpec(NamedTuple):
    """One field of a message, with the attributes of a protobuf `FieldDescriptor` that scripts use."""

    name: str
    number: int
    type_name: str  # "double", …, "enum", or the full name of a message
    repeated: bool
    oneof: str  # "" outside a oneof
    presence: bool  # whether HasField works
    key_type: str  # the key type of a map, otherwise ""
    enum: str  # the full name of an enum, otherwise ""

    def __getattr__(self, name: str) -> NoReturn:
        _absent(name)

    @property
    def is_message(self) -> bool:
        return "." in self.type_name

    @property
    def wire(self) -> int:
        """The wire type of one value."""
        return BYTES if self.is_message else _WIRES.get(self.type_name, VARINT)

    @property
    def default(self) -> object:
        return _DEFAULTS.get(self.type_name, 0)


class MessageSpec(NamedTuple):
    """One message; fields are in the order of their numbers."""

    full_name: str
    fields: tuple[FieldSpec, ...]
    fields_by_name: dict[str, FieldSpec]
    fields_by_number: dict[int, FieldSpec]
    oneofs_by_name: dict[str, tuple[str, ...]]

    def __getattr__(self, name: str) -> NoReturn:
        _absent(name)

    @property
    def name(self) -> str:
        return self.full_name.rpartition(".")[2]


@functools.cache
def _listed() -> tuple[dict[str, list[str]], dict[str, dict[str, int]]]:
    messages: dict[str, list[str]] = {}
    enums: dict[str, dict[str, int]] = {}
    text = Path(__file__).with_name("messages.txt").read_text(encoding="utf-8")
    lines: list[str] = []
    values: dict[str, int] = {}
    in_enum = False
    for line in text.splitlines():
        if not line.startswith(" "):
            what, _, name = line.partition(" ")
            in_enum = what == "enum"
            if in_enum:
                values = enums[name] = {}
            else:
                lines = messages[name] = []
        elif in_enum:
            value, number = line.split()
            values[value] = int(number)
        else:
            lines.append(line)
    return messages, enums


def _field(line: str) -> FieldSpec:
    name, number, kind, *rest = line.split()
    mark = rest[0] if rest else ""
    key_type = ""
    repeated = kind.startswith("*")
    kind = kind.removeprefix("*")
    if kind.startswith("map:"):
        _, key_type, kind = kind.split(":", 2)
        repeated = True
    enum = ""
    if kind.startswith("enum:"):
        kind, enum = kind.split(":", 1)
    presence = not repeated and (bool(mark) or "." in kind)
    return FieldSpec(name, int(number), kind, repeated, "" if mark == "?" else mark, presence, key_type, enum)


@functools.cache
def message_spec(full_name: str) -> MessageSpec:
    """The message of this name, such as "tensorboard.Event"."""
    fields = tuple(sorted(map(_field, _listed()[0][full_name]), key=lambda field: field.number))
    oneofs: dict[str, tuple[str, ...]] = {}
    for field in fields:
        if field.oneof:
            oneofs[field.oneof] = (*oneofs.get(field.oneof, ()), field.name)
    by_name, by_number = ({getattr(field, key): field for field in fields} for key in ("name", "number"))
    return MessageSpec(full_name, fields, by_name, by_number, oneofs)


def messages_within(full_name: str) -> dict[str, str]:
    """The nested messages of a message: their names and full names."""
    prefix = f"{full_name}."
    return {
        name.removeprefix(prefix): name
        for name in _listed()[0]
        if name.startswith(prefix) and "." not in name.removeprefix(prefix)
    }


def enum_values(full_name: str) -> dict[str, int]:
    """The names and numbers of an enum."""
    return _listed()[1][full_name]


def enums_within(full_name: str) -> dict[str, int]:
    """The values of a message's nested enums."""
    enums: dict[str, int] = {}
    for name, values in _listed()[1].items():
        if name.rpartition(".")[0] == full_name:
            enums |= values
    return enums
