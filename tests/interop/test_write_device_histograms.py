"""Histograms of torch tensors on a device: the same as on the host, counted without waiting."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from devices import FLOATS, INTEGERS, both, counts, on_host, shared, strided
from hypothesis import given
from hypothesis import strategies as st

import tbq
from tbq.errors import TbqWarning, UsageError
from tbq.write import device_histogram, histogram, tally
from tbq.write.cuda import fused_histogram

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
    fused=st.booleans(),
)
@shared
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of sums of infinities on the host
def test_histograms_are_those_of_the_host(device, values, dtype, piece, large, norms, fused):
    """In pieces or not, by the path for large tensors or not, with an old torch or not, by kernels if available."""
    tensor = torch.tensor([*values, 1.0], dtype=torch.float64).to(dtype).to(device)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_histogram, "PIECE", piece)
        patch.setattr(device_histogram, "LARGE_PIECE", piece)
        patch.setattr(device_histogram, "LARGE", large)
        patch.setattr(device_histogram, "_has_norms", lambda torch: norms)
        patch.setattr(fused_histogram, "general_only", not fused)
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
    for tensor in strided(device):
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
