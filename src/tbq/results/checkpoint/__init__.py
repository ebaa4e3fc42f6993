"""The parameters of a model or checkpoint: one reader per format, each returning `Parameter`s read in blocks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from tbq.errors import SourceError, UsageError
from tbq.limits import Limit, Size
from tbq.results.checkpoint.parameter import Parameter, array_parameter
from tbq.source import is_event_file
from tbq.source.urls import refuse_remote
from tbq.text import shell_word

_LISTED = 10_000  # files of a directory to look at

FORMATS = {
    ".safetensors": "safetensors",
    ".npz": "npz",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".keras": "hdf5",
    ".pt": "torch",
    ".pth": "torch",
    ".ckpt": "torch",
    ".bin": "torch",
}


def format_of(path: str) -> str:
    """The reader for a file, by its suffix."""
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise UsageError(
            f"tbq cannot read parameters from '{ending or Path(path).name}' files",
            path=path,
            hint=f"it reads {', '.join(FORMATS)}",
        )
    return FORMATS[ending]


@contextmanager
def parameters(model: Any, max_unpacked: Size | None = None) -> Iterator[list[Parameter]]:
    """The parameters of a path, a Keras model, a torch module or a dict of arrays, open within the block.

    Adds the path of the model to an error in the block that has no path.
    """
    if not isinstance(model, str | os.PathLike):
        yield _of_model(model)
        return
    path = os.fspath(model)
    refuse_remote(path)
    try:
        with ExitStack() as stack:
            yield of_file(path, stack, Limit.of(max_unpacked))
    except SourceError as error:
        error.path = error.path or path
        raise


def of_file(path: str, stack: ExitStack, limit: Limit) -> list[Parameter]:
    """The parameters of a file; `stack` keeps the file open, `limit` bounds what is unpacked."""
    if Path(path).is_dir():
        raise SourceError("is a directory, want a checkpoint file", path=path, hint=_inside(path))
    kind = format_of(path)
    if not Path(path).exists():
        raise SourceError("no such file", path=path)
    if not Path(path).is_file():  # opening a pipe would wait for its other end
        raise SourceError("is a pipe or device, want a checkpoint file", path=path)
    if kind == "hdf5":
        from tbq.results.checkpoint import hdf5

        return hdf5.read(path, stack, limit)
    if kind == "torch":
        from tbq.results.checkpoint import torch

        return torch.read(path, limit)
    try:
        file = stack.enter_context(Path(path).open("rb"))  # noqa: SIM115 (the stack closes it)
    except OSError as error:
        raise SourceError(f"cannot be opened: {error.strerror}", path=path) from None
    if kind == "npz":
        from tbq.results.checkpoint import npz

        return npz.read(path, file, limit)
    from tbq.results.checkpoint import safetensors

    return safetensors.read(path, file)


def _inside(folder: str) -> str:
    """The hint for a directory: name a checkpoint in it, or read its event files."""
    files = list(islice((path for path in Path(folder).rglob("*") if path.is_file()), _LISTED))
    checkpoints = sorted(path for path in files if path.suffix.lower() in FORMATS)
    if checkpoints:
        more = f" (and {len(checkpoints) - 1:,} more)" if len(checkpoints) > 1 else ""
        return f"tbq weights {shell_word(str(checkpoints[0]))}{more}"
    if any(is_event_file(path.name) for path in files):
        return f"it has event files, not weights: tbq ls {shell_word(folder)}"
    return f"it has no file that ends in {', '.join(FORMATS)}"


def _of_model(model: Any) -> list[Parameter]:
    if isinstance(model, Mapping):
        from tbq.results.checkpoint.torch import parameters as nested

        return nested(model)
    if callable(getattr(model, "state_dict", None)):  # a torch module
        return [
            array_parameter(name, tensor)
            for name, tensor in model.state_dict().items()
            if hasattr(tensor, "shape")  # a module's state may contain more than tensors
        ]
    if hasattr(model, "weights") and hasattr(model, "name"):  # a Keras model or layer
        prefix = f"{model.name}/"
        return [
            array_parameter(
                str(getattr(v, "path", None) or v.name).removeprefix(prefix).removesuffix(":0"), v
            )
            for v in model.weights
        ]
    raise UsageError(
        f"got a {type(model).__name__}, which has no parameters",
        hint="pass a Keras model, a torch module, a dict of arrays, or a path ending in "
        + ", ".join(FORMATS),
    )
