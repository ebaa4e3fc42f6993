"""Reading and writing a few runs at a time gives the same as all at once."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import broken
import eventfile as ef
import logs
import pyarrow.parquet as pq
import pytest

import tbq
from tbq.decode.reader import Reader
from tbq.diagnosis import survey
from tbq.errors import DamageError, SelectionError, SourceError
from tbq.export import parquet

pytestmark = pytest.mark.filterwarnings("ignore::tbq.TbqWarning")


@pytest.fixture(params=[1, 20_000])
def most(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Sets how many bytes of files are read together."""
    size: int = request.param
    whole = Reader.in_groups

    def in_groups(self: Reader, *args: Any, **options: Any) -> Any:
        return whole(self, *args, **{**options, "most": size})

    monkeypatch.setattr(Reader, "in_groups", in_groups)
    return size


def drawn(table: Any) -> str:
    return repr(table.to_arrow().to_pylist())


@pytest.mark.parametrize("kind", ["runs", "tags", "files"])
def test_tables_about_a_log(kind: str, most: int, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_parts = drawn(tbq.open(runs).table(kind))
    monkeypatch.undo()
    assert by_parts == drawn(tbq.open(runs).table(kind))


def test_problems_are_those_of_all_parts(most: int, tmp_path: Path) -> None:
    logs.write(tmp_path, {name: {"loss": logs.line(range(20))} for name in "abc"})
    for name in "ac":
        path = tmp_path / name / "events.out.tfevents.1.host"
        data = bytearray(path.read_bytes())
        data[300] ^= 1
        path.write_bytes(data)
    log = tbq.open(tmp_path)
    log.table("runs")
    assert [problem.run for problem in log.problems] == ["a", "c"]
    with pytest.raises(DamageError):
        log.table("runs", on_error="raise")
    with pytest.raises(DamageError):
        log.write(tmp_path / "out.parquet", kind="scalars", on_error="raise")
    assert not (tmp_path / "out.parquet").exists()
    with pytest.warns(tbq.TbqWarning) as reported:
        log.write(tmp_path / "out.parquet", kind="scalars")
    assert len(reported) == 2


def test_nothing_can_be_read(most: int, tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "events.out.tfevents.1").write_bytes(b"nothing of an event file")
    with pytest.raises(SourceError, match="is not an event file"):
        tbq.open(tmp_path).table("runs")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"run": "lr=*"},
        {"tag": "val/*"},
        {"tag": ["lr", "val/loss"]},
        {"steps": "10:50"},
        {"restarts": "keep"},
        {"restarts": "split"},
        {"time": "iso"},
        {"time": "relative"},
        {"columns": ["run", "value"]},
        {"steps": "100000:"},
    ],
    ids=str,
)
def test_parquet(
    options: dict[str, Any], most: int, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "_GROUP", 500)
    log = tbq.open(runs)
    writing = {name: value for name, value in options.items() if name in ("time", "columns")}
    selected = {name: value for name, value in options.items() if name not in writing}
    paths = log.write(tmp_path / "parts.parquet", kind="scalars", **options)
    table = log.scalars(**selected)
    table.write(tmp_path / "table.parquet", **writing)
    parts, whole = (pq.ParquetFile(tmp_path / f"{name}.parquet") for name in ("parts", "table"))
    assert paths.rows == len(table)
    assert repr(parts.read().to_pylist()) == repr(whole.read().to_pylist())
    ours = [
        {key: value for key, value in file.metadata.metadata.items() if key.startswith(b"tbq.")}
        for file in (parts, whole)
    ]
    assert ours[0] == ours[1]
    assert repr(tbq.read(tmp_path / "parts.parquet").began) == repr(
        tbq.read(tmp_path / "table.parquet").began
    )
    for field in whole.schema_arrow:
        if field.name != "wall_time":
            assert parts.schema_arrow.field(field.name) == field
    sizes = [
        [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] for file in (parts, whole)
    ]
    assert sizes[0] == sizes[1]


def test_names_that_look_like_patterns(most: int, tmp_path: Path) -> None:
    logs.write(tmp_path, {"a": {"loss0": [(1, 1.0)]}, "b": {"loss[0]": [(1, 2.0)]}})
    log = tbq.open(tmp_path)
    log.write(tmp_path / "out.parquet", kind="scalars", tag="loss[0]")
    assert tbq.read(tmp_path / "out.parquet")["value"].tolist() == [2.0]
    with pytest.raises(SelectionError, match="closest"):
        log.write(tmp_path / "none.parquet", kind="scalars", tag="los")
    assert not (tmp_path / "none.parquet").exists()
    written = ef.event_file([ef.version(), ef.text("words", 1, b"hello")])
    (tmp_path / "c").mkdir()
    (tmp_path / "c/events.out.tfevents.1").write_bytes(written)
    with pytest.raises(SelectionError, match="of kind texts"):
        tbq.open(tmp_path).write(tmp_path / "none.parquet", kind="scalars", tag="words")


def test_progress_of_all_parts(most: int, runs: Path, tmp_path: Path) -> None:
    calls: list[tuple[int, int, int, int]] = []
    tbq.open(runs).write(tmp_path / "x.parquet", kind="scalars", progress=lambda *each: calls.append(each))
    done = [call[0] for call in calls]
    assert done == sorted(done) and {call[1] for call in calls} == {calls[-1][0]}
    assert calls[-1][2] == calls[-1][3] == 10


@pytest.mark.long
def test_the_doctor_finds_the_same(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One log of all broken ones, so that there are several runs of each kind."""
    root = tmp_path / "all"
    for case in broken.CASES:
        if case.name != "unreadable" or hasattr(os, "mkfifo"):
            broken.make(case, root / case.name)
    shutil.copytree(runs, root / "demo")
    at_once = [finding.to_dict() for finding in tbq.doctor(root)]
    assert len({finding["code"] for finding in at_once}) > 30
    monkeypatch.setattr(survey, "MOST_BYTES", 1)
    assert [finding.to_dict() for finding in tbq.doctor(root)] == at_once
    few = [finding for finding in at_once if finding["code"] == "TBQ501"]
    assert [finding.to_dict() for finding in tbq.doctor(root, select="TBQ501")] == few


@pytest.mark.parametrize("options", [{}, {"stats": "last,min,std,count"}, {"steps": "10:100"}, {"tag": "val/*"},
                                     {"best": {"val/loss": "min"}, "run": "lr=*"}, {"tag": ["lr", "nothing"]}],
                         ids=str)  # fmt: skip
def test_summary(options: dict[str, Any], most: int, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_parts = tbq.open(runs).summary(**options)
    html = by_parts._repr_html_()
    monkeypatch.undo()
    at_once = tbq.open(runs).summary(**options)
    assert by_parts.to_arrow().schema == at_once.to_arrow().schema
    assert drawn(by_parts) == drawn(at_once) and html == at_once._repr_html_()
