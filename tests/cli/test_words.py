"""The words of commands for a person who mistypes: help, suggestions, and what to do next."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import eventfile as ef
import pytest
from protos import value, write

import tbq as package
from tbq import errors
from tbq.cli import COMMANDS
from tbq.cli.options import RARE

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_tbq_alone_is_its_help(tbq: Run) -> None:
    alone = tbq()
    assert alone.returncode == 0 and alone.stdout == tbq("--help").stdout == tbq("help").stdout
    assert "Commands:" in alone.stdout and not alone.stderr


def test_help_of_a_command(tbq: Run) -> None:
    for name in ("ls", "sql"):
        done = tbq("help", name)
        assert done.returncode == 0 and done.stdout == tbq(name, "--help").stdout
    done = tbq("help", "summry")
    assert done.returncode == 2 and "no command 'summry'. Did you mean 'summary'?" in done.stderr


def test_version_has_a_short_option(tbq: Run) -> None:
    assert tbq("-V").stdout == tbq("--version").stdout


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["export", "runs", "--tags", "x"], "no such option '--tags'. Did you mean --tag?\n"),
        (["export", "runs", "--runs", "x"], "no such option '--runs'. Did you mean --run?\n"),
        (["export", "runs", "--columnz", "x"], "no such option '--columnz'. Did you mean --columns?\n"),
        (["ls", "runs", "--quux"], "no such option '--quux'\n"),
        (["export", "runs", "--kind", "image"], "--kind image: did you mean images? Want one of all, "),
        (["export", "runs", "--kind", "scalar"], "--kind scalar: did you mean scalars? Want one of all, "),
        (["export", "runs", "--restarts", "resumed"], "--restarts resumed: did you mean resume? Want one of"),
        (["export", "runs", "--layout", "x"], "--layout x: want one of long, wide, summary\n"),
    ],
)
def test_what_was_meant(tbq: Run, tmp_path: Path, args: list[str], says: str) -> None:
    done = tbq(*args, cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.startswith(f"tbq: {says}"), done.stderr


def _log(folder: Path, *events: bytes) -> None:
    folder.mkdir(parents=True)
    (folder / "events.out.tfevents.1").write_bytes(ef.event_file([ef.version(), *events]))


def test_a_missing_path_names_what_is_near(tbq: Run, tmp_path: Path) -> None:
    _log(tmp_path / "runs" / "exp1", ef.scalar("loss", 1, 0.5))
    _log(tmp_path / "other" / "deep" / "exp2", ef.scalar("loss", 1, 0.5))
    (tmp_path / "empty").mkdir()

    def said(path: str) -> str:
        done = tbq("ls", path, cwd=tmp_path)
        assert done.returncode == 1
        return done.stderr

    assert "closest: runs\n" in said("rums")
    assert "closest: runs/exp1\n" in said("rums/exp1")
    assert "there are event files below runs, other\n" in said("typo/logs")
    assert "there are event files below runs, other\n" in said("empty")
    assert "closest: runs/exp1\n" in said("runs/exp")
    assert "closest: runs/exp1\n" in said("typo/exp1")  # the right name below a wrong one
    assert "closest: other/deep\n" in said("typo/deep")
    assert "closest: other/deep/exp2\n" in said("other/exp2")
    assert "closest: runs\n" in said("typo/wrong/runs")


def test_a_file_without_records_is_not_a_run(tbq: Run, tmp_path: Path) -> None:
    _log(tmp_path / "runs", ef.scalar("loss", 1, 0.5))
    for name, content in {
        "notes.txt": b"x\n",
        "long.txt": b"some notes\n" * 1000,
        "a.png": b"\x89PNG" * 9,
    }.items():
        (tmp_path / name).write_bytes(content)
        for command in ("ls", "export"):
            done = tbq(command, name, cwd=tmp_path)
            assert done.returncode == 1 and f"{name}: is not an event file" in done.stderr, done.stderr
            assert "there are event files below runs" in done.stderr and not done.stdout
        assert tbq("ls", "runs", name, cwd=tmp_path).returncode == 1
    renamed = tmp_path / "renamed.bin"
    (tmp_path / "runs" / "events.out.tfevents.1").rename(renamed)
    assert tbq("ls", renamed).returncode == 0
    renamed.write_bytes(b"damage" * 9 + renamed.read_bytes())
    assert tbq("ls", renamed).returncode == 0  # there are records after the damage


def test_one_file_per_run_names_the_runs_without_rows(tbq: Run, tmp_path: Path) -> None:
    _log(tmp_path / "runs" / "a", ef.scalar("loss", 1, 0.5))
    for name in ("b", "c"):
        _log(tmp_path / "runs" / name, ef.scalar("acc", 1, 0.5))
    options = ["--tag", "loss", "-o", tmp_path / "{run}.csv", "--force"]
    done = tbq("export", tmp_path / "runs", *options)
    assert "2 of 3 runs have no scalars here, so no file: b, c" in done.stderr and done.returncode == 0
    done = tbq("export", tmp_path / "runs", *options, "--run", "a", "--restarts", "split")
    assert not done.stderr.strip() or "no file" not in done.stderr


def test_strict_says_what_to_do_next(tbq: Run, tmp_path: Path) -> None:
    _log(tmp_path / "runs", ef.scalar("loss", 1, 0.5), ef.scalar("loss", 2, 0.5))
    path = tmp_path / "runs" / "events.out.tfevents.1"
    content = bytearray(path.read_bytes())
    content[-6] ^= 255
    path.write_bytes(content + ef.event_file([ef.scalar("loss", 3, 0.5)]))
    done = tbq("export", tmp_path / "runs", "--strict")
    assert done.returncode == 1 and "omit --strict" in done.stderr and "tbq doctor" in done.stderr


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install 'tbq[plot]'"),
        ({"url": "file:///no/such/clone", "dir_info": {}}, "pip install '/no/such/clone[plot]'"),
        ({"url": "file:///a%20b", "dir_info": {"editable": True}}, "pip install -e '/a b[plot]'"),
        (
            {"url": "https://a.example/tbq", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            "pip install 'tbq[plot] @ git+https://a.example/tbq@abc'",
        ),
        (
            {"url": "file:///w/tbq-1-py3.whl", "archive_info": {}},
            "pip install 'tbq[plot] @ file:///w/tbq-1-py3.whl'",
        ),
    ],
)
def test_an_extra_comes_from_where_tbq_came(
    monkeypatch: pytest.MonkeyPatch, origin: object, command: str
) -> None:
    class Installed:
        @staticmethod
        def read_text(name: str) -> str | None:
            return json.dumps(origin) if origin is not None and name == "direct_url.json" else None

    monkeypatch.setattr("importlib.metadata.distribution", lambda _name: Installed)
    monkeypatch.setattr(errors, "installer", lambda: "pip install")
    assert errors.install_command("plot") == command
    assert errors.missing("matplotlib", needed_for="a file", extra="plot").hint == command


def test_an_extra_in_the_clone_is_a_dot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Installed:
        @staticmethod
        def read_text(_name: str) -> str:
            return json.dumps({"url": tmp_path.as_uri(), "dir_info": {}})

    monkeypatch.setattr("importlib.metadata.distribution", lambda _name: Installed)
    monkeypatch.chdir(tmp_path)
    assert errors.install_command("plot").endswith("pip install '.[plot]'")


def test_packages_go_into_the_environment_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, outside = tmp_path / "a b" / "bin", tmp_path / "bin"
    for folder in (inside, outside):
        folder.mkdir(parents=True)
        (folder / "pip").touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(inside / "python"))
    monkeypatch.setenv("PATH", str(inside))
    assert errors.installer() == "pip install"
    monkeypatch.setenv("PATH", str(outside))  # a venv that is not activated; pipx
    assert errors.installer() == f"'{inside / 'python'}' -m pip install"
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)  # uv
    assert errors.installer() == f"uv pip install --python '{inside / 'python'}'"


_RARE = (
    "--max-unpacked",
    "--storage",
    "--cache",
    "--threads",
    "--strict",
    "--merge-runs",
    "--json-nan",
    "--csv-safe",
)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_lists_rarely_needed_options_last(name: str) -> None:
    from click.testing import CliRunner

    from tbq.cli.app import app

    text = CliRunner().invoke(app, [name, "--help"]).output
    usual, _, rare = text.partition(f"\n{RARE}:\n")
    named = [option for option in _RARE if f"  {option}" in text]
    assert [option for option in named if f"  {option}" in rare] == named, usual
    assert bool(rare) == bool(named)
    assert "-h, --help" in usual and "Usage: " in usual
    options = usual.partition("\nOptions:\n")[2].splitlines()
    assert options[0].startswith("  -"), "the usage line has the arguments"


#: Options whose values differ by nature: a folder, a new directory, a figure's kinds and names, a stream's formats.
DIFFER = {"--format", "--kind", "--output", "--restarts"}


def test_an_option_takes_the_same_in_every_command() -> None:
    values: dict[str, set[str]] = {}
    for module, _ in COMMANDS.values():
        command: click.Command = importlib.import_module(f"tbq.cli.{module}").command
        for each in command.params:
            if isinstance(each, click.Option) and not each.is_flag:
                name = max(each.opts, key=len)
                values.setdefault(name, set()).add(each.make_metavar(click.Context(command)))
    assert {name for name, found in values.items() if len(found) > 1} == DIFFER


@pytest.mark.parametrize(
    ("text", "says"),
    [("0", "a duration longer than 0, such as 10m"), ("soon", "a duration such as 90, 90s, 10m")],
)
def test_times_have_one_grammar(tbq: Run, text: str, says: str) -> None:
    done = tbq("watch", "runs", "--stalled-after", text)
    assert done.returncode == 2 and f"--stalled-after: got '{text}', want {says}" in done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("reduce", "--stat", "meen"), "--stat: got 'meen', want one of mean, std"),
        (("plot", "--band", "ci"), "--band: got 'ci', want one of none, std"),
        (("ls", "--source", "wb"), "--source: got ['wb'], want one or several of events"),
        (("export", "--steps", "5-9"), "--steps: got '5-9', want a step"),
        (("summary", "--top", "3"), "--top: nothing says which runs come first"),
    ],
)
def test_errors_name_the_option_not_the_argument(
    tbq: Run, tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    write(tmp_path / "runs", value("loss", simple_value=1.0))
    done = tbq(words[0], "runs", *words[1:], cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.startswith(f"tbq: {says}")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("follow", "rnus", "--timeout", "0.1"), "waiting for event files in rnus; closest: runs"),
        (("mcp", "rnus"), "rnus does not exist yet; closest: runs"),
        (("mcp", "expr"), ""),
    ],
)
def test_a_command_that_waits_names_what_may_have_been_meant(
    tbq: Run, tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    (tmp_path / "runs").mkdir()
    done = tbq(*words, cwd=tmp_path)
    assert done.returncode == 0 and done.stderr == (f"tbq: {says}\n" if says else "")


@pytest.mark.parametrize(("tag", "waits"), [("los", True), ("lo*", False), ("acc", True)])
def test_following_a_tag_that_was_never_logged_says_so(
    tbq: Run, tmp_path: Path, tag: str, waits: bool
) -> None:
    write(tmp_path / "runs", value("loss", simple_value=1.0))
    done = tbq("follow", "runs", "--tag", tag, "--fail-on", "nan", "--timeout", "0.1", cwd=tmp_path)
    says = f"tbq: waiting for tags that match {tag}; tbq tags lists what was logged so far\n"
    assert done.returncode == 0 and done.stderr.startswith(says) == waits


def test_one_more_is_not_plural(tbq: Run, tmp_path: Path) -> None:
    for name in ("a", "b", "c", "d"):
        _log(tmp_path / name / "exp", ef.scalar("loss", 1, 0.5))
    (tmp_path / "empty").mkdir()
    assert "below a, b, c and 1 more\n" in tbq("ls", "empty", cwd=tmp_path).stderr
    for source in Path(package.__file__).parent.rglob("*.py"):
        # "1 more in this run" and "1 more series" are right.
        guessed = re.search(r"\{[^{}]*:,\} more (?!in |series\b)[\w ]*s\b", source.read_text())
        assert guessed is None, f"{source}: {guessed and guessed[0]}: use counted()"
