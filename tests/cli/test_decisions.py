"""The way from a sweep to a decision on the command line: which configuration, how sure, which parameter matters."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import sweep
from started import records

from tbq import SummaryWriter

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sweep.write(tmp_path_factory.mktemp("swept") / "runs")


def test_which_configuration(tbq: Run, runs: Path) -> None:
    done = tbq("summary", runs, "--by", "hparam.lr,hparam.batch_size", "--best", "val/loss:min", "--top", "2")
    rows = records(done.stdout)
    assert [(row["hparam.lr"], row["hparam.batch_size"]) for row in rows] == [
        ("0.01", "16.0"),
        ("0.01", "32.0"),
    ]
    warning, verdict, *early = done.stderr.splitlines()
    assert "2 of 60 runs left out" in warning
    assert verdict.startswith(
        "(lr=0.01, batch_size=16) and (lr=0.01, batch_size=32) differ beyond chance: p = "
    )
    assert "(Welch's t-test, 5 and 5 runs, the best 2 of 12 configurations)" in verdict
    assert not early  # the diverged run has no finite value
    same = tbq("summary", runs, "--by", "hparam.lr", "--by", "hparam.batch_size", "--best", "val/loss:min")
    assert records(same.stdout)[:2] == rows
    curves = tbq("reduce", runs, "--by", "hparam.lr,hparam.batch_size", "--tag", "val/loss", "--best", "val/loss:min",
                 "--top", "1", "--stat", "mean")  # fmt: skip
    assert {row["group"] for row in records(curves.stdout)} == {"lr=0.01, batch_size=16"}


def test_which_parameter(tbq: Run, runs: Path) -> None:
    rows = records(tbq("summary", runs, "--importance", "--best", "val/loss:min").stdout)
    assert [row["hparam"] for row in rows][:2] == ["lr", "batch_size"]
    assert (rows[0]["best"], rows[0]["direction"]) == ("0.01", "")


def test_two_tags_joined(tbq: Run, runs: Path) -> None:
    done = tbq(
        "export",
        runs,
        "--layout",
        "wide",
        "--tag",
        "train/loss",
        "--asof",
        "val/loss",
        "--run",
        "lr0.01_bs16_s0",
    )
    rows = records(done.stdout)
    assert [row["step"] for row in rows] == ["9", "19", "29", "39"]
    assert all(row["train/loss"] == row["val/loss"] for row in rows)


def test_steps_of_joined_tags(tbq: Run, tmp_path: Path) -> None:
    """The last value of another tag counts also if it was logged before the first of `--steps`."""
    with SummaryWriter(tmp_path / "run") as writer:
        writer.add_scalar("lr", 0.5, 0)
        for step in range(5):
            writer.add_scalar("loss", step, step)
    rows = records(tbq("export", tmp_path, "--layout", "wide", "--asof", "loss", "--steps", "2:3").stdout)
    assert [(row["step"], row["lr"], row["loss"]) for row in rows] == [
        ("2", "0.5", "2.0"),
        ("3", "0.5", "3.0"),
    ]


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["summary", "--top", "3"], "--best val/loss:min, --sort COLUMN"),
        (["reduce", "--top", "3"], "--best val/loss:min, --sort COLUMN"),
        (["summary", "--by", "hparam.lr"], "add best={'val/loss': 'min'} (--best val/loss:min)"),
        (["summary", "--importance"], "--importance --best val/loss:min"),
        (
            ["summary", "--importance", "--best", "val/loss:min", "--top", "2"],
            "--top is not for --importance",
        ),
        (
            ["summary", "--by", "hparam.lr", "--best", "val/loss:min", "--spark", "val/loss"],
            "--spark is not for --by",
        ),
        (["summary", "--by", "hparam.lr", "--best", "val/loss:min", "--stat", "min"], "omit stats, --stat"),
        (["reduce", "--as-events", "-o", "out", "--top", "2", "--best", "a:min"], "not for --as-events"),
        (["export", "--asof", "val/loss"], "--asof is for scalars with --layout wide"),
        (["reduce", "--best", "val/loss"], "want TAG:min or TAG:max"),
    ],
)
def test_what_to_do_instead(tbq: Run, runs: Path, command: list[str], says: str) -> None:
    done = tbq(command[0], runs, *command[1:])
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
