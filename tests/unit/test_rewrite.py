"""Rewriting: byte for byte without an option, and with each option exactly what it says."""

from __future__ import annotations

import gzip
import hashlib
import math
from pathlib import Path
from typing import Any

import broken
import protolog as pl
import pytest
from protolog import T0, header, name, scalar, scalars, write
from tensorboard.compat.proto import event_pb2, summary_pb2, types_pb2

import tbq
from tbq.errors import DamageError, OutputError, SelectionError, SourceError, TbqWarning, UsageError


def new(path: Path, run: str = ".") -> Path:
    """The one event file of a run of the new log."""
    (file,) = [one for one in (path / run).iterdir() if one.is_file()]
    return file


def records(*files: Path) -> list[bytes]:
    return [record for file in files for record in pl.split(file.read_bytes())]


def events(file: Path) -> list[Any]:
    return [event_pb2.Event.FromString(payload) for payload in pl.payloads(file.read_bytes())]


def points(file: Path, tag: str) -> list[tuple[int, float]]:
    return [
        (event.step, value.simple_value)
        for event in events(file)
        for value in event.summary.value
        if value.tag == tag
    ]


def steps(file: Path, tag: str) -> list[int]:
    return [step for step, _ in points(file, tag)]


# ---- lossless ----------------------------------------------------------------------------------


def everything(root: Path) -> Path:
    """Records of every kind, with fields that no reader knows."""
    odd = event_pb2.Event(wall_time=T0 + 3, step=7).SerializeToString() + b"\xfa\x3e\x05hello\xf8\x3e\x01"
    return write(
        root,
        header(),
        *scalars(["loss"], range(20)),
        pl.record(odd),
        pl.record(b""),
        pl.image("sample", 3, bytes(range(256)) * 40),
        pl.image("sample", 4, bytes(3 << 20)),
        pl.session_start(5, T0 + 30),
        *scalars(["loss"], range(20, 40)),
    )


def test_records_are_the_same_byte_for_byte(tmp_path: Path) -> None:
    source = everything(tmp_path / "runs")
    report = tbq.rewrite(tmp_path / "runs", tmp_path / "new")
    assert new(tmp_path / "new").name == source.name
    digest = [hashlib.sha256(record).hexdigest() for record in records(source)]
    assert [hashlib.sha256(record).hexdigest() for record in records(new(tmp_path / "new"))] == digest
    assert (report.records_in, report.records_out, report.changed) == (len(digest), len(digest), 0)
    assert report.bytes_in == report.bytes_out == source.stat().st_size
    assert report.dropped == {} and report.gone == [] and report.notes == []


def test_files_are_merged_in_order_of_their_sessions(tmp_path: Path) -> None:
    order = [0, 1, 2, 10, 11]
    files = {
        index: write(
            tmp_path / "runs/a",
            header(T0 + index),
            *scalars(["loss"], [index], T0 + index),
            file=name(index=index),
        )
        for index in order
    }
    pl.healthy(tmp_path / "runs/b")
    report = tbq.rewrite(tmp_path / "runs", tmp_path / "new")
    merged = records(new(tmp_path / "new", "a"))
    assert merged == [record for index in order for record in records(files[index])]
    assert sum(b"brain.Event:2" in record for record in merged) == 5
    assert (report.files_in, report.files_out) == (6, 2)


def test_sessions_of_a_merged_file_can_be_merged_again(tmp_path: Path) -> None:
    for wall in (T0 + 500, T0):
        pl.healthy(tmp_path / "runs", wall)
    tbq.rewrite(tmp_path / "runs", tmp_path / "once")
    tbq.rewrite(tmp_path / "once", tmp_path / "twice")
    assert new(tmp_path / "twice").read_bytes() == new(tmp_path / "once").read_bytes()


def test_sessions_inside_of_files_are_ordered_too(tmp_path: Path) -> None:
    parts = [[header(T0 + at), *scalars(["loss"], [at], T0 + at)] for at in (0, 10, 20, 30)]
    write(tmp_path / "runs", *parts[2], *parts[0], file=name(index=0))
    write(tmp_path / "runs", *parts[3], *parts[1], file=name(index=1))
    tbq.rewrite(tmp_path / "runs", tmp_path / "new")
    assert records(new(tmp_path / "new")) == [record for part in parts for record in part]


def test_compressed_files_are_written_unpacked(tmp_path: Path) -> None:
    path = pl.healthy(tmp_path / "runs")
    plain = path.read_bytes()
    path.unlink()
    write(tmp_path / "runs", gzip.compress(plain), file=path.name + ".gz")
    tbq.rewrite(tmp_path / "runs", tmp_path / "new")
    assert (tmp_path / "new" / path.name).read_bytes() == plain


def test_source_can_be_a_file_and_a_named_path(tmp_path: Path) -> None:
    path = pl.healthy(tmp_path / "runs/a")
    tbq.rewrite(path, tmp_path / "one")
    assert new(tmp_path / "one").read_bytes() == path.read_bytes()
    tbq.rewrite([f"x:{tmp_path / 'runs/a'}"], tmp_path / "two")
    assert new(tmp_path / "two", "x").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("block", [1, 7, 64, 5000])
def test_blocks_of_any_size(tmp_path: Path, block: int) -> None:
    from tbq import _core, decode
    from tbq.source import discover
    from tbq.source.inflate import Unpacked

    source = everything(tmp_path / "runs")
    runs = discover(tmp_path / "runs").runs
    survey = decode.decode(runs, [], decode.Options(restarts="keep", block=block), Unpacked(), details=True)
    target = tmp_path / "out"
    report = _core.rewrite_run(
        survey, [str(source).encode()], 0, _core.Rules(survey), str(target).encode(), block=block
    )
    assert report.state == "done" and target.read_bytes() == source.read_bytes()


# ---- selections ----------------------------------------------------------------------------------


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
    assert "1 run with nothing" in str(report)


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
        ({"rename": {"re:(": "x"}}, UsageError, "no regular expression"),
        ({"rename": {"re:(.*)": r"\2"}}, UsageError, "no regular expression"),
        ({"rename": {"loss": ""}}, UsageError, "cannot be renamed to nothing"),
        ({"rename_run": {"a": "b"}}, UsageError, "would both be called 'b'"),
        ({"rename_run": {"a": "../a"}}, UsageError, "cannot be the name of a run"),
        ({"rename_run": {"a": "/tmp/a"}}, UsageError, "cannot be the name of a run"),
        ({"rename_run": {"c": "d"}}, SelectionError, "no run is called 'c'"),
        ({"merge_runs": {"m": ["a", "c"]}}, SelectionError, "no run is called 'c'"),
        ({"merge_runs": {"m": ["a", "a"]}}, UsageError, "needs two runs"),
        ({"merge_runs": {"m": ["a", "b"], "n": ["a", "b"]}}, UsageError, "merged twice"),
        ({"drop_kind": "pictures"}, UsageError, "no kind"),
        ({"every": 0}, UsageError, "every=0"),
        ({"every": 1.5}, UsageError, "no whole number"),
        ({"max_points": 0}, UsageError, "max_points=0"),
        ({"restarts": "last"}, UsageError, "restarts='last'"),
        ({"steps": "9:3"}, UsageError, "holds no step"),
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
    assert [one.metadata.plugin_data.plugin_name for one in made] == ["scalars", *[""] * 5]
    assert [one.tensor.float_val[0] for one in made] == [4, 5, 6, 7, 8, 9]
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
        broken.hparams(tmp_path / f"runs/exp2/{T0 + trial}", T0 + trial)
    report = tbq.rewrite(tmp_path / "runs", tmp_path / "new", flatten_hparams=True)
    assert tbq.open(tmp_path / "new").runs == ["exp1", "exp2", f"exp2/{T0}", f"exp2/{T0 + 1}"]
    tags = {value.tag for event in events(new(tmp_path / "new", "exp1")) for value in event.summary.value}
    assert {"loss", "_hparams_/session_start_info", "hparam/accuracy"} <= tags
    assert "run exp2 has 2 add_hparams sub-runs" in str(report)


# ---- damage ----------------------------------------------------------------------------------


def test_damage_is_refused_without_repair_and_told_with_it(tmp_path: Path) -> None:
    rows = [header(), *scalars(["loss"], range(20))]
    source = write(tmp_path / "runs", *rows[:10], bytes(100), *rows[10:])
    with pytest.raises(DamageError, match="zeros") as refused:
        tbq.rewrite(tmp_path / "runs", tmp_path / "new")
    assert refused.value.offset == sum(map(len, rows[:10])) and "--repair" in str(refused.value)
    assert not (tmp_path / "new").exists()
    report = tbq.rewrite(tmp_path / "runs", tmp_path / "new", repair=True)
    assert records(new(tmp_path / "new")) == rows
    (gone,) = report.gone
    assert (gone.code, gone.path, gone.offset) == ("zeros", str(source), sum(map(len, rows[:10])))
    assert report.gone_bytes == 100 and "1 place, 100 bytes" in str(report)


def test_damage_in_a_large_record_is_not_copied(tmp_path: Path) -> None:
    image = bytearray(pl.image("sample", 5, bytes(100_000)))
    image[60_000] ^= 1
    sound = [header(), *scalars(["loss"], range(5))]
    write(tmp_path / "runs", *sound, bytes(image), scalar("loss", 9, 1.0))
    with pytest.raises(DamageError):
        tbq.rewrite(tmp_path / "runs", tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs"]
    report = tbq.rewrite(tmp_path / "runs", tmp_path / "new", repair=True)
    assert records(new(tmp_path / "new")) == [*sound, scalar("loss", 9, 1.0)]
    assert report.gone_places == 1 and report.gone_bytes == len(image)


def test_a_record_that_is_no_event_is_copied_unless_repaired(tmp_path: Path) -> None:
    odd = pl.record(b"\x0a\xff\xff\xff\xff\x0fno event")
    rows = [header(), *scalars(["loss"], range(5)), odd, scalar("loss", 5, 1.0)]
    write(tmp_path / "runs", *rows)
    tbq.rewrite(tmp_path / "runs", tmp_path / "same")
    assert records(new(tmp_path / "same")) == rows
    report = tbq.rewrite(tmp_path / "runs", tmp_path / "new", repair=True)
    assert records(new(tmp_path / "new")) == [row for row in rows if row != odd]
    assert report.gone[0].code == "bad_event"


def test_tail_and_files_without_records_are_told(tmp_path: Path) -> None:
    rows = [header(), *scalars(["loss"], range(5))]
    write(tmp_path / "runs", *rows, scalar("loss", 5, 1.0)[:-3])
    write(tmp_path / "runs", file=name(pid=2))
    (tmp_path / "runs" / "hparams.yaml").write_text("lr: 1")
    report = tbq.rewrite(tmp_path / "runs", tmp_path / "new")
    assert records(new(tmp_path / "new")) == rows
    said = str(report)
    assert "at the end of 1 file" in said and "1 file without a byte" in said
    assert "1 file of other kinds" in said


# ---- targets ----------------------------------------------------------------------------------


def test_targets_that_are_refused(tmp_path: Path) -> None:
    source = tmp_path / "runs"
    path = pl.healthy(source / "a")
    before = path.read_bytes()
    (tmp_path / "there").mkdir()
    for target, words in (
        (source, "is the source itself"),
        (source / ".." / "runs", "is the source itself"),
        (source / "new", "inside of the source"),
        (source / "a" / "new", "inside of the source"),
        (tmp_path / "there", "already there"),
        (tmp_path / "no" / "such" / "folder", "is not there"),
    ):
        with pytest.raises(OutputError, match=words):
            tbq.rewrite(source, target)
    with pytest.raises(OutputError, match="is the source itself"):
        tbq.rewrite(path, source / "a")
    assert path.read_bytes() == before
    assert sorted(one.name for one in tmp_path.iterdir()) == ["runs", "there"]


def test_sources_that_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="no event files here"):
        tbq.rewrite(tmp_path / "empty", tmp_path / "new")
    with pytest.raises(SourceError, match="no such file"):
        tbq.rewrite(tmp_path / "nowhere", tmp_path / "new")
    write(tmp_path / "lfs", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n")
    pl.healthy(tmp_path / "lfs/a")
    with pytest.raises(SourceError, match="Git-LFS"):
        tbq.rewrite(tmp_path / "lfs", tmp_path / "new")
    assert not (tmp_path / "new").exists()
    report = tbq.rewrite(tmp_path / "lfs", tmp_path / "new", repair=True)
    assert tbq.open(tmp_path / "new").runs == ["a"] and report.gone[0].code == "git_lfs"


def test_dry_run_writes_nothing_and_tells_the_same(tmp_path: Path) -> None:
    write(tmp_path / "runs", header(), *map(mixed, range(10)))
    options: dict[str, Any] = {"drop_tag": "debug/*", "every": 2, "offset_steps": 3}
    dry = tbq.rewrite(tmp_path / "runs", tmp_path / "new", dry_run=True, **options)
    assert not (tmp_path / "new").exists()
    wet = tbq.rewrite(tmp_path / "runs", tmp_path / "new", **options)
    assert {**dry.to_dict(), "dry_run": False} == wet.to_dict()
    assert wet.bytes_out == new(tmp_path / "new").stat().st_size
    assert "would write" in str(dry)


def test_module_of_the_same_name_can_be_called(tmp_path: Path) -> None:
    import importlib

    pl.healthy(tmp_path / "runs")
    module = importlib.import_module("tbq.rewrite")
    assert module(tmp_path / "runs", tmp_path / "new").files_out == 1  # type: ignore[operator]


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


def test_nothing_left_is_an_error_and_no_directory(tmp_path: Path) -> None:
    pl.healthy(tmp_path / "runs")
    for dry_run in (True, False):
        with pytest.raises(SelectionError, match="nothing would be left"):
            tbq.rewrite(tmp_path / "runs", tmp_path / "new", drop_tag="*", dry_run=dry_run)
    pl.write(tmp_path / "zero")
    with pytest.raises(SourceError, match="no file in it holds a record"):
        tbq.rewrite(tmp_path / "zero", tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs", "zero"]
