"""Scalars and histograms of torch tensors on a device: the same files as those of the host's path, without a wait."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tbq
from tbq.errors import TbqWarning, UsageError
from tbq.write import device as devices
from tbq.write import device_histogram, histogram, slots, tally

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool]

#: A fixture of pytest is the same for all examples: it only says where tensors are.
shared = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)


def scalars(events):
    return [(value.tag, event.step, value.simple_value) for event in events for value in event.summary.value]


def records(directory):
    """The bytes of a run after the record of the file's version."""
    (file,) = directory.glob("*tfevents*")
    data = file.read_bytes()
    return data[16 + int.from_bytes(data[:8], "little") :]


def both(tmp_path_factory, call, **options):
    """The records that `call` writes, with the device's path and with the host's."""
    written = []
    for captured in (devices.DEVICES, set()):
        directory = tmp_path_factory.mktemp("run")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(devices, "DEVICES", captured)
            with tbq.SummaryWriter(directory, **options) as writer:
                call(writer)
                assert bool(writer._waiting) == bool(captured)
        written.append(records(directory))
    return written


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
    """In a process of its own: the compiler is loaded after the writer, by the first call."""
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
    """After a fork CUDA fails at the first question, be it about streams, captures or memory."""

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


# Histograms.


def counts(tensor, argument="values"):
    """The HistogramProto of the device's path, and its sums apart."""
    value, count = device_histogram.captured(tensor, argument)
    while not value.ready():
        pass
    return parsed(tally.encode(value.result(), count, None, argument))


def on_host(tensor):
    return parsed(histogram.encode(tensor.cpu(), "tensorflow", None))


def parsed(encoded):
    from tensorboard.compat.proto.summary_pb2 import HistogramProto

    message = HistogramProto.FromString(encoded)
    return Result(message)


class Result:
    """Equal if all but the sums is equal bit for bit, and the sums up to the order of the additions."""

    def __init__(self, message):
        self.sums = np.array([message.sum, message.sum_squares])
        self.largest = max(abs(message.min), abs(message.max))
        self.scale = message.num * self.largest
        message.ClearField("sum")
        message.ClearField("sum_squares")
        # Of 0 and -0 either is the least: they are equal, and a device has no first. All NaNs are one.
        message.min = message.min + 0.0 if message.min == message.min else np.nan
        message.max = message.max + 0.0 if message.max == message.max else np.nan
        self.rest = message.SerializeToString()

    def __eq__(self, other):
        tolerance = 1e-13 * self.scale if np.isfinite(self.scale) else 0.0
        # Close to the largest number, the order of the additions decides whether a sum is infinite.
        first = 1 if 1e300 < self.largest < np.inf else 0
        return self.rest == other.rest and np.allclose(
            self.sums[first:], other.sums[first:], rtol=1e-11, atol=[tolerance, 0.0][first:], equal_nan=True
        )

    __hash__ = None


EDGES = histogram.default_edges()
SPECIAL = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e300, -1e300, 5e-324, 1e-45, 65504.0]


@given(
    values=st.lists(
        st.one_of(
            st.floats(),
            st.floats(-10, 10),
            st.sampled_from(SPECIAL),
            st.sampled_from(EDGES.tolist()),
            st.sampled_from(np.nextafter(EDGES, np.inf).tolist()),
            st.sampled_from(np.nextafter(EDGES.astype(np.float32), np.float32(np.inf)).tolist()),
            st.sampled_from(np.nextafter(EDGES.astype(np.float32), np.float32(-np.inf)).tolist()),
        ),
        min_size=1,
        max_size=50,
    ),
    dtype=st.sampled_from([*FLOATS, torch.float8_e5m2]),
    piece=st.sampled_from([1, 7, 1 << 24]),
    large=st.sampled_from([0, 1 << 20]),
    norms=st.booleans(),
)
@shared
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of sums of infinities on the host
def test_histograms_are_those_of_the_host(device, values, dtype, piece, large, norms):
    """In pieces or not, the way of large tensors or not, with an old torch or not."""
    tensor = torch.tensor([*values, 1.0], dtype=torch.float64).to(dtype).to(device)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_histogram, "PIECE", piece)
        patch.setattr(device_histogram, "LARGE_PIECE", piece)
        patch.setattr(device_histogram, "LARGE", large)
        patch.setattr(device_histogram, "_has_norms", lambda torch: norms)
        assert counts(tensor) == on_host(tensor)
        known = tally.tally(device_histogram.row(tensor).cpu().numpy())
    assert known.zeros == (tensor == 0).sum().item()
    assert known.nonfinite == (~tensor.double().isfinite()).sum().item()


@given(
    lists=st.lists(
        st.lists(st.one_of(st.floats(width=32), st.sampled_from(SPECIAL)), min_size=3, max_size=3),
        min_size=2,
        max_size=6,
    ),
    dtype=st.sampled_from([*FLOATS, torch.int32]),
)
@shared
def test_many_tensors_together_are_as_each_alone(device, lists, dtype):
    if not dtype.is_floating_point:
        lists = [[x if abs(x) < 1e9 else 7.0 for x in each] for each in lists]
    tensors = [torch.tensor(each, dtype=torch.float64).to(dtype).to(device) for each in lists]
    assert list(device_histogram.together(tensors)) == [list(range(len(lists)))]
    for tensor, vector in zip(tensors, device_histogram.rows(torch.stack(tensors)), strict=True):
        got = tally.tally(vector.cpu().numpy())
        want = tally.tally(device_histogram.row(tensor).cpu().numpy())
        assert (got.counts == want.counts).all()
        np.testing.assert_allclose(got[1:], want[1:], rtol=1e-12, equal_nan=True)


def test_tensors_that_are_counted_together(monkeypatch):
    monkeypatch.setattr(device_histogram, "SMALL", 8)
    monkeypatch.setattr(device_histogram, "_TOGETHER", 20)
    tensors = [torch.zeros(n) for n in (8, 9, 8, 8, 8, 8, 9, 4)] + [torch.zeros(4).half(), torch.zeros(4)]
    assert list(device_histogram.together(tensors)) == [[0, 2, 3], [4, 5], [7, 9]]


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
def test_every_edge_of_every_type(device, dtype):
    near = np.concatenate([EDGES, np.nextafter(EDGES, np.inf), np.nextafter(EDGES, -np.inf)])
    tensor = torch.from_numpy(near if dtype.is_floating_point else np.clip(near, -100, 100)).to(dtype)
    if dtype.is_floating_point:
        up = torch.nextafter(tensor.float(), torch.tensor(float("inf"))).to(dtype)
        tensor = torch.cat([tensor, up])
    assert counts(tensor.to(device)) == on_host(tensor)


@pytest.mark.parametrize("piece", [5, 64, 1 << 24])
def test_strides(device, monkeypatch, piece):
    monkeypatch.setattr(device_histogram, "PIECE", piece)
    monkeypatch.setattr(device_histogram, "LARGE", 50)
    x = torch.randn(6, 5, 4, device=device)
    for tensor in (
        x,
        x.transpose(0, 2),
        x.permute(1, 2, 0),
        x[::2, :, 1:],
        x[:1].expand(7, 5, 4),
        x[..., 0],
        x[0, 0, :1],
        x[:, 2].t(),
        x.to(memory_format=torch.contiguous_format)[None].expand(3, 6, 5, 4),
        torch.tensor(3.0, device=device),
        x.flatten()[3:],
    ):
        assert counts(tensor) == on_host(tensor)
        assert max(len(part) for part in device_histogram.pieces(tensor, piece)) <= piece


def test_the_file_of_a_histogram(tmp_path_factory, device):
    tensor = torch.randint(-50, 50, (1000,), device=device).float() / 8  # sums are exact

    def call(writer):
        writer.add_histogram("h", tensor, 3, walltime=5.0)
        writer.add_histogram("m", tensor, 3, walltime=5.0, max_bins=20)

    ours, theirs = both(tmp_path_factory, call)
    assert ours == theirs


def test_histograms_keep_the_value_of_the_moment(tmp_path, read_events, device):
    tensor = torch.zeros(1000, device=device)
    with tbq.SummaryWriter(tmp_path) as writer:
        for step in range(20):
            tensor.fill_(step)
            writer.add_histogram("h", tensor, step)
            tensor.fill_(-1)
    histograms = [event.summary.value[0].histo for event in read_events(tmp_path)[1:]]
    assert [(h.min, h.max, h.num, h.sum) for h in histograms] == [(s, s, 1000, 1000 * s) for s in range(20)]


def test_histograms_that_cannot_be_made(tmp_path, read_events, device):
    with tbq.SummaryWriter(tmp_path) as writer:
        for tensor in (
            torch.ones(0, device=device),
            torch.ones(3, dtype=torch.complex64, device=device),
            torch.ones(3, device="meta"),
        ):
            with pytest.raises(UsageError, match=r"values: .*tag 'h', step 4"):
                writer.add_histogram("h", tensor, 4)
        with pytest.raises(UsageError, match="max_bins"):
            writer.add_histogram("h", torch.ones(3, device=device), 4, max_bins=0)
        writer.add_histogram("h", torch.full((3,), float("nan"), device=device), 5)
        writer.add_histogram("h", torch.ones(3, device=device), 6)
        with pytest.warns(TbqWarning, match="'h' at step 5: values: has no value inside the bins"):
            writer.flush()
    assert [event.step for event in read_events(tmp_path)[1:]] == [6]


def test_other_bins_are_counted_on_the_host(tmp_path, read_events, device):
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_histogram("h", torch.arange(10.0, device=device), 1, bins=5)
    (histo,) = [event.summary.value[0].histo for event in read_events(tmp_path)[1:]]
    assert len(histo.bucket) == 6
