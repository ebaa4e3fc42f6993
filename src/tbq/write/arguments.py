"""Arguments of the writer, checked and converted: tags, steps, numbers, and arrays of any library."""

from __future__ import annotations

import operator
import sys
from typing import TYPE_CHECKING, Any

from tbq.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

_INT64 = range(-(2**63), 2**63)


def bad(argument: str, message: str, *, hint: str | None = None) -> UsageError:
    """The error for a wrong argument; its message starts with the argument's name."""
    return UsageError(f"{argument}: {message}", hint=hint, code="argument")


def shown(value: object) -> str:
    """A value for an error message: short, with its type."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # an int with more than 4,300 digits, or a user's own repr
        text = "…"
    if len(text) > 60:
        text = text[:57] + "..."
    return f"{text} ({type(value).__name__})"


def as_tag(tag: object, argument: str = "tag") -> str:
    """A tag: non-empty text that UTF-8 can encode."""
    if not isinstance(tag, str):
        raise bad(argument, f"got {shown(tag)}, want a str")
    if not tag:
        raise bad(argument, "got an empty str, want a name", hint="TensorBoard shows nothing without a tag")
    try:
        tag.encode()
    except UnicodeEncodeError as error:
        raise bad(
            argument, f"{tag!r} has a lone surrogate at {error.start}, which UTF-8 cannot encode"
        ) from None
    return tag


def as_step(step: object, argument: str = "global_step") -> int | None:
    """A step: None or an integer, possibly as a float or a one-element tensor."""
    if step is None:
        return None
    try:
        number = operator.index(step)  # type: ignore[arg-type]
    except (TypeError, RuntimeError, ValueError):
        value = as_number(step, argument)
        if isinstance(value, float) and not value.is_integer():
            raise bad(
                argument,
                f"got {shown(step)}, want an integer",
                hint="steps are integers: 0.1 and 0.9 would both become step 0",
            ) from None
        number = int(value)
    if number not in _INT64:
        raise bad(argument, f"got {number}, which does not fit 64 bits")
    return number


def as_wall_time(wall_time: object, argument: str = "walltime") -> float | None:
    """Seconds since the epoch, or None for now."""
    return None if wall_time is None else float(as_number(wall_time, argument))


def as_number(value: object, argument: str) -> int | float:
    """A real number: Python's, NumPy's, or the one element of an array or tensor."""
    if isinstance(value, (int, float)):
        return value
    try:
        got = value.item()  # type: ignore[attr-defined]
    except Exception:  # no such method, or not a single element; each library raises its own error
        got = None
    if isinstance(got, (int, float)):
        return got
    if value is None or isinstance(value, str | bytes | bytearray | complex):
        raise bad(argument, f"got {shown(value)}, want a number")
    if not hasattr(value, "__array__") and not hasattr(value, "__dlpack__"):
        try:
            return float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            raise bad(argument, f"got {shown(value)}, want a number") from None
    array = as_array(value, argument)
    if array.size != 1:
        raise bad(argument, f"got an array of shape {array.shape}, want one number")
    got = array.reshape(()).item()
    if not isinstance(got, int | float):
        raise bad(argument, f"got {shown(got)}, want a real number")
    return got


def bfloat16_bits(value: Any) -> np.ndarray[Any, Any] | None:
    """The 16-bit patterns of a bfloat16 array or tensor; None for any other dtype."""
    import numpy as np

    dtype = getattr(value, "dtype", None)
    if str(dtype) == "torch.bfloat16":
        torch = sys.modules["torch"]  # torch is imported, as the value is a torch tensor
        bits = np.asarray(value.detach().cpu().contiguous().view(torch.int16))
        return bits.view(np.uint16)
    if "bfloat16" in str(dtype):
        array = _to_numpy(value)
        return np.ascontiguousarray(array).view(np.uint16).reshape(array.shape)
    return None


def as_array(value: Any, argument: str) -> np.ndarray[Any, Any]:
    """A numeric NumPy array from any array, tensor, number or (nested) list; bfloat16 becomes float32."""
    import numpy as np

    bits = bfloat16_bits(value)
    if bits is not None:
        return (bits.astype(np.uint32) << 16).view(np.float32)
    if isinstance(value, str | bytes) or value is None:
        raise bad(argument, f"got {shown(value)}, want an array")
    try:
        array = _to_numpy(value)
    except UsageError:
        raise
    except Exception as error:  # whatever the library of the array raises
        raise bad(argument, f"got {shown(value)}, which is not an array: {error}") from error
    if array.dtype.kind == "V" and array.dtype.name.startswith("float8"):
        return array.astype(np.float32)
    if array.dtype.kind not in "biufc":
        raise bad(argument, f"got an array of dtype {array.dtype}, want numbers")
    return array


def _to_numpy(value: Any) -> np.ndarray[Any, Any]:
    import numpy as np

    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "detach"):  # torch: off the graph and off the device
        value = value.detach()
        if str(getattr(value, "device", "")) == "meta":
            raise ValueError("a tensor on the meta device has no values")
        value = value.cpu()
        if getattr(value, "is_sparse", False):
            value = value.to_dense()
        value = value.resolve_conj().resolve_neg() if hasattr(value, "resolve_conj") else value
    elif callable(getattr(value, "numpy", None)):  # TensorFlow, whose __array__ fails for bfloat16
        return np.asarray(value.numpy())
    if hasattr(value, "__array__") or not hasattr(value, "__dlpack__"):
        if isinstance(value, list | tuple) and any(hasattr(item, "__array__") for item in value):
            return np.stack([_to_numpy(item) for item in value])
        return np.asarray(value)
    return np.from_dlpack(value)


def real(array: np.ndarray[Any, Any], argument: str) -> np.ndarray[Any, Any]:
    """The array; raises if its numbers are not real."""
    if array.dtype.kind == "c":
        raise bad(argument, f"got complex numbers of dtype {array.dtype}, want real numbers")
    return array
