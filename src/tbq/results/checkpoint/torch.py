"""Reader of torch's `.pt`, `.pth`, `.ckpt` and `.bin`, by torch itself: only what needs no code to be run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tbq.errors import SourceError, missing
from tbq.results.checkpoint.parameter import Parameter, array_parameter

# Where training scripts keep the model inside of a checkpoint, in the order they are looked for.
_MODEL_KEYS = ("state_dict", "model_state_dict", "model", "module", "net")


def load(path: str) -> Any:
    """What a torch file holds: loaded with `weights_only=True`, tensors left in the file until read."""
    try:
        import torch
    except ImportError:
        raise missing("torch", needed_for=f"reading {Path(path).suffix} files") from None
    import pickle
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch on how it would be loaded in future
        try:
            try:
                return torch.load(path, map_location="cpu", weights_only=True, mmap=True)
            except (RuntimeError, ValueError) as error:
                if "mmap" not in str(error):
                    raise
                return torch.load(path, map_location="cpu", weights_only=True)  # the format before torch 1.6
        except pickle.UnpicklingError as error:
            raise SourceError(
                f"loading it would run code ({_reason(str(error))}); tbq never does",
                path=path,
                hint="in a Python you trust the file with: torch.save(model.state_dict(), 'weights.pt')",
                code="unsafe",
            ) from None
        except (RuntimeError, EOFError, ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            said = re.match(r"(.+?)(?:\. |\n|$)", str(error).strip())  # the first sentence
            raise SourceError(
                f"not a whole torch file: {said[1] if said else type(error).__name__}",
                path=path,
                hint="copy or download it again",
            ) from None


def _reason(text: str) -> str:
    """What a pickle would have run, out of torch's page of advice."""
    found = re.search(r"GLOBAL ([\w.]+)", text)
    if found:
        return f"it names {found[1]}"
    found = re.search(r"WeightsUnpickler error:\s*(.+)", text)
    return found[1].strip()[:160] if found else "it holds more than tensors"


def read(path: str) -> list[Parameter]:
    """The tensors of a state dict, or of the model's state dict in a checkpoint with more in it."""
    return parameters(load(path), path)


def parameters(found: Any, path: str | None = None) -> list[Parameter]:
    """The tensors in nested dicts and lists; the model's alone where a key says which they are."""
    if isinstance(found, Mapping):
        for key in _MODEL_KEYS:
            inner = found.get(key)
            if isinstance(inner, Mapping) and any(True for _ in _tensors(inner, "")):
                found = inner
                break
    result = [array_parameter(name, tensor) for name, tensor in _tensors(found, "")]
    if not result:
        raise SourceError(
            f"no tensor in it, got a {type(found).__name__}", path=path, hint="save model.state_dict()"
        )
    return result


def _tensors(found: Any, name: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    if depth > 64:
        raise SourceError("dicts nested past 64")
    if hasattr(found, "shape") and hasattr(found, "dtype"):
        yield name or "tensor", found
    elif isinstance(found, Mapping):
        for key, value in found.items():
            yield from _tensors(value, f"{name}.{key}" if name else str(key), depth + 1)
    elif isinstance(found, Sequence) and not isinstance(found, str | bytes):
        for number, value in enumerate(found):
            yield from _tensors(value, f"{name}.{number}" if name else str(number), depth + 1)
