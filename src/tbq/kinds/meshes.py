"""Meshes: vertices, faces and colours of one step put together, and their PLY files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tbq.errors import DamageError
from tbq.kinds.tensors import array

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

# The suffixes that writers append to a mesh's name for its parts: tensorboardX uses numbers.
SUFFIX = re.compile(r"_(VERTEX|FACE|COLOR|[123])")
_COMPONENTS = ("vertex", "face", "color")


@dataclass(frozen=True)
class Mesh:
    """Arrays of (batch, n, 3); faces and colours may be absent."""

    vertices: NDArray[Any]
    faces: NDArray[Any] | None = None
    colors: NDArray[Any] | None = None

    def ply(self, index: int = 0) -> bytes:
        """One mesh of the batch as a binary PLY file.

        >>> import numpy as np
        >>> Mesh(np.zeros((1, 2, 3))).ply().split(b"\\n")[:3]
        [b'ply', b'format binary_little_endian 1.0', b'element vertex 2']
        """
        import numpy as np

        points = np.asarray(self.vertices[index], "<f4")
        head = ["ply", "format binary_little_endian 1.0", f"element vertex {len(points)}"]
        head += [f"property float {axis}" for axis in "xyz"]
        fields: list[tuple[str, str, tuple[int, ...]]] = [("at", "<f4", (3,))]
        if self.colors is not None:
            head += [f"property uchar {name}" for name in ("red", "green", "blue")]
            fields.append(("color", "u1", (3,)))
        vertices = np.zeros(len(points), fields)
        vertices["at"] = points
        if self.colors is not None:
            vertices["color"] = np.clip(self.colors[index], 0, 255)
        faces = None
        if self.faces is not None:
            head += [f"element face {len(self.faces[index])}", "property list uchar int vertex_indices"]
            faces = np.zeros(len(self.faces[index]), [("count", "u1"), ("at", "<i4", (3,))])
            faces["count"] = 3
            faces["at"] = self.faces[index]
        body = vertices.tobytes() + (b"" if faces is None else faces.tobytes())
        return ("\n".join([*head, "end_header"]) + "\n").encode() + body


def mesh(rows: pa.Table) -> Mesh:
    """The mesh from the rows of one run, name and step."""
    parts: dict[str, Any] = {}
    for row in rows.select(["component", "dtype", "shape", "data"]).to_pylist():
        if row["shape"] is None or len(row["shape"]) not in (2, 3) or row["shape"][-1] != 3:
            raise DamageError(
                f"the mesh's {row['component']} is not a tensor of shape [batch, n, 3]", code="bad_mesh"
            )
        values = array(row["dtype"], row["shape"], row["data"])
        parts[row["component"]] = values if values.ndim == 3 else values[None]
    vertices, faces, colors = (parts.get(name) for name in _COMPONENTS)
    if vertices is None:
        raise DamageError("the mesh has no vertices at this step", code="bad_mesh")
    batch = len(vertices)
    unlike = [name for name in _COMPONENTS[1:] if parts.get(name) is not None and len(parts[name]) != batch]
    if unlike or (colors is not None and colors.shape != vertices.shape):
        raise DamageError("the mesh's parts have different batch sizes", code="bad_mesh")
    return Mesh(vertices, faces, colors)
