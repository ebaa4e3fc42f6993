"""Writes embeddings: files beside the event file that TensorBoard's projector reads."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import numpy as np

from tbq.arguments import described
from tbq.errors import warn
from tbq.export.target import make_folder, output
from tbq.write import image
from tbq.write.arguments import as_array, bad, real


def write(
    log_dir: str, mat: Any, metadata: Any, label_img: Any, step: int, tag: str, metadata_header: Any
) -> None:
    """Write vectors, labels and pictures below `log_dir`, and add them to its projector_config.pbtxt."""
    matrix = real(as_array(mat, "mat"), "mat")
    if matrix.ndim != 2:
        raise bad("mat", f"got shape {matrix.shape}, want [points, dimensions]")
    rows = None if metadata is None else _labels(metadata, metadata_header, len(matrix))
    sprite = None if label_img is None else real(as_array(label_img, "label_img"), "label_img")
    if sprite is not None and (sprite.ndim != 4 or len(sprite) != len(matrix)):
        raise bad("label_img", f"got shape {sprite.shape}, want [{len(matrix)}, C, H, W]")

    # The tag as a directory name, as torch encodes it.
    name = f"{step:05d}/" + tag.replace("%", "%25").replace("/", "%2f").replace("\\", "%5c")
    directory = Path(log_dir, name)
    if directory.is_dir():
        warn(f"{directory}: replacing the existing embedding; pass another global_step or tag to keep it")
    make_folder(directory)
    with io.StringIO() as lines:
        for vector in matrix.tolist():
            lines.write("\t".join(map(str, vector)) + "\n")
        _replace(directory / "tensors.tsv", lines.getvalue().encode())
    fields = [
        f"tensor_name: {_quoted(f'{tag}:{step:05d}')}",
        f"tensor_path: {_quoted(f'{name}/tensors.tsv')}",
    ]
    if rows is not None:
        _replace(directory / "metadata.tsv", ("\n".join(rows) + "\n").encode())
        fields.append(f"metadata_path: {_quoted(f'{name}/metadata.tsv')}")
    if sprite is not None:
        _replace(directory / "sprite.png", _sprite(sprite))
        size = f"single_image_dim: {sprite.shape[3]}\n    single_image_dim: {sprite.shape[2]}"
        fields.append(f"sprite {{\n    image_path: {_quoted(f'{name}/sprite.png')}\n    {size}\n  }}")
    _add_to_config(Path(log_dir, "projector_config.pbtxt"), "\n  ".join(fields))


def _labels(metadata: Any, header: Any, count: int) -> list[str]:
    metadata = list(metadata)
    if len(metadata) != count:
        raise bad("metadata", f"got {len(metadata)} labels for {count} points")
    if not header:
        return [str(label) for label in metadata]
    if any(len(row) != len(header) for row in metadata):
        raise bad("metadata_header", f"got {described(header)}, want as many names as metadata has columns")
    return ["\t".join(map(str, row)) for row in [header, *metadata]]


def _sprite(pictures: Any) -> bytes:
    """A square image of all pictures."""
    side = math.ceil(len(pictures) ** 0.5)
    arranged = image.grid(pictures, "label_img", columns=side).transpose(1, 2, 0)
    square = np.zeros((max(arranged.shape[:2]),) * 2 + (3,), dtype=arranged.dtype)
    square[: arranged.shape[0], : arranged.shape[1]] = arranged[:, :, :3]
    return image.to_png(image.to_bytes(square))


def _add_to_config(path: Path, fields: str) -> None:
    """Append an embedding to the projector's config."""
    entry = f"embeddings {{\n  {fields}\n}}\n"
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    if entry not in before:
        _replace(path, (before + entry).encode())


def _replace(path: Path, data: bytes) -> None:
    with output(path, force=True) as stream:
        stream.write(data)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
