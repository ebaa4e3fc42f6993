"""Notices: one line per kind and command, once per log; damage stays one line per file."""

from __future__ import annotations

import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path

import eventfile as ef
import pytest
import started

import tbq
import tbq.lake


def _resumed(folder: Path, drop: int) -> None:
    """A run whose second session begins `drop` steps before the first one's end."""
    folder.mkdir(parents=True)
    first = [ef.version(100.0), *(ef.scalar("loss", step, 1.0, 100.0 + step) for step in range(20))]
    second = [
        ef.version(500.0),
        *(ef.scalar("loss", step, 2.0, 500.0 + step) for step in range(20 - drop, 30)),
    ]
    (folder / "events.out.tfevents.100").write_bytes(ef.event_file(first))
    (folder / "events.out.tfevents.500").write_bytes(ef.event_file(second))


@pytest.fixture
def resumed(tmp_path: Path) -> Path:
    for name, drop in (("a", 3), ("b", 4), ("c", 5)):
        _resumed(tmp_path / "runs" / name, drop)
    return tmp_path / "runs"


def _said(call: Callable[[], object]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(each.message) for each in caught if issubclass(each.category, tbq.TbqWarning)]


ALL = "3 runs resumed: 12 rows dropped; --restarts keep (restarts='keep') shows them, tbq doctor lists them"


def test_resumed_runs_are_one_notice_per_log(resumed: Path, tmp_path: Path) -> None:
    log = tbq.open(resumed)
    assert _said(log.scalars) == [ALL]
    again = [
        lambda: log.scalars("loss"),
        lambda: log.scalars().wide(),
        log.summary,
        lambda: log.sql("select * from scalars"),
        lambda: log.sql("select * from summary"),
        lambda: list(log.scan()),
        lambda: log.reduce(by="*"),
        lambda: log.report(tmp_path / "report.html"),
        lambda: log.write(tmp_path / "out.csv", kind="scalars"),
    ]
    assert [_said(call) for call in again] == [[]] * len(again)
    assert len(log.problems) == 3  # all of them are listed
    assert _said(tbq.open(resumed).scalars) == [ALL]  # another log says it again


def test_a_lake_names_no_option_that_it_refuses(resumed: Path, tmp_path: Path) -> None:
    tbq.lake.sync(resumed, tmp_path / "lake")
    log = tbq.open(tmp_path / "lake")
    (one,) = _said(lambda: log.scalars(run="b"))
    (rest,) = _said(log.scalars)
    assert "dropped 4 rows" in one and rest.startswith("2 runs resumed")
    assert not any("keep" in said or "doctor" in said for said in (one, rest))


def test_one_resumed_run_is_told_with_its_steps(resumed: Path) -> None:
    log = tbq.open(resumed)
    (said,) = _said(lambda: log.scalars(run="b"))
    assert said.startswith("run b: restarts=resume dropped 4 rows of 1 tag, steps 16 to 19")
    (rest,) = _said(log.scalars)  # only of the runs that were not read before
    assert rest.startswith("2 runs resumed: 8 rows dropped")
    assert _said(log.scalars) == []


@pytest.mark.parametrize(
    "words",
    [
        ["export"], ["summary"], ["reduce", "--by", "*"], ["export", "--layout", "wide"], ["sql", "select * from wide"],
        ["sql", "select * from scalars, summary"], ["plot", "-o", "plot.svg"],
        ["summary", "--best", "loss:min", "--spark", "loss"], ["plot"],
    ],
)  # fmt: skip
def test_a_command_says_it_once(resumed: Path, tmp_path: Path, words: list[str]) -> None:
    command, *options = words
    done: subprocess.CompletedProcess[str] = started.tbq(command, resumed, *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("resumed") == 1 and f"tbq: {ALL}\n" in done.stderr, done.stderr


def test_rounded_integers_of_many_tags_are_one_line(tmp_path: Path) -> None:
    log = tmp_path / "a"
    log.mkdir()
    events = [ef.version(), *(ef.tensor_scalar(f"n{i}", 1, 2**53 + 1, dtype="int64") for i in range(4))]
    (log / "events.out.tfevents.1").write_bytes(ef.event_file(events))
    opened = tbq.open(tmp_path)
    (said,) = _said(opened.scalars)
    assert "rounded to float64, and 3 more in 1 run" in said and _said(opened.scalars) == []


def test_damaged_files_are_named_up_to_a_few(tmp_path: Path) -> None:
    for i in range(9):
        folder = tmp_path / "runs" / f"r{i}"
        folder.mkdir(parents=True)
        content = bytearray(
            ef.event_file([ef.version(), *(ef.scalar("loss", step, 1.0) for step in range(4))])
        )
        content[-60] ^= 255
        (folder / "events.out.tfevents.1").write_bytes(content)
    log = tbq.open(tmp_path / "runs")
    said = _said(log.scalars)
    assert len(said) == 5 and said[-1] == "5 more damaged files: tbq doctor lists them"
    assert all("events.out.tfevents" in line for line in said[:4])
    with pytest.raises(tbq.errors.DamageError, match="and 8 more problems"):
        log.scalars(on_error="raise")
