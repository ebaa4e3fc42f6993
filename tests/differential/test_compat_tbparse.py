"""The SummaryReaders of tbparse and tbq give the same frames, for any log."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from profiles import examples
from protolog import event, header, number, scalar, strings, tensor_value, write
from tensorboard.compat.proto import summary_pb2, types_pb2
from tensorboard.plugins.hparams import plugin_data_pb2

from tbq.compat.tbparse import SummaryReader

KINDS = (
    "scalars",
    "tensors",
    "histograms",
    "text",
    "hparams",
)  # tbparse needs TensorFlow for images and audio
EXTRAS = ("wall_time", "dir_name", "file_name", "min", "max", "num", "sum", "sum_squares")
pytestmark = pytest.mark.filterwarnings("ignore")  # what tbparse does with pandas


@pytest.fixture(scope="module")
def tbparse() -> Iterator[Any]:
    """tbparse as if TensorFlow were not installed, so that it is not imported for nothing."""
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "tbparse"}
    absent = "tensorflow" not in sys.modules
    if absent:
        sys.modules["tensorflow"] = None  # type: ignore[assignment]
    import tbparse

    yield tbparse
    if absent:
        del sys.modules["tensorflow"]
    sys.modules.update(before)


@st.composite
def records(draw: st.DrawFn) -> bytes:
    kind = draw(
        st.sampled_from(["scalar"] * 4 + ["tensor", "vector", "histogram", "text", "torch text", "hparams"])
    )
    tag = draw(st.sampled_from(["loss", "acc", "x/y"]))
    step = draw(st.integers(0, 4))
    wall = draw(st.sampled_from([1.0, 2.5, 1.7e9]))
    if kind == "scalar":
        return scalar(tag, step, draw(st.sampled_from([0.5, 1.0, float("nan"), float("inf")])), wall)
    if kind == "tensor":
        value = tensor_value(
            f"t/{tag}", number(draw(st.sampled_from([0.25, 3.0])), draw(st.sampled_from([1, 2]))), "scalars"
        )
    elif kind == "vector":
        tensor = number(1.0)
        tensor.float_val.append(2.0)
        tensor.tensor_shape.dim.add().size = 2
        value = tensor_value(f"v/{tag}", tensor)
    elif kind == "histogram":
        value = summary_pb2.Summary.Value(tag=tag)
        value.histo.CopyFrom(
            summary_pb2.HistogramProto(
                min=0, max=2, num=3, sum=4, sum_squares=5, bucket_limit=[1, 2], bucket=[1, 2]
            )
        )
    elif kind in ("text", "torch text"):
        value = tensor_value(tag if kind == "text" else f"{tag}/text_summary", strings(b"words"), "text")
    else:
        data = plugin_data_pb2.HParamsPluginData()
        data.session_start_info.hparams["lr"].number_value = draw(st.sampled_from([0.1, 0.2]))
        data.session_start_info.hparams["opt"].string_value = draw(st.sampled_from(["sgd", "adam"]))
        value = tensor_value("_hparams_/session_start_info", None, "hparams", data.SerializeToString())
    return event(step, wall, value)


LOGS = st.dictionaries(
    st.sampled_from(["a.tfevents", "b.tfevents", "one/a.tfevents", "one/b.tfevents", "two/x/a.tfevents"]),
    st.lists(records(), max_size=12),
    max_size=4,
)


@pytest.mark.long
@examples(60, HealthCheck.function_scoped_fixture)
@given(LOGS, st.booleans(), st.sets(st.sampled_from(EXTRAS), max_size=4))
def test_frames_are_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    tbparse: Any,
    logs: dict[str, list[bytes]],
    pivot: bool,
    extra: set[str],
) -> None:
    root = tmp_path_factory.mktemp("logs")
    (root / "notes.txt").write_text("x")
    (root / "empty").mkdir()
    for name, events in logs.items():
        write((root / name).parent, header(), *events, file=Path(name).name)
    options: dict[str, Any] = {"pivot": pivot, "extra_columns": extra}
    theirs, ours = tbparse.SummaryReader(str(root), **options), SummaryReader(str(root), **options)
    assert sorted(ours.children) == sorted(theirs.children)
    for kind in KINDS:
        assert (
            ours.get_tags(kind) == theirs.get_tags(kind) or kind == "hparams"
        )  # whose order is that of a hash map
        same(getattr(ours, kind), getattr(theirs, kind))
    for name in logs:
        mine, other = ours, theirs
        for part in name.split("/"):
            mine, other = mine[part], other[part]
        assert mine.raw_tags == other.raw_tags
        assert repr(mine) == repr(other)
        for kind in KINDS:
            same(mine.get_events(kind), other.get_events(kind))


def same(ours: pd.DataFrame, theirs: pd.DataFrame) -> None:
    assert list(ours.columns) == list(theirs.columns)
    assert ours.shape == theirs.shape
    assert list(ours.dtypes) == list(theirs.dtypes)
    assert ours.index.equals(theirs.index)
    for name in ours.columns:
        assert [comparable(cell) for cell in ours[name]] == [comparable(cell) for cell in theirs[name]], name


def comparable(cell: Any) -> Any:
    if isinstance(cell, np.ndarray):
        return cell.dtype, cell.tolist()
    if isinstance(cell, list):  # tbparse sorts rows of one step by an algorithm that is not stable
        return sorted(map(repr, map(comparable, cell)))
    return repr(float(cell)) if isinstance(cell, float) else cell


@pytest.mark.parametrize("pivot", [False, True])
def test_integers_beside_floats_and_vectors(
    tmp_path: Path, tbparse: Any, monkeypatch: pytest.MonkeyPatch, pivot: bool
) -> None:
    """Whether they stay integers depends on what else a file, or in a pivoted frame a tag, has."""
    from tensorboard.compat.tensorflow_stub import dtypes

    for name in ("int4", "uint4"):  # tbparse cannot read integers without them
        monkeypatch.setattr(dtypes, name, object(), raising=False)
    vector = number(1.0)
    vector.float_val.append(2.0)
    vector.tensor_shape.dim.add().size = 2
    whole, half = number(3, types_pb2.DT_INT64), number(0.5)
    for file, tags in {
        "a": {"both": [whole, vector], "whole": [whole], "half": [half]},
        "b": {"whole": [whole], "half": [half]},
        "c": {"whole": [whole]},
    }.items():
        rows = [
            event(step, 1.0, tensor_value(tag, tensor))
            for tag, tensors in tags.items()
            for step, tensor in enumerate(tensors)
        ]
        write(tmp_path / file, header(), *rows, file="x.tfevents")
    for path in (tmp_path, tmp_path / "a", tmp_path / "b", tmp_path / "c"):
        options: dict[str, Any] = {"pivot": pivot, "extra_columns": {"dir_name"}}
        ours = SummaryReader(str(path), **options).tensors
        theirs = tbparse.SummaryReader(str(path), **options).tensors
        same(ours, theirs)
        name = "both" if pivot and "both" in ours else "value" if not pivot else "whole"
        assert [type(cell) for cell in ours[name]] == [type(cell) for cell in theirs[name]]


def test_all_texts_also_without_other_kinds(tmp_path: Path, tbparse: Any) -> None:
    """tbparse keeps only the last text of a tag, unless tensors are requested too."""
    rows = [event(step, 1.0, tensor_value("t", strings(b"%d" % step), "text")) for step in range(3)]
    write(tmp_path, header(), *rows, file="x.tfevents")
    everything = SummaryReader(str(tmp_path), event_types={"text"}).text
    same(everything, tbparse.SummaryReader(str(tmp_path)).text)
    assert len(everything) == 3 > len(tbparse.SummaryReader(str(tmp_path), event_types={"text"}).text)


@pytest.mark.parametrize(
    "options",
    [
        {"extra_columns": ["step"]},
        {"extra_columns": {"x"}},
        {"event_types": ["scalars"]},
        {"event_types": {"x"}},
    ],
    ids=str,
)
def test_wrong_arguments(tmp_path: Path, tbparse: Any, options: dict[str, Any]) -> None:
    with pytest.raises((ValueError, KeyError)) as theirs:
        tbparse.SummaryReader(str(tmp_path), **options)
    with pytest.raises(theirs.type) as ours:
        SummaryReader(str(tmp_path), **options)
    assert str(ours.value) == str(theirs.value)


def test_wrong_questions(tmp_path: Path, tbparse: Any) -> None:
    path = write(tmp_path, header(), scalar("x", 1, 2.0))
    for make in (tbparse.SummaryReader, SummaryReader):
        reader = make(str(path), event_types={"scalars"})
        for call in (
            lambda reader=reader: reader.tensors,
            lambda reader=reader: reader.get_events("x"),
            lambda reader=reader: reader.get_tags("x"),
            lambda reader=reader: reader.get_raw_tags("x"),
            lambda reader=reader: reader.get_raw_events(None, "x"),
            lambda make=make: make(str(tmp_path)).raw_tags,
            lambda make=make: make(str(tmp_path)).raw_events,
            lambda make=make: make(str(tmp_path / "absent")),
        ):
            with pytest.raises(ValueError):
                call()
        with pytest.raises(KeyError):
            make(str(tmp_path))["absent"]


def test_raw_events(tmp_path: Path) -> None:
    from tbq.compat.event_accumulator import ScalarEvent, TensorEvent

    path = write(
        tmp_path, header(), scalar("x", 1, 2.0, 5.0), event(1, 5.0, tensor_value("t", strings(b"a"), "text"))
    )
    reader = SummaryReader(str(path))
    assert reader.raw_events["scalars"] == {"x": [ScalarEvent(5.0, 1, 2.0)]}
    assert type(reader.get_raw_events("scalars", "x")) is list
    assert type(reader.get_raw_events("text", "t")[0]) is TensorEvent
    assert list(reader.raw_events) == list(reader.tags)


def test_histograms_as_functions(tbparse: Any) -> None:
    """The static functions, on random histograms."""
    chance = np.random.default_rng(1)
    for _ in range(20):
        counts = np.concatenate([[0], chance.integers(0, 5, 6)])
        counts[1] += 1
        limits = np.sort(chance.normal(size=7))
        x = np.linspace(-3, 3, 11)
        for name, args in {
            "histogram_to_cdf": (counts, limits, x),
            "histogram_to_pdf": (counts, limits, x),
            "histogram_to_bins": (counts, limits),
        }.items():
            ours, theirs = getattr(SummaryReader, name)(*args), getattr(tbparse.SummaryReader, name)(*args)
            np.testing.assert_array_equal(np.array(ours), np.array(theirs))
        bins = (counts, limits, -1.0, 2.0, 7)
        assert SummaryReader.histogram_to_bins(*bins) == tbparse.SummaryReader.histogram_to_bins(*bins)
        tensor = np.stack([limits[:-1], limits[1:], counts[1:]], axis=1)
        ours, theirs = (
            SummaryReader.tensor_to_histogram(tensor),
            tbparse.SummaryReader.tensor_to_histogram(tensor),
        )
        assert repr(ours) == repr(theirs)


def _hparams(path: Path, **values: Any) -> None:
    data = plugin_data_pb2.HParamsPluginData()
    for name, value in values.items():
        kind = {bool: "bool_value", float: "number_value", str: "string_value"}[type(value)]
        setattr(data.session_start_info.hparams[name], kind, value)
    value = tensor_value("_hparams_/session_start_info", None, "hparams", data.SerializeToString())
    write(path.parent, header(), event(0, 1.0, value), file=path.name)


@pytest.mark.parametrize("pivot", [False, True])
@pytest.mark.parametrize("values", [(0.5, True), (True, 0.5), (float("nan"), "x"), (1.0, False, "x")])
def test_hyperparameters_of_several_types_stay_what_they_are(
    tmp_path: Path, tbparse: Any, values: tuple[Any, ...], pivot: bool
) -> None:
    for number_, value in enumerate(values):
        _hparams(tmp_path / f"r{number_}" / "a.tfevents", h=value)
    options = {"pivot": pivot, "extra_columns": {"dir_name"}}
    ours = SummaryReader(str(tmp_path), **options).hparams
    got = ours["h" if pivot else "value"].tolist()
    assert [(type(value), str(value)) for value in got] == [(type(value), str(value)) for value in values]
    theirs = tbparse.SummaryReader(str(tmp_path), **options).hparams["h" if pivot else "value"].tolist()
    if values == (0.5, True):
        assert theirs == [0.5, 1.0] and type(theirs[1]) is float  # if this fails, the difference is gone


@pytest.mark.parametrize("name", ["step", "wall_time", "dir_name", "file_name"])
def test_tags_that_are_called_like_columns(tmp_path: Path, tbparse: Any, name: str) -> None:
    events = [scalar(tag, step, step / 4, 10.0 + step) for step in (1, 2) for tag in (name, "loss")]
    write(tmp_path / "r", header(), *events, file="a.tfevents")
    options: dict[str, Any] = {"pivot": True, "extra_columns": {"wall_time", "dir_name", "file_name"}}
    ours = SummaryReader(str(tmp_path), **options).scalars
    assert ours["step"].tolist() == [1, 2] and ours["dir_name"].tolist() == ["r", "r"]
    assert ours["file_name"].tolist() == ["a.tfevents"] * 2 and ours["wall_time"].tolist() == [
        [11.0, 11.0],
        [12.0, 12.0],
    ]
    assert ours[f"tag.{name}"].tolist() == ours["loss"].tolist() == [0.25, 0.5]
    try:
        theirs = tbparse.SummaryReader(str(tmp_path), **options).scalars
    except (TypeError, ValueError, KeyError):
        return
    assert not theirs.equals(ours.rename(columns={f"tag.{name}": name}))


@pytest.mark.parametrize("name", ["run", "value", "epoch", "tag", "index"])
@pytest.mark.parametrize("pivot", [False, True])
def test_other_names_of_tags_are_as_in_tbparse(tmp_path: Path, tbparse: Any, name: str, pivot: bool) -> None:
    events = [scalar(tag, step, step / 4, 10.0 + step) for step in (1, 2) for tag in (name, "loss")]
    write(tmp_path / "r", header(), *events, file="a.tfevents")
    options: dict[str, Any] = {"pivot": pivot, "extra_columns": {"dir_name"}}
    pd.testing.assert_frame_equal(
        SummaryReader(str(tmp_path), **options).scalars,
        tbparse.SummaryReader(str(tmp_path), **options).scalars,
    )


@pytest.mark.parametrize("pivot", [False, True])
def test_polars(tmp_path: Path, pivot: bool) -> None:
    for run in ("a", "b"):
        write(tmp_path / run, header(), scalar("x", 1, 2.0), scalar("x", 2, 3.0), scalar("y", 1, 4.0))
    options: dict[str, Any] = {"pivot": pivot, "extra_columns": {"dir_name"}, "frame": "polars"}
    frame = SummaryReader(str(tmp_path), **options).scalars
    assert isinstance(frame, pl.DataFrame)
    if pivot:
        assert frame.rows() == [
            (1, 2.0, 4.0, "a"),
            (2, 3.0, None, "a"),
            (1, 2.0, 4.0, "b"),
            (2, 3.0, None, "b"),
        ]
        merged = SummaryReader(str(tmp_path), pivot=True, frame="polars").scalars
        assert merged.rows() == [(1, [2.0, 2.0], [4.0, 4.0]), (2, [3.0, 3.0], None)]
    else:
        assert frame.columns == ["step", "tag", "value", "dir_name"]
        assert frame["dir_name"].to_list() == ["a"] * 3 + ["b"] * 3
    assert SummaryReader(str(tmp_path), frame="polars").hparams.shape == (0, 0)
