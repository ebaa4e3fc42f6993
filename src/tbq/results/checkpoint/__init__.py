"""The parameters of a model or a checkpoint: one reader a format, each giving `Parameter`s read in blocks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tbq.errors import SourceError, UsageError
from tbq.limits import Limit, Size
from tbq.results.checkpoint.parameter import Parameter, array_parameter

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
    """Which reader a file needs, by its ending."""
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise UsageError(
            f"no reader for '{ending or Path(path).name}' files, got {path}",
            path=path,
            hint=f"known are {', '.join(FORMATS)}",
        )
    return FORMATS[ending]


@contextmanager
def parameters(model: Any, max_unpacked: Size | None = None) -> Iterator[list[Parameter]]:
    """The parameters of a path, a Keras model, a torch module or a dict of arrays, open while in use."""
    if isinstance(model, str | os.PathLike):
        with ExitStack() as stack:
            yield of_file(os.fspath(model), stack, Limit.of(max_unpacked))
    else:
        yield _of_model(model)


def of_file(path: str, stack: ExitStack, limit: Limit) -> list[Parameter]:
    """The parameters of a file; `stack` keeps open what they are read from, `limit` bounds what is unpacked."""
    kind = format_of(path)
    if not Path(path).exists():
        raise SourceError("no such file", path=path)
    if Path(path).is_dir():
        raise SourceError("is a directory, want a checkpoint file", path=path)
    if not Path(path).is_file():  # to open a pipe would wait for its other end
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


def _of_model(model: Any) -> list[Parameter]:
    if isinstance(model, Mapping):
        from tbq.results.checkpoint.torch import parameters as nested

        return nested(model)
    if callable(getattr(model, "state_dict", None)):  # a torch module
        return [
            array_parameter(name, tensor)
            for name, tensor in model.state_dict().items()
            if hasattr(tensor, "shape")  # a module may keep more than tensors in its state
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
        f"no parameters in a {type(model).__name__}",
        hint="give a Keras model, a torch module, a dict of arrays, or a path ending in "
        + ", ".join(FORMATS),
    )
