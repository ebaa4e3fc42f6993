"""The cost of logging in a training loop on a GPU. `make bench-gpu`; needs a CUDA GPU.

Contestants take turns in one process, round after round, so that all find the GPU in the same state. A step is
8 layers of 4096, forward and backward, and takes as long as the slower of the device and the launches. If
the launches are slower, as with small models and on a slow host, logging costs the caller's time instead of the
device's; so both kinds of steps are measured. Times are wall times that end when the device has finished.
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

from benchmarks import gpu_parts
from benchmarks.gpu_parts import Row

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.harness import Bench

SCALARS = 10
STEPS = 60
ROUNDS = 9
EVERY = 10  # one step in so many is watched


class Items:
    """Like W&B: the numbers are read immediately, and kept."""

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
    """The installed writers, by name."""
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


def training(wanted: float) -> tuple[Callable[[], list[Any]], float, float]:
    """A training step that keeps the device busy for about `wanted` seconds, and returns ten device scalars.

    Also the time that the device and the host each need for it: if the host needs longer, the step is limited by its
    launches, and every microsecond of a logging call counts; otherwise the device's time counts.
    """
    import torch

    layers = [torch.nn.Linear(4096, 4096) for _ in range(8)]
    model = torch.nn.Sequential(*layers).cuda().to(torch.bfloat16)
    best: tuple[Callable[[], list[Any]], float, float] | None = None
    for batch in (64, 512, 1024, 1280, 1536, 1792, 2048, 2560, 3072, 4096):
        data = torch.randn(batch, 4096, device="cuda", dtype=torch.bfloat16)

        def step(data: Any = data) -> list[Any]:
            model.zero_grad(set_to_none=True)
            loss = model(data).float().square().mean()
            loss.backward()
            return [loss.detach() * i for i in range(1, SCALARS + 1)]

        device, host = alone(step)
        if best is None or abs(device - wanted) < abs(best[1] - wanted):
            best = step, device, host
    assert best is not None
    return best


def alone(step: Callable[[], object], repeat: int = 7) -> tuple[float, float]:
    """The device's time for a step whose launches are all queued, and the time of the launches."""
    import torch

    step()
    device: list[float] = []
    host: list[float] = []
    for _ in range(repeat):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        torch.cuda._sleep(30_000_000)
        start.record()
        began = time.perf_counter()
        step()
        host.append(time.perf_counter() - began)
        end.record()
        torch.cuda.synchronize()
        device.append(start.elapsed_time(end) / 1e3)
    return statistics.median(device), statistics.median(host)


def timed(work: Callable[[], object]) -> float:
    """Seconds until the device has done `work`."""
    import torch

    torch.cuda.synchronize()
    began = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - began


def step_cost(rows: list[Row], wanted: float, steps: int = STEPS, rounds: int = ROUNDS) -> None:
    """Ten add_scalar of CUDA tensors per step, as a part of the step; and one `log` of ten.

    Each round compares with the steps without logging right before and after it, since clocks drift.
    """
    step, device, host = training(wanted)
    kind = "waits for the device" if device > host else "waits for its launches"
    label = f"{SCALARS} scalars per step of {max(device, host) * 1e3:.2f} ms that {kind}"
    rows.append(("step, 8 layers of 4096: the device's time", "no logging", device * 1e3, "ms", ""))
    rows.append(("step, 8 layers of 4096: the launches' time", "no logging", host * 1e3, "ms", ""))
    writers = {name: create() for name, create in openers().items()}
    plain = writers.pop("no logging")
    writers["tbq, log"] = openers()["tbq"]()
    numbers = iter(range(1 << 30))

    def loop(name: str, writer: Any) -> tuple[float, float]:
        spent = 0.0

        def work() -> None:
            nonlocal spent
            for _ in range(steps):
                values = step()
                number = next(numbers)
                began = time.perf_counter()
                if name == "tbq, log":
                    writer.log({f"train/{i}": value for i, value in enumerate(values)}, number)
                else:
                    for i, value in enumerate(values):
                        writer.add_scalar(f"train/{i}", value, number)
                spent += time.perf_counter() - began

        return timed(work) / steps, spent / steps

    costs: dict[str, list[float]] = {name: [] for name in writers}
    callers: dict[str, list[float]] = {name: [] for name in writers}
    base: list[float] = []
    for turn in range(rounds + 1):
        order = list(writers)
        order = order[turn % len(order) :] + order[: turn % len(order)]
        before = loop("no logging", plain)[0]
        for name in order:
            took, caller = loop(name, writers[name])
            after = loop("no logging", plain)[0]
            if turn:  # the first one warms up
                base.append(after)
                costs[name].append(100 * (2 * took / (before + after) - 1))
                callers[name].append(caller * 1e6 / SCALARS)
            before = after
    for writer in writers.values():
        writer.close()
    noise = statistics.quantiles([100 * (x / statistics.median(base) - 1) for x in base], n=4)
    rows.append((f"{label}: quartiles of steps without logging", "no logging", noise[2] - noise[0], "%", ""))
    for name, each in costs.items():
        low, middle, high = statistics.quantiles(each, n=4)
        want = "<= 3" if name == "tbq" and device > host else ""
        rows.append((label, name, middle, f"% of the step ({low:.1f} to {high:.1f})", want))
        rows.append(("caller's time of one scalar", name, statistics.median(callers[name]), "µs", ""))


def kernel_cost(rows: list[Row]) -> None:
    """The cost of compiling the histogram kernels, in the background and in the program."""
    import torch

    import tbq
    from tbq.write.cuda import fused_histogram

    tensor = torch.randn(1_000_000, device="cuda")
    with tbq.SummaryWriter(tempfile.mkdtemp()) as writer:

        def call(what: str, step: int) -> None:
            torch.cuda.synchronize()
            began = time.perf_counter()
            writer.add_histogram("h", tensor, step)
            rows.append(
                (f"kernels: {what}", "tbq", (time.perf_counter() - began) * 1e3, "ms of the caller", "")
            )
            writer.flush()

        fused_histogram.general_only = True
        call("first call of all, with torch's operations", 0)
        fused_histogram.general_only = False
        began = time.perf_counter()
        call("the call that starts to compile them", 1)
        for compilation in fused_histogram._compilations.values():
            compilation.join()
        took = time.perf_counter() - began
        rows.append(("kernels: compiled, beside the program, after", "tbq", took * 1e3, "ms", ""))
        call("the call that loads them", 2)
        for step in range(3, 8):
            call("a call", step)
    fused_histogram.expect(tensor.device, wait=True)  # says why, if there are none
    module: Any = fused_histogram._modules[tensor.device.index]
    for name in ("count_float32", "count_float64", "join"):
        rows += [(f"kernels: blocks at a time of {name}", "tbq", module.resident[name], "", "")]
    launch, launches = module.driver.launch, []
    module.driver.launch = lambda *arguments: (launches.append(1), launch(*arguments))
    with tbq.SummaryWriter(tempfile.mkdtemp()) as writer:
        writer.add_histogram("h", tensor, 0)
    module.driver.launch = launch
    rows.append(("kernels: launches of a call", "tbq", len(launches), "", "<= 4"))


def histogram_cost(rows: list[Row], count: int, dtype: str, slow: bool, rounds: int = 25) -> None:
    """add_histogram: until the device has counted, and until the call returns; and the memory it takes."""
    import torch

    from tbq.write.cuda import fused_histogram

    tensor = torch.randn(count, device="cuda", dtype=getattr(torch, dtype))
    label = f"histogram of {count / 1e6:,.0f} million {dtype}"
    writers = openers()
    writers["tbq, torch's operations"] = writers["tbq"]
    for name, create in writers.items():
        ours = name.startswith("tbq")
        if name in ("no logging", "item()") or (not ours and not slow):
            continue
        fused_histogram.general_only = name != "tbq"
        writer = create()
        if ours:
            writer.add_histogram("warm", tensor, 0)
            writer.flush()
        device: list[float] = []
        caller: list[float] = []
        for number in range(rounds if ours else 1):
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
        rows.append((label, name, statistics.median(device) * 1e3, unit(device), wanted[0]))
        rows.append((f"{label}: caller", name, statistics.median(caller) * 1e3, unit(caller), wanted[1]))
        rows.append((f"{label}: extra memory", name, extra / 1e6, "MB", "<= 256" if ours else ""))
        writer.close()
    fused_histogram.general_only = False


def unit(seconds: list[float]) -> str:
    """Milliseconds, with the quartiles if there are several."""
    if len(seconds) < 2:
        return "ms"
    low, _, high = (1e3 * figure for figure in statistics.quantiles(seconds, n=4))
    return f"ms ({low:.3f} to {high:.3f})"


def watch_cost(rows: list[Row], who: str = "tbq") -> None:
    """watch of a model of a billion parameters: the cost of one logged step, as a share of a hundred steps."""
    import torch

    import tbq
    from tbq.write.cuda import fused_histogram

    fused_histogram.general_only = who != "tbq"
    hidden, layers, tokens = 2048, 20, 8192

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
    counted: list[float] = []
    added: dict[int, list[float]] = {1: [], EVERY: []}
    logged = 0
    with tbq.SummaryWriter(tempfile.mkdtemp()) as writer:
        for _ in range(5):  # in turns, since clocks and temperature drift
            alone.append(timed(lambda: [step() for _ in range(EVERY)]) / EVERY)
            for every, found in added.items():
                logged += EVERY
                watch = writer.watch(model, every=every, start=logged)
                took = timed(lambda: [step() for _ in range(EVERY)]) - EVERY * alone[-1]
                found.append(took * every / EVERY)
                writer.unwatch()
                writer.flush()
            torch.cuda.synchronize()
            began = time.perf_counter()
            watch.log(logged + EVERY)
            caller.append(time.perf_counter() - began)
            counted.append(timed(lambda: watch.log(logged + EVERY + 1)))  # noqa: B023
            logged += EVERY + 1
            writer.flush()
    # The cost of a logged step is measured with one in ten logged: the flusher encodes the histograms during the
    # steps that follow, as it does with one in a hundred. With every step logged it would have no time for that.
    plain = statistics.median(alone)
    more = statistics.median(added[EVERY])
    rows.append((f"{label}: step without", who, plain * 1e3, "ms", ""))
    rows.append((f"{label}: one logged step adds", who, more * 1e3, "ms", ""))
    rows.append((f"{label}: all steps logged, each adds", who, statistics.median(added[1]) * 1e3, "ms", ""))
    rows.append((f"{label}: caller", who, statistics.median(caller) * 1e3, "ms", ""))
    rows.append((f"{label}: until the device has counted", who, statistics.median(counted) * 1e3, "ms", ""))
    rows.append((f"{label}: every 100 steps", who, 100 * more / (100 * plain), "% of training", "<= 1"))
    fused_histogram.general_only = False


def run(bench: Bench) -> None:
    """Called by `python -m benchmarks`; does nothing on a machine without a GPU."""
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


def measure(rows: list[Row], *, quick: bool = False, only: str = "") -> None:
    """Run all parts; prints each part when it is done, and continues if one fails.

    `only` names stages: kernels, parts, steps, histograms, watch.
    """
    million = 1_000_000
    stages: list[tuple[str, Callable[[], None]]] = [
        ("kernels", lambda: kernel_cost(rows)),
        ("histograms", lambda: histogram_cost(rows, 100 * million, "float32", slow=True)),
        ("parts", lambda: gpu_parts.parts(rows)),
        ("steps", lambda: step_cost(rows, 2.4e-3, rounds=3 if quick else ROUNDS)),
        ("steps", lambda: step_cost(rows, 0.0, rounds=3)),
        ("histograms", lambda: histogram_cost(rows, 100 * million, "bfloat16", slow=False)),
        ("histograms", lambda: histogram_cost(rows, 100 * million, "float64", slow=False)),
        ("histograms", lambda: histogram_cost(rows, 1000 * million, "float32", slow=not quick and not only)),
        ("watch", lambda: watch_cost(rows)),
        ("watch", lambda: watch_cost(rows, "tbq, torch's operations")),
    ]
    for name, stage in stages:
        if only and name not in only.split(","):
            continue
        shown = len(rows)
        try:
            stage()
        except Exception as error:
            rows.append((f"FAILED: {name}: {type(error).__name__}: {error}", "", float("nan"), "", ""))
            import traceback

            traceback.print_exc()
        for what, who, figure, unit, want in rows[shown:]:
            print(f"{what:64} {who:24} {figure:12,.3f} {unit:16} {want}", flush=True)


def main() -> None:
    """Print the table, and write it to $OUT/bench_gpu.json if there is an OUT."""
    import torch

    if not torch.cuda.is_available():
        sys.exit("bench_gpu: no CUDA GPU here")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, Python {sys.version.split()[0]}")
    rows: list[Row] = []
    only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
    measure(rows, quick="--quick" in sys.argv, only=only)
    if os.environ.get("OUT"):
        Path(os.environ["OUT"], "bench_gpu.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
