"""Values of JAX arrays that are still being computed, and histograms counted by jax.numpy on the array's device.

JAX arrays do not change, but donating an array to a function deletes it. So a copy is kept, which JAX makes once the
array is computed. Its transfer to the host starts at the call, if the device supports that.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from tbq.write.arguments import bad
from tbq.write.pending import Failed, Value
from tbq.write.tally import edges

#: Numbers to count at a time: as float64, with bins and comparisons, they take less than 256 MB.
PIECE = 1 << 23


def is_array(value: Any) -> bool:
    """Whether `value` is a JAX array, or the placeholder of one while a function is traced."""
    jax = sys.modules.get("jax")
    arrays: Any = getattr(jax, "Array", ())
    return isinstance(value, arrays)


class Computed(Value):
    """An array that JAX is still computing."""

    def __init__(self, array: Any) -> None:
        self._array = array
        if hasattr(array, "copy_to_host_async"):
            array.copy_to_host_async()

    def ready(self) -> bool:
        """Whether it is computed."""
        return bool(self._array.is_ready())

    def result(self) -> Any:
        """The number, or the numbers as a NumPy array."""
        import numpy as np

        numbers = np.asarray(self._array)
        return numbers.item() if numbers.ndim == 0 else numbers


def captured(array: Any, argument: str) -> Value | None:
    """The one number of an array that is still being computed; None if it can be read at once."""
    local = _local(array, argument)
    if local.size != 1:
        raise bad(argument, f"got an array of shape {tuple(local.shape)}, want one number")
    if local.is_deleted():
        raise bad(argument, "got an array that was deleted, e.g. donated to a function")
    if local.is_ready() or local.dtype.kind == "c":
        return None
    try:
        return Computed(sys.modules["jax"].numpy.array(local.reshape(()), copy=True))
    except RuntimeError as error:
        return Failed(error)


def _local(array: Any, argument: str) -> Any:
    """The array itself, or this process' copy of a replicated one."""
    jax = sys.modules["jax"]
    if isinstance(array, jax.core.Tracer):
        raise bad(
            argument,
            "got a value that JAX is tracing, which has no number yet",
            hint="log the result of the function, or call jax.debug.callback inside it",
        )
    if not array.is_fully_addressable and array.is_fully_replicated:
        return array.addressable_data(0)
    return array


def is_countable(values: Any) -> bool:
    """Whether JAX counts the histogram of `values`: an array on a device, or one that is still being computed."""
    if not is_array(values) or isinstance(values, sys.modules["jax"].core.Tracer):
        return False
    return not values.is_deleted() and (
        not values.is_ready() or any(device.platform != "cpu" for device in values.devices())
    )


def counted(values: Any, argument: str) -> tuple[Value, int]:
    """The counts and moments of an array, in the form of `device_histogram.captured`."""
    array = _local(values, argument)
    if array.dtype.kind == "c":
        raise bad(argument, f"got complex numbers of dtype {array.dtype}, want real numbers")
    if array.size == 0:
        raise bad(argument, "has no element", hint="a histogram needs at least one value")
    try:
        return Computed(vector(array)), int(array.size)
    except RuntimeError as error:
        return Failed(error), int(array.size)


def vector(array: Any) -> Any:
    """A float64 vector for `tally`, on the array's device."""
    flat = array.reshape(-1)
    with _float64():
        count, join = _functions()
        return join([count(flat[start : start + PIECE]) for start in range(0, flat.size, PIECE)])


def _float64() -> Any:
    """A context that enables float64 in JAX without changing the program's setting."""
    import jax

    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    from jax.experimental import enable_x64  # before 0.8

    return enable_x64(True)


@cache
def _functions() -> tuple[Any, Any]:
    """The functions that count a piece and sum the counts of pieces."""
    import jax
    import jax.numpy as jnp

    limits = edges()

    @jax.jit  # type: ignore[untyped-decorator]
    def count(piece: Any) -> Any:
        numbers = piece.astype(jnp.float64)
        bins = jnp.searchsorted(jnp.asarray(limits), numbers, side="right")
        counts = jnp.bincount(bins, length=len(limits) + 1)
        moments = jnp.stack([numbers.min(), numbers.max(), numbers.sum(), (numbers * numbers).sum()])
        return jnp.concatenate([counts.astype(jnp.float64), moments])

    @jax.jit  # type: ignore[untyped-decorator]
    def join(parts: list[Any]) -> Any:
        each = jnp.stack(parts)
        low, high = each[:, -4].min(), each[:, -3].max()
        return jnp.concatenate([each[:, :-4].sum(0), jnp.stack([low, high]), each[:, -2:].sum(0)])

    return count, join
