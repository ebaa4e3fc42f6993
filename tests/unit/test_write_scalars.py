"""add_scalar, log, add_scalars, step(): what is in the file, and the warnings about steps."""

from __future__ import annotations

import math
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import tbq
from tbq.errors import TbqWarning, UsageError


def summaries(events):
    return [
        (value.tag, event.step, value.simple_value)
        for event in events
        for value in event.summary.value
        if value.HasField("simple_value")
    ]


def test_scalars_are_in_the_file(tmp_path, read_events):
    with tbq.SummaryWriter(tmp_path) as writer:
        for step in range(-2, 300):
            writer.add_scalar("loss", step / 4, step, walltime=1000.0 + step)
    events = read_events(tmp_path)
    assert events[0].file_version == "brain.Event:2"
    assert events[0].source_metadata.writer == "tbq"
    assert summaries(events) == [("loss", step, step / 4) for step in range(-2, 300)]
    assert [event.wall_time for event in events[1:]] == [1000.0 + step for step in range(-2, 300)]


@pytest.mark.parametrize(
    "value",
    [
        1.5,
        True,
        3,
        np.float32(1.5),
        np.float16(1.5),
        np.int64(7),
        np.bool_(True),
        np.array(2.5),
        np.array([[2.5]], dtype=np.float32),
        Decimal("1.25"),
        Fraction(1, 2),
        0,
        -0.0,
        math.inf,
        -math.inf,
    ],
)
def test_anything_that_is_one_number(tmp_path, read_events, value):
    want = float(np.asarray(value, dtype=float).reshape(()))
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("x", value, 1)
        writer.log({"y": value, "z": 1.0}, 1)
    assert summaries(read_events(tmp_path)) == [("x", 1, want), ("y", 1, want), ("z", 1, 1.0)]


def test_nan_is_a_value(tmp_path, read_events):
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("x", math.nan, 1)
    ((_, _, value),) = summaries(read_events(tmp_path))
    assert math.isnan(value)


@pytest.mark.parametrize(
    "step", [5, 5.0, np.int32(5), np.float64(5), np.array(5), np.array([5]), np.uint8(5)]
)
def test_steps_are_whole_numbers_of_any_kind(tmp_path, read_events, step):
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("x", 1.0, step)
        writer.log({"y": 1.0}, step)
        writer.add_text("z", "text", step)
    assert [event.step for event in read_events(tmp_path)[1:]] == [5, 5, 5]


def test_log_is_one_event(tmp_path, read_events):
    metrics = {f"metric {i}": i / 2 for i in range(50)}
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.log(metrics, 3)
        writer.log({}, 3)
    events = read_events(tmp_path)
    assert len(events) == 2
    assert summaries(events) == [(tag, 3, value) for tag, value in metrics.items()]


def test_exact_keeps_float64_and_int64(tmp_path, read_events):
    big = 2**53 + 1
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("float", 0.1, 1, exact=True)
        writer.add_scalar("int", big, 1, exact=True)
        writer.log({"min": -(2**63), "pi": math.pi}, 1, exact=True)
    with tbq.SummaryWriter(tmp_path / "all", exact=True) as writer:
        writer.add_scalar("float", 0.1, 1)
        writer.add_scalar("plain", 0.1, 1, exact=False)
    values = {v.tag: v for e in read_events(tmp_path) for v in e.summary.value}
    assert list(values["float"].tensor.double_val) == [0.1]
    assert list(values["int"].tensor.int64_val) == [big]
    assert list(values["min"].tensor.int64_val) == [-(2**63)]
    assert list(values["pi"].tensor.double_val) == [math.pi]
    assert all(v.metadata.plugin_data.plugin_name == "scalars" for v in values.values())
    first, plain = (v for e in read_events(tmp_path / "all") for v in e.summary.value)
    assert list(first.tensor.double_val) == [0.1]
    assert plain.simple_value == np.float32(0.1)


def test_add_scalars_is_a_run_a_line(tmp_path, read_events):
    with tbq.SummaryWriter(tmp_path) as writer:
        for step in range(3):
            writer.add_scalars("loss/all", {"train": 1.0, "val": 2.0}, step)
    assert summaries(read_events(tmp_path)) == []
    for line, value in (("train", 1.0), ("val", 2.0)):
        assert summaries(read_events(tmp_path / f"loss_all_{line}")) == [
            ("loss/all", s, value) for s in range(3)
        ]


def test_add_scalars_in_one_run(tmp_path, read_events):
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_scalars("loss", {"train": 1.0, "val": 2.0}, 4, run_name=".")
    assert summaries(read_events(tmp_path)) == [("loss/train", 4, 1.0), ("loss/val", 4, 2.0)]
    assert [path.is_file() for path in tmp_path.iterdir()] == [True]


def test_step_stamps_what_is_logged_inside(tmp_path, read_events):
    with tbq.SummaryWriter(tmp_path) as writer, tbq.SummaryWriter(tmp_path / "other") as other:
        with writer.step(7, walltime=99.0):
            writer.add_scalar("a", 1.0)
            writer.log({"b": 1.0})
            writer.add_text("c", "text")
            writer.add_graph(b"")
            writer.add_scalar("d", 1.0, 8)
            other.add_scalar("a", 1.0)
        writer.add_scalar("e", 1.0)
    events = read_events(tmp_path)[1:]
    assert [event.step for event in events] == [7, 7, 7, 7, 8, 0]
    assert [event.wall_time for event in events[:5]] == [99.0] * 5
    assert read_events(tmp_path / "other")[1].step == 0


def test_steps_that_go_back_or_stand_still_are_told_once_a_tag(tmp_path):
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("back", 1.0, 10)
        with pytest.warns(TbqWarning, match=r"'back': the step decreased from 10 to 9") as caught:
            writer.add_scalar("back", 1.0, 9)
        assert caught[0].filename == __file__
        writer.add_scalar("back", 1.0, 8)
        writer.add_scalar("still", 1.0, 5)
        with pytest.warns(TbqWarning, match=r"'still': step 5 was logged twice"):
            writer.log({"still": 2.0}, 5)
        writer.add_scalar("still", 3.0, 5)
        writer.add_scalar("forgotten", 1.0)
        with pytest.warns(TbqWarning, match=r"'forgotten': step 0 was logged twice; pass a global_step"):
            writer.add_scalar("forgotten", 1.0)


def test_a_growing_step_says_nothing(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with tbq.SummaryWriter(tmp_path) as writer:
            for step in (-5, 0, 1, 100):
                writer.add_scalar("a", 1.0, step)
                writer.add_histogram("h", [1.0], step)


def test_logging_after_close_says_so(tmp_path):
    writer = tbq.SummaryWriter(tmp_path)
    writer.close()
    writer.close()
    writer.flush()
    for call in (
        lambda: writer.add_scalar("a", 1.0, 1),
        lambda: writer.log({"a": 1.0}, 1),
        lambda: writer.add_text("a", "b", 1),
        lambda: writer.add_hparams({"a": 1}, {}, run_name="."),
    ):
        with pytest.raises(UsageError, match="this SummaryWriter is closed") as caught:
            call()
        assert caught.value.code == "closed"


def test_tensorboardx_display_name(tmp_path, read_events):
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("a", 1.0, 1, display_name="name", summary_description="words")
    (value,) = read_events(tmp_path)[1].summary.value
    assert (value.metadata.display_name, value.metadata.summary_description) == ("name", "words")
    assert value.simple_value == 1.0


def test_nothing_on_disk_when_asked(tmp_path):
    with tbq.SummaryWriter(tmp_path / "run", write_to_disk=False) as writer:
        writer.add_scalar("a", 1.0, 1)
        writer.add_scalars("b", {"c": 1.0}, 1)
        writer.flush()
    assert list(tmp_path.iterdir()) == []
