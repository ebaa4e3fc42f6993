"""Reader of Keras' HDF5 files: `.weights.h5`, the one inside `.keras`, older `.h5`, and plain arrays.

It reads only what is in the file itself. It does not follow soft links, external links, external storage or virtual
datasets, which could show the contents of another file or wait for a pipe. h5py follows them when it looks up an item
by name or the shape of a virtual dataset, so all items come from `_own` and all shapes from `_shape`.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tbq.errors import SourceError, missing
from tbq.limits import Budget, Limit
from tbq.results.checkpoint.keras_order import in_model_order, is_legacy
from tbq.results.checkpoint.npz import ZIP_FAULTS, damaged, opened
from tbq.results.checkpoint.parameter import Parameter, slabs
from tbq.results.dtypes import unreadable
from tbq.text import with_digits

if TYPE_CHECKING:
    from contextlib import ExitStack

    from numpy.typing import NDArray

_SKIPPED = {"optimizer", "optimizer_weights", "_optimizer"}
_DEPTH = 64
_CHUNKED = 1 << 22  # elements of a chunked dataset to read at once

# Keras stores a layer's variables only by number. These classes create them in a known order: snake-case class
# name -> names, used if the count matches. Anything else keeps its numbers.
_VARIABLES = {
    **dict.fromkeys(("dense", "einsum_dense", "conv1d", "conv2d", "conv3d"), ("kernel", "bias")),
    **dict.fromkeys(("conv1d_transpose", "conv2d_transpose", "conv3d_transpose"), ("kernel", "bias")),
    **dict.fromkeys(("depthwise_conv1d", "depthwise_conv2d"), ("kernel", "bias")),
    **dict.fromkeys(
        ("separable_conv1d", "separable_conv2d"), ("depthwise_kernel", "pointwise_kernel", "bias")
    ),
    **dict.fromkeys(("lstm", "gru", "simple_rnn"), ("kernel", "recurrent_kernel", "bias")),
    "embedding": ("embeddings",),
    "batch_normalization": ("gamma", "beta", "moving_mean", "moving_variance"),
    "layer_normalization": ("gamma", "beta"),
    "group_normalization": ("gamma", "beta"),
}
# This name may be missing at the end (a layer without bias); the others must be present.
_OPTIONAL = "bias"


def read(path: str, stack: ExitStack, limit: Limit) -> list[Parameter]:
    """The parameters of an HDF5 file or of a `.keras` archive; `stack` keeps the file open."""
    h5py = _h5py()
    if zipfile.is_zipfile(path):
        source: Any = _unpacked(path, stack, limit)
    else:
        source = path
    try:
        file = stack.enter_context(h5py.File(source, "r"))
        return list(_parameters(path, file, Budget(limit, file.id.get_filesize())))
    except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:
        raise SourceError(
            f"not a valid HDF5 file: {error}", path=path, hint="copy or download it again"
        ) from None


def _h5py() -> Any:
    try:
        import h5py
    except ImportError:
        raise missing("h5py", needed_for="reading .h5 and .keras files", extra="weights") from None
    return h5py


def _unpacked(path: str, stack: ExitStack, limit: Limit) -> Any:
    """`model.weights.h5` of a `.keras` archive as an open temporary file, copied in blocks."""
    try:
        archive = stack.enter_context(zipfile.ZipFile(path))
        names = [name for name in archive.namelist() if name.endswith(".weights.h5")]
        if not names:
            held = ", ".join(archive.namelist()[:8]) or "nothing"
            raise SourceError(
                f"no model.weights.h5 in the archive, which contains {held}",
                path=path,
                hint="save the model with model.save('model.keras')",
            )
        member = archive.getinfo(names[0])
        refusal = limit.refusal(member.file_size, member.compress_size, names[0])
        if refusal:
            raise SourceError(refusal, path=path)
        free = shutil.disk_usage(tempfile.gettempdir()).free
        if member.file_size > free:
            raise SourceError(
                f"{names[0]} unpacks to {member.file_size} bytes, but only {free} are free",
                path=path,
                hint="set TMPDIR to a larger disk",
            )
        unpacked = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 (the stack closes it)
        with opened(archive, member) as stream:
            shutil.copyfileobj(stream, unpacked, 1 << 20)
        unpacked.seek(0)
        return unpacked
    except ZIP_FAULTS as error:
        raise damaged(path, error) from None


def _parameters(path: str, file: Any, budget: Budget) -> Iterator[Parameter]:
    if "layers" in file or "_layer_checkpoint_dependencies" in file or _has_vars(file):
        for parts, dataset in _datasets(path, file):
            yield _parameter(path, _keras3_name(file, parts), dataset, budget)
        return
    model = file.attrs.get("model_config")
    prefix = _model_name(model) + "/" if model is not None else ""
    inner = _own(file, "model_weights")
    top = inner if isinstance(inner, _h5py().Group) else file
    legacy = is_legacy(top)
    datasets = _datasets(path, top)
    for parts, dataset in in_model_order(datasets, top) if legacy else datasets:
        # Older Keras: <layer>/<the weight's own path>, which starts with the model's or the layer's name.
        name = "/".join(parts[1:] if legacy and len(parts) > 2 else parts)
        name = re.sub(r":\d+$", "", name).removeprefix(prefix)
        yield _parameter(path, name, dataset, budget)


def _has_vars(file: Any) -> bool:
    return any(hasattr(group, "keys") and "vars" in group for group in (_own(file, key) for key in file))


def _own(group: Any, key: str) -> Any:
    """The item with this name in the file itself; None if it does not exist, or is a link that may leave the file."""
    h5py = _h5py()
    try:
        # get_info describes the link without following it.
        link = group.id.links.get_info(key.encode("utf-8", "surrogateescape")).type
    except (KeyError, RuntimeError):
        return None
    return group[key] if link == h5py.h5l.TYPE_HARD else None


def _shape(dataset: Any) -> tuple[int, ...] | None:
    """The shape of a dataset. For a virtual dataset, its shape at creation: the current one depends on other files."""
    if dataset.is_virtual:
        creation = dataset.id.get_create_plist()
        return creation.get_virtual_vspace(0).shape if creation.get_virtual_count() else ()
    return dataset.shape  # type: ignore[no-any-return]


def _model_name(config: Any) -> str:
    try:
        return str(json.loads(config)["config"]["name"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def _datasets(path: str, top: Any) -> Iterator[tuple[list[str], Any]]:
    """Every dataset in the file itself, with the names that lead to it, digits compared as numbers."""
    h5py = _h5py()
    seen = set()

    def walk(group: Any, parts: list[str]) -> Iterator[tuple[list[str], Any]]:
        if len(parts) > _DEPTH:
            raise SourceError(f"groups are nested deeper than {_DEPTH}", path=path)
        for key in sorted(group, key=with_digits):
            if not parts and key in _SKIPPED:
                continue
            item = _own(group, key)
            if isinstance(item, h5py.Group):
                address = h5py.h5o.get_info(item.id).addr
                if address not in seen:  # a link to a group above would never end
                    seen.add(address)
                    yield from walk(item, [*parts, key])
            elif isinstance(item, h5py.Dataset) and _shape(item) is not None:
                yield [*parts, key], item

    yield from walk(top, [])


def _keras3_name(file: Any, parts: list[str]) -> str:
    """`layers/dense/vars/0` as the name of the layer and, if its class is known, of the variable."""
    names, group, kind = [], file, ""
    for part in parts[:-1]:
        group = group[part]
        if part in ("layers", "vars", "_layer_checkpoint_dependencies"):
            continue
        variables = _own(group, "vars")
        inner = variables.attrs.get("name") if variables is not None else None
        names.append(str(inner) if inner is not None else part)
        if part != "cell":  # the cell of a recurrent layer has the layer's variables
            kind = re.sub(r"_\d+$", "", part)
    known_names = _VARIABLES.get(kind, ())
    wanted = {len(known_names), len(known_names) - (known_names[-1:] == (_OPTIONAL,))}
    leaf = parts[-1]
    if leaf.isdecimal() and int(leaf) < len(known_names) and len(group) in wanted:
        leaf = known_names[int(leaf)]
    return "/".join([*names, leaf])


def _parameter(path: str, name: str, dataset: Any, budget: Budget) -> Parameter:
    dtype = dataset.dtype
    shape = tuple(int(n) for n in _shape(dataset) or ())
    chunk = 0
    if dataset.external or dataset.is_virtual:
        why: str | None = "its elements are in another file, which tbq does not open"
    else:
        why = unreadable(dtype.name)
    if why is None:
        # A chunk is decompressed as a unit, and may be larger than the dataset. Read as many rows as a chunk has.
        chunks = dataset.chunks or ()
        elements = max(math.prod(shape), math.prod(chunks) if chunks else 0)
        why = budget.refusal(elements * dtype.itemsize, dataset.id.get_storage_size())
        chunk = min(chunks[0] * math.prod(shape[1:]), _CHUNKED) if chunks else 0

    def blocks(size: int) -> Iterator[NDArray[np.generic]]:
        native = dtype.newbyteorder("=")
        try:
            for where in slabs(shape, max(size, chunk)):
                flat = np.asarray(dataset[where]).reshape(-1).astype(native, copy=False)
                for start in range(0, flat.size, size):
                    yield flat[start : start + size]
        except (OSError, RuntimeError, ValueError) as error:
            raise SourceError(f"'{name}' cannot be read: {error}", path=path) from None

    return Parameter(name, shape, str(dtype.name), blocks, unreadable=why)
