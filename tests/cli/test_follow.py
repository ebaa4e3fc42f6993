"""`tbq follow`: rows as they are written, its ends, and the alarms that a job script uses."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import eventfile as ef
import pytest

import tbq as library
from tbq.cli.watchdog import FailedCheck, execute

Run = Callable[..., subprocess.CompletedProcess[str]]
NAME = "events.out.tfevents.1.host"
HEADER = "run,tag,step,wall_time,value\n"
posix = pytest.mark.skipif(os.name != "posix", reason="signals and pipes of POSIX")


def add(path: Path, *values: float, tag: str = "loss", first: int = 0, wall: float = 1000.0) -> None:
    """Append a scalar for each value, and the version before the first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    events = [] if path.exists() else [ef.version(wall)]
    events += [ef.scalar(tag, step, value, wall + step) for step, value in enumerate(values, first)]
    with path.open("ab") as file:
        file.write(ef.event_file(events))


class Following:
    """A running `tbq follow`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None and process.stderr is not None
        self.out: IO[str] = process.stdout
        self.err: IO[str] = process.stderr

    def line(self) -> str:
        return self.out.readline()

    def end(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=120)
        assert "Traceback" not in err, err
        return self.process.returncode, out, err


@contextlib.contextmanager
def following(*args: object) -> Iterator[Following]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tbq", "follow", *map(str, args)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip
    with process:
        try:
            yield Following(process)
        finally:
            process.kill()


@posix
def test_rows_come_as_they_are_written_until_ctrl_c(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "a" / NAME
    with following(tmp_path / "runs", "--from", "now", "--interval", "0.02") as follow:
        assert follow.line() == HEADER
        assert "waiting for event files in " in follow.err.readline()
        add(path, 0.5, 0.25)
        assert [follow.line(), follow.line()] == ["a,loss,0,1000.0,0.5\n", "a,loss,1,1001.0,0.25\n"]
        add(path, 0.1, first=2)
        assert follow.line() == "a,loss,2,1002.0,0.1\n"
        follow.process.send_signal(signal.SIGINT)
        assert follow.end() == (0, "", "")


@pytest.mark.long
@posix
@pytest.mark.parametrize("quiet", [True, False])
def test_ctrl_c_typed_in_a_terminal(tmp_path: Path, quiet: bool) -> None:
    from terminal import Terminal

    if not quiet:
        add(tmp_path / "a" / NAME, 0.5, 0.25)
    terminal = Terminal("follow", tmp_path, "--from", "start", "--interval", "0.02")
    terminal.shows("waiting for event files" if quiet else "0.25")
    terminal.type("\x03")
    code = terminal.end()
    assert (code, b"Traceback" in terminal.raw, b"error" in terminal.raw) == (0, False, False), terminal.raw


def test_from_now_and_from_the_start(tbq: Run, tmp_path: Path) -> None:
    add(tmp_path / "a" / NAME, 1.0, float("nan"))
    done = tbq("follow", tmp_path, "--idle", 0, "--from", "now")
    assert (done.returncode, done.stdout, done.stderr) == (0, HEADER, "")
    done = tbq("follow", tmp_path, "--idle", 0)
    assert done.stdout == HEADER + "a,loss,0,1000.0,1.0\na,loss,1,1001.0,nan\n"
    done = tbq("follow", tmp_path, "--idle", 0, "--from", "start", "--format", "jsonl", "--time", "relative")
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"run": "a", "tag": "loss", "step": 0, "wall_time": 0.0, "value": 1.0},
        {"run": "a", "tag": "loss", "step": 1, "wall_time": 1.0, "value": None},
    ]
    done = tbq("follow", tmp_path, "--idle", 0, "--from", "start", "--format", "tsv", "--steps", "1:")
    assert done.stdout.splitlines()[1:] == ["a\tloss\t1\t1001.0\tnan"]


@pytest.mark.long
def test_what_is_shown_can_be_chosen(tbq: Run, tmp_path: Path) -> None:
    runs = library.demo(tmp_path / "runs")
    done = tbq("follow", runs, "--from", "start", "--idle", 0, "--run", "diverged", "--tag", "l*")
    exported = tbq("export", runs, "--run", "diverged", "--tag", "l*", "-o", "-")
    assert done.stdout == exported.stdout
    done = tbq(
        "follow", runs, "--from", "start", "--idle", 0, "--kind", "texts", "--kind", "images", "--format", "jsonl"
    )  # fmt: skip
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {row["kind"] for row in rows} == {"texts", "images"} and "data" not in rows[-1]
    assert tbq("follow", runs, "--kind", "texts", "--kind", "images").returncode == 2


@posix
def test_retracted_rows_are_reported(tmp_path: Path) -> None:
    add(tmp_path / "a" / NAME, 1.0, 2.0, 3.0)
    args = (tmp_path, "--interval", "0.02", "--from", "start", "--format", "jsonl")
    with following(*args) as follow:
        assert [json.loads(follow.line())["step"] for _ in range(3)] == [0, 1, 2]
        add(tmp_path / "a" / "events.out.tfevents.2.host", 9.0, first=2, wall=2000.0)
        assert json.loads(follow.line()) == {
            "run": "a", "tag": "loss", "kind": "scalars", "step": 2, "wall_time": 1002.0, "value": 3.0,
            "retracted": True,
        }  # fmt: skip
        assert json.loads(follow.line())["value"] == 9.0
        follow.process.send_signal(signal.SIGINT)
        code, out, err = follow.end()
    assert (code, out) == (0, "")
    assert err == ("tbq: run a: 1 row of 1 tag from step 2 on no longer count: a restart overtook them\n")


@posix
@pytest.mark.parametrize(
    "args",
    [
        ("--tag", "other", "--fail-on", "loss>1e9"),
        ("--kind", "texts", "--until-step", 99),
        ("--kind", "texts", "--fail-on", "nan"),
    ],
)
def test_rows_that_were_not_shown_are_not_retracted(tmp_path: Path, args: tuple[object, ...]) -> None:
    for number, first in enumerate((0, 2)):
        path = tmp_path / "new" / f"events.out.tfevents.{number}.host"
        add(path, 1.0, 2.0, 3.0, first=first, wall=1000.0 * (number + 1))
        at = 1000.0 * (number + 1) + 5
        with path.open("ab") as file:
            file.write(ef.event_file([ef.text("other", 5, b"words", at), ef.scalar("other", 5, 1, at)]))
    (tmp_path / "log" / "a").mkdir(parents=True)
    options = ("--interval", "0.02", "--from", "start", "--format", "jsonl", "--timeout", "60")
    (tmp_path / "new" / "events.out.tfevents.0.host").rename(tmp_path / "log" / "a" / NAME)
    with following(tmp_path / "log", *options, *args) as follow:
        assert json.loads(follow.line())["tag"] == "other"
        (tmp_path / "new" / "events.out.tfevents.1.host").rename(tmp_path / "log" / "a" / "tfevents.2")
        retracted, new = (json.loads(follow.line()) for _ in range(2))
        assert (retracted["tag"], retracted["step"], retracted["retracted"]) == ("other", 5, True)
        assert (new["tag"], new["wall_time"]) == ("other", 2005.0)
        follow.process.send_signal(signal.SIGINT)
        code, out, err = follow.end()
    assert (code, out) == (0, "")
    assert err == "tbq: run a: 1 row of 1 tag from step 5 on no longer count: a restart overtook them\n"


def test_it_ends_at_a_step_that_every_run_reached(tbq: Run, tmp_path: Path) -> None:
    add(tmp_path / "a" / NAME, *range(11))
    add(tmp_path / "b" / NAME, *range(5))
    done = tbq("follow", tmp_path, "--run", "a", "--until-step", 10)
    assert (done.returncode, done.stderr) == (0, "")
    done = tbq("follow", tmp_path, "--until-step", 10, "--timeout", "0.1s")
    assert done.returncode == 1
    assert re.fullmatch(r"tbq: timeout after \d+ s, before step 10 was reached\n", done.stderr)
    done = tbq("follow", tmp_path, "--timeout", 0)
    assert (done.returncode, done.stderr) == (0, "")


@posix
def test_a_later_step_ends_it(tmp_path: Path) -> None:
    path = tmp_path / "a" / NAME
    add(path, 1.0)
    with following(tmp_path, "--from", "now", "--interval", "0.02", "--until-step", 2) as follow:
        assert follow.line() == HEADER
        add(path, 1.0, first=1)
        assert follow.line().startswith("a,loss,1,")
        add(path, 1.0, first=2)
        code, out, _ = follow.end()
    assert (code, out) == (0, "a,loss,2,1002.0,1.0\n")


@pytest.mark.long
@pytest.mark.parametrize(
    ("check", "facts"),
    [
        ("nan", "nan: run a, tag loss, step 2, value nan"),
        ("inf", "inf: run a, tag loss, step 3, value inf"),
        ("loss>10", "loss>10: run a, tag loss, step 1, value 10.5"),
        ("l* >= 10.5", "l* >= 10.5: run a, tag loss, step 1, value 10.5"),
        ("re:lo.+==0", "re:lo.+==0: run a, tag loss, step 0, value 0"),
    ],
)
def test_a_check_that_fails_exits_with_3_and_one_line(
    tbq: Run, tmp_path: Path, check: str, facts: str
) -> None:
    add(tmp_path / "a" / NAME, 0.0, 10.5, float("nan"), float("inf"))
    done = tbq("follow", tmp_path, "--from", "start", "--fail-on", "other>1", "--fail-on", check)
    assert (done.returncode, done.stderr) == (3, f"tbq: {facts}\n")
    # Tags that are compared need not be shown; NaN is looked for in what is.
    done = tbq("follow", tmp_path, "--from", "start", "--idle", 0, "--tag", "other", "--fail-on", check)
    assert (done.returncode, done.stdout) == (0 if check in ("nan", "inf") else 3, HEADER)
    # Earlier rows raise no alarm.
    assert tbq("follow", tmp_path, "--from", "now", "--fail-on", check, "--idle", 0).returncode == 0


@posix
def test_a_stall_runs_a_command_with_the_facts(tbq: Run, tmp_path: Path) -> None:
    add(tmp_path / "runs" / "it's $(odd)" / NAME, 1.0, 2.0)
    facts = tmp_path / "facts"
    variables = " ".join(f'"$TBQ_{name}"' for name in ("EVENT", "RUN", "TAG", "STEP", "VALUE"))
    script = f'printf "%s|%s|%s|%s|%s" {variables} > {facts}; echo hi; exit 7'
    done = tbq(
        "follow",
        tmp_path / "runs",
        "--from",
        "now",
        "--fail-on",
        "stall=0.05s",
        "--fail-on",
        "nan",
        "--exec",
        script,
    )
    assert (done.returncode, done.stdout) == (3, HEADER)
    alarm, *rest = done.stderr.splitlines()
    assert alarm.startswith("tbq: stall=0.05s: run it's $(odd), step 1, value ")
    assert rest == ["hi", "tbq: --exec: the command ended with 7"]
    assert facts.read_text().startswith("stall=0.05s|it's $(odd)||1|")


@posix
def test_an_alarm_stays_one_whatever_names_it_has(tbq: Run, tmp_path: Path) -> None:
    tag = "a\ntbq: all is well " + 300_000 * "x"  # more than the system takes for a variable
    path = tmp_path / "a" / NAME
    path.parent.mkdir()
    path.write_bytes(ef.event_file([ef.version(1000.0), ef.scalar(tag, 1, float("nan"), 1001.0)]))
    args = ("follow", tmp_path, "--from", "start", "--fail-on", "nan", "--format", "jsonl")
    done = tbq(*args, "--exec", 'echo "$TBQ_STEP $TBQ_TAG" | head -1')
    assert done.returncode == 3
    alarm, printed = done.stderr.splitlines()
    assert alarm.startswith("tbq: nan: run a, tag a⏎tbq: all is well xx") and len(alarm) < 500
    assert (printed, alarm[-19:]) == ("1 a", ", step 1, value nan")


@posix
def test_an_alarm_stays_one_if_its_command_is_interrupted_or_cannot_start(tmp_path: Path) -> None:
    add(tmp_path / "a" / NAME, float("nan"))
    args = (tmp_path, "--from", "start", "--fail-on", "nan", "--exec")
    with following(*args, "sleep 0.5; echo begins >&2; exec sleep 30") as follow:
        assert follow.line() == HEADER
        follow.line()
        while "begins" not in follow.err.readline():
            pass
        follow.process.send_signal(signal.SIGINT)
        code, _, err = follow.end()
    assert (code, err) == (3, "tbq: --exec: the command was interrupted\n")
    wrong = execute("true " + 4_000_000 * "x", FailedCheck("nan"))  # more than a system takes for an argument
    assert wrong is not None and wrong.startswith("the command could not be started: ")


@posix
def test_a_diverging_run_is_stopped_while_it_trains(tmp_path: Path) -> None:
    path = tmp_path / "a" / NAME
    add(path, 1.0)
    with following(tmp_path, "--from", "now", "--interval", "0.02", "--fail-on", "nan") as follow:
        assert follow.line() == HEADER
        add(path, 0.5, first=1)
        assert follow.line() == "a,loss,1,1001.0,0.5\n"
        add(path, float("nan"), first=2)
        assert follow.end() == (3, "a,loss,2,1002.0,nan\n", "tbq: nan: run a, tag loss, step 2, value nan\n")


@posix
def test_a_reader_that_goes_ends_it_quietly(tmp_path: Path) -> None:
    add(tmp_path / "a" / NAME, 1.0)
    with following(tmp_path, "--interval", "0.02", "--from", "start") as follow:
        follow.line()
        follow.out.close()  # and nothing more is written
        assert follow.process.wait(timeout=120) == 0
        assert follow.err.read() == ""


@posix
def test_lines_on_a_terminal_are_aligned_and_harmless(tmp_path: Path) -> None:
    import pty

    add(tmp_path / "a" / NAME, 0.5, tag="lo\x1b[2Jss")
    add(tmp_path / "longer" / NAME, float("nan"), first=1200)
    main, side = pty.openpty()
    environment = {**os.environ, "NO_COLOR": "1", "TZ": "UTC"}
    done = subprocess.run(
        [sys.executable, "-m", "tbq", "follow", str(tmp_path), "--from", "start", "--idle", "0"],
        stdout=side, stderr=subprocess.PIPE, env=environment, check=False, timeout=120,
    )  # fmt: skip
    os.close(side)
    text = os.read(main, 4096).decode()
    os.close(main)
    assert done.returncode == 0
    assert text.splitlines() == [
        "00:16:40  a           0  lo\ufffd[2Jss  0.5",
        "00:36:40  longer  1,200  loss      NaN",
    ]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--fail-on", "loss"], "want nan, inf, stall=10m, or a comparison"),
        (["--fail-on", "loss>ten"], "'ten' is not a number"),
        (["--fail-on", "loss=>1"], "want one of >, >=, <, <=, ==, != after the tag"),
        (["--fail-on", "loss==nan"], "use --fail-on nan"),
        (["--fail-on", "stall=soon"], "want a duration such as"),
        (["--fail-on", "re:(>1"], "regular expression"),
        (["--exec", "true"], "--exec needs a check"),
        (["--timeout", "-1"], "want a duration"),
        (["--idle", ""], "want a duration"),
        (["--interval", "1x"], "want a duration"),
        (["--format", "parquet"], "parquet"),
        (["--steps", "x"], "steps"),
    ],
)
def test_wrong_usage(tbq: Run, tmp_path: Path, args: list[str], said: str) -> None:
    done = tbq("follow", tmp_path, *args)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def replaced_by_a_copy(path: Path) -> None:
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    copy.replace(path)


def written_again(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:60])
    path.write_bytes(data)


def moved_away_and_back(path: Path) -> None:
    path.rename(path.with_name("away"))
    path.with_name("away").rename(path)


def given_a_later_time(path: Path) -> None:
    os.utime(path, (2e9, 2e9))


@posix
@pytest.mark.parametrize(
    ("rewrite", "begin"),
    [
        (replaced_by_a_copy, "now"),
        (replaced_by_a_copy, "start"),
        (Path.touch, "now"),
        (Path.touch, "start"),
        (given_a_later_time, "now"),
        # A check may find them half written. If the retraction of rows was shown, so is their return.
        (written_again, "now"),
        (moved_away_and_back, "now"),
    ],
)
def test_rows_that_were_there_before_are_not_new(tmp_path: Path, rewrite: Any, begin: str) -> None:
    path = tmp_path / "a" / NAME
    add(path, 1.0, float("nan") if begin == "now" else 1.5, 2.0)
    add(tmp_path / "b" / NAME, 1.0)
    with following(
        tmp_path, "--interval", "0.02", "--fail-on", "nan", "--from", begin, "--timeout", "60"
    ) as follow:
        assert follow.line() == HEADER
        for _ in range(4 if begin == "start" else 0):
            follow.line()
        rewrite(path)
        add(tmp_path / "b" / NAME, 7.0, first=1)
        assert follow.line() == "b,loss,1,1001.0,7.0\n"
        rewrite(path)
        add(path, 8.0, first=3)
        assert follow.line() == "a,loss,3,1003.0,8.0\n"
        longer = path.read_bytes() + ef.event_file([ef.scalar("loss", 4, 9.0, 1004.0)])
        path.with_name("copy").write_bytes(longer)
        path.with_name("copy").replace(path)
        assert follow.line() == "a,loss,4,1004.0,9.0\n"
        add(path, float("nan"), first=5)
        code, out, err = follow.end()
    assert (code, out) == (3, "a,loss,5,1005.0,nan\n")
    assert "nan: run a, tag loss, step 5" in err


def test_rows_that_go_and_come_back(tmp_path: Path) -> None:
    """Their retraction was shown, so their return is shown too; they are checked once."""
    import pyarrow as pa

    from tbq.cli.changes import ChangeTracker

    path = tmp_path / "a" / NAME
    add(path, 1.0, float("nan"))
    data = path.read_bytes()
    follower, tracker = library.follow(tmp_path, on_error="ignore"), ChangeTracker()

    def look() -> tuple[list[int], list[int], list[int]]:
        changes = tracker.of(follower.poll(), {"scalars": "scalars"}, lambda table: table)
        tables = (changes.shown.get("scalars"), changes.unseen, changes.retracted)
        return tuple([] if each is None else pa.table(each.to_arrow())["step"].to_pylist() for each in tables)  # type: ignore[return-value]

    assert look() == ([0, 1], [0, 1], [])
    path.unlink()
    assert look() == ([], [], [0, 1])
    path.write_bytes(data)
    assert look() == ([0, 1], [], [])
    path.write_bytes(data + ef.event_file([ef.scalar("loss", 2, 5.0, 1002.0)]))
    assert look() == ([2], [2], [])
    add(tmp_path / "a" / "events.out.tfevents.2.host", 4.0, first=1, wall=5000.0)
    assert look() == ([1], [1], [1, 2])
    (tmp_path / "a" / "events.out.tfevents.2.host").unlink()
    assert look() == ([1, 2], [], [1])


@pytest.mark.parametrize("packed", [False, True])
def test_a_copy_that_is_being_written_is_nothing_new(tmp_path: Path, packed: bool) -> None:
    """Until it is complete, a copy is another file of the run, with rows that existed before."""
    import gzip

    from tbq.cli.changes import ChangeTracker

    path = tmp_path / "a" / NAME
    add(path, 1.0, float("nan"), 2.0)
    data = path.read_bytes()
    whole = gzip.compress(data) if packed else data + ef.event_file([ef.scalar("loss", 4, 9.0, 1004.0)])
    follower, tracker = library.follow(tmp_path, on_error="ignore"), ChangeTracker()
    tracker.begin(follower.poll())
    copy = path.with_name(f"{NAME}.copy")
    shown = []
    for part in (whole[:-12], whole):  # part of the last record, or of the checksum
        copy.write_bytes(part)
        add(path, 7.0, first=3)  # the copy is none of the file as it is now
        changes = tracker.of(follower.poll(), {"scalars": "scalars"}, lambda table: table)
        assert not len(changes.retracted)
        shown += [(row.step, row.value) for row in changes.shown.get("scalars", ())]
        if changes.unseen is not None:
            assert not [row for row in changes.unseen if row.step < 3]
    assert {step for step, _ in shown} >= {3} and min(shown) == (3, 7.0)


@posix
def test_a_stall_is_one_although_the_file_is_copied_again(tmp_path: Path) -> None:
    path = tmp_path / "a" / NAME
    add(path, 1.0)
    with following(
        tmp_path, "--from", "now", "--interval", "0.02", "--fail-on", "stall=1s", "--timeout", "60"
    ) as follow:
        assert follow.line() == HEADER
        while follow.process.poll() is None:
            replaced_by_a_copy(path)
        code, _, err = follow.end()
    assert code == 3 and "stall=1s" in err


@pytest.mark.parametrize("kind", ["images", "texts", "histograms", "scalars", "tensors"])
def test_every_kind_counts_for_the_step_to_end_at(tbq: Run, tmp_path: Path, kind: str) -> None:
    png = b"\x89PNG\r\n\x1a\n" + bytes(9000)
    values = {
        "images": ef.image("x", 3, png),
        "texts": ef.text("x", 3, b"words"),
        "scalars": ef.scalar("x", 3, 1.0),
    }
    for run, event in values.items():
        path = tmp_path / run / NAME
        path.parent.mkdir(parents=True)
        path.write_bytes(ef.event_file([ef.version(), event]))
    done = tbq("follow", tmp_path, "--kind", kind, "--until-step", 3, "--timeout", "60s")
    assert (done.returncode, done.stderr) == (0, "")
    done = tbq("follow", tmp_path, "--kind", kind, "--until-step", 4, "--timeout", "0.1s")
    assert done.returncode == 1


@pytest.mark.parametrize("end", ["nan", "loss>5"])
def test_a_step_to_end_at_that_no_run_logs(tbq: Run, tmp_path: Path, end: str) -> None:
    """A step past the selected ones ends it, and is neither shown nor checked."""
    path = tmp_path / "a" / NAME
    for step in (0, 3):
        add(path, float(step), first=step)
    args = ["--steps", ":4", "--until-step", 4, "--fail-on", end]
    done = tbq("follow", tmp_path, *args, "--timeout", "0.1s")
    assert done.returncode == 1 and "before step 4" in done.stderr
    add(path, float("nan") if end == "nan" else 6.0, first=6)
    done = tbq("follow", tmp_path, *args, "--timeout", "60s")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == HEADER + "a,loss,0,1000.0,0.0\na,loss,3,1003.0,3.0\n"


@pytest.mark.parametrize(
    "args",
    [
        ["--steps", ":2", "--until-step", 4],
        ["--steps", "1:3", "--until-step", 4],
        ["--steps", "3", "--until-step", 4],
        ["--until-step", 2**63],
        ["--fail-on", "loss>inf"],
        ["--fail-on", "loss<-inf"],
    ],
)
def test_what_cannot_happen_is_refused(tbq: Run, tmp_path: Path, args: list[object]) -> None:
    add(tmp_path / "a" / NAME, 1.0, 2.0)
    done = tbq("follow", tmp_path, "--timeout", "60", *args)
    assert done.returncode == 2 and "never" in done.stderr
