"""The kernels of `histogram.cu` on the CPU: what they count is what the host counts, and what torch's operations do."""

from __future__ import annotations

import ctypes
import logging
import subprocess
import sys
import threading

import numpy as np
import pytest
import torch
from devices import FLOATS, INTEGERS, Operations, counts, on_host, shared, strided
from emulated import BLOCKS, THREADS, emulated, launches, library, needs_compiler
from hypothesis import given
from hypothesis import strategies as st

import tbq
from tbq.write import device_histogram, histogram, slots, tally
from tbq.write.cuda import fused_histogram, nvrtc

EDGES = histogram.default_edges()
TILE = THREADS * 8
SPECIAL = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    -np.nan,
    1e300,
    -1e300,
    5e-324,
    -5e-324,
    1e-45,
    -1e-45,
    65504.0,
]


def neighbours(numbers):
    """Numbers, and those next to them, in float64 and float32."""
    with np.errstate(over="ignore"):
        single = numbers.astype(np.float32)
        near = [
            np.nextafter(each, each.dtype.type(end))
            for each in (numbers, single)
            for end in (np.inf, -np.inf)
        ]
    return np.concatenate([numbers, single, *near])


@given(
    values=st.lists(
        st.one_of(
            st.floats(),
            st.floats(-10, 10),
            st.sampled_from(SPECIAL),
            st.sampled_from(neighbours(tally.edges()).tolist()),
        ),
        min_size=1,
        max_size=50,
    ),
    dtype=st.sampled_from(FLOATS),
    repeat=st.sampled_from([1, 3, 40]),
)
@shared
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of sums of infinities on the host
def test_floats_are_those_of_the_host(device, values, dtype, repeat):
    tensor = torch.tensor([*values * repeat, 1.0], dtype=torch.float64).to(dtype)
    with emulated():
        fused, vector = counts(tensor), device_histogram.row(tensor).numpy()
        assert launches() == [f"count_{str(dtype)[6:]}", "join"] * 2
    assert fused == on_host(tensor)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fused_histogram, "general_only", True)
        want = tally.tally(device_histogram.row(tensor).numpy())
    got = tally.tally(vector)
    assert (got.counts == want.counts).all()
    assert got[5:] == want[5:]  # zeros, non-finite
    np.testing.assert_array_equal(got[1:3], want[1:3])


@given(data=st.data(), dtype=st.sampled_from([d for d in INTEGERS if d is not torch.bool]))
@shared
def test_integers_are_those_of_the_host(device, data, dtype):
    ends = torch.iinfo(dtype)
    numbers = data.draw(
        st.lists(st.one_of(st.integers(ends.min, ends.max), st.integers(0, 100)), min_size=1, max_size=50)
    )
    tensor = torch.tensor(numbers, dtype=dtype)
    with emulated():
        assert counts(tensor) == on_host(tensor)
        assert launches()


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
def test_every_edge_of_every_type(device, dtype):
    near = neighbours(tally.edges())
    if not dtype.is_floating_point:
        near = np.clip(np.nan_to_num(near), -100, 100)
    tensor = torch.from_numpy(near).to(dtype)
    if dtype in (torch.float16, torch.bfloat16):  # all numbers there are
        tensor = torch.arange(-(1 << 15), 1 << 15, dtype=torch.int16).view(dtype)
    with emulated(), np.errstate(invalid="ignore"):
        assert counts(tensor) == on_host(tensor)
        assert launches()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_the_ends_of_every_group_of_the_table(device, dtype):
    least, greatest = fused_histogram._groups()
    ends = torch.from_numpy(np.concatenate([least, greatest])).to(dtype)
    ends = ends[ends.isfinite()]
    with emulated():
        assert counts(ends) == on_host(ends)


@pytest.mark.parametrize("count", [1, 63, 64, 65, TILE - 1, TILE, TILE + 1, BLOCKS * TILE, 7 * TILE + 5])
def test_any_length_and_nothing_outside_of_the_memory(device, monkeypatch, count):
    """A kernel that read before or after its memory would change the result."""
    made = torch.empty
    guarded = []

    def guard(size, *, dtype, device):
        each = torch.full((size + 128,), 249, dtype=torch.uint8) if dtype is torch.uint8 else None
        if each is None:
            return made(size, dtype=dtype, device=device)
        guarded.append(each)
        return each[64:-64]

    monkeypatch.setattr(torch, "empty", guard)
    for dtype in (torch.float32, torch.bfloat16, torch.float64, torch.uint8):
        tensor = torch.full((count + 40,), 77, dtype=dtype)
        inner = tensor[20:-20]
        inner.copy_(torch.arange(count) % 50)
        result = torch.full((fused_histogram._words() + 32,), -7.0, dtype=torch.float64)
        with emulated():
            assert counts(inner) == on_host(inner)
            assert fused_histogram._launched(inner, str(dtype)[6:], result[16:-16])
        assert (result[:16] == -7).all() and (result[-16:] == -7).all() and (result[16:-16] != -7).all()
    assert len(guarded) == 8
    for each in guarded:
        assert (each[:64] == 249).all() and (each[-64:] == 249).all() and (each[64:-64] != 249).any()


def test_strides_and_what_is_left_to_the_general_way(device, monkeypatch):
    x = torch.randn(6, 5, 4)
    for tensor in strided():
        with emulated():
            assert counts(tensor) == on_host(tensor)
            assert launches() == ["count_float32", "join"]
    with emulated():
        for tensor in (
            x.to(torch.float8_e5m2),
            torch.tensor([1, 2], dtype=torch.uint16),
            x.as_subclass(Special),
        ):
            assert counts(tensor) == on_host(tensor)
        monkeypatch.setattr(device_histogram, "PIECE", 10)
        assert counts(x[::2]) == on_host(x[::2])  # it is not copied as a whole
        monkeypatch.setattr(fused_histogram, "general_only", True)
        assert counts(x) == on_host(x)
        assert launches() == []


class Special(torch.Tensor):
    """Not a plain tensor."""


def test_any_byte_but_zero_is_true(device):
    tensor = torch.tensor([0, 1, 2, 128, 255], dtype=torch.uint8).view(torch.bool)
    with emulated():
        assert counts(tensor) == on_host(tensor)


def test_a_nan_that_looks_like_memory_without_a_value(device):
    tensor = torch.tensor([slots._MARK, 0x3FF0_0000_0000_0000]).view(torch.float64)
    with emulated():
        value, _ = device_histogram.captured(tensor, "values")
        assert value.ready()
        assert np.isnan(value.result()[-4:]).all()


def test_sums_do_not_depend_on_the_run(device):
    """The blocks are joined in the same order each time."""
    tensor = torch.randn(20 * TILE)
    with emulated():
        vectors = [device_histogram.row(tensor).numpy().tobytes() for _ in range(3)]
    assert len(set(vectors)) == 1


def test_a_launch_that_fails_is_counted_with_operations_of_torch(device, caplog):
    tensor = torch.arange(10.0)
    slots._free.clear()
    with emulated(), caplog.at_level(logging.DEBUG, "tbq.write"):
        failing = ctypes.c_int.in_dll(library(), "failing")
        failing.value = 701
        try:
            assert counts(tensor) == on_host(tensor)
            assert "cuLaunchKernel: CUDA error 701: no luck" in caplog.text
            (home,) = slots._free.values()
            before = len(home)
            assert counts(tensor) == on_host(tensor)
            assert len(home) == before  # no memory is lost
        finally:
            failing.value = 0
        assert counts(tensor) == on_host(tensor)
        assert launches() == ["count_float32", "join"]


def test_the_context_of_the_device_is_current_only_during_the_launches(device):
    """The thread may never have used CUDA, or may use another device."""
    with emulated():
        counts(torch.ones(3))
        assert library().taken().decode().split() == ["push", "count_float32", "join", "pop"]


@pytest.mark.parametrize("mapped", [True, False])
def test_files_of_a_writer(tmp_path, read_events, device, monkeypatch, mapped):
    """Also where the device cannot write to the host's memory."""
    tensor = torch.zeros(1000)
    with emulated(), tbq.SummaryWriter(tmp_path) as writer:
        if not mapped:
            slots._free.clear()
            made = slots._new_slots

            def elsewhere(*arguments):
                new = made(*arguments)
                for slot in new:
                    slot.view = Elsewhere(slot.view)
                return new

            monkeypatch.setattr(slots, "_new_slots", elsewhere)
        for step in range(40):
            tensor.fill_(step)
            writer.add_histogram("h", tensor, step)
            tensor.fill_(-1)
        assert launches() == ["count_float32", "join"] * 40
    slots._free.clear()
    histograms = [event.summary.value[0].histo for event in read_events(tmp_path)[1:]]
    assert [(h.min, h.max, h.num, h.sum) for h in histograms] == [(s, s, 1000, 1000 * s) for s in range(40)]


class Elsewhere:
    """Memory of the host that the device does not see."""

    device = torch.device("meta")

    def __init__(self, view):
        self.copy_ = view.copy_


def test_the_models_of_watch(tmp_path, read_events, device):
    model = torch.nn.Sequential(torch.nn.Linear(40, 30), torch.nn.Linear(30, 20))
    with emulated(), tbq.SummaryWriter(tmp_path) as writer:
        writer.add_model_statistics(model, 1, statistics=("norm", "max"))
        assert launches() == ["count_float32", "join"] * 4
    rows = {v.tag: v.simple_value for event in read_events(tmp_path) for v in event.summary.value}
    for name, parameter in model.named_parameters():
        assert rows[f"parameters/{name}/norm"] == pytest.approx(parameter.norm().item(), rel=1e-6)
        assert rows[f"parameters/{name}/max"] == pytest.approx(parameter.max().item(), rel=1e-6)


def test_a_call_costs_two_launches_and_no_operation_of_torch(tmp_path, device):
    tensor = torch.randn(100, 10)
    with emulated(), tbq.SummaryWriter(tmp_path) as writer:
        writer.add_histogram("h", tensor, 0)  # memory is reserved
        launches()
        with Operations() as operations:
            writer.add_histogram("h", tensor, 1)
        assert launches() == ["count_float32", "join"]
    assert set(operations.names) <= {"detach", "view", "empty"}  # none of which launches anything
    assert operations.names.count("empty") == 1


@pytest.fixture
def gpu(monkeypatch):
    """A device that torch would describe, but no kernels for it yet."""
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda index: (9, 0))
    monkeypatch.setattr(fused_histogram, "_compilations", {})
    monkeypatch.setattr(fused_histogram, "_modules", {})
    return torch.device("cuda", 0)


def test_kernels_are_compiled_beside_the_program(gpu, monkeypatch):
    needs_compiler()
    go, asked = threading.Event(), []

    def compiled(source, architecture, version):
        asked.append((architecture, version))
        go.wait()
        return b"code"

    monkeypatch.setattr(nvrtc, "compiled", compiled)
    monkeypatch.setattr(fused_histogram, "THREADS", THREADS)
    monkeypatch.setattr(fused_histogram, "_driver", lambda: nvrtc.Driver(library()))
    assert not fused_histogram.ready(gpu, "float32")
    assert not fused_histogram.ready(gpu, "float32")
    go.set()
    fused_histogram.expect(gpu, wait=True)
    assert fused_histogram.ready(gpu, "float32")
    assert not fused_histogram.ready(gpu, "float8_e5m2")
    assert asked == [("sm_90", "13.0")]
    monkeypatch.setattr(fused_histogram, "general_only", True)
    assert not fused_histogram.ready(gpu, "float32")


@pytest.mark.parametrize("broken", ["compiled", "Driver"])
def test_where_there_are_no_kernels_torch_counts(gpu, monkeypatch, caplog, broken):
    def fail(*arguments):
        raise OSError("libcuda.so.1: cannot open shared object file")

    monkeypatch.setattr(nvrtc, "compiled", lambda *arguments: b"code")
    monkeypatch.setattr(fused_histogram, "_driver", lambda: nvrtc.Driver())
    monkeypatch.setattr(nvrtc, broken, fail)
    with caplog.at_level(logging.DEBUG, "tbq.write"), pytest.raises(OSError, match="libcuda"):
        fused_histogram.expect(gpu, wait=True)
    assert not fused_histogram.ready(gpu, "float32")
    assert "counted with torch's operations: libcuda.so.1" in caplog.text


def test_devices_of_other_vendors_are_not_asked(gpu, monkeypatch):
    monkeypatch.setattr(torch.version, "cuda", None)  # ROCm
    assert not fused_histogram.ready(gpu, "float32")
    assert not fused_histogram.ready(torch.device("mps"), "float32")
    assert not fused_histogram._compilations
    with pytest.raises(nvrtc.KernelError, match="not a CUDA device"):
        fused_histogram.expect(gpu, wait=True)


def test_no_compiler_says_where_it_was_looked_for():
    with pytest.raises(
        nvrtc.KernelError, match=r"no NVRTC of CUDA 3.0 compiles for sm_90: libnvrtc.so.3: .*"
    ):
        nvrtc.compiled(fused_histogram.source(), "sm_90", "3.0")


def test_compilers_are_looked_for_beside_what_cannot_be_read(tmp_path, monkeypatch):
    """A folder without permission or an odd entry of sys.path hides no other one."""
    folder = tmp_path / "nvidia" / "cuda_nvrtc" / ("bin" if sys.platform == "win32" else "lib")
    folder.mkdir(parents=True)
    name = "nvrtc64_120_0.dll" if sys.platform == "win32" else "libnvrtc.so.12"
    (folder / name).write_bytes(b"")
    is_file = nvrtc.Path.is_file

    def unreadable(path):
        if "secret" in path.parts:
            raise PermissionError(path)
        return is_file(path)

    monkeypatch.setattr(nvrtc.Path, "is_file", unreadable)
    monkeypatch.setattr(sys, "path", [None, 3, b"x", str(tmp_path / "secret"), str(tmp_path), *sys.path])
    assert str(folder / name) in list(nvrtc._libraries("12"))


def test_a_compiler_beside_static_libraries(tmp_path, monkeypatch):
    """CUDA's own folder has libnvrtc-builtins_static.a, which cannot be loaded."""
    for name in ("libnvrtc.so.12", "libnvrtc-builtins.so.12.4", "libnvrtc-builtins_static.a"):
        (tmp_path / name).write_bytes(b"")
    loaded = []

    def load(name):
        if name.endswith(".a"):
            raise OSError(f"{name}: invalid ELF header")
        loaded.append(name)
        return object()

    monkeypatch.setattr(nvrtc.ctypes, "CDLL", load)
    assert nvrtc._library(str(tmp_path / "libnvrtc.so.12")) is not None
    assert {name.rpartition("libnvrtc")[2] for name in loaded} == {".so.12", "-builtins.so.12.4"}


@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90", "sm_100"])
def test_the_source_compiles(architecture):
    """By the real compiler, if it is installed: `pip install nvidia-cuda-nvrtc`."""
    try:
        code = nvrtc.compiled(fused_histogram.source(), architecture, "13.0")
    except nvrtc.KernelError as error:
        if "cannot open shared object file" not in str(error):
            raise
        pytest.skip("no NVRTC of CUDA 13")
    assert code[1:4] == b"ELF"
    with pytest.raises(nvrtc.KernelError, match=r'identifier "nonsense" is undefined'):
        nvrtc.compiled("__global__ void f() { nonsense; }", architecture, "13.0")


def test_a_variable_turns_the_kernels_off(device, monkeypatch):
    monkeypatch.setenv("TBQ_CUDA_KERNELS", "0")
    code = "from tbq.write.cuda import fused_histogram; print(fused_histogram.general_only)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n" and not fused_histogram.general_only
    tensor = torch.randn(3 * TILE)
    with emulated():
        assert fused_histogram.ready(tensor.device, "float32")
        with_kernels = counts(tensor)
        monkeypatch.setattr(fused_histogram, "general_only", True)
        monkeypatch.setattr(fused_histogram, "_launched", None)  # a call of it would fail
        assert not fused_histogram.ready(tensor.device, "float32")
        assert counts(tensor) == with_kernels == on_host(tensor)
    monkeypatch.setattr(fused_histogram, "_compilation", None)
    fused_histogram.expect(torch.device("cuda:0"))  # compiles nothing
    with pytest.raises(nvrtc.KernelError, match="turned off"):
        fused_histogram.expect(torch.device("cuda:0"), wait=True)
