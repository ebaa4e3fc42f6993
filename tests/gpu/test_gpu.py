"""What only a real GPU shows: streams, graphs, failed kernels, memory. `make test-gpu`; not a part of `make test`."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest
import torch
from waiting import wait_for

import tbq
from tbq.errors import UsageError
from tbq.write import device_histogram, slots

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA GPU")
LONG = 400_000_000  # cycles: some 0.2 s


def scalars(events):
    return [
        (value.tag, event.step, value.simple_value)
        for event in events
        for value in event.summary.value
        if value.HasField("simple_value")
    ]


def test_nothing_waits_for_the_device(tmp_path, read_events):
    value, many = torch.ones((), device="cuda"), torch.ones(1000, device="cuda")
    model = torch.nn.Linear(10, 10).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(1, 10, device="cuda")).sum().backward()
    with tbq.SummaryWriter(tmp_path, flush_secs=0.05) as writer:
        watch = writer.watch(model)

        def log(step):
            writer.add_scalar("a", value, step)
            writer.log({"b": value, "c": value, "d": 1.0}, step)
            writer.add_scalars("e", {"x": value, "y": value}, step, run_name=".")
            writer.add_histogram("h", many, step)
            watch.log(step)
            writer.add_model_statistics(model, step)

        log(0)  # memory is reserved and kernels are loaded
        optimizer.step()
        torch.cuda.synchronize()
        torch.cuda._sleep(LONG)
        value.fill_(2)
        log(1)
        value.fill_(3)  # later changes do not matter
        assert not torch.cuda.current_stream().query(), "a call has waited for the device"
        wait_for(lambda: not writer._waiting)  # the flusher writes them without being asked
    rows = scalars(read_events(tmp_path))
    for tag in ("a", "b", "c", "e/x", "e/y"):
        assert [row for row in rows if row[0] == tag] == [(tag, 0, 1), (tag, 1, 2)]


def test_page_locked_memory_is_mapped():
    host = torch.zeros(4, dtype=torch.float64, pin_memory=True)
    seen = slots.as_seen_by(torch.device("cuda", 0), host)
    assert seen.is_cuda and seen.data_ptr() == host.data_ptr()
    seen.fill_(7)
    torch.cuda.synchronize()
    assert host.tolist() == [7] * 4


@pytest.mark.parametrize("mapped", [True, False])
def test_both_ways_to_the_host(tmp_path, read_events, monkeypatch, mapped):
    slots._free.clear()
    if not mapped:
        monkeypatch.setattr(slots, "as_seen_by", lambda device, host: host)
    value = torch.zeros((), device="cuda")
    with tbq.SummaryWriter(tmp_path, flush_secs=0.05) as writer:
        for step in range(2000):
            value.fill_(step)
            writer.add_scalar("a", value, step)
            writer.add_scalar("i", value.long(), step)
            value.fill_(-1)
        writer.add_histogram("h", torch.arange(10.0, device="cuda"), 0)
    slots._free.clear()
    rows = scalars(read_events(tmp_path))
    for tag in "ai":
        assert [row for row in rows if row[0] == tag] == [(tag, step, step) for step in range(2000)]


def test_several_streams(tmp_path, read_events):
    streams = [torch.cuda.Stream() for _ in range(3)]
    with tbq.SummaryWriter(tmp_path, flush_secs=0.05) as writer:
        for step in range(100):
            for number, stream in enumerate(streams):
                with torch.cuda.stream(stream):
                    if step == 0:
                        torch.cuda._sleep(LONG // (number + 1))
                    value = torch.full((), float(step * 10 + number), device="cuda")
                    writer.add_scalar(f"s{number}", value, step)
                    value.fill_(-1)
    rows = scalars(read_events(tmp_path))
    for number in range(3):
        tag = f"s{number}"
        assert [row for row in rows if row[0] == tag] == [(tag, s, s * 10 + number) for s in range(100)]


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one GPU only")
def test_several_devices(tmp_path, read_events):
    with tbq.SummaryWriter(tmp_path) as writer:
        for step in range(100):
            for number in range(torch.cuda.device_count()):
                writer.add_scalar(f"d{number}", torch.tensor(float(step), device=f"cuda:{number}"), step)
    rows = scalars(read_events(tmp_path))
    assert [row for row in rows if row[0] == "d1"] == [("d1", s, s) for s in range(100)]


def test_around_cuda_graphs(tmp_path, read_events):
    """Values of replays are logged; a call during a capture is refused; the flusher does not disturb the capture."""
    with tbq.SummaryWriter(tmp_path, flush_secs=0.001) as writer:
        x = torch.zeros(1000, device="cuda")
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):  # as torch asks: a warm-up on a side stream
            (x * 2).sum()
        torch.cuda.synchronize()
        for step in range(50):
            writer.add_scalar("before", x[0], step)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = (x * 2).sum()
            for call in (
                lambda: writer.add_scalar("bad", y, 7),
                lambda: writer.log({"bad": y}, 7),
                lambda: writer.log({"bad": y, "other": y}, 7),
                lambda: writer.add_histogram("bad", y, 7),
            ):
                with pytest.raises(UsageError, match="a CUDA graph is being captured"):
                    call()
            writer.add_scalar("host", 1.0, 1)
            time.sleep(0.1)  # the flusher has its turns
        for step in range(50):
            x.fill_(step)
            graph.replay()
            writer.add_scalar("y", y, step)
            writer.add_histogram("h", x, step)
    rows = scalars(read_events(tmp_path))
    assert [row for row in rows if row[0] == "y"] == [("y", step, step * 2000) for step in range(50)]
    assert not [row for row in rows if row[0] == "bad"]


def test_a_capture_on_another_thread_survives(tmp_path, read_events):
    """Only the caller's thread talks to the device, so that logging does not disturb a capturing thread."""
    x = torch.zeros(1000, device="cuda")
    (x * 2).sum()
    with tbq.SummaryWriter(tmp_path, flush_secs=0.001) as writer:
        for step in range(500):
            writer.add_scalar("a", x[0], step)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = (x * 2).sum()
            thread = threading.Thread(target=writer.flush)
            thread.start()
            thread.join()
        graph.replay()
        assert y.item() == 0
    assert len(scalars(read_events(tmp_path))) == 500


def test_memory_of_histograms():
    tensor = torch.randn(200_000_000, device="cuda")
    for view in (tensor, tensor.view(20_000, 10_000).t(), tensor[::2], tensor.to(torch.bfloat16)):
        device_histogram.row(view[:1000])
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        device_histogram.row(view)
        torch.cuda.synchronize()
        assert torch.cuda.max_memory_allocated() - before < 256e6


FAILING = """
import sys, torch, tbq
writer = tbq.SummaryWriter(sys.argv[1], flush_secs=1000)
good = torch.tensor(1.0, device="cuda")
for step in range(10):
    writer.add_scalar("good", good, step)
torch.cuda.synchronize()
index = torch.tensor([99], device="cuda")
bad = torch.zeros(3, device="cuda")[index]  # a device-side assert
writer.add_scalar("bad", bad[0], 7)
writer.add_scalar("host", 5.0, 8)
writer.close()
"""


def test_a_kernel_that_fails(tmp_path, read_events):
    result = subprocess.run(
        [sys.executable, "-c", FAILING, str(tmp_path)], capture_output=True, text=True, timeout=200
    )
    assert "'bad' at step 7" in result.stderr
    rows = scalars(read_events(tmp_path))
    assert rows == [*(("good", step, 1.0) for step in range(10)), ("host", 8, 5.0)], result.stderr


FORKED = """
import os, sys, torch, tbq
writer = tbq.SummaryWriter(sys.argv[1])
value = torch.tensor(1.0, device="cuda")
torch.cuda._sleep(400_000_000)
writer.add_scalar("parent", value, 1)
child = os.fork()
if child == 0:
    writer.add_scalar("child", 2.0, 1)
    writer.add_scalar("lost", value, 3)
    writer.close()
    os._exit(0)
os.waitpid(child, 0)
writer.close()
"""


def test_fork_after_cuda_was_used(tmp_path, read_events):
    result = subprocess.run(
        [sys.executable, "-c", FORKED, str(tmp_path)], capture_output=True, text=True, timeout=200
    )
    assert result.returncode == 0, result.stderr
    assert sorted(scalars(read_events(tmp_path))) == [("child", 1, 2.0), ("parent", 1, 1.0)]
    assert "'lost' at step 3" in result.stderr


KILLED = """
import sys, time, torch, tbq
writer = tbq.SummaryWriter(sys.argv[1], flush_secs=0.1)
for step in range(10):
    writer.add_scalar("a", torch.tensor(float(step), device="cuda"), step)
print("logged", flush=True)
time.sleep(600)
"""


def test_kill_loses_at_most_the_interval_of_the_flusher(tmp_path, read_events):
    with subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(3)
        process.kill()
    assert len(scalars(read_events(tmp_path))) == 10


def test_compiled_models(tmp_path, read_events):
    """With inductor, if this machine has a compiler for it."""
    program = """
import sys, torch, tbq
model = torch.nn.Linear(4, 4).cuda()
compiled = torch.compile(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with tbq.SummaryWriter(sys.argv[1]) as writer:
    writer.watch(compiled, every=1)
    for step in range(3):
        loss = compiled(torch.ones(2, 4, device="cuda")).sum()
        loss.backward()
        optimizer.step()
        writer.add_scalar("loss", loss, step)
"""
    result = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=230,
        env={**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr[-2000:]
    rows = scalars(read_events(tmp_path))
    assert [row[1] for row in rows if row[0] == "loss"] == [0, 1, 2]
    assert [row[1] for row in rows if row[0] == "gradients/weight/norm"] == [0, 1, 2]
