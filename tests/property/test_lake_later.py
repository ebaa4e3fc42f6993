"""A later record may change rows that a lake has: after any appends and syncs, every table equals that of the log."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import eventfile as ef
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lakes import assert_same
from livelog import META, Append, Event, LiveLog, New, tensor_of
from profiles import examples
from protos import hparams_value, session_end, session_start

import tbq
import tbq.lake
from tbq.errors import TbqError

pytestmark = pytest.mark.filterwarnings("ignore::tbq.TbqWarning")


def experiment() -> bytes:
    """The metrics and domains that an experiment declares."""
    from tensorboard.plugins.hparams import api_pb2

    about = api_pb2.Experiment()
    about.hparam_infos.add(name="lr", type=api_pb2.DATA_TYPE_FLOAT64, display_name="rate")
    about.metric_infos.add().name.tag = "loss"
    made: bytes = hparams_value("experiment", experiment=about).SerializeToString()
    return made


def layout(chart: str) -> bytes:
    """A layout of custom scalars."""
    from tensorboard.plugins.custom_scalar import layout_pb2

    about = layout_pb2.Layout()
    category = about.category.add(title="c")
    category.chart.add(title=chart).multiline.tag.append("loss")
    text = ef.tensor("string", [about.SerializeToString()])
    return ef.value("custom_scalars__config__", text, ef.metadata("custom_scalars"))


def keras_model(layers: int) -> bytes:
    every = [{"class_name": "Dense", "config": {"name": f"d{i}"}} for i in range(layers)]
    text = json.dumps({"class_name": "Sequential", "config": {"layers": every}}).encode()
    return ef.value("keras", ef.tensor("string", [text]), ef.metadata("graph_keras_model"))


@st.composite
def described(draw: st.DrawFn) -> bytes:
    """A tensor of any plugin, whose metadata may come later, or change."""
    kind = draw(st.sampled_from(list(META)))
    tag = draw(st.sampled_from([kind, kind, "mixed"]))
    plugin = {"tensors": "tensor", "others": "my_plugin", "texts": "text"}.get(kind, kind)
    about = draw(
        st.sampled_from(
            [
                b"",
                META[kind],
                ef.metadata(plugin, display_name="shown"),
                ef.metadata(plugin, description="words", content=b"\x08\x01"),
                ef.metadata(None, display_name="only a name"),
            ]
        )
    )
    return ef.value(tag, tensor_of(kind, 4), about)


def mesh(config: bytes, tag: str = "m_VERTEX") -> bytes:
    return ef.value(
        tag,
        ef.tensor("float32", [0.0] * 3, dims=(1, 1, 3)),
        ef.metadata("mesh", content=config) if config else b"",
    )


NUMBERS = st.sampled_from([0.0, 1.0, float("nan")])
VALUES = st.one_of(
    st.builds(lambda tag, x: ef.value(tag, ef.float_field(2, x)), st.sampled_from(["loss", "acc", "mixed"]), NUMBERS),
    st.sampled_from([1, 2, 0]).map(lambda status: session_end(status).SerializeToString()),
    st.builds(
        lambda lr, group: session_start({"lr": lr, "name": "x"}, group).SerializeToString(),
        st.sampled_from([0.1, 0.2]), st.sampled_from(["", "g"]),
    ),
    st.builds(experiment),
    st.sampled_from(["a", "b"]).map(layout),
    st.integers(1, 2).map(keras_model),
    st.sampled_from([b"", b"\x0a\x04name", b"\x18\x01\x2a\x02{}"]).map(mesh),
    described(),
    described(),
    st.just(ef.value("old/histogram", ef.bytes_field(5, [ef.double_field(1, 0.0), ef.double_field(6, 1.0)]))),
    st.just(ef.value("old/image", ef.bytes_field(4, ef.bytes_field(4, b"\x89PNG")))),
    st.just(ef.value("old/audio", ef.bytes_field(6, ef.bytes_field(4, b"RIFF")))),
)  # fmt: skip


class Plain(Event):
    """An event that may hold something other than a summary."""

    def payload(self, wall: float) -> bytes:
        if self.what in ("version", "start", "log", "graph", "summary"):
            return super().payload(wall)
        fields = {
            "run_metadata": ef.bytes_field(8, ef.bytes_field(1, "first") + ef.bytes_field(2, b"\x0a\x00")),
            "meta_graph": ef.bytes_field(9, b"\x12\x00"),
            "writer": ef.bytes_field(10, ef.bytes_field(1, "a writer")),
        }
        return ef.event(fields[self.what], step=self.step, wall=wall)


EVENTS = st.builds(
    Plain,
    st.sampled_from(
        ["summary"] * 14 + ["version", "start", "log", "graph", "run_metadata", "meta_graph", "writer"]
    ),
    st.integers(0, 4),
    st.lists(VALUES, min_size=1, max_size=2).map(tuple),
)
OPERATIONS = st.one_of(
    st.builds(New, st.integers(0, 1), st.integers(1, 3), st.sampled_from([0.25, 10.0, -3.0])),
    *[
        st.builds(
            Append, st.integers(0, 3), st.lists(EVENTS, min_size=1, max_size=4), st.sampled_from([0.25, 10.0, -3.0]),
            st.sampled_from([0.0, 0.0, 0.3, 0.8]), st.none(),
        )
    ] * 5,
)  # fmt: skip


@pytest.mark.long
@examples(40)
@given(st.lists(st.tuples(OPERATIONS, st.booleans()), min_size=1, max_size=14))
def test_later_records_change_earlier_rows(
    tmp_path_factory: pytest.TempPathFactory, operations: list[tuple[Any, bool]]
) -> None:
    folder = tmp_path_factory.mktemp("lake")
    log, lake = LiveLog(folder / "log"), folder / "lake"
    try:
        log.apply(New(0, 1, 0.25))
        for number, (operation, synced) in enumerate(operations, 1):
            log.apply(operation)
            if synced or number == len(operations):
                tbq.lake.sync(log.root, lake)
                assert_same(lake, log.root)
                assert _told(tbq.open(lake)) == _told(tbq.open(log.root))
    finally:
        shutil.rmtree(folder)


def _told(log: tbq.LogDir) -> Any:
    """Results that combine several tables: one row per run, and times since each run began."""
    try:
        summary = log.summary().to_dicts()
        seconds = log.scan(relative_time=True).read_all().to_pylist()
    except TbqError as failure:
        return type(failure)
    return repr((summary, seconds))


def appended(path: Path, *values: Any, wall: float) -> None:
    with path.open("ab") as file:
        for value in values:
            file.write(ef.record(ef.event(ef.summary(value.SerializeToString()), wall=wall)))


@pytest.mark.parametrize("files", [1, 2])
@pytest.mark.parametrize("end_first", [False, True])
def test_a_run_that_ends_has_its_status(tmp_path: Path, files: int, end_first: bool) -> None:
    log, lake = tmp_path / "log", tmp_path / "lake"
    log.mkdir()
    paths = [log / f"events.out.tfevents.{number}.h" for number in range(files)]
    for number, path in enumerate(paths):
        path.write_bytes(ef.record(ef.version(100.0 + number)))
    both = [session_start({"lr": 0.1}), session_end(1)]
    appended(paths[0], both[end_first], wall=110.0)
    tbq.lake.sync(log, lake)
    assert_same(lake, log)
    appended(paths[-1], both[not end_first], wall=120.0)
    tbq.lake.sync(log, lake)
    assert_same(lake, log)
    assert tbq.open(lake).hparams()["status"].tolist() == ["success"]
    assert tbq.open(lake).summary().to_dicts() == tbq.open(log).summary().to_dicts()
    appended(paths[-1], session_end(2), wall=130.0)
    tbq.lake.sync(log, lake)
    assert_same(lake, log)
