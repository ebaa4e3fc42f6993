"""`tbq export`, `ls` and `tags` as users run them: output, messages, exit codes."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import protolog as pl
import pyarrow.parquet as pq
import pytest
from started import records

import tbq as library

Run = Callable[..., subprocess.CompletedProcess[str]]
posix = pytest.mark.skipif(os.name != "posix", reason="terminals, pipes and signals as POSIX has them")


def test_csv_in_a_pipe(tbq: Run, logdir: Path) -> None:
    done = tbq("export", logdir)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "run,tag,step,wall_time,value"
    rows = records(done.stdout)
    assert len(rows) == 2 * (50 + 5)
    assert rows[0] == {
        "run": "exp1/train",
        "tag": "loss",
        "step": "0",
        "wall_time": "1700000000.0",
        "value": "1.0",
    }
    assert rows[1]["value"] == "0.9048374"  # as float32 prints, not 0.9048374295234680
    assert sum(row["value"] == "nan" for row in rows) == 1


def test_wide_in_the_order_asked_for(tbq: Run, logdir: Path, tmp_path: Path) -> None:
    done = tbq(
        "export", logdir, "--layout", "wide", "--tag", "val/acc", "--tag", "los", "--tag", "loss",
        "--steps", "40:", "-o", tmp_path / "wide.csv",
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "tbq: no tag matches 'los'; closest: loss\n"
    rows = records((tmp_path / "wide.csv").read_text())
    assert list(rows[0]) == ["run", "step", "val/acc", "los", "loss"]
    assert [row["step"] for row in rows] == [str(step) for step in range(40, 50)] * 2
    assert [rows[0]["val/acc"], rows[1]["val/acc"], rows[0]["los"]] == ["0.4", "", ""]


def test_summary_and_statistics(tbq: Run, logdir: Path) -> None:
    done = tbq("export", logdir, "--layout", "summary", "--stat", "last,min,min_step,count", "--tag", "loss")
    rows = records(done.stdout)
    assert [row["run"] for row in rows] == ["exp1/train", "exp2"]
    assert rows[1]["loss"] == "nan"
    assert (rows[1]["loss.min_step"], rows[1]["loss.count"]) == ("48", "50")


def test_a_parquet_file_names_its_origin(tbq: Run, logdir: Path, tmp_path: Path) -> None:
    done = tbq("export", logdir, "-o", tmp_path / "out.parquet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert pq.read_schema(tmp_path / "out.parquet").metadata[b"tbq.logdir"].decode() == str(logdir)
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 110


def test_a_file_a_run(tbq: Run, logdir: Path, tmp_path: Path) -> None:
    assert tbq("export", logdir, "-o", tmp_path / "out" / "{run}.jsonl").returncode == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["exp1_train.jsonl", "exp2.jsonl"]


def test_times_and_run_selection(tbq: Run, logdir: Path) -> None:
    done = tbq("export", logdir, "--run", "re:exp.", "--tag", "loss", "--steps", "3:3", "--time", "iso")
    assert [row["wall_time"] for row in records(done.stdout)] == ["2023-11-14T22:13:23.000000Z"]
    done = tbq("export", logdir, "--run", "exp2", "--tag", "loss", "--steps", ":3", "--time", "relative")
    assert [row["wall_time"] for row in records(done.stdout)] == ["0.0", "1.0", "2.0", "3.0"]


def test_a_format_to_stdout(tbq: Run, logdir: Path) -> None:
    done = tbq("export", logdir, "--format", "md", "--tag", "loss", "--run", "exp2", "--steps", "0:0")
    assert done.stdout.splitlines()[-1] == "| exp2 | loss | 0 | 1700000000 | 2 |"
    done = tbq(
        "export", logdir, "--format", "jsonl", "--json-nan", "string", "--run", "exp2", "--steps", "49:"
    )
    assert '"value":"NaN"' in done.stdout


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["--tag", "lss"], 1, "no tag matches 'lss'; closest: loss"),
        (["--run", "exp9"], 1, "no run matches 'exp9'; closest: exp2"),
        (["--steps", "a:b"], 2, "want a step"),
        (["--tag", "re:("], 2, "want a regular expression"),
        (["-o", "out.txt"], 2, "tbq cannot write .txt files"),
        (["-o", "/dev/null/x.csv"], 1, "is not a folder"),
        (["--layout", "summary", "--stat", "best"], 2, "--stat: got 'best', want one of"),
        (["--layout", "tall"], 2, "--layout tall: want one of long, wide, summary"),
        (["--format", "doc"], 2, "tbq cannot write the format 'doc'"),
        (["-o", "."], 1, "is a folder, want a file name"),
    ],
)
def test_wrong_usage(tbq: Run, logdir: Path, tmp_path: Path, args: list[str], code: int, words: str) -> None:
    done = tbq("export", logdir, *args, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_missing_paths(tbq: Run, tmp_path: Path) -> None:
    for command in ("export", "ls", "tags"):
        done = tbq(command, tmp_path / "nope")
        assert done.returncode == 1
        assert "no such file" in done.stderr
    done = tbq("export", tmp_path)
    assert done.returncode == 1
    assert "no event files" in done.stderr


def test_an_output_that_exists_needs_force(tbq: Run, logdir: Path, tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("precious")
    done = tbq("export", logdir, "-o", tmp_path / "out.csv")
    assert done.returncode == 1
    assert "--force" in done.stderr
    assert (tmp_path / "out.csv").read_text() == "precious"
    assert tbq("export", logdir, "-o", tmp_path / "out.csv", "--force").returncode == 0
    assert len(records((tmp_path / "out.csv").read_text())) == 110


def test_damage_is_told_and_strict_refuses_it(tbq: Run, logdir: Path, tmp_path: Path) -> None:
    (source,) = (logdir / "exp2").iterdir()
    damaged = bytearray(source.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / source.name).write_bytes(damaged)
    done = tbq("export", tmp_path / "runs")
    assert done.returncode == 0
    assert len(records(done.stdout)) == 54
    assert len(done.stderr.splitlines()) == 1
    assert "bytes lost" in done.stderr
    done = tbq("export", tmp_path / "runs", "--strict", "-o", tmp_path / "out.csv")
    assert (done.returncode, done.stdout) == (1, "")
    assert not (tmp_path / "out.csv").exists()


@posix
def test_a_closed_pipe_is_no_error(logdir: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "tbq", "export", str(logdir), "--format", "html"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()  # before a byte was written
        assert process.stderr.read() == b""
    assert process.returncode == 0


@posix
def test_ctrl_c_ends_quietly_with_130(logdir: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # Nothing reads the pipe, so the command waits for it when the signal arrives.
    with subprocess.Popen(
        [sys.executable, "-m", "tbq", "export", str(logdir), "--format", "csv", "-o", str(pipe)],
        stderr=subprocess.PIPE,
    ) as process:
        _wait_until_it_waits(process.pid)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert process.stderr.read().strip() == b"tbq: interrupted"
    assert process.returncode == 130
    assert list(tmp_path.iterdir()) == [pipe]


def _wait_until_it_waits(pid: int) -> None:
    """Until the process has read everything and sleeps in open(): its CPU time stands still for a while."""
    import time

    before, quiet, end = b"", 0, time.monotonic() + 60
    while quiet < 10:
        assert time.monotonic() < end, "it does not come to rest"
        time.sleep(0.1)
        used = subprocess.run(
            ["ps", "-o", "time=,rss=", "-p", str(pid)], capture_output=True, check=True
        ).stdout
        quiet = quiet + 1 if used == before else 0
        before = used


def on_terminal(args: list[object], columns: int = 100) -> tuple[str, int]:
    """What a command draws on a terminal of that width, without its colours."""
    import pty
    import re

    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "tbq", *map(str, args)],
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "COLUMNS": str(columns), "TERM": "xterm"},
    )
    os.close(theirs)
    text = b""
    while True:
        try:
            block = os.read(ours, 1 << 16)
        except OSError:  # how Linux says that the other end is closed
            break
        if not block:
            break
        text += block
    os.close(ours)
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text.decode())
    return re.sub(r"reading [^\r\n]*\r\n?", "", plain), process.wait(
        10
    )  # the bar of a slow machine, gone when done


@posix
def test_a_table_is_drawn_on_a_terminal(logdir: Path) -> None:
    text, code = on_terminal(["export", logdir, "--layout", "wide", "--run", "exp2"])
    assert code == 0
    lines = text.splitlines()
    assert lines[0].split() == ["run", "step", "loss", "val/acc"]
    assert lines[2].split() == ["exp2", "0", "2", "0"]
    assert "wide: 50 rows × 4 columns" in text


@posix
def test_chosen_columns_on_a_terminal(logdir: Path) -> None:
    for command in (
        ["export", "--columns", "step,value", "--tag", "val/acc"],
        ["ls", "--columns", "last_step,run"],
    ):
        text, code = on_terminal([*command, logdir])
        assert code == 0
        assert text.split("\n")[0].split() == command[2].split(",")
    text, code = on_terminal(["export", "--columns", "steps", logdir])
    assert code != 0 and "steps" in text


def test_long_tables_are_cut_in_the_middle_on_a_terminal(logdir: Path) -> None:
    text, _ = on_terminal(["export", logdir])
    assert "scalars: 110 rows × 5 columns" in text
    assert len(text.splitlines()) == 2 + 60 + 1 + 1
    assert all(len(line) <= 100 for line in text.splitlines())


@posix
def test_binary_formats_are_not_for_terminals(logdir: Path) -> None:
    text, code = on_terminal(["export", logdir, "--format", "parquet"])
    assert code == 2
    assert "-o out.parquet" in text


@posix
def test_runs_are_drawn_with_units(logdir: Path) -> None:
    text, code = on_terminal(["ls", logdir])
    assert code == 0
    lines = text.splitlines()
    assert lines[0].split() == ["run", "files", "size", "events", "step", "duration", "age", "health"]
    assert lines[2].split()[1:3] == ["exp1/train", "1"]
    assert lines[2].split()[-1] == "ok"
    assert "49" in lines[2].split()


def test_ls_and_tags_in_a_pipe(tbq: Run, logdir: Path) -> None:
    runs = records(tbq("ls", logdir).stdout)
    assert [(row["run"], row["files"], row["last_step"], row["health"]) for row in runs] == [
        ("exp1/train", "1", "49", "ok"),
        ("exp2", "1", "49", "ok"),
    ]
    assert [row["run"] for row in records(tbq("ls", logdir, "--run", "exp2").stdout)] == ["exp2"]
    tags = records(tbq("tags", logdir, "--run", "exp1/*").stdout)
    assert [(row["run"], row["tag"], row["kind"], row["count"]) for row in tags] == [
        ("exp1/train", "loss", "scalars", "50"),
        ("exp1/train", "val/acc", "scalars", "5"),
    ]


def test_help_is_quick_and_ends_with_examples(tbq: Run) -> None:
    for command in ("export", "ls", "tags"):
        text = tbq(command, "--help").stdout
        assert f"  tbq {command} runs" in text.split("Examples:")[1]
    code = (
        "import sys; from tbq.cli.app import app; app.main(['export', '--help'], standalone_mode=False); "
        "sys.exit(bool({'numpy', 'pyarrow', 'duckdb', 'rich'} & set(sys.modules)))"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=False).returncode == 0
    )


def test_the_bar_draws_bytes_files_and_rate(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tbq import progress

    with progress.progress_bar() as none:
        assert none is None  # stderr is not a terminal here
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "150")
    with progress.progress_bar() as bar:
        assert bar is not None
        bar(0, 2_000_000, 0, 3)
        bar(1_000_000, 2_000_000, 1, 3)
        bar(2_000_000, 2_000_000, 3, 3)
    said = capsys.readouterr().err
    assert "3/3 files" in said
    assert "2.0/2.0 MB" in said


def test_what_a_rerun_drops_is_told_as_a_share(tbq: Run, tmp_path: Path) -> None:
    pl.healthy(tmp_path, pl.T0, range(288))
    pl.healthy(tmp_path, pl.T0 + 1000, range(15))
    done = tbq("export", tmp_path)
    assert len(done.stdout.splitlines()) == 31
    assert done.stderr == (
        "tbq: run .: restarts=resume dropped 576 of 606 rows (95 %) of 2 tags, steps 0 to 287 "
        "(to keep them: restarts='keep', --restarts keep)\n"
    )
    assert "dropped 288 of 303 rows (95 %) of 1 tag" in tbq("export", tmp_path, "--tag", "loss").stderr
    last = tbq("export", tmp_path, "--restarts", "last").stderr  # of each step the newest: a few of many
    assert "restarts=last dropped 30 rows of 2 tags, steps 0 to 14" in last
    with pytest.warns(library.TbqWarning, match=r"dropped 576 of 606 rows \(95 %\)"):
        library.open(tmp_path).scalars()
    pl.healthy(tmp_path / "resumed", pl.T0, range(60))
    pl.healthy(tmp_path / "resumed", pl.T0 + 1000, range(40, 90))
    assert (
        "run resumed: restarts=resume dropped 40 rows of 2 tags"
        in tbq("export", tmp_path, "--run", "resumed").stderr
    )
    assert "tbq: 2 runs resumed: 616 rows dropped; --restarts keep" in tbq("export", tmp_path).stderr
