"""Everything that is logged is read back, equal and in order; histograms have the same bins as NumPy's."""

from __future__ import annotations

import tempfile
import warnings

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from profiles import examples

import tbq
from tbq import _core
from tbq.write.histogram import default_edges

TAGS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
STEPS = st.integers(-(2**63), 2**63 - 1)
NUMBERS = st.one_of(st.floats(width=32), st.integers(-(2**24), 2**24), st.booleans())


@examples(60)
@given(
    st.lists(st.tuples(STEPS, st.floats(0, 2**33), st.dictionaries(TAGS, NUMBERS, max_size=40)), max_size=20)
)
def test_scalars_read_back(read_events, logged):
    with tempfile.TemporaryDirectory() as directory, warnings.catch_warnings():
        warnings.simplefilter("ignore", tbq.TbqWarning)
        with tbq.SummaryWriter(directory) as writer:
            for step, wall_time, metrics in logged:
                if len(metrics) == 1:
                    ((tag, value),) = metrics.items()
                    writer.add_scalar(tag, value, step, wall_time)
                else:
                    writer.log(metrics, step, wall_time)
        events = read_events(directory)[1:]
    want = [(step, wall_time, metrics) for step, wall_time, metrics in logged if metrics]
    assert len(events) == len(want)
    for event, (step, wall_time, metrics) in zip(events, want, strict=True):
        assert (event.step, event.wall_time) == (step, wall_time)
        got = {value.tag: value.simple_value for value in event.summary.value}
        assert list(got) == list(metrics)
        np.testing.assert_array_equal(list(got.values()), np.array(list(metrics.values()), dtype=np.float32))


@examples(100)
@given(
    hnp.arrays(
        st.sampled_from([np.float32, np.float64]),
        st.integers(1, 200),
        elements={"allow_nan": False, "allow_infinity": False},
    )
)
def test_default_bins_count_as_numpy_does(values):
    counter = _core.default_histogram_f32 if values.dtype == np.float32 else _core.default_histogram_f64
    low, high, _, _, packed = counter(values)
    counts, _ = np.histogram(values.astype(np.float64), default_edges())
    assert np.frombuffer(packed, dtype=np.int64).tolist() == counts.tolist()
    assert (low, high) == (values.min(), values.max())


@examples(50)
@given(st.lists(st.binary(max_size=50), max_size=10), st.data())
def test_any_cut_of_a_file_leaves_its_whole_records(payloads, data):
    records = [_core.frame(payload) for payload in payloads]
    whole = b"".join(records)
    cut = data.draw(st.integers(0, len(whole)))
    ends = [sum(map(len, records[:i])) for i in range(len(records) + 1)]
    assert _core.whole_records(whole, cut) == max(end for end in ends if end <= cut)


@examples(25)
@given(
    st.dictionaries(
        TAGS,
        st.lists(
            st.tuples(st.floats(0, 2**33), st.one_of(st.floats(), st.integers(-(2**53), 2**53))), min_size=1
        ),
        min_size=1,
        max_size=5,
    ),
    st.booleans(),
)
def test_scalars_read_back_through_tbq(logged, exact):
    with tempfile.TemporaryDirectory() as directory:
        with tbq.SummaryWriter(directory, exact=exact) as writer:
            for tag, points in logged.items():
                for step, (wall_time, value) in enumerate(points):
                    writer.add_scalar(tag, value, step, wall_time)
        log = tbq.open(directory)
        table = log.scalars().to_arrow()
        assert list(log.problems) == []
    rows = list(
        zip(*(table[name].to_pylist() for name in ("tag", "step", "wall_time", "value")), strict=True)
    )
    dtype = np.float64 if exact else np.float32
    with np.errstate(over="ignore"):
        want = {
            tag: [(step, wall, float(dtype(value))) for step, (wall, value) in enumerate(points)]
            for tag, points in logged.items()
        }
    for tag, points in want.items():
        got = [row[1:] for row in rows if row[0] == tag]
        np.testing.assert_array_equal(np.array(got), np.array(points))
    assert len(rows) == sum(map(len, want.values()))
