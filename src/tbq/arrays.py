"""Arrays and tensors of any framework as NumPy arrays, including number types that NumPy does not have."""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from tbq.errors import install_command, installer, missing

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[Any]

#: The float types that NumPy lacks -> the type that holds their bits.
STORED_AS = {
    "bfloat16": "<u2",
    "float8_e4m3fn": "u1",
    "float8_e4m3fnuz": "u1",
    "float8_e4m3b11fnuz": "u1",
    "float8_e5m2": "u1",
    "float8_e5m2fnuz": "u1",
    "float8_e8m0fnu": "u1",
    "float4_e2m1fn": "u1",
}


_LESS = 2.0**-600  # squares of the largest floats, times this, are floats


def without_overflow(compute: Callable[..., Any], *values: Array) -> Any:
    """The result of `compute` for these floats, even if an intermediate result overflows.

    `compute` must scale with its values, as a mean or a standard deviation does: half the values, half the result.

    >>> import numpy as np
    >>> float(without_overflow(np.mean, np.array([1.5e308, 1.5e308])))
    1.5e+308
    """
    import numpy as np

    with np.errstate(all="ignore"):
        result = compute(*values)
        if np.isfinite(result).all():
            return result
        # A power of two changes no digit of what counts beside values so large.
        return np.where(np.isfinite(result), result, compute(*(each * _LESS for each in values)) / _LESS)


def dtype_name(array: Any) -> str:
    """The name of an array's type as NumPy and ml_dtypes spell it, whatever the framework."""
    dtype = array.dtype
    # torch.float32, tf.float32, np.dtype("float32") and Keras' plain string
    name = str(getattr(dtype, "name", dtype)).removeprefix("torch.")
    return {"half": "float16", "float": "float32", "double": "float64"}.get(name, name)


def raw(value: Any) -> tuple[Array, str]:
    """The elements of an array, tensor, number or nested list, and the name of their type.

    Elements of a type in `STORED_AS` come as the unsigned integers that hold their bits; `widen` decodes them.

    >>> raw([1.5, 2])
    (array([1.5, 2. ]), 'float64')
    """
    import numpy as np

    if hasattr(value, "detach"):
        return _of_torch(value)
    if isinstance(value, np.ndarray):
        array = value
    elif callable(getattr(value, "numpy", None)):  # TensorFlow (its __array__ fails for bfloat16) and Keras
        return raw(value.numpy())
    elif isinstance(value, list | tuple) and any(hasattr(item, "__array__") for item in value):
        array = np.stack([widen(*raw(item)) for item in value])
    elif hasattr(value, "__array__") or not hasattr(value, "__dlpack__"):
        array = np.asarray(value)
    else:
        array = np.from_dlpack(value)
    name = dtype_name(array)
    if name in STORED_AS:
        array = np.ascontiguousarray(array).view(STORED_AS[name]).reshape(array.shape)
    return array, name


def _of_torch(tensor: Any) -> tuple[Array, str]:
    """A torch tensor, detached and on the CPU. torch is already imported, because the tensor exists."""
    import numpy as np

    tensor = tensor.detach()
    if str(getattr(tensor, "device", "")) == "meta":
        raise ValueError("a tensor on the meta device has no values")
    tensor = tensor.cpu()
    if getattr(tensor, "is_quantized", False):
        tensor = tensor.dequantize()
    elif str(getattr(tensor, "layout", "torch.strided")) != "torch.strided":  # any kind of sparse
        tensor = tensor.to_dense()
    name = dtype_name(tensor)
    if name in STORED_AS:
        torch = sys.modules["torch"]
        bits = tensor.contiguous().view(torch.int16 if name == "bfloat16" else torch.uint8).numpy()
        return np.asarray(bits.view(STORED_AS[name])), name
    if hasattr(tensor, "resolve_conj"):
        tensor = tensor.resolve_conj().resolve_neg()
    return np.asarray(tensor.numpy() if hasattr(tensor, "numpy") else tensor), name


def widen(elements: Array, name: str) -> Array:
    """Elements as a native NumPy type that holds each value exactly; a view if nothing changes.

    >>> import numpy as np
    >>> widen(np.array([0x3F80], "<u2"), "bfloat16")
    array([1.], dtype=float32)
    """
    import numpy as np

    if name == "bfloat16":
        bits: NDArray[np.uint32] = elements.astype(np.uint32) << np.uint32(16)
        return bits.view(np.float32)
    if name in STORED_AS:
        wide: Array = _values(name)[elements]
        return wide
    if name == "bool":
        # Any byte except 0 is true; viewing a byte such as 2 as bool is undefined.
        return np.asarray(elements.view(np.uint8) != 0)
    return elements if elements.dtype.isnative else elements.astype(elements.dtype.newbyteorder("="))


def lacks(name: str) -> str | None:
    """What to install before `widen` can decode this type; None if nothing is missing.

    >>> lacks("bfloat16"), lacks("float32")
    (None, None)
    """
    if name not in STORED_AS or name == "bfloat16":
        return None
    try:
        import ml_dtypes
    except ImportError:
        return install_command("weights")
    return None if hasattr(ml_dtypes, name) else f"{installer()} -U ml_dtypes"


@cache
def _values(name: str) -> NDArray[np.float32]:
    """The value of each byte of a type of at most eight bits."""
    import numpy as np

    if lacks(name) is not None:
        raise missing("ml_dtypes", needed_for=f"decoding {name}", extra="weights")
    import ml_dtypes

    values: NDArray[np.float32] = (
        np.arange(256, dtype=np.uint8).view(getattr(ml_dtypes, name)).astype(np.float32)
    )
    return values
