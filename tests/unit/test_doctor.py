"""The doctor on one broken log for each finding, on healthy ones, and on paths that hold nothing."""

from __future__ import annotations

import errno
import hashlib
import math
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import broken
import protolog as pl
import pytest

import tbq
from tbq.doctor import codes, explain
from tbq.doctor.look import Look
from tbq.doctor.report import text
from tbq.errors import UsageError

FIFO = hasattr(os, "mkfifo")
CASES = [case for case in broken.CASES if FIFO or case.name != "unreadable"]


def _hashes(root: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in root.rglob("*") if path.is_file()
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_broken_log_gives_exactly_its_findings(case: broken.Case, tmp_path: Path) -> None:
    path = broken.make(case, tmp_path)
    before = _hashes(tmp_path)
    found = tbq.doctor(path)
    assert [(one.code, one.run) for one in found] == case.findings, [str(one) for one in found]
    assert all(one.message and one.hint for one in found)
    assert _hashes(tmp_path) == before
    assert text(found, str(path)).count("Next: ") == 1


@pytest.mark.parametrize("name", broken.HEALTHY)
def test_healthy_log_gives_none(name: str, tmp_path: Path) -> None:
    broken.HEALTHY[name](tmp_path)
    assert tbq.doctor(tmp_path) == []


def test_every_code_has_a_broken_log() -> None:
    covered = {code for case in broken.CASES for code, _ in case.findings}
    # Reading fails in the middle of a file only where a disk does: the next test.
    assert set(codes()) - covered == {"TBQ208"}


def test_a_disk_that_fails_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = pl.healthy(tmp_path)
    report = Look(tmp_path).reports[0]
    failed = SimpleNamespace(path=report.path, run=0, error=errno.EIO, resume=1000, faults=[], more_faults=0)
    files = {name: column.copy() for name, column in Look(tmp_path).files.items()}
    files["error"][0] = errno.EIO
    monkeypatch.setattr(Look, "files", files)
    monkeypatch.setattr(Look, "reports", [failed])
    (found,) = tbq.doctor(tmp_path)
    assert (found.code, found.path, found.offset) == ("TBQ208", str(path), 1000)
    assert found.message == "reading stopped: input/output error" and "dmesg" in (found.hint or "")


def test_codes_are_in_order_and_explained() -> None:
    known = list(codes())
    assert known == sorted(set(known))
    for code in known:
        said = explain(code)
        assert said.startswith(code)
        for part in ("What it does\n", "Why it matters\n", "What to do\n"):
            assert said.count(part) == 1
        assert not any(line.endswith(" ") for line in said.splitlines())


def test_unknown_code_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="TBQ999"):
        explain("TBQ999")
    with pytest.raises(UsageError, match="XYZ"):
        tbq.doctor("nowhere", select="XYZ")


def test_select_and_ignore(tmp_path: Path) -> None:
    pl.write(tmp_path, pl.header(), *[pl.scalar("lr", 0, 0.1, pl.T0 + n) for n in range(1, 50)])
    assert [one.code for one in tbq.doctor(tmp_path)] == ["TBQ404", "TBQ502"]
    assert [one.code for one in tbq.doctor(tmp_path, select="TBQ5")] == ["TBQ502"]
    assert [one.code for one in tbq.doctor(tmp_path, select=["TBQ4,TBQ5"], ignore=["TBQ404"])] == ["TBQ502"]
    assert tbq.doctor(tmp_path, select="TBQ4", ignore="TBQ404") == []


def test_damage_says_bytes_steps_and_what_is_left(tmp_path: Path) -> None:
    records = [pl.header(), *pl.scalars(["loss"], range(50))]
    at = sum(map(len, records[:31]))
    path = pl.write(tmp_path, *records[:31], bytes(1000), *records[31:])
    (found,) = tbq.doctor(tmp_path)
    assert (found.code, found.offset, found.path) == ("TBQ205", at, str(path))
    assert "1,000 bytes lost between step 29 and step 30; 51 records are sound" in found.message


def test_damage_in_a_large_image_is_found(tmp_path: Path) -> None:
    image = bytearray(pl.image("sample", 5, bytes(100_000)))
    image[60_000] ^= 1
    pl.write(
        tmp_path, pl.header(), *pl.scalars(["loss"], range(50)), bytes(image), pl.scalar("loss", 50, 1.0)
    )
    assert [one.code for one in tbq.doctor(tmp_path)] == ["TBQ204"]


def test_many_damaged_places_are_one_finding(tmp_path: Path) -> None:
    records = [pl.header(), *pl.scalars(["loss"], range(50))]
    for place in (5, 15, 25):
        hit = bytearray(records[place])
        hit[20] ^= 1
        records[place] = bytes(hit)
    pl.write(tmp_path, *records)
    (found,) = tbq.doctor(tmp_path)
    assert found.code == "TBQ204" and "at 3 places" in found.message


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who has a file open")
def test_tail_of_an_old_file_that_is_open_is_no_warning(tmp_path: Path) -> None:
    path = pl.write(tmp_path, pl.header(), *pl.scalars(["loss"], range(50)), pl.scalar("loss", 50, 1.0)[:-3])
    os.utime(path, (pl.T0, pl.T0))
    assert [one.code for one in tbq.doctor(tmp_path)] == ["TBQ202"]
    with path.open("ab"):
        os.utime(path, (pl.T0, pl.T0))
        assert [one.code for one in tbq.doctor(tmp_path)] == ["TBQ201"]
    with path.open("rb"):
        assert [one.code for one in tbq.doctor(tmp_path)] == ["TBQ202"]


def test_nothing_is_told_of_what_is_not_asked_about(tmp_path: Path) -> None:
    """The neighbourhood is searched only around a path that holds nothing."""
    pl.healthy(tmp_path / "a")
    pl.healthy(tmp_path / "b")
    assert tbq.doctor(tmp_path / "a") == []


def test_two_paths_that_make_one_name(tmp_path: Path) -> None:
    pl.healthy(tmp_path / "a")
    pl.healthy(tmp_path / "b")
    found = tbq.doctor([f"x:{tmp_path / 'a'}", f"x:{tmp_path / 'b'}"])
    assert [one.code for one in found] == ["TBQ601"]


def test_report_is_short_for_many_runs(tmp_path: Path) -> None:
    for run in range(40):
        pl.write(tmp_path / f"run{run}", pl.header())
    found = tbq.doctor(tmp_path)
    assert len(found) == 40
    report = text(found, "runs")
    assert "40 such findings in 40 runs" in report and len(report.splitlines()) < 12
    assert len(text(found, "runs", every=True).splitlines()) > 80


def test_module_of_the_same_name_can_be_called(tmp_path: Path) -> None:
    import importlib

    module = importlib.import_module("tbq.doctor")
    pl.healthy(tmp_path)
    assert module(tmp_path) == []  # type: ignore[operator]


def test_findings_are_plain_values(tmp_path: Path) -> None:
    pl.write(tmp_path, pl.header())
    (found,) = tbq.doctor(tmp_path)
    assert isinstance(found, tbq.Finding)
    assert set(found.to_dict()) == {
        "code", "name", "severity", "message", "run", "path", "offset", "tag", "hint"
    }  # fmt: skip
    assert found == tbq.doctor(tmp_path)[0]


def test_the_first_nan_of_a_run_is_where_to_look(tmp_path: Path) -> None:
    rows = [
        pl.scalar(tag, step, math.nan if step >= first else 1 / (1 + step))
        for step in range(50)
        for tag, first in (("accuracy", 40), ("loss", 30))
    ]
    pl.write(tmp_path, pl.header(), *rows)
    found = tbq.doctor(tmp_path)
    assert [(one.code, one.tag) for one in found] == [("TBQ501", "accuracy"), ("TBQ501", "loss")]
    assert all("before step 30" in (one.hint or "") for one in found)


def test_what_tensorboard_shows_is_said_of_a_repaired_log(tmp_path: Path) -> None:
    path = pl.healthy(tmp_path, pl.T0, range(60))
    pl.healthy(tmp_path, pl.T0 + 1000, range(40, 90))
    (found,) = tbq.doctor(tmp_path)
    assert found.code == "TBQ403" and found.message.endswith("tbq 180")
    records = pl.split(path.read_bytes())
    path.write_bytes(b"".join([*records[:40], bytes(100), *records[40:]]))
    found = tbq.doctor(tmp_path)[-1]
    assert found.code == "TBQ403" and found.message.endswith("tbq 180 (once the damage is repaired)")


def test_a_path_that_is_missing_does_not_hide_the_others(tmp_path: Path) -> None:
    pl.write(tmp_path / "a", pl.header())
    for source in (
        [tmp_path / "a", tmp_path / "b", tmp_path / "c"],
        {"x": tmp_path / "a", "y": tmp_path / "b", "z": tmp_path / "c"},
    ):
        found = [(one.code, one.path) for one in tbq.doctor(source)]
        assert found[:2] == [("TBQ103", str(tmp_path / "b")), ("TBQ103", str(tmp_path / "c"))]
        assert [code for code, _ in found[2:]] == ["TBQ104"]
    with pytest.raises(UsageError, match="empty path"):
        tbq.doctor("")
