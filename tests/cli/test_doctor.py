"""`tbq doctor` and `tbq rewrite` as commands: what they print, and their exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import protolog as pl

import tbq as library
from tbq.diagnosis import codes

Run = Callable[..., CompletedProcess[str]]


def test_healthy_log_is_0(tbq: Run, tmp_path: Path) -> None:
    pl.healthy(tmp_path)
    done = tbq("doctor", tmp_path)
    assert (done.returncode, done.stdout) == (0, f"{tmp_path}: no problems\n")


def test_information_alone_is_0_and_a_warning_is_1(tbq: Run, tmp_path: Path) -> None:
    pl.healthy(tmp_path / "a", pl.T0, range(60))
    pl.healthy(tmp_path / "a", pl.T0 + 1000, range(40, 90))
    done = tbq("doctor", tmp_path)
    assert done.returncode == 0 and "TBQ403" in done.stdout
    pl.write(tmp_path / "b", pl.header())
    done = tbq("doctor", tmp_path)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0] == f"{tmp_path}: 1 warning, 1 note"
    assert lines.index("run b") < lines.index("run a")  # the most important first
    hints = [
        line.strip() for line in lines if "Next: " in line
    ]  # one per kind of finding, the first one's first
    assert len(hints) == 2 and hints[0].startswith("Next: call writer.flush()") and "tbq rewrite" in hints[1]
    assert lines[-1] == "Details: tbq doctor --explain TBQ104"
    assert tbq("doctor", tmp_path, "--ignore", "TBQ104").returncode == 0


def test_paths_that_hold_nothing(tbq: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path, code in ((tmp_path / "empty", "TBQ101"), (tmp_path / "no" / "where", "TBQ103")):
        done = tbq("doctor", path)
        assert done.returncode == 1 and code in done.stdout and not done.stderr
    pl.healthy(tmp_path / "logs" / "exp1")
    done = tbq("doctor", tmp_path / "empty")
    assert "TBQ102" in done.stdout and done.stdout.splitlines()[-3].endswith("/logs")
    (tmp_path / "more" / "exp1").mkdir(parents=True)
    pl.healthy(tmp_path / "also" / "exp1")
    done = tbq("doctor", "lgos", cwd=tmp_path)  # a name like its own comes first
    assert "does not exist, but there are event files below logs, also" in done.stdout
    assert "tbq doctor logs\n" in done.stdout


def test_json_is_the_findings(tbq: Run, tmp_path: Path) -> None:
    pl.write(tmp_path, pl.header(), pl.scalar("loss", 1, 0.5), bytes(50), pl.scalar("loss", 2, 0.5))
    done = tbq("doctor", tmp_path, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout) == [finding.to_dict() for finding in library.doctor(tmp_path)]
    assert json.loads(done.stdout)[0]["code"] == "TBQ205"


def test_explain(tbq: Run) -> None:
    done = tbq("doctor", "--explain", "tbq205")
    assert (
        done.returncode == 0
        and done.stdout.startswith("TBQ205 zeros (error)\n")
        and "What to do\n" in done.stdout
    )
    wrong = tbq("doctor", "--explain", "TBQ1")
    assert wrong.returncode == 2 and "unknown code" in wrong.stderr


def test_docs_list_every_code() -> None:
    page = (Path(__file__).parents[2] / "docs" / "doctor.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:4] for line in page.splitlines() if line.startswith("| TBQ")]
    listed = {code.strip(): (severity.strip(), title.strip()) for code, severity, title in rows}
    from tbq.diagnosis.checks import all_checks

    assert listed == {
        check.rule.code: (check.rule.severity, check.title.rstrip(".")) for check in all_checks()
    }
    assert list(listed) == list(codes())


def test_rewrite_says_what_it_did(tbq: Run, tmp_path: Path) -> None:
    pl.healthy(tmp_path / "runs/job1", pl.T0, range(60))
    pl.healthy(tmp_path / "runs/job2", pl.T0 + 1000, range(40, 90))
    options = [
        "--merge-runs",
        "job1,job2=job",
        "--restarts",
        "resume",
        "--rename",
        r"re:train/(.*)=\1",
        "--every",
        "2",
    ]
    dry = tbq("rewrite", tmp_path / "runs", "-o", tmp_path / "new", *options, "--dry-run")
    assert dry.returncode == 0 and dry.stdout.startswith(
        f"would write {tmp_path / 'new'}: 1 file from 2, 92 of 222 records"
    )
    assert "  2 records added to mark the start or end of sessions\n" in dry.stdout
    assert not (tmp_path / "new").exists()
    done = tbq("rewrite", tmp_path / "runs", "-o", tmp_path / "new", *options)
    assert done.returncode == 0 and done.stdout == dry.stdout.replace("would write", "wrote")
    log = library.open(tmp_path / "new")
    assert log.runs == ["job"] and log.series("acc").steps.tolist() == list(range(0, 90, 2))
    again = tbq("rewrite", tmp_path / "runs", "-o", tmp_path / "new")
    assert again.returncode == 1 and "already exists" in again.stderr


def test_rewrite_as_json_and_damage(tbq: Run, tmp_path: Path) -> None:
    pl.write(tmp_path / "runs", pl.header(), pl.scalar("loss", 1, 0.5), bytes(50), pl.scalar("loss", 2, 0.5))
    done = tbq("rewrite", tmp_path / "runs", "-o", tmp_path / "new")
    assert done.returncode == 1 and "--repair" in done.stderr and not done.stdout
    done = tbq("rewrite", tmp_path / "runs", "-o", tmp_path / "new", "--repair", "--json")
    report = json.loads(done.stdout)
    assert (report["records_out"], report["gone_bytes"], report["gone"][0]["code"]) == (3, 50, "zeros")
    assert tbq("doctor", tmp_path / "new").returncode == 0


def test_rewrite_wrong_usage(tbq: Run, tmp_path: Path) -> None:
    pl.healthy(tmp_path / "runs")
    for option in (["--rename", "loss"], ["--drop-kind", "pictures"]):
        assert tbq("rewrite", tmp_path / "runs", "-o", tmp_path / "new", *option).returncode == 2
    assert not (tmp_path / "new").exists()
