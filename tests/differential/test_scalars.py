"""Scalars of any writer, value by value against TensorBoard's loaders with sampling off."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import oracles
import pytest

import tbq

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NUMBERS = [0.0, -0.0, 0.1, 1e-45, 3.4e38, -7.25, math.nan, math.inf, -math.inf, 1 / 3]


def with_tensorboardx(folder: Path) -> None:
    import tensorboardX

    with tensorboardX.SummaryWriter(str(folder)) as writer:
        for step, number in enumerate(NUMBERS * 30):
            writer.add_scalar("loss/train", number, step, walltime=1e9 + step)
            if step % 3 == 0:
                writer.add_scalar("lr", np.float64(number), step)
        writer.add_scalar("late", 1.0, 2**40)
        writer.add_scalar("negative", 1.0, -5)
        writer.add_text("words", "# hello", 1)
        writer.add_histogram("weights", np.arange(100.0), 1)
        writer.add_image("image", np.zeros((3, 40, 60), np.uint8), 1)


def with_tensorboardx_summaries(folder: Path) -> None:
    import tensorboardX

    with tensorboardX.SummaryWriter(str(folder)) as writer:
        for step in range(20):
            writer.add_scalar("shown", step / 3, step, display_name="other", summary_description="words")
            writer.add_scalar("plain", -step, step)


def with_event_file_writer(folder: Path) -> None:
    """TensorBoard's own writer of events, fed with what TF1 and TF2 make."""
    from tensorboard.compat.proto.event_pb2 import Event, SessionLog
    from tensorboard.plugins.scalar.summary_v2 import scalar_pb
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(folder))
    for step, number in enumerate(NUMBERS * 5):
        held = scalar_pb("v2/loss", number)
        writer.add_event(Event(wall_time=2e9 + step, step=step, summary=held))
        old = Event(wall_time=2e9 + step, step=step)
        old.summary.value.add(tag="v1/loss", simple_value=number)
        old.summary.value.add(tag="v1/acc", simple_value=step)
        writer.add_event(old)
    writer.add_event(Event(wall_time=3e9, step=9, session_log=SessionLog(status=SessionLog.STOP)))
    writer.close()


def with_summary_writer(folder: Path) -> None:
    """`tensorboard.summary.Writer`, which needs no TensorFlow."""
    from tensorboard.summary import Writer

    writer = Writer(str(folder))
    for step, number in enumerate(NUMBERS * 5):
        writer.add_scalar("loss", np.float32(number), step, wall_time=1.5e9 + step, description="words")
    writer.close()


def with_summary_pb(folder: Path) -> None:
    """Scalars of every dtype that TensorBoard's tensors have, with their metadata on the first event only."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.plugins.scalar import metadata
    from tensorboard.summary.writer.event_file_writer import EventFileWriter
    from tensorboard.util import tensor_util

    writer = EventFileWriter(str(folder))
    dtypes = [
        np.float16,
        np.float32,
        np.float64,
        np.int8,
        np.int16,
        np.int32,
        np.int64,
        np.uint8,
        np.uint16,
        np.bool_,
    ]
    for dtype in dtypes:
        for step in range(4):
            for shape in ((), (1,), (1, 1)):
                event = Event(wall_time=1e9 + step, step=step)
                tensor = tensor_util.make_tensor_proto(np.full(shape, step + 0.5).astype(dtype))
                value = event.summary.value.add(tag=f"{np.dtype(dtype).name}/{len(shape)}", tensor=tensor)
                if step == 0:
                    value.metadata.CopyFrom(metadata.create_summary_metadata("shown", "words"))
                writer.add_event(event)
    writer.close()


WRITERS: list[Callable[[Path], None]] = [
    with_tensorboardx,
    with_tensorboardx_summaries,
    with_event_file_writer,
    with_summary_writer,
    with_summary_pb,
]


@pytest.fixture(scope="module", params=WRITERS, ids=lambda writer: writer.__name__)
def run(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    request.param(folder)
    return folder


def test_scalars_are_those_of_the_event_file_loader(run: Path) -> None:
    want = oracles.scalars_of_files(run)
    assert want
    log = tbq.open(run)
    assert oracles.by_tag(log.scalars().to_arrow()) == want
    assert [problem for problem in log.problems if problem.severity != "info"] == []


def test_scalars_are_those_of_the_event_accumulator(run: Path) -> None:
    assert oracles.by_tag(tbq.open(run).scalars().to_arrow()) == oracles.scalars_of_accumulator(run)


def test_series_and_tags_agree_with_the_table(run: Path) -> None:
    want = oracles.scalars_of_files(run)
    log = tbq.open(run)
    counts = {
        row["tag"]: row["count"] for row in log.tags().to_arrow().to_pylist() if row["kind"] == "scalars"
    }
    assert counts == {tag: len(points) for tag, points in want.items()}
    for tag, points in list(want.items())[:5]:
        series = log.series(tag)
        assert series.steps.tolist() == [point[0] for point in points]
        assert series.wall_times.tolist() == [point[1] for point in points]
        np.testing.assert_array_equal(series.values, [point[2] for point in points])


def test_everything_else_is_counted_by_its_kind(tmp_path: Path) -> None:
    with_tensorboardx(tmp_path)
    kinds = {row["tag"]: row["kind"] for row in tbq.open(tmp_path).tags().to_arrow().to_pylist()}
    assert kinds["words/text_summary"] == "texts"
    assert kinds["weights"] == "histograms"
    assert kinds["image"] == "images"
    assert kinds["loss/train"] == "scalars"
