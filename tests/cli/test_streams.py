"""Standard streams that are closed, full or a file name, and impossible outputs: reported early and clearly."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tbq import demo

Run = Callable[..., subprocess.CompletedProcess[str]]

POSIX = pytest.mark.skipif(os.name != "posix", reason="streams are closed by a POSIX shell")
FULL = pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="this system has no disk that is always full"
)


def shell(command: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run `command` in a shell with this `tbq`, and the arguments as $1, $2, …"""
    script = command.replace("tbq", f"'{sys.executable}' -m tbq")
    done = subprocess.run(
        ["sh", "-c", script, "sh", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


@POSIX
def test_closed_streams_are_no_streams(logdir: Path, tmp_path: Path) -> None:
    assert shell('tbq ls "$1" >&-', logdir).returncode == 0
    done = shell('tbq export "$1" -o "$2" <&- >&- 2>&-', logdir, tmp_path / "out.csv")
    assert done.returncode == 0 and (tmp_path / "out.csv").read_text().startswith("run,tag,")
    assert shell('tbq export "$1" --tag nope 2>&-', logdir).returncode == 1


@FULL
@pytest.mark.parametrize("command", ["doctor", "export", "ls --help"])
def test_stdout_that_is_full_is_told(logdir: Path, command: str) -> None:
    done = shell(f'tbq {command} "$1" >/dev/full', logdir)
    assert done.returncode == 1
    assert "cannot be written: no space left on device" in done.stderr


@POSIX
@pytest.mark.parametrize("command", ["--help", "-V", "help", "ls --help", "help ls", "ls", "doctor", "tags"])
def test_a_reader_that_leaves_is_not_an_error(logdir: Path, command: str) -> None:
    where = "" if "h" in command or "V" in command else '"$1"'
    done = shell(f"{{ tbq {command} {where}; echo $? >&2; }} | true", logdir)
    assert done.stderr.splitlines()[-1:] == ["0"]


@FULL
def test_a_full_stdout_is_not_called_a_file(logdir: Path) -> None:
    said = shell('tbq export "$1" >/dev/full', logdir).stderr
    assert "stdout: cannot be written" in said and "incomplete" in said and "no partial file" not in said


@pytest.mark.parametrize("module", ["click", "tbq.cli.app", "tbq.cli.emit", "tbq.cli.ls", "arro3"])
def test_ctrl_c_while_tbq_imports_is_one_line(logdir: Path, module: str) -> None:
    """An import hook raises KeyboardInterrupt, as Ctrl-C at that moment would."""
    code = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}:\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from tbq.cli import main\n"
        "main(['ls', sys.argv[1]])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, logdir], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "tbq: interrupted")


def test_dash_is_stdout_as_csv_or_as_asked(tbq: Run, logdir: Path) -> None:
    assert tbq("ls", logdir, "-o", "-").stdout.startswith("run,files,")
    assert tbq("ls", logdir, "-o", "-", "--format", "json").stdout.startswith("[")


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("file/out.csv", 1, "is not a folder\n  name another path"),
        ("folder", 1, "is a folder, want a file name"),
        ("out", 2, "has no extension that names a format\n"),
    ],
)
def test_a_target_that_cannot_be_is_told_before_anything_is_read(
    tbq: Run, logdir: Path, tmp_path: Path, name: str, code: int, said: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    done = tbq("export", tmp_path / "no" / "such" / "logdir", "-o", tmp_path / name)
    assert done.returncode == code and said in done.stderr


def test_a_table_without_rows_says_what_to_do(tbq: Run, tmp_path: Path) -> None:
    (tmp_path / "events.out.tfevents.1").touch()
    done = tbq("export", tmp_path)
    assert (done.returncode, done.stdout) == (0, "run,tag,step,wall_time,value\n")
    assert "no scalars\n" in done.stderr and f"tbq doctor {tmp_path}" in done.stderr


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root of Linux mounts a small disk"
)
def test_a_full_disk_leaves_nothing_that_looks_finished(tbq: Run, tmp_path: Path) -> None:
    logs, disk = demo(tmp_path / "runs"), tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=24k", "tmpfs", disk]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        for command in ("media", "export --kind all", "export --format sqlite", "rewrite", "demo"):
            target = disk / command.split()[-1]
            done = tbq(*command.split(), *([target] if command == "demo" else [logs, "-o", target]))
            assert done.returncode == 1, command
            assert str(target) in done.stderr
            assert "space left" in done.stderr or "is full" in done.stderr
            left = [path.name for path in disk.rglob("*") if path.is_file()]
            if command == "media":  # whole files may be there, but not the list of them
                assert "manifest.csv" not in left and not any(name.endswith(".tmp") for name in left)
                shutil.rmtree(target)
            else:
                assert left == [], command
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["lss", "runs"], "tbq: no command 'lss'. Did you mean 'ls'?\n  see: tbq --help\n"),
        (["ls"], "tbq: missing argument 'LOGDIR...'\n  want: tbq ls LOGDIR...\n  see: tbq ls --help\n"),
        (
            ["export", "runs", "--every", "0"],
            "tbq: invalid value for '--every': 0 is not in the range x>=1\n",
        ),
        (["tags", "nowhere"], "tbq: nowhere: no such file or directory\n"),
        (
            ["summary", "nowhere", "--best", "x"],
            "tbq: --best x: want TAG:min or TAG:max\n  e.g. --best val/loss:min\n",
        ),
    ],
)
def test_errors_have_one_style(tbq: Run, args: list[str], says: str, tmp_path: Path) -> None:
    done = tbq(*args, cwd=tmp_path)
    assert done.stderr.startswith(says)
    assert done.returncode == (1 if args == ["tags", "nowhere"] else 2)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("args", [["--help"], ["-h"], ["ls", "--help"], ["--version"]])
def test_help_on_a_full_disk_is_one_message(args: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tbq", *args], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, done.stderr) == (
        1,
        "tbq: the output cannot be written: no space left on device\n",
    )
