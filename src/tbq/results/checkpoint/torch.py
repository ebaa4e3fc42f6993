"""Reader of torch's `.pt`, `.pth`, `.ckpt` and `.bin`, with torch itself, without running any code in them."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tbq.errors import SourceError, missing
from tbq.limits import Budget, Limit
from tbq.results.checkpoint.npz import ZIP_FAULTS, damaged
from tbq.results.checkpoint.parameter import Parameter, array_parameter

_ITEMS, _TENSORS = 5_000_000, 200_000
# Keys under which checkpoints store the model, in the order of the search.
_MODEL_KEYS = ("state_dict", "model_state_dict", "model", "module", "net")


def load(path: str) -> Any:
    """The contents of a torch file, loaded with `weights_only=True`; tensors stay in the file until read."""
    try:
        import torch
    except ImportError:
        raise missing("torch", needed_for=f"reading {Path(path).suffix} files") from None
    import pickle
    import warnings

    # Making a sparse tensor with invalid indices dense would write anywhere in memory.
    with warnings.catch_warnings(), torch.sparse.check_sparse_tensor_invariants():
        warnings.simplefilter("ignore")  # torch warns about future defaults
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
                hint="if you trust it, load it in Python and then: torch.save(model.state_dict(), 'weights.pt')",
                code="unsafe",
            ) from None
        except (RuntimeError, EOFError, ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            sentence = re.match(r"(.+?)(?:\. |\n|$)", str(error).strip())  # the first sentence
            raise SourceError(
                f"not a valid torch file: {sentence[1] if sentence else type(error).__name__}",
                path=path,
                hint="copy or download it again",
            ) from None


def _reason(text: str) -> str:
    """What a pickle would run, extracted from torch's long message."""
    match = re.search(r"GLOBAL ([\w.]+)", text)
    if match:
        return f"it names {match[1]}"
    match = re.search(r"WeightsUnpickler error:\s*(.+)", text)
    return match[1].strip()[:160] if match else "it contains more than tensors"


def read(path: str, limit: Limit) -> list[Parameter]:
    """The tensors of a state dict, or of the model's state dict in a larger checkpoint."""
    _refuse_packed(path, limit)
    return parameters(load(path), path, limit)


def _refuse_packed(path: str, limit: Limit) -> None:
    """Refuse an archive that unpacks to too much: torch writes uncompressed archives, but unpacks any into memory."""
    try:
        if not zipfile.is_zipfile(path):
            return
        with zipfile.ZipFile(path) as archive:
            held = [(member.file_size, member.compress_size) for member in archive.infolist()]
    except ZIP_FAULTS as error:
        raise damaged(path, error) from None
    refusal = limit.refusal(sum(size for size, _ in held), sum(packed for _, packed in held))
    if refusal:
        raise SourceError(refusal, path=path)


def parameters(content: Any, path: str | None = None, limit: Limit | None = None) -> list[Parameter]:
    """The tensors in nested dicts and lists; only those of the model if a key names it.

    With a `limit`, a tensor that claims many more elements than its file stores is unreadable.
    """
    if isinstance(content, Mapping):
        for key in _MODEL_KEYS:
            inner = content.get(key)
            if isinstance(inner, Mapping) and any(True for _ in _tensors(inner, "")):
                content = inner
                break
    budget = Budget(limit, Path(path).stat().st_size) if limit is not None and path is not None else None
    result = [_parameter(name, tensor, budget) for name, tensor in _tensors(content, "")]
    if not result:
        raise SourceError(
            f"has no tensors, got a {type(content).__name__}", path=path, hint="save model.state_dict()"
        )
    return result


def _parameter(name: str, tensor: Any, budget: Budget | None) -> Parameter:
    parameter = array_parameter(name, tensor)
    if budget is None or parameter.unreadable or not hasattr(tensor, "untyped_storage"):
        return parameter
    size = tensor.element_size()
    try:
        stored = tensor.untyped_storage().nbytes()
    except NotImplementedError:  # a sparse tensor
        stored = tensor._nnz() * size
    return replace(parameter, unreadable=budget.refusal(tensor.numel() * size, stored))


def _tensors(content: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Tensors with the names that lead to them, up to a limit: a small file may expand to enormous nested lists."""
    waiting = [iter([(name, content)])]
    items = tensors = 0
    while waiting:
        named = next(waiting[-1], None)
        if named is None:
            waiting.pop()
            continue
        name, item = named
        if hasattr(item, "shape") and hasattr(item, "dtype"):
            tensors += 1
            yield name or "tensor", item
        elif isinstance(item, Mapping | Sequence) and not isinstance(item, str | bytes):
            items += len(item)
            waiting.append(_named(item, name))
        if len(waiting) > 65:
            raise SourceError("dicts are nested deeper than 64")
        if items > _ITEMS or tensors > _TENSORS:
            raise SourceError(f"has more than {_ITEMS:,} items, or {_TENSORS:,} tensors")


def _named(items: Mapping[Any, Any] | Sequence[Any], name: str) -> Iterator[tuple[str, Any]]:
    for key, value in items.items() if isinstance(items, Mapping) else enumerate(items):
        yield f"{name}.{key}" if name else str(key), value
