"""Rewriting: byte for byte without options, past damage with `--repair`, and never over existing files."""

from __future__ import annotations

import gzip
import hashlib
import os
from pathlib import Path
from typing import Any

import protolog as pl
import pytest
from protolog import T0, header, name, scalar, scalars, write
from rewritten import new, records
from tensorboard.compat.proto import event_pb2

import tbq
from tbq.errors import DamageError, OutputError, SelectionError, SourceError

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


def test_a_value_without_a_tag_is_copied(tmp_path: Path) -> None:
    rows = [header(), *scalars(["loss", ""], range(20))]
    source = write(tmp_path / "runs", *rows)
    tbq.rewrite(tmp_path / "runs", tmp_path / "new")
    assert new(tmp_path / "new").read_bytes() == source.read_bytes()
    # Also if its record is changed, dropped or renamed.
    tbq.rewrite(tmp_path / "runs", tmp_path / "moved", offset_steps=5)
    table = tbq.open(tmp_path / "moved").scalars(tag="").to_arrow()
    assert table["step"].to_pylist() == list(range(5, 25))
    tbq.rewrite(tmp_path / "runs", tmp_path / "without", drop_tag="")
    assert records(new(tmp_path / "without")) == [rows[0], *scalars(["loss"], range(20))]
    tbq.rewrite(tmp_path / "runs", tmp_path / "named", rename={"": "now it has one"})
    table = tbq.open(tmp_path / "named").scalars(tag="now it has one").to_arrow()
    assert table["step"].to_pylist() == list(range(20))


@pytest.mark.skipif(os.name == "nt", reason="a backslash separates folders there")
def test_a_run_with_a_backslash_in_its_name(tmp_path: Path) -> None:
    source = pl.healthy(tmp_path / "runs" / "lr\\0.1" / "a\\b")
    report = tbq.rewrite(tmp_path / "runs", tmp_path / "new")
    assert [run.run for run in report.runs] == ["lr\\0.1/a\\b"]
    assert new(tmp_path / "new", "lr\\0.1/a\\b").read_bytes() == source.read_bytes()
    assert tbq.open(tmp_path / "new").runs == ["lr\\0.1/a\\b"]
    tbq.rewrite(tmp_path / "new", tmp_path / "third", rename_run={"lr\\0.1/a\\b": "c\\d"})
    assert tbq.open(tmp_path / "third").runs == ["c\\d"]


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
    survey = decode.decode(
        runs, [], decode.DecodeOptions(restarts="keep", block=block), Unpacked(), session_tables=True
    )
    target = tmp_path / "out"
    report = _core.rewrite_run(
        survey, [str(source).encode()], 0, _core.Rules(survey), str(target).encode(), block=block
    )
    assert report.state == "done" and target.read_bytes() == source.read_bytes()


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


@pytest.mark.parametrize(
    "options", [{}, {"drop_tag": "other"}, {"offset_steps": 3}], ids=["plain", "drop", "offset"]
)
@pytest.mark.parametrize("large", [False, True])
def test_a_repair_leaves_no_damage_however_much_there_is(
    tmp_path: Path, options: dict[str, Any], large: bool
) -> None:
    """More bad records of each kind than a report lists, with valid ones after them."""
    odd = pl.record(b"\x0a\xff\xff\xff\xff\x0fno event")
    torn = bytearray(scalar("loss", 1, 1.0))
    torn[-1] ^= 1
    most = 10_000
    last = [scalar("loss", 2, 1.0), pl.record(b"\xff" * 5000) if large else odd, scalar("other", 3, 1.0)]
    write(tmp_path / "runs", header(), odd * (most + 2), bytes(torn) * (most + 2), *last, bytes(torn))
    with pytest.raises(DamageError, match="does not match its checksum"):
        tbq.rewrite(tmp_path / "runs", tmp_path / "new", **options)
    assert not (tmp_path / "new").exists()
    report = tbq.rewrite(tmp_path / "runs", tmp_path / "new", repair=True, **options)
    assert report.gone_places == 2 * most + 6
    log = tbq.open(tmp_path / "new")
    assert len(log.tags()) == (1 if "drop_tag" in options else 2) and not log.problems


def test_tail_and_files_without_records_are_told(tmp_path: Path) -> None:
    rows = [header(), *scalars(["loss"], range(5))]
    write(tmp_path / "runs", *rows, scalar("loss", 5, 1.0)[:-3])
    write(tmp_path / "runs", file=name(pid=2))
    (tmp_path / "runs" / "hparams.yaml").write_text("lr: 1")
    report = tbq.rewrite(tmp_path / "runs", tmp_path / "new")
    assert records(new(tmp_path / "new")) == rows
    said = str(report)
    assert "at the end of 1 file" in said and "1 file without content" in said
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
        (source / "new", "inside the source"),
        (source / "a" / "new", "inside the source"),
        (tmp_path / "there", "already exists"),
        (tmp_path / "no" / "such" / "folder", "does not exist"),
    ):
        with pytest.raises(OutputError, match=words):
            tbq.rewrite(source, target)
    with pytest.raises(OutputError, match="is the source itself"):
        tbq.rewrite(path, source / "a")
    assert path.read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["runs", "there"]


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


def test_the_function_keeps_its_name_beside_the_package(tmp_path: Path) -> None:
    import importlib
    import pickle

    module = importlib.import_module("tbq.rewriting")
    assert tbq.rewrite is module.rewrite
    assert pickle.loads(pickle.dumps(tbq.rewrite)) is tbq.rewrite
    pl.healthy(tmp_path / "runs")
    assert tbq.rewrite(tmp_path / "runs", tmp_path / "new").files_out == 1


def test_nothing_left_is_an_error_and_no_directory(tmp_path: Path) -> None:
    pl.healthy(tmp_path / "runs")
    for dry_run in (True, False):
        with pytest.raises(SelectionError, match="nothing would be left"):
            tbq.rewrite(tmp_path / "runs", tmp_path / "new", drop_tag="*", dry_run=dry_run)
    pl.write(tmp_path / "zero")
    with pytest.raises(SourceError, match="no file contains a record"):
        tbq.rewrite(tmp_path / "zero", tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs", "zero"]
