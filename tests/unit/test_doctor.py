"""The doctor on one broken log for each finding, on healthy ones, and on paths that hold nothing."""

from __future__ import annotations

import contextlib
import doctest
import hashlib
import math
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import broken
import protolog as pl
import pytest
import torch_sweep
from hypothesis import example, given
from hypothesis import strategies as st
from profiles import examples

import tbq
from tbq import roles
from tbq.diagnosis import codes, explain
from tbq.diagnosis.report import text
from tbq.errors import SourceError, UsageError
from tbq.problems import RESTART_HINT
from tbq.text import printable

FIFO = hasattr(os, "mkfifo")
CASES = [case for case in broken.CASES if FIFO or case.name != "unreadable"]


def _hashes(root: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in root.rglob("*") if path.is_file()
    }


def _first_of_each_code(findings: list[tbq.Finding]) -> list[tbq.Finding]:
    """The first finding of each code, by run: the report says once per code and run what to do."""
    return list({(each.run, each.code): each for each in reversed(findings)}.values())


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_broken_log_gives_exactly_its_findings(case: broken.Case, tmp_path: Path) -> None:
    path = broken.make(case, tmp_path)
    before = _hashes(tmp_path)
    found = tbq.doctor(path)
    assert [(each.code, each.run) for each in found] == case.findings, [str(each) for each in found]
    assert all(each.message and each.hint for each in found)
    assert _hashes(tmp_path) == before
    report = text(found, str(path))
    assert 1 <= report.count("Next: ") <= len(found)
    assert all(f"Next: {printable(finding.hint or '')}" in report for finding in _first_of_each_code(found))


@pytest.mark.parametrize("name", broken.HEALTHY)
def test_healthy_log_gives_none(name: str, tmp_path: Path) -> None:
    broken.HEALTHY[name](tmp_path)
    assert tbq.doctor(tmp_path) == []


def test_every_code_has_a_broken_log() -> None:
    covered = {code for case in broken.CASES for code, _ in case.findings}
    # A file that fails while it is read cannot be made of bytes alone: tests/hostile/test_failing_disk.py.
    assert set(codes()) - covered == {"TBQ208"}


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
    pl.write(tmp_path, pl.header(), *[pl.scalar("loss", 0, 0.1, pl.T0 + n) for n in range(1, 50)])
    assert [each.code for each in tbq.doctor(tmp_path)] == ["TBQ404", "TBQ502"]
    assert [each.code for each in tbq.doctor(tmp_path, select="TBQ5")] == ["TBQ502"]
    assert [each.code for each in tbq.doctor(tmp_path, select=["TBQ4,TBQ5"], ignore=["TBQ404"])] == ["TBQ502"]
    assert tbq.doctor(tmp_path, select="TBQ4", ignore="TBQ404") == []


def test_damage_says_bytes_steps_and_what_is_left(tmp_path: Path) -> None:
    records = [pl.header(), *pl.scalars(["loss"], range(50))]
    at = sum(map(len, records[:31]))
    path = pl.write(tmp_path, *records[:31], bytes(1000), *records[31:])
    (found,) = tbq.doctor(tmp_path)
    assert (found.code, found.offset, found.path) == ("TBQ205", at, str(path))
    assert "1,000 bytes lost between step 29 and step 30; 51 records are valid" in found.message


def test_damage_in_a_large_image_is_found(tmp_path: Path) -> None:
    image = bytearray(pl.image("sample", 5, bytes(100_000)))
    image[60_000] ^= 1
    pl.write(
        tmp_path, pl.header(), *pl.scalars(["loss"], range(50)), bytes(image), pl.scalar("loss", 50, 1.0)
    )
    assert [each.code for each in tbq.doctor(tmp_path)] == ["TBQ204"]


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
    assert [each.code for each in tbq.doctor(tmp_path)] == ["TBQ202"]
    with path.open("ab"):
        os.utime(path, (pl.T0, pl.T0))
        assert [each.code for each in tbq.doctor(tmp_path)] == ["TBQ201"]
    with path.open("rb"):
        assert [each.code for each in tbq.doctor(tmp_path)] == ["TBQ202"]


def test_nothing_is_told_of_what_is_not_asked_about(tmp_path: Path) -> None:
    """The neighbourhood is searched only around a path that holds nothing."""
    pl.healthy(tmp_path / "a")
    pl.healthy(tmp_path / "b")
    assert tbq.doctor(tmp_path / "a") == []


def test_two_paths_that_make_one_name(tmp_path: Path) -> None:
    pl.healthy(tmp_path / "a")
    pl.healthy(tmp_path / "b")
    found = tbq.doctor([f"x:{tmp_path / 'a'}", f"x:{tmp_path / 'b'}"])
    assert [each.code for each in found] == ["TBQ601"]


def test_report_is_short_for_many_runs(tmp_path: Path) -> None:
    for run in range(40):
        pl.write(tmp_path / f"run{run}", pl.header())
    found = tbq.doctor(tmp_path)
    assert len(found) == 40
    report = text(found, "runs")
    assert "40 such findings in 40 runs" in report and len(report.splitlines()) < 12
    assert len(text(found, "runs", every=True).splitlines()) > 80


def test_the_function_keeps_its_name_beside_the_package(tmp_path: Path) -> None:
    import importlib
    import pickle

    module = importlib.import_module("tbq.diagnosis")
    assert tbq.doctor is module.doctor
    assert pickle.loads(pickle.dumps(tbq.doctor)) is tbq.doctor
    pl.healthy(tmp_path)
    assert tbq.doctor(tmp_path) == []


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
    assert [(each.code, each.tag) for each in found] == [("TBQ501", "accuracy"), ("TBQ501", "loss")]
    assert all("before step 30" in (each.hint or "") for each in found)


def test_findings_of_sub_runs_belong_to_their_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch_sweep.write(tmp_path / "runs")
    want = [(torch_sweep.DIVERGED, tag) for tag in ("hparam/val_loss", "train/loss", "val/loss")]
    found = tbq.doctor(tmp_path / "runs", select="TBQ5")
    assert [(each.run, each.tag) for each in found] == want
    assert found[0].message == "is NaN; it was logged once"
    assert {each.hint for each in found} == {"look at the learning rate and gradients before step 50"}
    monkeypatch.setattr(
        "tbq.diagnosis.survey.MOST_BYTES", 1 << 12
    )  # a part may have sub-runs without their runs
    parts = tbq.doctor(tmp_path / "runs", select="TBQ5")
    assert [(each.run, each.tag, each.message) for each in parts] == [
        (each.run, each.tag, each.message) for each in found
    ]


def test_damage_in_a_sub_run_is_of_its_run(tmp_path: Path) -> None:
    torch_sweep.write(tmp_path)
    below = next(tmp_path.glob("lr0.01_bs16_s0/1700000000.25/events*"))
    with below.open("ab") as file:
        file.write(b"\x05" * 9)
    (found,) = [each for each in tbq.doctor(tmp_path, select="TBQ2") if each.path == str(below)]
    assert found.run == "lr0.01_bs16_s0"


def test_a_single_value_has_no_step_before_it(tmp_path: Path) -> None:
    pl.write(tmp_path, pl.header(), pl.scalar("best/loss", 0, math.nan))
    (found,) = tbq.doctor(tmp_path, select="TBQ501")
    assert (found.message, found.hint) == (
        "is NaN; it was logged once",
        "look at the values that it is computed from",
    )


def test_crashed_runs_are_named_with_their_step_and_reason(tmp_path: Path) -> None:
    torch_sweep.write(tmp_path / "runs")
    with (
        pytest.raises(ZeroDivisionError),
        tbq.SummaryWriter(tmp_path / "runs" / "raised") as writer,
    ):
        writer.add_scalar("loss", 1.0, 1200)
        1 / 0  # noqa: B018
    found = {each.run: each for each in tbq.doctor(tmp_path / "runs", select="TBQ409")}
    early = "crashed at step 19: it stopped far before the other runs"
    assert {run: each.message for run, each in found.items()} == dict.fromkeys(torch_sweep.CRASHED, early) | {
        "raised": "crashed at step 1,200: an error ended it"
    }
    assert {(each.severity, each.hint) for each in found.values()} == {
        ("warning", "run it again, or leave it out")
    }


def test_a_notebook_shows_a_table_of_findings(tmp_path: Path) -> None:
    pl.write(tmp_path / "<b>", pl.header(), pl.scalar("loss", 0, 1.0), pl.scalar("loss", 1, math.nan))
    found = tbq.doctor(tmp_path, select="TBQ501")
    page = found._repr_html_()
    assert page.count("<tr") == 2 and ">&lt;b&gt;</td>" in page and "is NaN from step 1 on" in page
    assert repr(found) == found.report()
    assert "0 rows" in tbq.doctor(tmp_path, select="TBQ104")._repr_html_()


def test_what_tensorboard_shows_is_said_of_a_repaired_log(tmp_path: Path) -> None:
    path = pl.healthy(tmp_path, pl.T0, range(60))
    pl.healthy(tmp_path, pl.T0 + 1000, range(40, 90))
    (found,) = tbq.doctor(tmp_path)
    assert found.code == "TBQ403" and found.message.endswith("tbq 180")
    records = pl.split(path.read_bytes())
    path.write_bytes(b"".join([*records[:40], bytes(100), *records[40:]]))
    found = tbq.doctor(tmp_path)[-1]
    assert found.code == "TBQ403" and found.message.endswith("tbq 180 (after the damage is repaired)")


def test_a_path_that_is_missing_does_not_hide_the_others(tmp_path: Path) -> None:
    pl.write(tmp_path / "a", pl.header())
    for source in (
        [tmp_path / "a", tmp_path / "b", tmp_path / "c"],
        {"x": tmp_path / "a", "y": tmp_path / "b", "z": tmp_path / "c"},
    ):
        found = [(each.code, each.path) for each in tbq.doctor(source)]
        assert found[:2] == [("TBQ103", str(tmp_path / "b")), ("TBQ103", str(tmp_path / "c"))]
        assert [code for code, _ in found[2:]] == ["TBQ104"]
    with pytest.raises(UsageError, match="empty path"):
        tbq.doctor("")


@contextlib.contextmanager
def nobody() -> Iterator[None]:
    """As a user who is subject to permissions, unlike root."""
    if os.geteuid() != 0:
        yield
        return
    import pyarrow.compute  # noqa: F401 - now, because another user may not read the files of this interpreter

    os.setegid(65534)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


POSIX = pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that any user may look into, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        yield Path(made)


@POSIX
@pytest.mark.parametrize("where", ["runs", "runs/exp1", "runs/exp1/deep/below"])
def test_a_folder_that_cannot_be_read_is_the_cause_and_other_logs_are_none_of_it(
    open_folder: Path, where: str
) -> None:
    pl.healthy(open_folder / "somebody_elses" / "logs")  # near it, and nothing to do with it
    pl.healthy(open_folder / "runs" / "exp1")
    locked = open_folder / "runs"
    locked.chmod(0o000)
    try:
        with nobody():
            found = tbq.doctor(open_folder / where)
            with pytest.raises(SourceError, match="permission denied") as wrong:
                tbq.open(open_folder / where)
    finally:
        locked.chmod(0o755)
    assert [(each.code, each.path) for each in found] == [("TBQ108", str(open_folder / where))]
    assert "permission denied" in found[0].message and "ls -ld" in (found[0].hint or "")
    report = text(found, str(open_folder / where))
    assert "somebody_elses" not in report and "ls -ld" in report.partition("Next: ")[2]
    assert wrong.value.code == "unreadable" and "no such file" not in str(wrong.value)


@POSIX
def test_a_folder_that_cannot_be_read_beside_runs_that_can(open_folder: Path) -> None:
    pl.healthy(open_folder / "runs" / "exp1")
    pl.write(open_folder / "runs" / "exp2", pl.header())
    pl.healthy(open_folder / "runs" / "exp3")
    locked = open_folder / "runs" / "exp3"
    locked.chmod(0o000)
    try:
        with nobody():
            found = tbq.doctor(open_folder / "runs")
    finally:
        locked.chmod(0o755)
    assert [(each.code, each.run) for each in found] == [("TBQ108", None), ("TBQ104", "exp2")]
    assert found[0].path == str(locked)


def test_names_say_what_a_tag_is_for() -> None:
    result = doctest.testmod(roles)
    assert result.attempted > 10 and result.failed == 0
    for name in ("val_IoU", "trainLoss", "epoch_loss", "error_rate", "val/F1", "ppo/KL", "loss_epoch"):
        assert roles.is_metric(name), name
    for name in ("learning_rate", "lr-Adam", "kl_weight", "momentum", "grad_norm", "time/fps", "step"):
        assert not roles.is_metric(name), name


@examples(25)
@given(
    steps=st.integers(40, 60),
    epoch=st.sampled_from([5, 7, 20]),
    counts_anew=st.booleans(),
    place=st.floats(0, 1, exclude_max=True),
    bit=st.integers(0, 7),
)
@example(steps=40, epoch=20, counts_anew=True, place=0.5, bit=0)  # the header of the record that counts anew
@example(steps=40, epoch=20, counts_anew=True, place=0.51, bit=0)  # its data
def test_one_damaged_record_is_not_two_writers(
    tmp_path_factory: pytest.TempPathFactory,
    steps: int,
    epoch: int,
    counts_anew: bool,
    place: float,
    bit: int,
) -> None:
    """Batches beside epochs, or a counter that restarts: steps decrease, but not because of the damage."""
    root = tmp_path_factory.mktemp("log")
    records = [pl.header()]
    for step in range(steps):
        wall = pl.T0 + 1 + step
        records.append(pl.scalar("train/loss", step % epoch if counts_anew else step, 1 / (1 + step), wall))
        if step % epoch == epoch - 1 and not counts_anew:
            records.append(pl.scalar("val/loss", step // epoch, 1 / (1 + step), wall + 0.5))
    data = bytearray(b"".join(records))
    data[len(records[0]) + int(place * (len(data) - len(records[0])))] ^= 1 << bit
    path = pl.write(root, bytes(data))
    os.utime(path, (pl.T0, pl.T0))
    found = [each.code for each in tbq.doctor(root)]
    assert "TBQ303" not in found
    assert any(code.startswith("TBQ20") for code in found)


def test_a_rerun_says_what_it_hides_and_what_to_do(tmp_path: Path) -> None:
    pl.healthy(tmp_path, pl.T0, range(288))
    pl.healthy(tmp_path, pl.T0 + 1000, range(15))
    (found,) = tbq.doctor(tmp_path)
    assert (found.code, found.severity) == ("TBQ408", "warning")
    assert "hides 576 of its 606 points (95 %)" in found.message and found.message.endswith("tbq 30")
    assert found.hint == (
        "give each run its own directory; to keep them: restarts='keep', --restarts keep; "
        "to read each start as a run of its own: restarts='split', --restarts split"
    )
    assert RESTART_HINT in found.hint


def test_more_than_half_that_a_resume_hides_is_a_warning(tmp_path: Path) -> None:
    pl.healthy(tmp_path, pl.T0, range(100))
    pl.healthy(tmp_path, pl.T0 + 1000, range(20, 60))
    (found,) = tbq.doctor(tmp_path)
    assert (found.code, found.severity) == ("TBQ403", "warning")
    assert "hides 160 of its 280 points (57 %)" in found.message and found.hint == RESTART_HINT


def test_every_kind_of_damage_is_found_past_the_places_that_are_listed(tmp_path: Path) -> None:
    torn = bytearray(pl.scalar("loss", 1, 1.0))
    torn[-1] ^= 1
    odd = pl.record(b"\x0a\xff\xff\xff\xff\x0fno event")
    pl.write(tmp_path, pl.header(), bytes(torn) * 10_001, odd, pl.scalar("loss", 2, 1.0))
    found = {finding.code for finding in tbq.doctor(tmp_path)}
    first = {finding.code for finding in tbq.doctor(tmp_path) if "does not match" in finding.message}
    assert first and any("cannot be decoded" in finding.message for finding in tbq.doctor(tmp_path))
    assert len(found) > len(first)
