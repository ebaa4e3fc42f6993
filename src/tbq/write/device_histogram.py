"""Histograms of tensors, counted on their device with torch's own operations; only the bins leave it.

Numbers are compared in their own type with the edges of the host's bins, rounded up to that type: a number is at or
above an edge if, and only if, it is at or above the rounded edge. So counts, minimum and maximum equal the host's;
sums are those of float64, and agree up to the order of the additions.

A call costs its launches, more than the device's work: hence few, large pieces, and many small tensors as one matrix;
and `fused_histogram` where it can be had, which needs two launches.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tbq.write import device
from tbq.write.arguments import bad
from tbq.write.cuda import fused_histogram
from tbq.write.pending import Failed, Value
from tbq.write.tally import edges, edges_float32

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Numbers that are counted at a time; 8 bytes each as float64, and 4 for a copy of them or for their bin: 192 MB.
PIECE = 1 << 24
#: The same where neither a copy nor float64 is needed: 4 bytes each, 240 MB.
LARGE_PIECE = 60_000_000
#: Tensors of more numbers are summed by norms, which read them once and keep no float64 of each.
LARGE = 1 << 20
#: Tensors of at most so many numbers are counted together, if they have the same type and length.
SMALL = 1 << 16
_TOGETHER = 1 << 22  # numbers in such a matrix
_ROWS = 256

# Types that are compared as they are; the others become float32 if that holds all their numbers, or else float64.
_COMPARED = ("float64", "float32", "float16", "bfloat16")
_SHORT = ("bool", "int8", "uint8", "int16", "uint16")


def captured(values: Any, argument: str) -> tuple[Value, int]:
    """The counts and moments of a tensor, which arrive later, and how many numbers it has."""
    tensor = prepared(values, argument)
    try:
        device.refuse_capture(tensor.device, argument)
        fused = _fused(tensor, fused_histogram.captured)
        value = device.transferred(row(tensor), "float64", argument) if fused is None else fused
        return value, tensor.numel()
    except RuntimeError as error:  # an earlier kernel failed, CUDA was used before a fork, no memory is left
        return Failed(error), tensor.numel()


def prepared(values: Any, argument: str) -> Any:
    """A tensor that can be counted, or an error."""
    tensor = device.plain(values, argument)
    if tensor.is_complex():
        raise bad(argument, f"got complex numbers of dtype {tensor.dtype}, want real numbers")
    if tensor.numel() == 0:
        raise bad(argument, "has no element", hint="a histogram needs at least one value")
    return tensor.cpu() if tensor.device.type == "mps" else tensor  # which has no float64


def row(tensor: Any) -> Any:
    """A float64 vector on the tensor's device, for `tally`."""
    fused = _fused(tensor, fused_histogram.row)
    return _row(tensor) if fused is None else fused


def _fused(tensor: Any, count: Callable[[Any, str], Any]) -> Any:
    """What a function of `fused_histogram` makes of a tensor; None if it cannot."""
    name = _name(tensor.dtype)
    if type(tensor) is not sys.modules["torch"].Tensor or not fused_histogram.ready(tensor.device, name):
        return None
    flat = _flat(tensor)
    if flat is None and tensor.numel() <= PIECE:
        flat = tensor.reshape(-1).contiguous()  # a copy: of some strides the first alone makes a view
    return None if flat is None else count(flat, name)


def _row(tensor: Any) -> Any:
    """The same with torch's operations."""
    torch = sys.modules["torch"]
    flat = _flat(tensor)
    name = _name(tensor.dtype)
    if flat is not None and len(flat) > LARGE and name in _COMPARED:
        return _large(torch, flat, _has_norms(torch) and name != "float64")
    size = PIECE if name in _COMPARED else max(1, PIECE // 2)  # the others are converted
    parts = [rows(piece.contiguous().view(1, -1))[0] for piece in pieces(tensor, size)]
    if len(parts) == 1:
        return parts[0]
    each = torch.stack(parts)
    return torch.cat(
        (each[:, :-4].sum(0), each[:, -4].amin(0, True), each[:, -3].amax(0, True), each[:, -2:].sum(0))
    )


def rows(matrix: Any) -> Any:
    """The rows of a matrix, which fits into a piece, as vectors for `tally`: a float64 matrix."""
    torch = sys.modules["torch"]
    name = _name(matrix.dtype)
    if name not in _COMPARED:
        is_short = name in _SHORT or name.startswith("float8")
        matrix = matrix.float() if is_short else matrix.double()
    numbers = matrix.double()
    if len(matrix) == 1:
        low, high = (end.reshape(1) for end in matrix.aminmax())
        squares = numbers[0].dot(numbers[0]).reshape(1)
    else:
        low, high = matrix.aminmax(dim=1)
        squares = (numbers * numbers).sum(1)
    total = numbers.sum(1)
    del numbers  # before the bins take memory
    moments = (low, high, total, squares)
    return torch.cat((_counts(torch, matrix), *(moment.unsqueeze(1) for moment in moments)), 1)


def _large(torch: Any, flat: Any, by_norms: bool) -> Any:
    """The vector of a large tensor; each pass over it is one operation, or one per piece if that needs memory."""
    low, high = flat.aminmax()
    counts: Any = None
    sums: list[Any] = []
    for piece in flat.split(LARGE_PIECE):
        if by_norms:  # float64 sums of absolute values, without a float64 of each
            sums += torch._foreach_norm([piece.clamp(min=0), piece], 1, dtype=torch.float64)
        some = _counts(torch, piece.view(1, -1))
        if counts is None:
            counts = some if len(flat) < 1 << 31 else some.long()
        else:
            counts += some
    if by_norms:
        moments = [low, high, *torch._foreach_norm([flat], 2, dtype=torch.float64), *sums]
    elif flat.dtype is torch.float64:
        moments = [low, high, flat.sum(), flat.dot(flat)]
    else:
        numbers = (piece.double() for piece in flat.split(PIECE))
        each = torch.stack([torch.stack((some.sum(), some.dot(some))) for some in numbers]).sum(0)
        moments = [low, high, *each.unbind(0)]
    return torch.cat((counts[0], *(moment.reshape(1) for moment in moments)))


def _counts(torch: Any, matrix: Any) -> Any:
    """How many numbers of each row lie between the edges."""
    limits = _edges(str(matrix.device), _name(matrix.dtype))
    bins = torch.bucketize(matrix, limits, right=True, out_int32=True)
    height, width = len(matrix), len(limits) + 1
    if height > 1:
        bins += torch.arange(0, height * width, width, dtype=torch.int32, device=matrix.device).unsqueeze(1)
    if matrix.device.type == "cuda":  # bincount would wait for the device to learn how many bins there are
        counts = torch.histc(bins, bins=height * width, min=0, max=height * width)
    else:
        counts = torch.bincount(bins.view(-1), minlength=height * width)
    return counts.view(height, width)


@cache
def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


@cache
def _has_norms(torch: Any) -> bool:
    """Whether torch has norms of many tensors with a type of their own: since 2.4."""
    try:
        torch._foreach_norm([torch.ones(1, device="cpu")], 1, dtype=torch.float64)
    except Exception:
        return False
    return True


@cache
def _edges(place: str, name: str) -> Any:
    """The edges on a device, each rounded up to a number of the type."""
    torch = sys.modules["torch"]
    wanted, dtype = edges(), getattr(torch, name)
    with torch.inference_mode(False):
        if name in ("float16", "bfloat16"):  # look among all numbers there are
            every = (
                torch.arange(-(1 << 15), 1 << 15, dtype=torch.int16, device="cpu")
                .view(dtype)
                .double()
                .numpy()
            )
            every = np.unique(every[~np.isnan(every)])
            wanted = every[np.searchsorted(every, wanted)]
        elif name == "float32":
            wanted = edges_float32()
        return torch.tensor(wanted, dtype=torch.float64, device="cpu").to(dtype).to(place)


def together(tensors: list[Any]) -> Iterator[list[int]]:
    """The places of tensors that can be counted as rows of one matrix; tensors without a partner are left out."""
    alike: dict[Any, list[int]] = {}
    for place, tensor in enumerate(tensors):
        count = tensor.numel()
        if count <= SMALL:
            same = alike.setdefault((tensor.device, tensor.dtype, count), [])
            same.append(place)
            if len(same) * count >= _TOGETHER or len(same) == _ROWS:
                yield same.copy()
                same.clear()
    yield from (same for same in alike.values() if len(same) > 1)


def pieces(tensor: Any, size: int) -> Iterator[Any]:
    """The numbers of a tensor, in any order, as vectors of at most `size`, copied only as far as its strides need."""
    flat = _flat(tensor)
    if flat is not None:
        yield from flat.split(size)
    elif tensor.numel() <= size:
        yield tensor.reshape(-1)
    else:
        along = max(range(tensor.ndim), key=lambda axis: (tensor.stride(axis), tensor.shape[axis]))
        rows = max(1, size * tensor.shape[along] // tensor.numel())
        for part in tensor.split(rows, along) if rows > 1 or tensor.shape[along] > 1 else ():
            yield from pieces(part.squeeze(along) if part.shape[along] == 1 else part, size)


def _flat(tensor: Any) -> Any:
    """The memory of a tensor as a vector; None if its numbers are not neighbours, each of them once."""
    if tensor.is_contiguous():
        return tensor.view(-1)
    expected = 1
    for stride, length in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if length != 1:
            if stride != expected:
                return None
            expected *= length
    return tensor.as_strided((tensor.numel(),), (1,))
