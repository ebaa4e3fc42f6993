"""`tbq plot` and other commands that draw: in a terminal, in a pipe, to files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from started import tbq as run

import tbq
from tbq.cli.app import app
from tbq.plot.options import PlotOptions


def test_a_pipe_gets_text_without_colours(runs: Path) -> None:
    done = run("plot", runs, "--tag", "val/loss", "--run", "lr=0.1")
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and lines[0] == "val/loss" and "\x1b" not in done.stdout
    assert "A seed=0  0.1939" in lines[-1] and max(map(len, lines)) <= 80


def test_a_pipe_without_utf8_gets_drawings_in_ascii_and_exact_data(runs: Path, tmp_path: Path) -> None:
    with tbq.SummaryWriter(tmp_path / "log" / "é") as writer:
        writer.add_scalar("…", 1.0)
    plain, full = ({**os.environ, "LC_ALL": each} for each in ("C", "C.UTF-8"))
    for words in (["plot", runs, "--tag", "val/loss"], ["show", runs, "val/loss", "--run", "lr=0.1/seed=0"]):
        drawn = run(*words, env=plain).stdout
        assert drawn.isascii() and drawn.count("\n") == run(*words, env=full).stdout.count("\n") > 2
        assert not run(*words, env=full).stdout.isascii()
    rows = run("export", tmp_path / "log", "-o", "-", "--format", "csv", env=plain)
    assert "é,…," in rows.stdout


def test_many_runs_that_repeat_configurations_are_to_be_grouped(tmp_path: Path) -> None:
    for i in range(24):
        with tbq.SummaryWriter(tmp_path / f"r{i}") as writer:
            writer.add_scalar("loss", 1.0, 1)
            if i < 23:  # the last run crashed before it wrote them
                writer.add_hparams(
                    {"lr": i % 3, "batch size": i // 3 % 2, "seed": i // 6, "id": i, "same": 1}, {}
                )
    hint = "24 runs: --by 'hparam.batch size,hparam.lr' --band std draws one line per configuration"
    done = run("plot", tmp_path, "--tag", "loss")
    assert done.stderr == f"tbq: {hint}\n"
    grouped = run("plot", tmp_path, "--tag", "loss", "--by", "hparam.batch size,hparam.lr", "--band", "std")
    assert "1 of 24 runs has no hyperparameter" in grouped.stderr and "(n=4)" in grouped.stdout
    few = run("plot", tmp_path, "--tag", "loss", "--run", "r1*")
    assert few.stderr == ""


def test_options_reach_the_picture(runs: Path, tmp_path: Path) -> None:
    target = tmp_path / "a.svg"
    options = (
        "--tag train/* --run lr=* --by re:(.*)/seed=.* --band ci95 --each --smooth 0.5 --x relative --log-y "
        "--steps 10: --ylim 0.1: --legend outside --title T --size double --panels 1 --style paper --font sans "
        "--order best:val/loss:min"
    )
    done = run("plot", runs, *options.split(), "-o", target)
    assert done.returncode == 0 and done.stderr == "" and target.stat().st_size > 5000


@pytest.mark.parametrize(
    ("words", "log"),
    [
        ("--log-y runs", {"lr", "val/loss"}),
        ("runs --log-y", {"lr", "val/loss"}),
        ("--log-y --legend none runs", {"lr", "val/loss"}),
        ("runs --log-y val/loss", {"val/loss"}),
        ("--log-y val/loss runs", {"val/loss"}),
        ("--log-y=val/loss runs", {"val/loss"}),
        ("runs --log-y lr", {"lr"}),  # a file of this name exists
        ("runs --log-y lr --log-y val/loss", {"lr", "val/loss"}),
        ("runs", set()),
    ],
)
def test_a_log_axis_for_all_tags_or_for_some(runs: Path, words: str, log: set[str], monkeypatch: Any) -> None:
    """The word after --log-y is a tag, unless the command would then have no log directory."""
    monkeypatch.chdir(runs.parent)
    Path("lr").touch()
    passed: dict[str, Any] = {}
    monkeypatch.setattr(tbq.LogDir, "plot_text", lambda _self, **options: passed.update(options) or "")
    done = CliRunner().invoke(app, ["plot", *words.split(), "--tag", "lr", "--tag", "val/loss"])
    assert done.exit_code == 0, done.output
    options = PlotOptions.of({"log_y": passed["log_y"]})
    assert {tag for tag in ("lr", "val/loss") if options.of_tag(tag).log_y} == log


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("--tag", "nosuch"), 1, "no tag matches 'nosuch'"),
        (("--style", "nice"), 2, "want one of screen, paper, talk, dark"),
        (("--by", "re:(", "--tag", "lr"), 2, "want a regular expression"),
        (("--tag", "samples"), 2, "a terminal without colours cannot show images"),
        (("-o", "x.gif"), 2, "tbq cannot draw .gif files"),
        (("--smooth", "7", "--tag", "lr"), 2, "not in the range 0<=x<=1"),
    ],
)
def test_what_is_wrong_is_said(
    runs: Path, tmp_path: Path, args: tuple[str, ...], code: int, message: str
) -> None:
    done = run("plot", runs, *args, cwd=tmp_path)
    assert done.returncode == code and message in done.stderr and "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_results_are_drawn(tmp_path: Path) -> None:
    np.save(tmp_path / "out.npy", np.eye(3)[[0, 1, 2, 1]])
    np.save(tmp_path / "y.npy", np.array([0, 1, 2, 2]))
    done = run("predictions", "out.npy", "--labels", "y.npy", "--plot", "m.png", "-o", "p.csv", cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "m.png").stat().st_size > 1000
    np.savez(tmp_path / "w.npz", **{"a.weight": np.ones(3), "a.bias": np.zeros(2)})
    done = run("weights", "w.npz", "--plot", "w.svg", cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "w.svg").exists() and not done.stdout
    assert run("weights", "w.npz", "--elements", "--plot", "v.svg", cwd=tmp_path).returncode == 2


def test_a_terminal_plot_imports_no_picture_library(runs: Path) -> None:
    code = (
        "import sys; from tbq.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "finally: print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "plot", str(runs), "--tag", "lr", "--run", "lr=*"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert not {"matplotlib", "PIL", "duckdb", "pandas", "tbq.results", "tbq.dashboard"} & set(
        done.stderr.split()
    )
