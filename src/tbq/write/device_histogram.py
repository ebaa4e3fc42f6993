"""Histograms of tensors, counted on their device with torch's own operations; only the bins leave it.

Each number becomes a float64, which holds it exactly, and is compared with the same edges as on the host. So counts,
minimum and maximum equal the host's; sums agree up to the order of the additions.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from tbq.write import device, histogram
from tbq.write.arguments import bad

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from tbq.write.pending import Value

#: Numbers that are counted at a time: 8 bytes each as float64, and 4 for their bin, make 192 MB.
PIECE = 1 << 24

#: What follows the counts in a vector of results.
MOMENTS = ("min", "max", "sum", "sum_squares", "zeros", "nonfinite")


def captured(values: Any, argument: str) -> tuple[Value, int]:
    """The counts and moments of a tensor, which arrive later, and how many numbers it has."""
    tensor = prepared(values, argument)
    device.refuse_capture(tensor.device, argument)
    return device.transferred(counted(tensor), "float64", argument), tensor.numel()


def prepared(values: Any, argument: str) -> Any:
    """A tensor that can be counted, or an error."""
    tensor = device.plain(values, argument)
    if tensor.is_complex():
        raise bad(argument, f"got complex numbers of dtype {tensor.dtype}, want real numbers")
    if tensor.numel() == 0:
        raise bad(argument, "has no element", hint="a histogram needs at least one value")
    return tensor.cpu() if tensor.device.type == "mps" else tensor  # which has no float64


def encode(results: np.ndarray[Any, Any], count: int, max_bins: int | None, argument: str) -> bytes:
    """A HistogramProto of what arrived."""
    import numpy as np

    bins = len(histogram.default_edges()) - 1
    counts = results[:bins].astype(np.int64)
    low, high, total, squares = results[bins : bins + 4].tolist()
    return histogram.finished(
        counts, histogram.default_edges(), (low, high, count, total, squares), max_bins, argument
    )


def counted(tensor: Any, *, statistics: bool = False) -> Any:
    """A float64 vector on the tensor's device: the counts of the default bins, then `MOMENTS`.

    The last two of those are there for `statistics` only.
    """
    torch = sys.modules["torch"]
    edges = _edges(str(tensor.device))
    parts = [_piece(torch, piece, edges, statistics) for piece in pieces(tensor, PIECE)]
    if len(parts) == 1:
        counts, moments = parts[0]
    else:
        counts = torch.stack([part[0] for part in parts]).sum(0)  # as int64
        each = torch.stack([part[1] for part in parts])
        moments = torch.cat((each[:, 0].amin(0, True), each[:, 1].amax(0, True), each[:, 2:].sum(0)))
    return torch.cat((counts[1:-1].double(), moments))


def _piece(torch: Any, piece: Any, edges: Any, statistics: bool) -> tuple[Any, Any]:
    numbers = piece.double()
    bins = torch.bucketize(numbers, edges, right=True, out_int32=True)
    if bins.device.type == "cuda":  # bincount would wait for the device to learn how many bins there are
        counts = torch.histc(bins, bins=len(edges) + 1, min=0, max=len(edges) + 1)
    else:
        counts = torch.bincount(bins, minlength=len(edges) + 1)
    low, high = numbers.aminmax()
    moments = [low, high, numbers.sum(), numbers.dot(numbers)]
    if statistics:
        moments += [(numbers == 0).sum().double(), (~numbers.isfinite()).sum().double()]
    return counts, torch.stack(moments)


@cache
def _edges(name: str) -> Any:
    """The edges of the default bins on a device; the last one is moved up, since the last bin includes it."""
    import numpy as np

    torch = sys.modules["torch"]
    edges = histogram.default_edges().copy()
    edges[-1] = np.nextafter(edges[-1], np.inf)
    with torch.inference_mode(False):
        return torch.tensor(edges, dtype=torch.float64, device=name)


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
