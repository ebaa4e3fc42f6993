"""Histograms as numbers, hparams wide, and the one row per run of `log.summary`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import protolog
import pytest
from hypothesis import given
from hypothesis import strategies as st
from protos import add_hparams, session_end, session_start, value, write
from tensorboard.compat.proto.summary_pb2 import Summary

import tbq
from tbq.kinds.histograms import Histogram, bars

if TYPE_CHECKING:
    from pathlib import Path

# float32, as weights are: between doubles that are neighbours a density would be past the largest double.
numbers = st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=60)


@given(numbers, st.integers(1, 20))
def test_quantiles_lie_between_the_ends_and_rise(values: list[float], bins: int) -> None:
    counts, edges = np.histogram(values, bins)
    histogram = Histogram(edges[:-1], edges[1:], counts.astype(float))
    got = histogram.quantiles([0.0, 0.1, 0.5, 0.9, 1.0])
    assert (np.diff(got) >= 0).all()
    assert edges[0] <= got[0]
    assert got[-1] <= edges[-1]
    back_counts, back_edges = histogram.numpy()
    assert np.array_equal(back_counts, counts)
    assert np.array_equal(back_edges, edges)
    density, _ = histogram.density()
    assert np.isclose((density * np.diff(edges)).sum(), 1)
    assert bars(histogram).count("\n") + 1 == bins


def test_gaps_between_buckets_are_empty_buckets() -> None:
    histogram = Histogram(np.array([0.0, 5.0]), np.array([1.0, 6.0]), np.array([1.0, 3.0]))
    counts, edges = histogram.numpy()
    assert counts.tolist() == [1, 0, 3]
    assert edges.tolist() == [0, 1, 5, 6]
    assert histogram.quantiles([0.25, 1.0]).tolist() == [1.0, 6.0]


def test_an_empty_histogram() -> None:
    empty = Histogram(np.zeros(0), np.zeros(0), np.zeros(0))
    assert np.isnan(empty.quantiles(0.5)).all()
    assert bars(empty) == "(empty)"
    with pytest.raises(tbq.TbqError, match="fractions"):
        empty.quantiles(2)


def hparams(values: dict[str, object], status: int | None = None) -> list[Summary.Value]:
    return [session_start(values), *([] if status is None else [session_end(status)])]


def scalar(tag: str, number: float) -> Summary.Value:
    return value(tag, simple_value=number)


def test_summary_joins_and_leaves_out(tmp_path: Path) -> None:
    write(tmp_path, scalar("loss", 3.0), scalar("loss", 1.0), scalar("loss", 2.0), run="a")
    write(tmp_path, *add_hparams({"lr": 0.5}), scalar("acc", 0.75), run="a/1700000000.25")
    write(tmp_path, scalar("loss", 4.0), run="b")
    write(tmp_path, *add_hparams({"lr": 1.0}), run="b/1700000001")
    write(tmp_path, *add_hparams({"lr": 2.0}), run="b/1700000002")
    write(tmp_path, *hparams({"lr": "auto", "deep": True}), run="c")
    log = tbq.open(tmp_path)
    rows = {row["run"]: row for row in log.summary(best={"loss": "min"}).to_arrow().to_pylist()}
    assert list(rows) == ["a", "b", "b/1700000001", "b/1700000002", "c"]
    assert (rows["a"]["loss"], rows["a"]["acc"], rows["a"]["hparam.lr"]) == (2.0, 0.75, "0.5")
    assert (rows["a"]["loss.best"], rows["a"]["loss.best_step"]) == (1.0, 1)
    assert (rows["c"]["hparam.lr"], rows["c"]["hparam.deep"]) == ("auto", True)
    assert rows["a"]["hparam.status"] == "success"
    assert [row["run"] for row in log.summary(require=["loss"]).to_arrow().to_pylist()] == ["a", "b"]
    assert log.summary(tag="acc", media=False).columns[:3] == ["run", "state", "acc"]
    with pytest.raises(tbq.TbqError, match="closest: loss"):
        log.summary(require=["los"])
    with pytest.raises(tbq.TbqError, match="want one of min, max"):
        log.summary(best={"loss": "least"})


def test_a_tag_that_is_a_scalar_and_a_text_has_two_columns(tmp_path: Path) -> None:
    from protos import strings

    write(tmp_path, scalar("x", 1.0), value("x/text_summary", "text", tensor=strings((), b"words")))
    row = tbq.open(tmp_path).summary(media=True).to_arrow().to_pylist()[0]
    assert (row["x"], row["x.text"]) == (1.0, "words")


def test_single_values_ask_for_one_run_and_one_step(tmp_path: Path) -> None:
    image = Summary.Image(encoded_image_string=b"GIF89a")
    for run in ("a", "b"):
        write(tmp_path, value("x", image=image), run=run)
    log = tbq.open(tmp_path)
    with pytest.raises(tbq.TbqError, match="2 runs match"):
        log.image("x")
    with pytest.raises(tbq.TbqError, match="no images at step 5; closest: 0"):
        log.image("x", step=5, run="a")
    with pytest.raises(tbq.TbqError, match="the tag is of kind images"):
        log.tensor("x", run="a")


def test_tags_that_look_like_patterns_are_names_first(tmp_path: Path) -> None:
    from protos import strings

    texts = {tag: value(tag, "text", tensor=strings((), tag.encode())) for tag in ("t[0]", "t0", "t1")}
    log = tbq.open(write(tmp_path, *texts.values()))
    assert log.texts(tag="t[0]").to_arrow()["text"].to_pylist() == ["t[0]"]
    assert log.text("t[0]") == "t[0]"
    assert log.texts(tag="t[01]").to_arrow()["text"].to_pylist() == ["t0", "t1"]
    assert list(log.tables(tag="t[0]")) == ["texts"]


def test_every_table_reports_the_scalars_that_a_restart_dropped_once(tmp_path: Path) -> None:
    log = tbq.open(tbq.demo(tmp_path / "runs"))
    with pytest.warns(tbq.TbqWarning, match="dropped 88 rows") as said:
        log.tables()
    assert len(said) == 1


def test_a_mesh_that_is_not_there_is_named_as_asked_for(tmp_path: Path) -> None:
    log = tbq.open(tbq.demo(tmp_path / "runs"))
    assert log.mesh("cube").vertices.shape == (1, 8, 3)
    with pytest.raises(tbq.TbqError, match=r"no mesh is called 'c\.be'"):
        log.mesh("c.be")


def test_tensors_under_a_tag_of_scalars_are_tensors_wherever_its_plugin_is_told(tmp_path: Path) -> None:
    """The metadata may come in a later file of the run: values that are not numbers until then must not vanish."""
    pair = protolog.number(1.0)
    pair.float_val.append(2.0)
    pair.tensor_shape.dim.add().size = 2
    rows = [
        protolog.event(step, protolog.T0 + step, protolog.tensor_value("loss", tensor))
        for step, tensor in enumerate([protolog.number(0.5), pair, protolog.number(0.25), pair])
    ]
    reported = protolog.event(
        9, protolog.T0 + 9, protolog.tensor_value("loss", protolog.number(0.125), "scalars")
    )
    protolog.write(tmp_path, protolog.header(), *rows)
    alone = tbq.open(tmp_path)
    assert alone.tensors().to_arrow()["step"].to_pylist() == [0, 1, 2, 3]
    protolog.write(tmp_path, protolog.header(protolog.T0 + 9), reported, file=protolog.name(protolog.T0 + 9))
    log = tbq.open(tmp_path)
    with pytest.warns(tbq.TbqWarning, match="2 values logged as scalars are not single numbers"):
        assert log.scalars().to_arrow()["step"].to_pylist() == [0, 2, 9]
    assert len(log.scalars(on_error="raise")) == 3  # no file is damaged, and a log warns once
    assert [(each.code, each.severity) for each in log.problems] == [("not_scalar", "info")]
    tensors = log.tensors(on_error="ignore").to_arrow()
    assert tensors["step"].to_pylist() == [1, 3] and tensors["shape"].to_pylist() == [[2], [2]]
    assert [each.code for each in tbq.doctor(tmp_path)] == ["TBQ505"]
