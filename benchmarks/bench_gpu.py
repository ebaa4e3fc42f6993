"""Issue 17: what logging costs beside a training loop on a GPU. `make bench-gpu`; needs a CUDA GPU.

Contestants take turns in one process, round after round: the GPU is shared by them in the same state. A step is
8 layers of 4096, forward and backward. Times are wall times that end when the device has finished.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.harness import Bench

SCALARS = 10
STEPS = 60
ROUNDS = 7
EVERY = 10  # one step in so many is watched
Row = tuple[str, str, float, str, str]  # what, who, figure, unit, want


class Items:
    """W&B's way: the numbers are read at once, and kept."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, int, float]] = []

    def add_scalar(self, tag: str, value: Any, step: int) -> None:
        self.rows.append((tag, step, value.item()))

    def close(self) -> None:
        self.rows.clear()


class Nothing:
    """Logs nothing: what the others are compared with."""

    def add_scalar(self, tag: str, value: Any, step: int) -> None:
        pass

    def close(self) -> None:
        pass


def openers() -> dict[str, Callable[[], Any]]:
    """The writers there are, by name."""
    import tbq

    found: dict[str, Callable[[], Any]] = {
        "no logging": Nothing,
        "tbq": lambda: tbq.SummaryWriter(tempfile.mkdtemp()),
        "item()": Items,
    }
    try:
        from torch.utils.tensorboard import SummaryWriter as Torch

        found["torch"] = lambda: Torch(tempfile.mkdtemp())
    except ImportError as error:
        print(f"torch's writer left out: {error}", file=sys.stderr)
    try:
        from tensorboardX import SummaryWriter as X

        found["tensorboardX"] = lambda: X(tempfile.mkdtemp())
    except ImportError as error:
        print(f"tensorboardX left out: {error}", file=sys.stderr)
    return found


def training() -> tuple[Callable[[], list[Any]], float]:
    """A training step of about 2.4 ms, which returns ten device scalars, and how long it takes."""
    import torch

    layers = [torch.nn.Linear(4096, 4096) for _ in range(8)]
    model = torch.nn.Sequential(*layers).cuda().to(torch.bfloat16)
    best: tuple[Callable[[], list[Any]], float] | None = None
    for batch in (256, 512, 1024, 2048, 4096):
        data = torch.randn(batch, 4096, device="cuda", dtype=torch.bfloat16)

        def step(data: Any = data) -> list[Any]:
            model.zero_grad(set_to_none=True)
            loss = model(data).float().square().mean()
            loss.backward()
            parts = [layer.weight.grad[0, :4].float().sum() for layer in layers]
            return [loss, loss * 2, *parts]

        took = min(timed(lambda step=step: [step() for _ in range(20)]) for _ in range(3)) / 20
        if best is None or abs(took - 2.4e-3) < abs(best[1] - 2.4e-3):
            best = step, took
    assert best is not None
    return best


def timed(work: Callable[[], object]) -> float:
    """Seconds until the device has done `work`."""
    import torch

    torch.cuda.synchronize()
    began = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - began


def step_cost(rows: list[Row], steps: int = STEPS, rounds: int = ROUNDS) -> None:
    """Ten add_scalar of CUDA tensors per step, as a part of the step; and one `log` of ten."""
    step, took = training()
    rows.append(("step, 8 layers of 4096", "no logging", took * 1e3, "ms", ""))
    writers = {name: create() for name, create in openers().items()}
    writers["tbq, log"] = openers()["tbq"]()
    times: dict[str, list[float]] = {name: [] for name in writers}
    host: dict[str, list[float]] = {name: [] for name in writers}
    number = 0
    for turn in range(rounds + 1):
        for name, writer in writers.items():

            def loop(name: str = name, writer: Any = writer) -> None:
                nonlocal number
                spent = 0.0
                for _ in range(steps):
                    values = step()
                    number += 1
                    began = time.perf_counter()
                    if name == "tbq, log":
                        writer.log({f"train/{i}": value for i, value in enumerate(values)}, number)
                    else:
                        for i, value in enumerate(values):
                            writer.add_scalar(f"train/{i}", value, number)
                    spent += time.perf_counter() - began
                host[name].append(spent / steps)

            seconds = timed(loop) / steps
            if turn:
                times[name].append(seconds)
    for writer in writers.values():
        writer.close()
    base = statistics.median(times["no logging"])
    for name, each in times.items():
        cost = 100 * (statistics.median(each) / base - 1)
        want = "<= 3" if name == "tbq" else ""
        rows.append((f"{SCALARS} scalars per step of {base * 1e3:.2f} ms", name, cost, "% of the step", want))
        mine = statistics.median(host[name][1:]) * 1e6 / SCALARS
        rows.append(("caller's time of one scalar", name, mine, "µs", ""))


def histogram_cost(rows: list[Row], count: int, dtype: str, slow: bool, rounds: int = 5) -> None:
    """add_histogram: until the device has counted, and until the call returns; and the memory it takes."""
    import torch

    tensor = torch.randn(count, device="cuda", dtype=getattr(torch, dtype))
    label = f"histogram of {count / 1e6:,.0f} million {dtype}"
    for name, create in openers().items():
        if name in ("no logging", "item()") or (name != "tbq" and not slow):
            continue
        writer = create()
        if name == "tbq":
            writer.add_histogram("warm", tensor, 0)
            writer.flush()
        device: list[float] = []
        caller: list[float] = []
        for number in range(rounds if name == "tbq" else 1):
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
            began = time.perf_counter()
            writer.add_histogram("h", tensor, number + 1)
            caller.append(time.perf_counter() - began)
            torch.cuda.synchronize()
            device.append(time.perf_counter() - began)
            extra = torch.cuda.max_memory_allocated() - before
        want = {100_000_000: ("<= 5", "<= 0.3"), 1_000_000_000: ("<= 40", "")}.get(count, ("", ""))
        wanted = want if name == "tbq" and dtype == "float32" else ("", "")
        rows.append((label, name, statistics.median(device) * 1e3, "ms", wanted[0]))
        rows.append((f"{label}: caller", name, statistics.median(caller) * 1e3, "ms", wanted[1]))
        rows.append((f"{label}: extra memory", name, extra / 1e6, "MB", "<= 256" if name == "tbq" else ""))
        writer.close()


def watch_cost(rows: list[Row], hidden: int = 2048, layers: int = 20, tokens: int = 8192) -> None:
    """watch of a model of a billion parameters: what one logged step costs, as a part of a hundred steps."""
    import torch

    import tbq

    sizes = [(hidden, hidden)] * 4 + [(hidden, 4 * hidden), (4 * hidden, hidden)]
    blocks = [torch.nn.Linear(a, b) for _ in range(layers) for a, b in sizes]
    model = torch.nn.Sequential(*blocks).cuda().to(torch.bfloat16)
    count = sum(p.numel() for p in model.parameters())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6, fused=True)
    data = torch.randn(tokens, hidden, device="cuda", dtype=torch.bfloat16)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        model(data).float().square().mean().backward()
        optimizer.step()

    for _ in range(3):
        step()
    label = f"watch of {count / 1e9:.2f} billion parameters, {len(list(model.parameters()))} tensors"
    alone: list[float] = []
    caller: list[float] = []
    added: dict[int, list[float]] = {1: [], EVERY: []}
    with tbq.SummaryWriter(tempfile.mkdtemp()) as writer:
        for _ in range(5):  # in turns, since clocks and temperature drift
            alone.append(timed(lambda: [step() for _ in range(EVERY)]) / EVERY)
            for every, found in added.items():
                watch = writer.watch(model, every=every)
                took = timed(lambda: [step() for _ in range(EVERY)]) - EVERY * alone[-1]
                found.append(took * every / EVERY)
                writer.unwatch()
                writer.flush()
            torch.cuda.synchronize()
            began = time.perf_counter()
            watch.log(0)
            caller.append(time.perf_counter() - began)
            rows_device = timed(lambda: watch.log(1))  # noqa: B023
            writer.flush()
    # What a logged step adds is taken from steps of which one in ten is logged: the flusher encodes the histograms
    # beside the steps that follow, as it does with one in a hundred. With every step logged it has no such time.
    plain = statistics.median(alone)
    logged = statistics.median(added[EVERY])
    rows.append((f"{label}: step without", "tbq", plain * 1e3, "ms", ""))
    rows.append((f"{label}: one logged step adds", "tbq", logged * 1e3, "ms", ""))
    rows.append((f"{label}: all steps logged, each adds", "tbq", statistics.median(added[1]) * 1e3, "ms", ""))
    rows.append((f"{label}: caller", "tbq", statistics.median(caller) * 1e3, "ms", ""))
    rows.append((f"{label}: until the device has counted", "tbq", rows_device * 1e3, "ms", ""))
    rows.append((f"{label}: every 100 steps", "tbq", 100 * logged / (100 * plain), "% of training", "<= 1"))


def parts(rows: list[Row]) -> None:
    """What the pieces cost on the device, to choose between them: captures of a scalar, passes of a histogram."""
    import torch

    from tbq.write import device, device_histogram

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

    value = torch.tensor(1.5, device="cuda")
    pinned = torch.zeros(8, dtype=torch.float64, pin_memory=True)
    pinned32 = torch.zeros(8, dtype=torch.float32, pin_memory=True)
    mapped = device.as_seen_by(value.device, pinned)
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
    each("current stream", lambda: device._current_stream(value.device))
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


def run(bench: Bench) -> None:
    """Called by `python -m benchmarks`; a machine without a GPU has nothing to measure here."""
    try:
        import torch
    except ImportError:
        return
    if not torch.cuda.is_available():
        print("gpu: left out, no CUDA GPU", file=sys.stderr)
        return
    rows: list[Row] = []
    measure(rows, quick=bench.quick)
    for what, who, figure, unit, want in rows:
        bench.add(what, who, unit, figure, want)


def measure(rows: list[Row], *, quick: bool = False) -> None:
    """All of it; each part is printed when it is done, and one that fails does not stop the others."""
    stages: list[Callable[[], None]] = [
        lambda: parts(rows),
        lambda: step_cost(rows, rounds=3 if quick else ROUNDS),
        lambda: histogram_cost(rows, 100_000_000, "float32", slow=True),
        lambda: histogram_cost(rows, 100_000_000, "bfloat16", slow=False),
        lambda: histogram_cost(rows, 100_000_000, "float64", slow=False),
        lambda: histogram_cost(rows, 1_000_000_000, "float32", slow=not quick),
        lambda: watch_cost(rows),
    ]
    for stage in stages:
        shown = len(rows)
        try:
            stage()
        except Exception as error:
            rows.append((f"FAILED: {type(error).__name__}: {error}", "", float("nan"), "", ""))
            import traceback

            traceback.print_exc()
        for what, who, figure, unit, want in rows[shown:]:
            print(f"{what:64} {who:16} {figure:12,.3f} {unit:16} {want}", flush=True)


def main() -> None:
    """Print the table, and write it to $OUT/bench_gpu.json if there is an OUT."""
    import torch

    if not torch.cuda.is_available():
        sys.exit("bench_gpu: no CUDA GPU here")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, Python {sys.version.split()[0]}")
    rows: list[Row] = []
    measure(rows, quick="--quick" in sys.argv)
    if os.environ.get("OUT"):
        Path(os.environ["OUT"], "bench_gpu.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
