"""Names that logs choose never reach a terminal as they are."""

from __future__ import annotations

import doctest
from pathlib import Path

import eventfile as ef
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tbq
from tbq import printable as module
from tbq.cli import main
from tbq.doctor.report import text
from tbq.printable import printable, shortened

RED = "\x1b[31mred\n"


def test_examples() -> None:
    result = doctest.testmod(module)
    assert result.attempted == 3 and result.failed == 0


@given(st.text(), st.integers(1, 30))
def test_it_fits_on_a_line(name: str, room: int) -> None:
    assert printable(name).isprintable() and len(printable(name)) == len(name)
    assert len(shortened(name, room)) == min(len(name), room)


def test_reports_and_errors_are_printable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "runs" / "a\x1b[2J"
    run.mkdir(parents=True)
    rows = [ef.scalar(RED, 0, step / 7) for step in range(20)]
    (run / "events.out.tfevents.1").write_bytes(ef.event_file([ef.version(), *rows]))
    report = text(tbq.doctor(tmp_path / "runs"), "runs", every=True)
    assert "run a\ufffd[2J\n" in report and "\ufffd[31mred⏎: " in report
    assert "\x1b" not in report
    with pytest.raises(SystemExit):
        main(["export", str(tmp_path / "runs"), "--tag", "red"])
    said = capsys.readouterr().err
    assert "no tag matches 'red'" in said and "\x1b" not in said
