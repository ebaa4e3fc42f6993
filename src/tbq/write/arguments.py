"""Arguments of the writer, checked and converted: tags, steps, numbers, and arrays of any library."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from tbq.arguments import described
from tbq.arrays import raw, widen
from tbq.errors import TbqError, UsageError

if TYPE_CHECKING:
    import numpy as np

_INT64 = range(-(2**63), 2**63)


def bad(argument: str, message: str, *, hint: str | None = None) -> UsageError:
    """The error for a wrong argument; its message starts with the argument's name."""
    return UsageError(f"{argument}: {message}", hint=hint, code="argument")


def as_tag(tag: object, argument: str = "tag") -> str:
    """A tag: non-empty text that UTF-8 can encode."""
    if not isinstance(tag, str):
        raise bad(argument, f"got {described(tag)}, want a str")
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
                f"got {described(step)}, want an integer",
                hint="steps are integers: 0.1 and 0.9 would both become step 0",
            ) from None
        number = int(value)
    if number not in _INT64:
        raise bad(argument, f"got {number}, which does not fit 64 bits")
    return number


def as_wall_time(wall_time: object) -> float | None:
    """Seconds since the epoch, or None for now."""
    return None if wall_time is None else float(as_number(wall_time, "walltime"))


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
        raise bad(argument, f"got {described(value)}, want a number")
    if not hasattr(value, "__array__") and not hasattr(value, "__dlpack__"):
        try:
            return float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            raise bad(argument, f"got {described(value)}, want a number") from None
    array = as_array(value, argument)
    if array.size != 1:
        raise bad(argument, f"got an array of shape {array.shape}, want one number")
    got = array.reshape(()).item()
    if not isinstance(got, int | float):
        raise bad(argument, f"got {described(got)}, want a real number")
    return got


def as_elements(value: Any, argument: str) -> tuple[np.ndarray[Any, Any], str]:
    """The elements of any array, tensor, number or (nested) list, and the name of their dtype; see `tbq.arrays.raw`."""
    if isinstance(value, str | bytes) or value is None:
        raise bad(argument, f"got {described(value)}, want an array")
    try:
        elements, name = raw(value)
    except TbqError:
        raise
    except Exception as error:  # whatever the library of the array raises
        raise bad(argument, f"got {described(value)}, which is not an array: {error}") from error
    if elements.dtype.kind not in "biufc":
        raise bad(argument, f"got an array of dtype {elements.dtype}, want numbers")
    return elements, name


def as_array(value: Any, argument: str) -> np.ndarray[Any, Any]:
    """A numeric NumPy array from any array, tensor, number or (nested) list; bfloat16 and float8 become float32."""
    return widen(*as_elements(value, argument))


def real(array: np.ndarray[Any, Any], argument: str) -> np.ndarray[Any, Any]:
    """The array; raises if its numbers are not real."""
    if array.dtype.kind == "c":
        raise bad(argument, f"got complex numbers of dtype {array.dtype}, want real numbers")
    return array
