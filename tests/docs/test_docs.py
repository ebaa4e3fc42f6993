"""Every block of code in the README and docs runs and prints what is shown; the examples of `--help` run too."""

from __future__ import annotations

import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pages
import pytest
from buckets import S3Server

import tbq
from tbq.cli import COMMANDS, main
from tbq.cli.app import app

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "how").glob("*.md")),
    ROOT / "docs" / "site" / "assistant.md",
    ROOT / "docs" / "training" / "script.md",  # tests/interop runs the other pages there
]
PAGES.remove(ROOT / "docs" / "gallery.md")  # test_gallery.py runs its commands, and looks at what they draw
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)

# What the tests cannot run: installing, and blocks that need a real framework (tests/interop runs those).
INSTALLS = ("pip install",)
FRAMEWORKS = ("import wandb\n", "import mlflow\n")


def name_of(page: Path) -> str:
    """`README`, `tables`, `how/csv`."""
    return f"how/{page.stem}" if page.parent.name == "how" else page.stem


class Terminal(io.StringIO):
    """A dumb terminal of 80 columns."""

    def isatty(self) -> bool:
        return True


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """The language and the text of each block that runs."""
    for language, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        assert language in ("python", "console", "sh"), f"{page.name}: who runs a {language} block?"
        if not any(needed in text for needed in FRAMEWORKS):
            yield language, text


def commands(language: str, text: str) -> Iterator[tuple[str, list[str]]]:
    """Each command of a block with the lines that are shown below it; quotes may span lines.

    In a `console` block such a line ends with a backslash, or the site would take the next one for output.
    """
    lines = text.splitlines()
    while lines:
        line = lines.pop(0)
        if language == "console":
            assert line.startswith("$ "), line
            line = line[2:]
        while lines and (line.count("'") % 2 or line.count('"') % 2):
            assert language != "console" or line.endswith("\\"), line
            line = line.removesuffix("\\") + "\n" + lines.pop(0)
        shown = []
        while language == "console" and lines and not lines[0].startswith("$ "):
            shown.append(lines.pop(0))
        yield line, shown


def run(command: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str, str]:
    """The exit code of `tbq …`, and what it prints on a terminal: stdout, stderr."""
    program, *arguments = shlex.split(command, comments=True)
    assert program == "tbq", command
    out, err = Terminal(), io.StringIO()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        with pytest.raises(SystemExit) as ended:
            main(arguments)
    assert "Traceback" not in err.getvalue()
    return int(ended.value.code or 0), out.getvalue(), err.getvalue()


def is_shown(shown: list[str], printed: str) -> bool:
    """Whether these lines are what was printed; a line `…` stands for any number of lines."""
    wanted = "".join(
        r"(?:.*\n)*" if line == "…" else re.escape(line.rstrip()) + r"\n" for line in shown if line.strip()
    )
    lines = "".join(f"{line.rstrip()}\n" for line in printed.splitlines() if line.strip())
    return re.fullmatch(wanted, lines) is not None


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("tbq.cli.ls.clock", SimpleNamespace(time=lambda: pages.NOW))


@pytest.fixture
def shared(s3_server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bucket of the pages, with the runs of the demo in it, and the variables that lead there."""
    bucket = s3_server.bucket("bucket")
    bucket.upload(tbq.demo(tmp_path / "to-upload"), "runs")
    for name, value in bucket.storage.items():
        monkeypatch.setenv(name.upper(), value)
    monkeypatch.setenv("TBQ_CACHE", str(tmp_path / "cache"))


@pytest.mark.filterwarnings("ignore::tbq.TbqWarning")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: name_of(page))
def test_page(
    page: Path, here: None, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if "s3://bucket" in page.read_text(encoding="utf-8"):
        request.getfixturevalue("shared")
    names: dict[str, Any] = pages.prepare(name_of(page))
    for language, text in blocks(page):
        if language == "python":
            exec(compile(text, page.name, "exec"), names)
            continue
        for command, shown in commands(language, text):
            if command.startswith(INSTALLS):
                continue
            code, out, err = run(command, monkeypatch)
            told = bool(shown) and shown[0].startswith("tbq: ")  # a warning or an error, on stderr
            assert code == 0 or told or "doctor" in command, f"{command}\n{err}"
            printed = err if told else out
            assert not shown or is_shown(shown, printed), f"{command} prints\n{printed}"


def serve(example: str) -> None:
    """Run a command that serves in its own process, until it serves, or until it ends by itself."""
    program, *arguments = shlex.split(example)
    command = [sys.executable, "-m", program, *arguments]
    pipes: dict[str, Any] = {
        "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT
    }  # fmt: skip
    with subprocess.Popen(command, text=True, **pipes) as process:
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            said += line
            if "Press CTRL+C" in line or line.startswith("http://"):
                process.terminate()
        assert process.wait() == 0, said


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_of_the_help(name: str, here: None, monkeypatch: pytest.MonkeyPatch) -> None:
    command = app.get_command(click.Context(app), name)
    assert command is not None
    pages.prepare("nothing" if name == "demo" else "help")
    examples = [line.strip() for line in (command.epilog or "").splitlines() if line.startswith("  tbq ")]
    assert examples
    for example in examples:
        if name in ("board", "mcp", "serve"):
            serve(example)
            continue
        code, _, err = run(example.partition(" | ")[0], monkeypatch)
        alone = name == "watch" and "needs a terminal" in err  # tests/cli/test_watch.py gives it one
        assert code == 0 or "doctor" in example or alone, f"{example}\n{err}"
