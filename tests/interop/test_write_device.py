"""Scalars and histograms of torch tensors on a device: the same files as from the host's path, without waiting."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
import weakref
from operator import itemgetter

import pytest
import torch
from devices import FLOATS, INTEGERS, both, counts, scalars, shared
from hypothesis import given
from hypothesis import strategies as st

import tbq
from tbq.errors import TbqWarning, UsageError
from tbq.write import device as devices
from tbq.write import slots
from tbq.write.pending import Derived


@given(
    value=st.one_of(st.floats(width=32), st.floats(), st.integers(-(2**62), 2**62)),
    dtype=st.sampled_from(FLOATS + INTEGERS),
    exact=st.booleans(),
    shape=st.sampled_from([(), (1,), (1, 1)]),
)
@shared
def test_scalars_of_every_type_are_those_of_the_host(tmp_path_factory, device, value, dtype, exact, shape):
    if not dtype.is_floating_point:
        value = int(value) if value == value and abs(value) < 2**62 else 1
    try:
        tensor = torch.tensor(value).to(dtype).reshape(shape).to(device)
    except (OverflowError, RuntimeError):
        return

    def call(writer):
        writer.add_scalar("a", tensor, 1, 5.0, exact=exact)
        writer.add_scalar("n", tensor, 1, 5.0, new_style=True, double_precision=True)
        writer.log({"b": tensor, "c": 1.0, "d": tensor}, 1, 5.0, exact=exact)

    ours, theirs = both(tmp_path_factory, call)
    assert ours == theirs


def test_the_value_of_the_moment_counts(tmp_path, read_events, device):
    tensor = torch.zeros((), device=device)
    with tbq.SummaryWriter(tmp_path, flush_secs=1000) as writer:
        for step in range(3000):
            tensor.fill_(step)
            writer.add_scalar("a", tensor, step)
            tensor.fill_(-1)
    assert scalars(read_events(tmp_path)) == [("a", step, step) for step in range(3000)]


def test_order_with_numbers_of_the_host(tmp_path, read_events, device):
    with tbq.SummaryWriter(tmp_path) as writer:
        for step in range(500):
            number = torch.tensor(float(step), device=device) if step % 3 else float(step)
            writer.add_scalar("a", number, step)
    assert scalars(read_events(tmp_path)) == [("a", step, step) for step in range(500)]


def test_log_and_add_scalars(tmp_path, read_events, device):
    a, b = torch.tensor(1.5, device=device), torch.tensor(2, device=device)
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.log({"x": a, "y": b, "z": 3.0, "w": a * 2, "v": b * 2}, 1)
        writer.add_scalars("m", {"p": a, "q": b}, 2, run_name=".")
        writer.add_scalars("n", {"p": a, "q": b}, 3)
        a.zero_()
        b.zero_()
    assert scalars(read_events(tmp_path)) == [
        ("x", 1, 1.5), ("y", 1, 2), ("z", 1, 3), ("w", 1, 3), ("v", 1, 4), ("m/p", 2, 1.5), ("m/q", 2, 2),
    ]  # fmt: skip
    assert scalars(read_events(tmp_path / "n_p")) == [("n", 3, 1.5)]
    assert scalars(read_events(tmp_path / "n_q")) == [("n", 3, 2)]


def test_nothing_of_the_graph_is_held(tmp_path, device):
    leaf = torch.ones(3, requires_grad=True, device=device)
    loss = (leaf * 2).sum()
    dies = weakref.ref(loss)
    with tbq.SummaryWriter(tmp_path, flush_secs=1000) as writer:
        writer.add_scalar("loss", loss, 1)
        writer.add_histogram("h", leaf * loss, 1)
        writer.log({"a": loss, "b": loss}, 1)
        del loss
        gc.collect()
        assert dies() is None


def test_from_many_threads(tmp_path, read_events, device):
    def work(name):
        for step in range(300):
            writer.add_scalar(name, torch.tensor(float(step), device=device), step)

    with tbq.SummaryWriter(tmp_path) as writer:
        threads = [threading.Thread(target=work, args=(f"t{i}",)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    rows = scalars(read_events(tmp_path))
    for i in range(4):
        assert [row for row in rows if row[0] == f"t{i}"] == [(f"t{i}", s, s) for s in range(300)]


def test_inference_mode_no_grad_autocast_and_deterministic_algorithms(tmp_path, read_events, device):
    slots._free.clear()
    with tbq.SummaryWriter(tmp_path) as writer:
        with torch.inference_mode():
            writer.add_scalar("a", torch.tensor(1.0, device=device), 1)
            writer.add_histogram("h", torch.ones(5, device=device), 1)
        writer.add_scalar("a", torch.tensor(2.0, device=device), 2)
        with torch.no_grad(), torch.autocast(device, dtype=torch.bfloat16):
            x = torch.full((4, 4), 1.001, device=device)
            writer.add_scalar("a", (x @ x).sum(), 3)
            writer.add_scalar("a", torch.tensor(1.001, device=device), 4)
            writer.add_histogram("h", x, 2)
        torch.use_deterministic_algorithms(True)
        try:
            writer.add_histogram("h", torch.ones(5, device=device), 3)
        finally:
            torch.use_deterministic_algorithms(False)
    values = [row[2] for row in scalars(read_events(tmp_path)) if row[0] == "a"]
    assert values[:2] == [1, 2]
    assert values[3] == pytest.approx(1.001, rel=1e-7)
    assert len([row for row in scalars(read_events(tmp_path)) if row[0] == "h"]) == 3


COMPILED = """
import sys, torch, tbq
from tbq.write import device
device.DEVICES.add(sys.argv[1])
with tbq.SummaryWriter(sys.argv[2]) as writer:

    @torch.compile(backend="eager")
    def step(x, number):
        y = x * 2
        writer.add_scalar("y", y.sum(), number)
        writer.log({"a": y.sum() + 1, "b": 2.0, "c": y.mean()}, number)
        writer.add_histogram("h", y, number)
        return y + 1

    for number in range(3):
        got = step(torch.full((2,), float(number), device=sys.argv[1]), number)
        assert got.sum().item() == number * 4 + 2
"""


def test_inside_torch_compile(tmp_path, read_events, device):
    """In its own process: the compiler is loaded after the writer, by the first call."""
    result = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", COMPILED, device, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert result.returncode == 0, result.stderr
    rows = scalars(read_events(tmp_path))
    assert [row for row in rows if row[0] == "y"] == [("y", n, n * 4) for n in range(3)]
    assert [row for row in rows if row[0] == "c"] == [("c", n, n * 2) for n in range(3)]
    assert [row[1] for row in rows if row[0] == "h"] == [0, 1, 2]


def test_default_device_and_default_dtype(tmp_path, read_events, device):
    slots._free.clear()
    torch.set_default_dtype(torch.float64)
    torch.set_default_device(device)
    try:
        with tbq.SummaryWriter(tmp_path) as writer:
            writer.add_scalar("a", torch.tensor(1.5), 1)
            writer.add_histogram("h", torch.ones(5), 1)
    finally:
        torch.set_default_device(None)
        torch.set_default_dtype(torch.float32)
    assert scalars(read_events(tmp_path))[0] == ("a", 1, 1.5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda device: torch.ones(2, device=device), "shape (2,), want one number (tag 'bad', step 7)"),
        (lambda device: torch.ones(0, device=device), "shape (0,), want one number"),
        (
            lambda device: torch.ones((), device="meta"),
            "meta device, which has no values (tag 'bad', step 7)",
        ),
        (lambda device: torch.ones((), dtype=torch.complex64, device=device), "want"),
        (lambda device: freed(device), "memory was freed (tag 'bad', step 7)"),
    ],
    ids=["many", "none", "meta", "complex", "freed"],
)
def test_wrong_tensors_raise_at_the_call(tmp_path, read_events, device, make, message):
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("good", torch.tensor(1.0, device=device), 7)
        for call in (
            lambda: writer.add_scalar("bad", make(device), 7),
            lambda: writer.log({"other": 1.0, "bad": make(device)}, 7),
        ):
            with pytest.raises(UsageError) as error:
                call()
            assert message.partition(" (tag")[0] in str(error.value)
            assert "bad" in str(error.value) or "complex" in str(error.value)
        writer.add_scalar("good", torch.tensor(2.0, device=device), 8)
    assert scalars(read_events(tmp_path)) == [("good", 7, 1), ("good", 8, 2)]


def freed(device):
    tensor = torch.ones((), device=device)
    tensor.untyped_storage().resize_(0)
    return tensor


def test_a_kernel_that_failed_before(tmp_path, read_events, device, monkeypatch):
    """The copy raises, as all calls do after a failed kernel: the value is named, the others are written."""
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("a", torch.tensor(1.0, device=device), 1)

        def fail(self, tensor):
            raise RuntimeError("CUDA error: an illegal memory access was encountered")

        with monkeypatch.context() as patch:
            patch.setattr(slots.Slot, "fill", fail)
            writer.add_scalar("b", torch.tensor(1.0, device=device), 2)
        writer.add_scalar("c", torch.tensor(3.0, device=device), 3)
        with pytest.warns(TbqWarning, match="'b' at step 2: CUDA error: an illegal memory access"):
            writer.flush()
    assert scalars(read_events(tmp_path)) == [("a", 1, 1), ("c", 3, 3)]


@pytest.mark.parametrize("broken", ["refuse_capture", "slot"])
def test_a_device_that_fails_at_any_call(tmp_path, read_events, device, monkeypatch, broken):
    """After a fork CUDA fails at the first call, whether about streams, captures or memory."""

    def fail(*arguments):
        raise RuntimeError("CUDA error: initialization error")

    model = torch.nn.Linear(2, 1).to(device)
    tensor = torch.ones((), device=device)
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("good", tensor, 1)
        with monkeypatch.context() as patch:
            patch.setattr(slots if broken == "slot" else devices, broken, fail)
            writer.add_scalar("lost", tensor, 3)
            writer.log({"first": tensor, "second": tensor}, 4)
            writer.add_histogram("histogram", tensor, 5)
            writer.add_model_statistics(model, 6, statistics="norm")
        writer.add_scalar("good", tensor, 2)
        with pytest.warns(TbqWarning) as warned:
            writer.flush()
    (message,) = [str(warning.message) for warning in warned]
    assert "'lost' at step 3: CUDA error: initialization error; tag 'first' at step 4: CUDA error" in message
    assert "(and 4 more values)" in message
    assert scalars(read_events(tmp_path)) == [("good", 1, 1), ("good", 2, 1)]


@pytest.mark.filterwarnings("ignore:.*quantize_per_tensor.*:UserWarning")  # torch will remove them
def test_sparse_and_quantised_tensors(tmp_path, device):
    sparse = torch.tensor([[0.0, 2.0], [0.0, 3.0]], device=device).to_sparse()
    assert counts(sparse) == counts(sparse.to_dense())
    if device == "cpu":
        quantised = torch.quantize_per_tensor(torch.tensor([0.1, 0.5, 3.0]), 0.1, 0, torch.qint8)
        assert counts(quantised) == counts(quantised.dequantize())


def test_the_end_of_the_program_loses_nothing(tmp_path, read_events, device):
    program = f"""
import torch, tbq
from tbq.write import device
device.DEVICES.add({device!r})
writer = tbq.SummaryWriter({str(tmp_path)!r}, flush_secs=1000)
if {device!r} == "cuda":
    torch.cuda._sleep(1_000_000_000)
for step in range(100):
    writer.add_scalar("a", torch.tensor(float(step), device={device!r}), step)
writer.add_histogram("h", torch.ones(10, device={device!r}), 0)
raise SystemExit(3)
"""
    result = subprocess.run([sys.executable, "-c", program], timeout=200, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (3, "")
    assert [row[:2] for row in scalars(read_events(tmp_path))] == [*(("a", s) for s in range(100)), ("h", 0)]


def test_unsigned_numbers_beside_others(tmp_path, read_events, device):
    """torch cannot combine uint16 and uint32 with any other type."""
    metrics = {
        "a": torch.tensor(65535, dtype=torch.uint16, device=device),
        "b": torch.tensor(-5, device=device),
        "c": torch.tensor(2**32 - 1, dtype=torch.uint32, device=device),
        "d": torch.tensor(3, dtype=torch.uint16, device=device),
        "e": torch.tensor(True, device=device),
    }
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.log(metrics, 1)
    assert scalars(read_events(tmp_path)) == [
        ("a", 1, 65535), ("b", 1, -5), ("c", 1, 2**32), ("d", 1, 3), ("e", 1, 1),
    ]  # fmt: skip


def test_inside_the_transformations_of_torch_func(tmp_path, read_events, device):
    """They pass a wrapper without memory to the function."""
    with tbq.SummaryWriter(tmp_path) as writer:

        def loss(x):
            writer.add_scalar("a", x * 2, 1)
            writer.log({"b": x, "c": x + 1}, 1)
            return x * 2

        torch.func.grad(loss)(torch.tensor(3.0, device=device))
        with pytest.raises(UsageError, match="BatchedTensor"):
            torch.func.vmap(loss)(torch.ones(3, device=device))
    assert scalars(read_events(tmp_path)) == [("a", 1, 6), ("b", 1, 3), ("c", 1, 4)]


def test_a_fake_tensor_has_no_value(tmp_path, device):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.ones((), device=device)
    with tbq.SummaryWriter(tmp_path) as writer:
        for call in (writer.add_scalar, writer.add_histogram):
            with pytest.raises(UsageError, match=r"fake tensor, which has no values \(tag 'a', step 1\)"):
                call("a", fake, 1)


def test_a_negated_view(tmp_path, read_events, device):
    """torch negates the imaginary part of a conjugate only when it is read."""
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("a", torch.tensor(2 + 3j, device=device).conj().imag, 1)
        writer.log({"b": torch.tensor(2 + 3j, device=device).conj().imag}, 1)
    assert scalars(read_events(tmp_path)) == [("a", 1, -3), ("b", 1, -3)]


def test_lines_that_are_written_by_several_threads_take_their_values_once(device):
    """Each line of `add_scalars` has its own file; a slot that is recycled twice would hold two later values."""

    class Array:
        taken = 0

        def ready(self):
            return True

        def result(self):
            Array.taken += 1
            time.sleep(0.05)
            return torch.arange(2).numpy()

    numbers = Derived(lambda numbers: numbers.tolist(), Array())
    parts = [Derived(itemgetter(i), numbers) for i in range(2)]
    got = []
    threads = [threading.Thread(target=lambda part=part: got.append(part.result())) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (sorted(got), Array.taken) == ([0, 1], 1)


def test_numbers_that_look_like_memory_that_waits(tmp_path, read_events, device, monkeypatch):
    """A value may equal the mark of unwritten memory: then the device is queried."""
    from tbq.write import pending

    monkeypatch.setattr(pending, "_PROBE_SECONDS", 0.01)
    short = torch.tensor(slots._SHORT_MARK, dtype=torch.int32).view(torch.float32).to(device)
    with tbq.SummaryWriter(tmp_path, exact=True) as writer:
        writer.add_scalar("a", torch.tensor(slots._MARK, device=device), 1)
        writer.add_scalar("b", short, 1)
        writer.add_scalar("c", torch.tensor(1.0, device=device), 1)
    values = [value.tensor for event in read_events(tmp_path)[1:] for value in event.summary.value]
    assert int.from_bytes(values[0].tensor_content, "little") == slots._MARK or values[0].int64_val == [
        slots._MARK
    ]
    assert len(values) == 3


def test_while_a_graph_is_captured_the_device_does_not_answer(device, monkeypatch):
    """A stream that cannot be queried has not failed: the value still arrives."""
    from types import SimpleNamespace

    answers = [RuntimeError("CUDA error: operation not permitted when stream is capturing"), True]

    def query():
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(slots, "_stream", lambda address, place: SimpleNamespace(query=query))
    slot = slots.slot(torch.device(device), "float64", 1)
    slot._stream, slot._failure = 1, False
    slot.probe()
    assert not slot.ready()
    slot.probe()
    assert slot.ready()
