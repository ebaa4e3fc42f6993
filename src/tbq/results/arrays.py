"""Arrays and tensors of any framework as NumPy, and the arrays in files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.generic]


def dtype_name(array: Any) -> str:
    """The name of an array's type as NumPy and ml_dtypes spell it, whatever the framework."""
    dtype = array.dtype
    # torch.float32, tf.float32, np.dtype("float32") and Keras' plain string
    name = str(getattr(dtype, "name", dtype)).removeprefix("torch.")
    return {"half": "float16", "float": "float32", "double": "float64"}.get(name, name)


def as_numpy(array: Any) -> Array:
    """The raw elements: as NumPy has them, or as the unsigned integers that hold a type NumPy lacks."""
    import numpy as np

    name = dtype_name(array)
    if hasattr(array, "detach"):  # torch
        array = array.detach().cpu()
        if getattr(array, "is_quantized", False):
            array = array.dequantize()
        elif (
            str(getattr(array, "layout", "torch.strided")) != "torch.strided"
        ):  # sparse, of one kind or another
            array = array.to_dense()
        if name == "bfloat16" or name.startswith("float8"):
            import torch

            raw = array.contiguous().view(torch.int16 if name == "bfloat16" else torch.uint8).numpy()
            return np.asarray(raw.view(np.uint16) if name == "bfloat16" else raw)
        return np.ascontiguousarray(array.resolve_conj().resolve_neg().numpy())
    if hasattr(array, "numpy"):  # TensorFlow, Keras
        array = array.numpy()
        if hasattr(array, "detach"):
            return as_numpy(array)
    found = np.asarray(array)
    if name == "bfloat16" or name.startswith("float8"):
        found = np.ascontiguousarray(found).view(np.uint16 if name == "bfloat16" else np.uint8)
    return found


def numbers(array: Any) -> Array:
    """Any array, tensor or nested list as a NumPy array of a native type, same shape."""
    import numpy as np

    from tbq.results.dtypes import widen

    if not hasattr(array, "dtype"):
        return np.asarray(array)
    raw = as_numpy(array)
    name = dtype_name(array)
    if name == "bfloat16" or name.startswith("float8"):
        return widen(raw.reshape(-1), name).reshape(raw.shape)
    return raw
