"""The sequences of EventAccumulator behave like lists, and convert like arrays."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from protolog import event, header, metadata, number, scalar, tensor_value, write

from tbq.compat.event_accumulator import EventAccumulator, ScalarEvent, TensorEvent

EVENTS = [ScalarEvent(1000.0 + step, step, step / 4) for step in (3, 1, 2, 1)]


@pytest.fixture(scope="module")
def accumulator(tmp_path_factory: pytest.TempPathFactory) -> EventAccumulator:
    folder = tmp_path_factory.mktemp("run")
    records = [scalar("loss", each.step, each.value, each.wall_time) for each in EVENTS]
    tensors = [event(step, 5.0, tensor_value("t", number(step))) for step in (3, 1, 2)]
    write(folder, header(), *records, scalar("nan", 1, float("nan")), *tensors)
    return EventAccumulator(str(folder), purge_orphaned_data=False).Reload()


CALLS: list[Callable[[Any], Any]] = [
    len, list, tuple, bool, repr, str, sorted, max, min,
    lambda it: it[0], lambda it: it[-1], lambda it: it[np.int64(1)], lambda it: it[True], lambda it: it[9],
    lambda it: list(it[1:3]), lambda it: list(it[::-1]), lambda it: it[5:] == [], lambda it: list(reversed(it)),
    lambda it: [each.value for each in it], lambda it: list(zip(*it, strict=True)), lambda it: list(enumerate(it)),
    lambda it: it == EVENTS, lambda it: EVENTS == it,  # noqa: SIM300 - from both sides
    lambda it: it != EVENTS, lambda it: it == EVENTS[:2],
    lambda it: it == tuple(EVENTS), lambda it: it == None, lambda it: it == 3,  # noqa: E711
    lambda it: it + EVENTS, lambda it: EVENTS + it, lambda it: it + it, lambda it: it * 2,
    lambda it: sum([it, it], []),  # noqa: RUF017 - as scripts do
    lambda it: EVENTS[0] in it, lambda it: "x" in it,
    lambda it: it.index(EVENTS[1]), lambda it: it.index("x"), lambda it: it.count(EVENTS[1]),
    lambda it: it.sort(key=lambda each: each.step) or list(it), lambda it: it.reverse() or list(it),
    lambda it: it.append(EVENTS[0]) or list(it), lambda it: it.extend(EVENTS) or list(it),
    lambda it: it.clear() or len(it),
    lambda it: (it.pop(), list(it)), lambda it: (it.pop(0), list(it)), lambda it: it.remove(EVENTS[1]) or list(it),
    lambda it: it.insert(1, EVENTS[3]) or list(it), lambda it: it.copy() == it, lambda it: hash(it),
    lambda it: it.__delitem__(0) or list(it), lambda it: it.__setitem__(0, EVENTS[3]) or list(it),
    lambda it: list(pickle.loads(pickle.dumps(it))), lambda it: list(copy.deepcopy(it)),
    lambda it: {"a": it}["a"] is it,
    lambda it: isinstance(it, list), lambda it: isinstance(it, tuple), lambda it: isinstance(it, Sequence),
    lambda it: [*it, *it], lambda it: max(it, key=lambda each: each.value),
]  # fmt: skip


def outcome(call: Callable[[Any], Any], value: Any) -> Any:
    try:
        return call(value)
    except Exception as error:
        return type(error)


def test_scalars_are_a_list(accumulator: EventAccumulator) -> None:
    for place, call in enumerate(CALLS):
        expected = outcome(call, list(EVENTS))
        found = outcome(call, accumulator.Scalars("loss"))
        assert found == expected, f"CALLS[{place}]"
        assert type(found) is type(expected), f"CALLS[{place}]"
        assert list(accumulator.Scalars("loss")) == EVENTS  # each call gives a list of its own


def test_tensors_are_a_list(accumulator: EventAccumulator) -> None:
    for place, call in enumerate(CALLS):
        if call not in (sorted, max, min):
            expected = outcome(call, list(accumulator.Tensors("t")))
            assert outcome(call, accumulator.Tensors("t")) == expected, f"CALLS[{place}]"


def test_events_are_tuples_and_dataclasses(accumulator: EventAccumulator) -> None:
    first = accumulator.Scalars("loss")[0]
    assert type(first) is ScalarEvent
    assert [type(each) for each in first] == [float, int, float]
    wall_time, step, value = first
    assert dataclasses.asdict(first) == {"wall_time": wall_time, "step": step, "value": value}
    assert [field.name for field in dataclasses.fields(first)] == list(first._fields)
    assert [field.type for field in dataclasses.fields(first)] == [float, int, float]
    assert vars(first) == first.__dict__ == dataclasses.asdict(first)
    assert pickle.loads(pickle.dumps(first)) == first == copy.copy(first)
    assert dataclasses.replace(first, step=9).step == first._replace(step=9).step == 9
    assert first == ScalarEvent(wall_time=1003, step=3, value=0.75)
    assert type(accumulator.Tensors("t")[0]) is TensorEvent
    with pytest.raises(AttributeError):
        first.step = 3  # type: ignore[misc]


def test_libraries_take_the_columns(accumulator: EventAccumulator) -> None:
    events = accumulator.Scalars("loss")
    for frame in (pd.DataFrame(events), pd.DataFrame(list(events))):
        assert list(frame.columns) == ["wall_time", "step", "value"]
        assert list(map(str, frame.dtypes)) == ["float64", "int64", "float64"]
        assert list(frame.itertuples(index=False, name=None)) == EVENTS
    assert pl.DataFrame(events).rows() == EVENTS
    records = np.array(events)
    assert type(records) is np.ndarray
    assert records["value"].tolist() == [each.value for each in EVENTS]
    assert [record.step for record in records] == [each.step for each in EVENTS]
    assert np.asarray(events)["step"].dtype == np.int64


def test_a_list_with_nan_is_equal_to_itself(accumulator: EventAccumulator) -> None:
    assert accumulator.Scalars("nan") == accumulator.Scalars("nan")
    assert accumulator.Scalars("nan") != accumulator.Scalars("loss")


@given(
    st.lists(
        st.tuples(
            st.floats(allow_nan=False), st.integers(-(2**63), 2**63 - 1), st.floats(width=32, allow_nan=False)
        )
    )
)
def test_any_numbers_come_back(
    tmp_path_factory: pytest.TempPathFactory, points: list[tuple[float, int, float]]
) -> None:
    folder = tmp_path_factory.mktemp("run")
    write(folder, header(), *(scalar("x", step, value, wall) for wall, step, value in points))
    accumulator = EventAccumulator(str(folder)).Reload()
    if points:
        assert accumulator.Scalars("x") == [ScalarEvent(*point) for point in points]


def test_a_snapshot_stays_as_it_was(tmp_path: Path) -> None:
    path = write(tmp_path, header(), scalar("x", 1, 1.0), event(1, 5.0, tensor_value("t", number(1.0))))
    accumulator = EventAccumulator(str(tmp_path)).Reload()
    scalars, tensors = accumulator.Scalars("x"), accumulator.Tensors("t")
    with path.open("ab") as file:
        file.write(scalar("x", 2, 2.0) + event(2, 5.0, tensor_value("t", number(2.0))))
    accumulator.Reload()
    assert (len(scalars), len(tensors)) == (1, 1)
    assert (len(accumulator.Scalars("x")), len(accumulator.Tensors("t"))) == (2, 2)


def test_metadata_is_a_dictionary(tmp_path: Path) -> None:
    value = tensor_value("t", number(1.0), "mine", b"content")
    assert value.metadata == metadata("mine", b"content")
    write(tmp_path, header(), event(1, 5.0, value))
    accumulator = EventAccumulator(str(tmp_path)).Reload()
    assert accumulator.summary_metadata["t"].plugin_data.content == b"content"
    assert accumulator.AllSummaryMetadata() == {"t": value.metadata}
    assert accumulator.Tags()["tensors"] == ["t"]
    accumulator.Tags()["tensors"].remove("t")
    assert accumulator.Tags()["tensors"] == ["t"]
