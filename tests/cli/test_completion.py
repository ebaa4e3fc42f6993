"""Tab in real shells: bash, zsh and fish complete a line in a terminal, and run what they completed.

The oracle is the command itself: a `tbq` on the PATH notes its arguments, so quoting counts too.
"""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tbq
from tbq.cli import COMMANDS
from tbq.cli.candidates import after, after_line
from tbq.decode import glance

BREAKS = " \t\n\"'@><=;|&(:"
SHELLS = {
    "bash": (
        ["bash", "--norc", "--noprofile", "-i"],
        "eval \"$(tbq completion bash)\"; bind 'set bell-style none'",
    ),
    "zsh": (["zsh", "-f", "-i"], 'autoload -U compinit; compinit -u -D; eval "$(tbq completion zsh)"'),
    "fish": (["fish", "--no-config", "-i"], "tbq completion fish | source"),
}
TAB = "\t"
#: Makes stdin the terminal of a new session, and becomes the shell.
_IN_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a log, and a `tbq` that notes the arguments of every call that is not for completion."""
    place = tmp_path_factory.mktemp("shell")
    tbq.demo(place / "runs")
    with tbq.SummaryWriter(place / "runs" / "it's $5 & more") as writer:
        writer.add_scalar("a b/c:d", 1.0, 0)
    with tbq.SummaryWriter(place / "runs" / "k=1:x@2" / "sub") as writer:
        writer.add_scalar("loss", 1.0, 0)
    (place / "bin").mkdir()
    program = place / "bin" / "tbq"
    program.write_text(
        f"#!{sys.executable}\n"
        "import json, os, sys\n"
        "if sys.argv[1] != 'completion':\n"
        "    with open(os.environ['NOTED'] + '.new', 'w') as file:\n"
        "        json.dump(sys.argv[1:], file)\n"
        "    os.replace(os.environ['NOTED'] + '.new', os.environ['NOTED'])\n"
        "    sys.exit()\n"
        "from tbq.cli import main\n"
        "main()\n"
    )
    program.chmod(0o755)
    return place


class Shell:
    """A shell in a terminal of its own."""

    def __init__(self, name: str, place: Path, noted: Path) -> None:
        args, setup = SHELLS[name]
        self.noted = noted
        master, slave = pty.openpty()
        environment = {
            **os.environ, "PATH": f"{place / 'bin'}:{os.environ['PATH']}", "NOTED": str(noted), "TERM": "xterm",
            "HOME": str(noted.parent), "PS1": "$ ", "XDG_CONFIG_HOME": str(noted.parent),
            "XDG_DATA_HOME": str(noted.parent), "PYTHONPATH": str(Path(tbq.__file__).parents[1]),
        }  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, "-c", _IN_TERMINAL, *args],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=place,
            env=environment,
            start_new_session=True,
        )
        os.close(slave)
        os.set_blocking(master, False)
        self.master = master
        self.screen = b""
        self.arguments(f"{setup}\ntbq ready\n")

    def arguments(self, typed: str) -> list[str]:
        """Type, and return the arguments of the command that then ran."""
        self.noted.unlink(missing_ok=True)
        os.write(self.master, typed.encode())
        deadline = time.monotonic() + 60
        while not self.noted.exists():
            try:
                self.screen += os.read(self.master, 65536)
                if b"\x1b[c" in self.screen or b"\x1b[0c" in self.screen:  # fish asks what terminal this is
                    os.write(self.master, b"\x1b[?1;2c")
                    self.screen = b""
            except BlockingIOError:
                time.sleep(0.01)
            assert time.monotonic() < deadline, self.screen[-2000:].decode("utf-8", "replace")
        done: list[str] = json.loads(self.noted.read_text())
        return done

    def close(self) -> None:
        os.close(self.master)
        self.process.kill()
        self.process.wait(30)


CASES: list[tuple[str, list[str]]] = [
    ("tbq exp", ["export"]),
    ("tbq export runs --lay", ["export", "runs", "--layout"]),
    ("tbq export runs --kind hist", ["export", "runs", "--kind", "histograms"]),
    ("tbq export runs --tag train/lo", ["export", "runs", "--tag", "train/loss"]),
    ("tbq export runs --format parq", ["export", "runs", "--format", "parquet"]),
    ("tbq tags runs --run k=1:x@2/s", ["tags", "runs", "--run", "k=1:x@2/sub"]),
    ("tbq tags runs --run=k=1:", ["tags", "runs", "--run=k=1:x@2/sub"]),
    ("tbq tags runs --run it", ["tags", "runs", "--run", "it's $5 & more"]),
    ("tbq tags runs --run it\\'s\\ \\$", ["tags", "runs", "--run", "it's $5 & more"]),
    ("tbq show runs a", ["show", "runs", "a b/c:d"]),
    ('tbq sql runs "select run, step, val', ["sql", "runs", "select run, step, value"]),
    (
        "tbq sql runs \"select run from scalars where tag = 'loss' and val",
        ["sql", "runs", "select run from scalars where tag = 'loss' and value"],
    ),
    ("tbq ls ru", ["ls", "runs"]),
]


@pytest.mark.long
@pytest.mark.parametrize("name", SHELLS)
def test_a_shell_runs_what_tab_completed(name: str, place: Path, tmp_path: Path) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"there is no {name}")
    shell = Shell(name, place, tmp_path / "noted")
    try:
        for typed, want in CASES:
            got = shell.arguments(f"{typed}{TAB}\n")
            assert [each.strip().rstrip("/") for each in got] == want, typed
    finally:
        shell.close()


def names(*words: str) -> list[str]:
    return [entry.partition("\t")[0] for entry in after(words)]


def test_what_may_come_next(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    log = tbq.open("runs")
    assert names("") == [*COMMANDS, "help"]
    assert names("help", "ex") == ["export"]
    assert names("tags", "runs", "--run", "") == sorted(log.runs)
    assert set(names("export", "runs", "--run", "media", "--tag", "")) == set(log.tags(run="media")["tag"])
    assert names("summary", "runs", "--best", "val/lo") == ["val/loss:min", "val/loss:max"]
    assert names("export", "runs", "--kind=hist") == ["--kind=histograms"]
    assert names("export", "runs", "--kind", "images", "--columns", "run,wid") == ["run,width"]
    assert names("plot", "runs", "--kind", "rid") == ["ridge"]
    assert names("compare", "runs", "div") == names("compare", "runs", "k", "div") == ["diverged"]
    assert names("sql", "runs", "select * from sca") == ["select * from scalars"]
    assert names("sql", "runs", "select pla from meshes where comp") == [
        "select pla from meshes where component"
    ]
    assert names("export", "") == names("export", "runs", "") == names("export", "-o", "x") == [":files"]
    assert "--layout" in names("export", "--") and names("export", "--", "--") == [":files"]


@pytest.mark.parametrize(
    "words",
    [
        ("nothing", ""), ("export", "nowhere", "--tag", ""), ("export", "s3://bucket/runs", "--tag", ""),
        ("show", "\x01", ""), ("export", "runs", "--threads", ""), ("--", ""), ("export", "--tag", ""),
    ],
)  # fmt: skip
def test_errors_are_silent(words: tuple[str, ...], capfd: pytest.CaptureFixture[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tbq", "completion", "zsh", "--", "tbq", *words],
        capture_output=True,
        check=True,
    )
    assert done.stdout == done.stderr == b""


@pytest.mark.parametrize(
    ("line", "want"),
    [
        ("tbq tags runs --run k=1:x", ["x@2/sub"]),
        ("tbq tags runs --run 'div", ["diverged"]),
        ("tbq tags runs --run it\\'s\\ ", ["it\\'s\\ \\$5\\ \\&\\ more"]),
        ('tbq tags runs --run "it', ["it's \\$5 & more"]),
        ("FOO=1 bin/tbq tags 'runs' --run div", ["diverged"]),
        ("tbq ls runs ", []),
        ("tbq", []),
    ],
)
def test_bash_gets_the_part_that_it_replaces(
    line: str, want: list[str], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    assert after_line(BREAKS, line) == want


def test_a_tag_is_read_from_the_start_of_the_newest_files_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tbq.SummaryWriter(tmp_path / "run") as writer:
        writer.add_scalar("early", 1.0, 0)
        writer.add_text("filler", "x" * (3 << 20), 0)
        writer.add_scalar("late", 1.0, 0)
    tags = names("export", str(tmp_path), "--tag", "")
    assert "early" in tags and "late" not in tags


def test_of_many_runs_none_or_all_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glance, "_DIRECTORIES", 30)
    with tbq.SummaryWriter(tmp_path / "b3" / "c1") as writer:
        writer.add_scalar("loss", 1.0, 0)
    (content,) = (tmp_path / "b3" / "c1").iterdir()
    runs = [f"{first}{number}/c{below}" for first in "ab" for number in range(9) for below in range(3)]
    for run in runs:
        (tmp_path / run).mkdir(parents=True, exist_ok=True)
        (tmp_path / run / content.name).write_bytes(content.read_bytes())
    for beginning in ("b3", "b3/", "b3/c", "b3/c2", "b3/c22", "b", "c"):
        want = [run for run in runs if run.startswith(beginning)]
        assert names("tags", str(tmp_path), "--run", beginning) == (want if len(want) < 9 else []), beginning
    assert names("export", str(tmp_path), "--run", "a8/c2", "--tag", "") == ["loss"]
    assert names("export", str(tmp_path), "--tag", "") == ["loss"]
