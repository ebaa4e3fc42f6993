"""Rewriting with options: each does exactly what it says, and leaves every other byte alone."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import broken
import protolog as pl
import protos
import pytest
from protolog import T0, header, scalar, scalars, write
from rewritten import events, new, records, steps
from tensorboard.compat.proto import event_pb2, summary_pb2, types_pb2

import tbq
from tbq.errors import SelectionError, TbqWarning, UsageError


def mixed(step: int) -> bytes:
    """TF1 merges values into one event."""
    image = summary_pb2.Summary.Value(tag="sample")
    image.image.encoded_image_string = bytes(5000)
    values = [summary_pb2.Summary.Value(tag=tag, simple_value=step) for tag in ("loss", "debug/a", "debug/b")]
    return pl.event(step, T0 + 1 + step, *values, image)


def test_drop_tag_leaves_the_rest_of_an_event(tmp_path: Path) -> None:
    source = write(
        tmp_path / "runs",
        header(),
        *map(mixed, range(10)),
        scalar("debug/a", 10, 1.0),
        scalar("loss", 11, 1.0),
    )
    report = tbq.rewrite(tmp_path / "runs", tmp_path / "new", drop_tag=["debug/*"])
    made = events(new(tmp_path / "new"))
    assert [[value.tag for value in event.summary.value] for event in made] == [
        [],
        *[["loss", "sample"]] * 10,
        ["loss"],
    ]
    assert made[0].file_version and [event.step for event in made[1:]] == [*range(10), 11]
    assert records(new(tmp_path / "new"))[-1] == records(source)[-1]
    assert report.dropped == {"selection": 21} and report.changed == 10


def test_drop_kind_and_keep_tag(tmp_path: Path) -> None:
    write(
        tmp_path / "runs",
        header(),
        pl.session_start(0, T0),
        *map(mixed, range(10)),
        *scalars(["lr"], range(5)),
    )
    tbq.rewrite(tmp_path / "runs", tmp_path / "no_images", drop_kind="images")
    assert {value.tag for event in events(new(tmp_path / "no_images")) for value in event.summary.value} == {
        "loss", "debug/a", "debug/b", "lr"
    }  # fmt: skip
    tbq.rewrite(tmp_path / "runs", tmp_path / "lr", keep_tag="lr")
    made = events(new(tmp_path / "lr"))
    assert [value.tag for event in made for value in event.summary.value] == ["lr"] * 5
    assert made[1].session_log.status == event_pb2.SessionLog.START  # a mark, no data: it stays
    assert len(made) == 7
    tbq.rewrite(tmp_path / "runs", tmp_path / "no_logs", drop_kind=["logs", "images"])
    assert not any(event.HasField("session_log") for event in events(new(tmp_path / "no_logs")))


def test_large_images_are_dropped_unread_or_kept(tmp_path: Path) -> None:
    rows = [pl.image("big", step, bytes(200_000)) for step in range(3)]
    write(tmp_path / "runs", header(), rows[0], *scalars(["loss"], range(5)), *rows[1:])
    report = tbq.rewrite(tmp_path / "runs", tmp_path / "new", drop_tag="big")
    assert steps(new(tmp_path / "new"), "loss") == list(range(5)) and report.dropped == {"selection": 3}
    assert len(events(new(tmp_path / "new"))) == 6
    kept = tbq.rewrite(tmp_path / "runs", tmp_path / "kept", drop_tag="loss")
    assert records(new(tmp_path / "kept"))[1:] == rows and kept.changed == 0


def test_graphs_and_run_metadata(tmp_path: Path) -> None:
    graph = pl.record(event_pb2.Event(wall_time=T0, graph_def=b"graph" * 2000).SerializeToString())
    tagged = event_pb2.Event(wall_time=T0, step=3)
    tagged.tagged_run_metadata.tag = "step_3"
    tagged.tagged_run_metadata.run_metadata = b"profile"
    write(
        tmp_path / "runs",
        header(),
        graph,
        pl.record(tagged.SerializeToString()),
        *scalars(["loss"], range(5)),
    )
    tbq.rewrite(tmp_path / "runs", tmp_path / "new", drop_kind="graphs", rename={"step_3": "profile"})
    made = events(new(tmp_path / "new"))
    assert not any(event.graph_def for event in made)
    assert (
        made[1].tagged_run_metadata.tag == "profile"
        and made[1].tagged_run_metadata.run_metadata == b"profile"
    )


def test_a_run_that_holds_nothing_else_is_left_out(tmp_path: Path) -> None:
    pl.healthy(tmp_path / "runs/a")
    write(tmp_path / "runs/b", header(), *scalars(["lr"], range(5)))
    report = tbq.rewrite(tmp_path / "runs", tmp_path / "new", keep_tag="loss")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["a"]
    assert "1 run with no selected data" in str(report)


def test_pattern_that_drops_nothing_warns_and_that_keeps_nothing_fails(tmp_path: Path) -> None:
    pl.healthy(tmp_path / "runs")
    with pytest.warns(TbqWarning, match="no tag matches 'lss'.*closest: loss"):
        tbq.rewrite(tmp_path / "runs", tmp_path / "new", drop_tag="lss")
    with pytest.raises(SelectionError):
        tbq.rewrite(tmp_path / "runs", tmp_path / "other", keep_tag="lss")
    assert not (tmp_path / "other").exists()


# ---- names ----------------------------------------------------------------------------------


def test_rename_tags_and_runs(tmp_path: Path) -> None:
    write(tmp_path / "runs/old/x", header(), *map(mixed, range(3)))
    tbq.rewrite(
        tmp_path / "runs",
        tmp_path / "new",
        rename={"re:debug/(.*)": r"\1/debug", "loss": "train/loss"},
        rename_run={"re:old/(.*)": r"\1"},
    )
    made = events(new(tmp_path / "new", "x"))
    assert [value.tag for value in made[1].summary.value] == ["train/loss", "a/debug", "b/debug", "sample"]
    assert made[1].summary.value[3].image.encoded_image_string == bytes(5000)


def test_unknown_fields_survive_an_edit(tmp_path: Path) -> None:
    value = summary_pb2.Summary.Value(tag="loss", simple_value=1.5).SerializeToString() + b"\xfa\x3e\x05value"
    summary = b"\x0a" + bytes([len(value)]) + value + b"\xfa\x3e\x07summary"
    event = (
        event_pb2.Event(wall_time=T0, step=3).SerializeToString() + b"\x2a" + bytes([len(summary)]) + summary
    )
    write(tmp_path / "runs", header(), pl.record(event + b"\xfa\x3e\x05event"))
    tbq.rewrite(tmp_path / "runs", tmp_path / "new", rename={"loss": "training/loss"}, offset_steps=1000)
    payload = pl.payloads(new(tmp_path / "new").read_bytes())[1]
    for kept in (b"\xfa\x3e\x05value", b"\xfa\x3e\x07summary", b"\xfa\x3e\x05event"):
        assert kept in payload
    made = event_pb2.Event.FromString(payload)
    assert (made.step, made.wall_time) == (1003, T0)
    assert (made.summary.value[0].tag, made.summary.value[0].simple_value) == ("training/loss", 1.5)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"rename": {"loss": "train/acc"}}, UsageError, "would both be called 'train/acc'"),
        ({"rename": {"re:.*": "x"}}, UsageError, "would both be called 'x'"),
        ({"rename": {"lss": "x"}}, SelectionError, "no tag is called 'lss'"),
        ({"rename": {"re:(": "x"}}, UsageError, "not a valid regular expression"),
        ({"rename": {"re:(.*)": r"\2"}}, UsageError, "not a valid regular expression"),
        ({"rename": {"loss": ""}}, UsageError, "cannot be renamed to an empty name"),
        ({"rename_run": {"a": "b"}}, UsageError, "would both be called 'b'"),
        ({"rename_run": {"a": "../a"}}, UsageError, "cannot be the name of a run"),
        ({"rename_run": {"a": "/tmp/a"}}, UsageError, "cannot be the name of a run"),
        ({"rename_run": {"c": "d"}}, SelectionError, "no run is called 'c'"),
        ({"merge_runs": {"m": ["a", "c"]}}, SelectionError, "no run is called 'c'"),
        ({"merge_runs": {"m": ["a", "a"]}}, UsageError, "needs at least two runs"),
        ({"merge_runs": {"m": ["a", "b"], "n": ["a", "b"]}}, UsageError, "merged twice"),
        ({"drop_kind": "pictures"}, UsageError, "drop_kind: got 'pictures'"),
        ({"every": 0}, UsageError, "every: got 0"),
        ({"every": 1.5}, UsageError, "every: got 1.5"),
        ({"max_points": 0}, UsageError, "max_points: got 0"),
        ({"restarts": "last"}, UsageError, "restarts: got 'last'"),
        ({"steps": "9:3"}, UsageError, "contains no step"),
        ({"offset_steps": 2**63 - 10}, UsageError, "out of int64"),
    ],
)
def test_refusals(tmp_path: Path, options: dict[str, Any], error: type[Exception], words: str) -> None:
    pl.healthy(tmp_path / "runs/a")
    pl.healthy(tmp_path / "runs/b")
    with pytest.raises(error, match=words.replace("(", r"\(")):
        tbq.rewrite(tmp_path / "runs", tmp_path / "new", **options)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs"]


# ---- steps ----------------------------------------------------------------------------------


def test_steps_every_and_offset(tmp_path: Path) -> None:
    write(
        tmp_path / "runs", header(), *scalars(["loss", "acc"], range(0, 100, 5)), *scalars(["lr"], [-3, 0, 7])
    )
    tbq.rewrite(tmp_path / "runs", tmp_path / "steps", steps="10:30")
    assert steps(new(tmp_path / "steps"), "loss") == [10, 15, 20, 25, 30]
    tbq.rewrite(tmp_path / "runs", tmp_path / "every", every=3)
    assert steps(new(tmp_path / "every"), "acc") == list(range(0, 100, 15))
    report = tbq.rewrite(tmp_path / "runs", tmp_path / "offset", offset_steps=-5)
    assert steps(new(tmp_path / "offset"), "loss") == list(range(-5, 95, 5))
    assert steps(new(tmp_path / "offset"), "lr") == [-8, -5, 2]
    assert events(new(tmp_path / "offset"))[0].step == 0  # the header stands at no step
    assert report.changed == report.records_in - 1


def test_what_describes_a_run_is_not_cut_by_steps(tmp_path: Path) -> None:
    broken.hparams(tmp_path / "runs")
    tbq.rewrite(tmp_path / "runs", tmp_path / "new", steps="100:", offset_steps=7)
    made = events(new(tmp_path / "new"))
    assert [value.tag for event in made for value in event.summary.value] == [
        "_hparams_/experiment", "_hparams_/session_start_info", "_hparams_/session_end_info"
    ]  # fmt: skip
    assert [event.step for event in made] == [0] * 4


def test_metadata_moves_to_the_first_value_that_is_left(tmp_path: Path) -> None:
    def value(step: int) -> bytes:
        made = pl.tensor_value("loss", pl.number(step), "scalars" if step == 0 else None)
        return pl.event(step, T0 + 1 + step, made)

    write(tmp_path / "runs", header(), *map(value, range(10)))
    tbq.rewrite(tmp_path / "runs", tmp_path / "new", steps="4:")
    made = [event.summary.value[0] for event in events(new(tmp_path / "new"))[1:]]
    assert [each.metadata.plugin_data.plugin_name for each in made] == ["scalars", *[""] * 5]
    assert [each.tensor.float_val[0] for each in made] == [4, 5, 6, 7, 8, 9]
    table = tbq.open(tmp_path / "new").scalars().to_arrow()
    assert table["step"].to_pylist() == [4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize("most", [1, 2, 3, 10, 11, 500])
def test_max_points_keeps_ends_and_extremes(tmp_path: Path, most: int) -> None:
    values = [math.sin(step / 9) for step in range(1000)]
    values[431], values[700] = 50.0, -50.0
    values[100] = math.nan
    rows = [scalar("loss", step, value) for step, value in enumerate(values)]
    images = [pl.image("sample", step, b"png") for step in range(20)]
    write(tmp_path / "runs", header(), *rows, *images)
    tbq.rewrite(tmp_path / "runs", tmp_path / "new", max_points=most)
    kept = steps(new(tmp_path / "new"), "loss")
    assert len(kept) <= most and kept == sorted(set(kept))
    assert 999 in kept
    if most >= 2:
        assert 0 in kept
    if most >= 10:
        assert 431 in kept and 700 in kept and len(kept) >= most - 3
    pictures = [
        event.step
        for event in events(new(tmp_path / "new"))
        for value in event.summary.value
        if value.tag == "sample"
    ]
    assert len(pictures) == min(most, 20) and pictures[-1] == 19


def test_max_points_of_tensor_scalars(tmp_path: Path) -> None:
    rows = [
        pl.event(
            step, T0 + 1 + step, pl.tensor_value("loss", pl.number(100.0 if step == 37 else 0.0), "scalars")
        )
        for step in range(200)
    ]
    write(tmp_path / "runs", header(), *rows)
    tbq.rewrite(tmp_path / "runs", tmp_path / "new", max_points=8)
    kept = tbq.open(tmp_path / "new").scalars().to_arrow()["step"].to_pylist()
    assert 37 in kept and len(kept) <= 8


def test_restarts_resume_is_what_tbq_shows(tmp_path: Path) -> None:
    pl.healthy(tmp_path / "runs", T0, range(60))
    pl.healthy(tmp_path / "runs", T0 + 1000, range(40, 90))
    pl.healthy(tmp_path / "runs", T0 + 2000, range(20, 30))
    with pytest.warns(TbqWarning, match="restarts=resume dropped"):
        want = tbq.open(tmp_path / "runs").scalars().to_arrow()
    report = tbq.rewrite(tmp_path / "runs", tmp_path / "new", restarts="resume")
    assert tbq.open(tmp_path / "new").scalars(restarts="keep").to_arrow().equals(want)
    assert report.dropped == {"restarts": 2 * (60 + 50 - 20)}


def test_merge_runs_joins_a_resumed_job(tmp_path: Path) -> None:
    first = pl.healthy(tmp_path / "runs/job1", T0, range(60))
    second = pl.healthy(tmp_path / "runs/job2", T0 + 1000, range(40, 90))
    tbq.rewrite(tmp_path / "runs", tmp_path / "new", merge_runs={"job": ["job2", "job1"]})
    assert records(new(tmp_path / "new", "job")) == records(first, second)
    tbq.rewrite(
        tmp_path / "runs", tmp_path / "resumed", merge_runs={"job": ["job1", "job2"]}, restarts="resume"
    )
    assert steps(new(tmp_path / "resumed", "job"), "loss") == list(range(90))


def test_flatten_hparams(tmp_path: Path) -> None:
    pl.healthy(tmp_path / "runs/exp1")
    broken.hparams(tmp_path / "runs/exp1/1700000050.5", T0 + 55)
    pl.healthy(tmp_path / "runs/exp2")
    for trial in range(2):
        broken.hparams(tmp_path / f"runs/exp2/{T0 + trial}", T0 + trial)  # equal, as if resumed
    pl.healthy(tmp_path / "runs/exp3")
    for trial in range(2):
        protos.write(tmp_path / "runs", *protos.add_hparams({"lr": float(trial)}), run=f"exp3/{trial}")
    report = tbq.rewrite(tmp_path / "runs", tmp_path / "new", flatten_hparams=True)
    assert tbq.open(tmp_path / "new", sub_runs="keep").runs == [
        "exp1",
        "exp2",
        "exp3",
        "exp3/0",
        "exp3/1",
    ]
    tags = {value.tag for event in events(new(tmp_path / "new", "exp1")) for value in event.summary.value}
    assert {"loss", "_hparams_/session_start_info", "hparam/accuracy"} <= tags
    assert "run exp3 has 2 add_hparams sub-runs" in str(report)


def test_kinds_of_one_tag_are_told_apart(tmp_path: Path) -> None:
    """A tag of the scalars plugin that also holds tensors of two numbers."""
    two = pl.number(1.0)
    two.float_val.append(2.0)
    two.tensor_shape.dim.add().size = 2
    rows = [
        pl.event(step, T0 + 1 + step, pl.tensor_value("x", two if step % 2 else pl.number(step), "scalars"))
        for step in range(6)
    ]
    write(tmp_path / "runs", header(), *rows)
    tbq.rewrite(tmp_path / "runs", tmp_path / "new", drop_kind="tensors")
    assert [event.step for event in events(new(tmp_path / "new"))[1:]] == [0, 2, 4]
    tbq.rewrite(tmp_path / "runs", tmp_path / "other", drop_kind="scalars")
    assert [event.step for event in events(new(tmp_path / "other"))[1:]] == [1, 3, 5]


def test_float64_scalars_are_left_as_they_are(tmp_path: Path) -> None:
    rows = [
        pl.event(
            step, T0 + 1 + step, pl.tensor_value("x", pl.number(step / 3, types_pb2.DT_DOUBLE), "scalars")
        )
        for step in range(6)
    ]
    write(tmp_path / "runs", header(), *rows, *scalars(["y"], range(3)))
    tbq.rewrite(tmp_path / "runs", tmp_path / "new", drop_tag="y")
    assert records(new(tmp_path / "new"))[1:] == rows


def test_dry_run_writes_nothing_and_tells_the_same(tmp_path: Path) -> None:
    write(tmp_path / "runs", header(), *map(mixed, range(10)))
    options: dict[str, Any] = {"drop_tag": "debug/*", "every": 2, "offset_steps": 3}
    dry = tbq.rewrite(tmp_path / "runs", tmp_path / "new", dry_run=True, **options)
    assert not (tmp_path / "new").exists()
    wet = tbq.rewrite(tmp_path / "runs", tmp_path / "new", **options)
    assert {**dry.to_dict(), "dry_run": False} == wet.to_dict()
    assert wet.bytes_out == new(tmp_path / "new").stat().st_size
    assert "would write" in str(dry)


def test_records_inside_a_torn_one_that_is_dropped(tmp_path: Path) -> None:
    """A large record was cut off, and its length leads exactly to a record after valid ones."""
    inside = b"".join(scalar("loss", step, 1.0) for step in range(1, 150))
    image = next(
        made
        for size in range(len(inside), len(inside) + 400)
        if len(made := pl.image("sample", 0, bytes(size))) == 300 + len(inside)
    )
    first = pl.image("sample", 0, b"small")
    write(tmp_path / "runs", header(), first, image[:300], inside, scalar("loss", 150, 1.0))
    for number, options in enumerate(
        ({}, {"drop_tag": "sample"}, {"drop_kind": "images"}, {"keep_tag": "loss"})
    ):
        tbq.rewrite(tmp_path / "runs", tmp_path / f"new{number}", repair=True, **options)
        assert steps(new(tmp_path / f"new{number}"), "loss") == [*range(1, 151)]
