"""The cost of the parts of the writer's work on a GPU, to compare alternatives; used by `bench_gpu`."""

from __future__ import annotations

import statistics
import tempfile
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Row = tuple[str, str, float, str, str]  # what, who, figure, unit, want


def parts(rows: list[Row]) -> None:
    """The cost of the parts on the device: captures of a scalar, passes of a histogram."""
    import torch

    from tbq.write import device, device_histogram, slots
    from tbq.write.cuda import fused_histogram

    def each(name: str, work: Callable[[], object], repeat: int = 200) -> None:
        work()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        torch.cuda._sleep(20_000_000)  # so that the launches are all queued before the first one runs
        start.record()
        began = time.perf_counter()
        for _ in range(repeat):
            work()
        caller = time.perf_counter() - began
        end.record()
        torch.cuda.synchronize()
        micro = start.elapsed_time(end) * 1e3 / repeat
        rows.append((f"part: {name}", f"host {caller / repeat * 1e6:.1f} µs", micro, "µs on the device", ""))

    fused_histogram.general_only = True  # the kernels have their own part
    value = torch.tensor(1.5, device="cuda")
    pinned = torch.zeros(8, dtype=torch.float64, pin_memory=True)
    pinned32 = torch.zeros(8, dtype=torch.float32, pin_memory=True)
    mapped = slots.as_seen_by(value.device, pinned)
    rows.append(("part: page-locked memory is mapped", "", float(mapped is not pinned), "1 = yes", ""))
    there = torch.zeros(8, dtype=torch.float64, device="cuda")
    m, p, q, t = mapped[0], pinned[0], pinned32[0], there[0]
    event = torch.cuda.Event()
    each("scalar to mapped memory", lambda: m.copy_(value, non_blocking=True))
    each("scalar to page-locked memory, converted", lambda: p.copy_(value, non_blocking=True))
    each("scalar to page-locked memory, as it is", lambda: q.copy_(value, non_blocking=True))
    each("scalar to memory of the device", lambda: t.copy_(value, non_blocking=True))
    each("scalar to memory of the device, and an event", lambda: (t.copy_(value), event.record()))
    each("clone", lambda: value.clone())
    each("current stream", lambda: slots.current_stream(value.device))
    each("is it capturing", lambda: torch.cuda.is_current_stream_capturing())
    each("plain()", lambda: device.plain(value, ""))
    ten = [value.clone() for _ in range(10)]
    each("stack of ten", lambda: torch.stack(ten))
    x = torch.randn(1 << 24, device="cuda")
    d = x.double()
    edges = device_histogram._edges("cuda:0", "float64")
    edges32 = device_histogram._edges("cuda:0", "float32")
    bins = torch.bucketize(d, edges, right=True, out_int32=True)
    n = len(edges) + 1
    few = 20
    each("16M: double()", lambda: x.double(), few)
    each("16M: bucketize of float64", lambda: torch.bucketize(d, edges, right=True, out_int32=True), few)
    each("16M: bucketize of float32", lambda: torch.bucketize(x, edges32, right=True, out_int32=True), few)
    each("16M: histc of int32", lambda: torch.histc(bins, bins=n, min=0, max=n), few)
    each("16M: aminmax of float32", lambda: x.aminmax(), few)
    each("16M: sum of float64", lambda: d.sum(), few)
    each("16M: dot of float64", lambda: d.dot(d), few)
    each("16M: clamp of float32", lambda: x.clamp(min=0), few)
    each("16M: float64 norm of float32", lambda: torch._foreach_norm([x], 2, dtype=torch.float64), few)
    for dtype in (torch.float32, torch.bfloat16):
        other = x.to(dtype)
        name = str(dtype).removeprefix("torch.")
        each(f"16M {name}: the way of large tensors", lambda other=other: device_histogram.row(other), few)
        each(
            f"16M {name}: the way of others",
            lambda other=other: device_histogram.rows(other.view(1, -1)),
            few,
        )
    small = torch.randn(4096, device="cuda")
    each("4096 numbers, counted", lambda: device_histogram.row(small), few)
    hundred = [small.clone() for _ in range(100)]
    each("100 times 4096 numbers, together", lambda: device_histogram.rows(torch.stack(hundred)), few)
    hundred_million = torch.randn(100_000_000, device="cuda")
    each("100M float32: launches alone", lambda: device_histogram.row(hundred_million), 5)
    fused_histogram.general_only = False
    each("4096 numbers, by the kernels", lambda: device_histogram.row(small), few)
    both = (torch.randn(100_000_000, device="cuda"), torch.zeros(100_000_000, device="cuda"))
    for what, numbers in zip(("random", "equal"), both, strict=True):
        for dtype in ("float32", "bfloat16", "float16", "float64", "int64", "int8"):
            other = numbers.to(getattr(torch, dtype))
            each(f"100M {what} {dtype}, by the kernels", lambda other=other: device_histogram.row(other), few)
            del other
    between(rows, value)
    calls(rows, hundred_million)


def between(rows: list[Row], value: Any) -> None:
    """The cost of ten captured scalars between dependent kernels, including switches between engines."""
    import torch

    from tbq.write import slots

    work = torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16)
    pinned = torch.zeros(16, dtype=torch.float64, pin_memory=True)
    pinned32 = torch.zeros(16, dtype=torch.float32, pin_memory=True)
    mapped = slots.as_seen_by(value.device, pinned)
    ways: dict[str, list[Any]] = {
        "nothing": [],
        "mapped memory": list(mapped.unbind(0))[:10],
        "the copy engine": list(pinned32.unbind(0))[:10],
    }
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(7):
        for name, targets in ways.items():
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda.synchronize()
            torch.cuda._sleep(20_000_000)
            start.record()
            for _ in range(20):
                torch.mm(work, work)
                for target in targets:
                    target.copy_(value, non_blocking=True)
            end.record()
            torch.cuda.synchronize()
            found[name].append(start.elapsed_time(end) * 1e3 / 20)
    base = statistics.median(found["nothing"])
    for name in list(ways)[1:]:
        micro = statistics.median(found[name]) - base
        rows.append(("part: ten scalars between kernels", name, micro, "µs on the device", ""))


def calls(rows: list[Row], tensor: Any) -> None:
    """The caller's time of a single call to an idle device, as in a program that logs now and then."""
    import torch

    import tbq
    from tbq.write import device, device_histogram, slots
    from tbq.write.cuda import fused_histogram, nvrtc

    piece = tensor[: device_histogram.LARGE_PIECE]
    limits = device_histogram._edges(str(tensor.device), "float32")
    bins = torch.bucketize(piece, limits, right=True, out_int32=True)
    count = len(limits) + 1
    row = device_histogram.row(tensor)
    memory = 528 * 4 * count
    with tbq.SummaryWriter(tempfile.mkdtemp()) as writer, tbq.SummaryWriter(tempfile.mkdtemp()) as other:
        steps = iter(range(1_000_000))

        def general(call: Callable[[], object]) -> None:
            fused_histogram.general_only = True
            try:
                call()
            finally:
                fused_histogram.general_only = False

        work: dict[str, Callable[[], object]] = {
            "add_histogram": lambda: writer.add_histogram("h", tensor, next(steps)),
            "captured": lambda: device_histogram.captured(tensor, "values"),
            "row": lambda: device_histogram.row(tensor),
            "prepared": lambda: device_histogram.prepared(tensor, "values"),
            "refuse_capture": lambda: device.refuse_capture(tensor.device, "values"),
            "memory of the device": lambda: torch.empty(memory, dtype=torch.uint8, device=tensor.device),
            "current stream": lambda: slots.current_stream(tensor.device),
            "slot": lambda: slots.slot(tensor.device, "float64", len(row)),
            "add_histogram, general": lambda: general(lambda: other.add_histogram("h", tensor, next(steps))),
            "row, general": lambda: general(lambda: device_histogram.row(tensor)),
            "transferred": lambda: device.transferred(row, "float64", "values"),
            "aminmax": lambda: tensor.aminmax(),
            "clamp of a piece": lambda: piece.clamp(min=0),
            "norm of a piece": lambda: torch._foreach_norm([piece], 1, dtype=torch.float64),
            "bucketize of a piece": lambda: torch.bucketize(piece, limits, right=True, out_int32=True),
            "histc of a piece": lambda: torch.histc(bins, bins=count, min=0, max=count),
            "add_scalar": lambda: writer.add_scalar("s", row[0], next(steps)),
            "a kernel": lambda: row.add_(0),
            "nothing": lambda: None,
        }
        module = fused_histogram._modules.get(tensor.device.index)
        if isinstance(module, nvrtc.Module):
            driver, join = module.driver, module.functions["join"]
            argument = fused_histogram.Work(0, 0, 0, 0, row.data_ptr(), 0)  # joins no blocks
            stream = slots.current_stream(tensor.device)
            blocks = -(-count // 32) + 1
            work["cuCtxGetCurrent"] = lambda: driver.enter(module.context)
            work["cuLaunchKernel"] = lambda: driver.launch(join, blocks, module.threads, stream, argument)
        found: dict[str, list[float]] = {name: [] for name in work}
        for _ in range(31):
            for name, call in work.items():
                torch.cuda.synchronize()
                began = time.perf_counter()
                call()
                found[name].append(time.perf_counter() - began)
    for name, each in found.items():
        low, micro, high = (1e6 * figure for figure in statistics.quantiles(each, n=4))
        rows.append((f"part: a lone call: {name}", f"{low:.0f} to {high:.0f}", micro, "µs of the caller", ""))
