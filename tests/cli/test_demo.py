"""`tbq demo` as a command."""

from __future__ import annotations

import subprocess
import sys


def tbq(*arguments):
    code = "import sys; from tbq.cli import main; main(sys.argv[1:])"
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True)


def test_it_lists_the_runs(tmp_path):
    done = tbq("demo", tmp_path / "runs")
    assert (done.returncode, done.stderr) == (0, f"9 runs in {tmp_path / 'runs'}:\n")
    assert done.stdout.split()[:2] == ["diverged", "lr=0.01/seed=0"]


def test_it_refuses_and_is_forced(tmp_path):
    assert tbq("demo", tmp_path).returncode == 0
    done = tbq("demo", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "the directory is not empty" in done.stderr and "--force" in done.stderr
    assert "Traceback" not in done.stderr
    assert tbq("demo", tmp_path, "--force").returncode == 0


def test_wrong_usage(tmp_path):
    assert tbq("demo").returncode == 2
    assert "Example" in tbq("demo", "--help").stdout


def test_the_help_is_that_of_click() -> None:
    """It is written without click, which takes three times as long to import as Python to start."""
    from click.testing import CliRunner

    from tbq.cli import help_text
    from tbq.cli.app import app

    done = CliRunner().invoke(app, ["--help"], prog_name="tbq", terminal_width=100)
    assert done.output == help_text() + "\n"
