"""Meshes and point clouds: one tag per part (`name_VERTEX`, `name_FACE`, `name_COLOR`)."""

from __future__ import annotations

import json
from typing import Any

from tbq import wire
from tbq.write.arguments import as_array, bad, real

_PARTS = {"vertices": (1, "VERTEX"), "faces": (2, "FACE"), "colors": (3, "COLOR")}


def encode(tag: str, vertices: Any, colors: Any, faces: Any, config_dict: Any) -> bytes:
    """A Summary with one value per part."""
    if vertices is None:
        raise bad("vertices", "got None, want [batch, points, 3]")
    try:
        config = "{}" if config_dict is None else json.dumps(config_dict, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise bad("config_dict", f"cannot be encoded as JSON: {error}") from None
    parts = {"vertices": vertices, "faces": faces, "colors": colors}
    arrays = {name: real(as_array(part, name), name) for name, part in parts.items() if part is not None}
    components = sum(1 << _PARTS[name][0] for name in arrays)
    values = []
    for name, array in arrays.items():
        if array.ndim != 3 or array.shape[2] != 3:
            raise bad(name, f"got shape {array.shape}, want [batch, points, 3]")
        number, ending = _PARTS[name]
        content = (
            wire.text(2, tag)
            + wire.integer(3, number)
            + wire.text(5, config)
            + wire.text(6, b"".join(wire.varint(size) for size in array.shape))
            + wire.integer(7, components)
        )
        metadata = wire.metadata("mesh", content)
        values.append(wire.value(f"{tag}_{ending}", wire.TENSOR, wire.float_tensor(array), metadata))
    return b"".join(values)
