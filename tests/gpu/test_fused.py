"""Histograms by the kernels that are compiled at run time, on a real GPU: beside torch's operations and the host."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch
from devices import FLOATS, INTEGERS, Operations, counts, on_host

import tbq
from tbq.errors import UsageError
from tbq.write import device_histogram, slots, tally
from tbq.write.cuda import fused_histogram

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA GPU"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # NumPy's, of sums of infinities on the host
]
LONG = 400_000_000  # cycles: some 0.2 s


@pytest.fixture(autouse=True)
def kernels():
    """They are ready; if they cannot be compiled or loaded, the test says why."""
    fused_histogram.expect(torch.device("cuda", 0), wait=True)
    assert fused_histogram.ready(torch.device("cuda", 0), "float32")


@pytest.fixture
def launches(monkeypatch):
    """The kernels that are launched."""
    names = []
    launch = fused_histogram._driver().launch
    found = {number: name for name, number in fused_histogram._modules[0].functions.items()}

    def noted(function, *arguments):
        launch(function, *arguments)
        names.append(found[function])

    monkeypatch.setattr(fused_histogram._driver(), "launch", noted)
    return names


def general(tensor):
    """What torch's operations count."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fused_histogram, "general_only", True)
        return tally.tally(device_histogram.row(tensor).cpu().numpy())


def fused(tensor):
    return tally.tally(device_histogram.row(tensor).cpu().numpy())


def assert_same(tensor, host=True):
    """The three ways agree: bins, counts, ends and special numbers exactly, sums up to the order of additions."""
    got, want = fused(tensor), general(tensor)
    assert (got.counts == want.counts).all()
    np.testing.assert_array_equal(got[1:3], want[1:3])
    assert (got.zeros, got.nonfinite) == (want.zeros, want.nonfinite)
    if host:
        assert counts(tensor) == on_host(tensor)


def near_edges():
    edges = tally.edges()
    with np.errstate(over="ignore"):
        single = edges.astype(np.float32)
        ends = (np.inf, -np.inf)
        near = [np.nextafter(each, each.dtype.type(end)) for each in (edges, single) for end in ends]
    special = [0.0, -0.0, 1e300, -1e300, 5e-324, -5e-324, 1e-45, -1e-45, 65504.0]
    return torch.from_numpy(np.concatenate([edges, single, *near, special]))


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
def test_edges_and_special_numbers(dtype, launches):
    numbers = near_edges()
    if not dtype.is_floating_point:
        numbers = numbers.nan_to_num().clamp(-100, 100)
    tensor = numbers.to(dtype).cuda()
    assert_same(tensor)
    assert launches == [f"count_{str(dtype)[6:]}", "join"] * 2
    if dtype.is_floating_point:
        assert_same(tensor[tensor.isfinite()])
        for odd in (float("nan"), float("inf"), float("-inf")):
            assert_same(
                torch.cat([tensor[tensor.isfinite()], torch.tensor([odd], dtype=dtype, device="cuda")])
            )
    if dtype in (torch.float16, torch.bfloat16):  # all numbers there are
        assert_same(torch.arange(-(1 << 15), 1 << 15, dtype=torch.int16).view(dtype).cuda())


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("count", [1, 2, 511, 4095, 4096, 4097, 1_000_003, 12_345_678])
def test_any_length(dtype, count):
    torch.manual_seed(count)
    tensor = (torch.randn(count, device="cuda") * torch.randn(count, device="cuda").exp() ** 4).to(dtype)
    assert_same(tensor, host=count <= 1_000_003)
    if count > 3:
        assert_same(tensor[1:], host=False)  # begins at any address
    if count <= 4097:
        assert_same(tensor.new_zeros(count))


def test_integers():
    for dtype in INTEGERS:
        if dtype is torch.bool:
            tensor = torch.rand(100_001, device="cuda") > 0.3
        else:
            ends = torch.iinfo(dtype)
            low, high = max(ends.min, -(1 << 61)), min(ends.max, 1 << 61)
            tensor = torch.randint(low, high, (100_001,), device="cuda", dtype=dtype)
        assert_same(tensor)


def test_any_byte_but_zero_is_true():
    tensor = torch.tensor([0, 1, 2, 128, 255], dtype=torch.uint8, device="cuda").view(torch.bool)
    got = fused(tensor)
    assert (got.low, got.high, got.total, got.zeros) == (0, 1, 4, 1)


def test_a_nan_that_looks_like_memory_without_a_value():
    tensor = torch.tensor([slots._MARK, 0x3FF0_0000_0000_0000], device="cuda").view(torch.float64)
    value, _ = device_histogram.captured(tensor, "values")
    torch.cuda.synchronize()
    assert value.ready()
    assert np.isnan(value.result()[-4:]).all()


def test_statistics_are_refused_before_a_graph_has_a_part_of_them(tmp_path, launches):
    model = torch.nn.Linear(400, 300).cuda()
    x = torch.ones(1000, device="cuda")
    (x * 2).sum()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with tbq.SummaryWriter(tmp_path) as writer:
        with torch.cuda.graph(graph):
            y = (x * 2).sum()
            with pytest.raises(UsageError, match="a CUDA graph is being captured"):
                writer.add_model_statistics(model, 1)
        assert launches == []
    graph.replay()
    assert y.item() == 2000


def test_strides(launches):
    x = torch.randn(60, 50, 40, device="cuda")
    for tensor in (
        x,
        x.transpose(0, 2),
        x[::2, :, 1:],
        x[:1].expand(7, 50, 40),
        torch.tensor(3.0, device="cuda"),
    ):
        launches.clear()
        assert counts(tensor) == on_host(tensor)
        assert launches == ["count_float32", "join"]


def test_more_numbers_than_fit_32_bits():
    if torch.cuda.mem_get_info()[0] < 6e9:
        pytest.skip("a small GPU")
    tensor = torch.ones((1 << 32) + 7, dtype=torch.int8, device="cuda")
    tensor[-1], tensor[0], tensor[1 << 31] = 100, -3, 0
    got = fused(tensor)
    assert (got.low, got.high, got.zeros) == (-3, 100, 1)
    assert got.counts.sum() == len(tensor)
    assert got.counts.max() == len(tensor) - 3
    assert got.total == len(tensor) - 3 + 97


def test_the_same_bytes_each_time():
    tensor = torch.randn(5_000_001, device="cuda")
    assert len({device_histogram.row(tensor).cpu().numpy().tobytes() for _ in range(5)}) == 1


def test_nothing_waits_and_memory_is_small(tmp_path, read_events, launches):
    """The call returns while the device is busy, and has the numbers of its moment."""
    tensor = torch.ones(50_000_000, device="cuda")
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_histogram("h", tensor, 0)
        writer.flush()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        torch.cuda._sleep(LONG)
        tensor.fill_(2)
        writer.add_histogram("h", tensor, 1)
        tensor.fill_(3)
        assert not torch.cuda.current_stream().query(), "the call has waited for the device"
        assert torch.cuda.max_memory_allocated() - before < 16e6
    assert launches == ["count_float32", "join"] * 2
    got = [event.summary.value[0].histo for event in read_events(tmp_path)[1:]]
    assert [(h.min, h.max, h.num, h.sum) for h in got] == [(s, s, 50e6, s * 50e6) for s in (1, 2)]


def test_two_launches_and_no_operation_of_torch(tmp_path, launches):
    tensor = torch.randn(1000, device="cuda")
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_histogram("h", tensor, 0)
        writer.flush()
        launches.clear()
        with Operations() as operations:
            writer.add_histogram("h", tensor, 1)
    assert launches == ["count_float32", "join"]
    assert set(operations.names) <= {"detach", "view", "empty"}  # none of which launches anything


def test_streams_and_threads():
    """Each call counts on the current stream of its thread, also of one that has not used the device before."""
    found = {}

    def work(number):
        with torch.cuda.stream(streams[number]):
            torch.cuda._sleep(LONG // 8)
            tensors[number].fill_(number)
            found[number] = counts(tensors[number]), on_host(tensors[number])
            tensors[number].fill_(-1)

    def unused():
        found["unused"] = counts(ones), on_host(ones)

    ones = torch.ones(1000, device="cuda")
    streams = [torch.cuda.Stream() for _ in range(4)]
    tensors = [torch.zeros(3_000_000, device="cuda") for _ in streams]
    torch.cuda.synchronize()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    threads.append(threading.Thread(target=unused))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 5
    assert all(got == want for got, want in found.values())


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one GPU only")
def test_other_devices():
    other = torch.device("cuda", 1)
    fused_histogram.expect(other, wait=True)
    tensor = torch.randn(100_000, device=other)
    assert_same(tensor)
    assert torch.cuda.current_device() == 0


def test_kernels_are_loaded_beside_a_capture_of_another_thread(monkeypatch):
    """The rest of a histogram needs memory of torch's, which no thread can have while another one captures."""
    device = torch.ones(1, device="cuda").device
    x = torch.zeros(1000, device="cuda")
    (x * 2).sum()
    torch.cuda.synchronize()
    monkeypatch.setattr(fused_histogram, "_modules", {})
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = (x * 2).sum()
        thread = threading.Thread(target=fused_histogram.expect, args=(device,))
        thread.start()
        thread.join()
    assert isinstance(fused_histogram._modules[0], fused_histogram.nvrtc.Module)
    x.fill_(1)
    graph.replay()
    assert y.item() == 2000
    ones = torch.ones(1000, device="cuda")
    assert counts(ones) == on_host(ones)


def test_watch_counts_with_the_kernels(tmp_path, read_events, launches):
    model = torch.nn.Sequential(torch.nn.Linear(400, 300), torch.nn.Linear(300, 200)).cuda()
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_model_statistics(model, 1)
        assert "count_float32" in launches
    rows = {v.tag: v.simple_value for event in read_events(tmp_path) for v in event.summary.value}
    for name, parameter in model.named_parameters():
        assert rows[f"parameters/{name}/norm"] == pytest.approx(parameter.norm().item(), rel=1e-5)


def test_where_the_device_cannot_write_to_memory_of_the_host(monkeypatch):
    slots._free.clear()
    monkeypatch.setattr(slots, "as_seen_by", lambda device, host: host)
    tensor = torch.randn(10_000, device="cuda")
    assert counts(tensor) == on_host(tensor)
    slots._free.clear()
