"""`tbq board`: its flags, what it refuses, and logs that appear, grow and disappear while it serves them."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import boards
import eventfile as ef
import pytest
from waiting import wait_for

import tbq
from tbq.errors import DependencyError, install_command

pytestmark = pytest.mark.long


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [*boards.BOARD, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, **options)


def write(folder: Path, steps: range, tag: str = "loss") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "events.out.tfevents.1.host"
    payloads = [] if path.exists() else [ef.version()]
    with path.open("ab") as file:
        file.write(
            ef.event_file([*payloads, *(ef.scalar(tag, step, step, ef.WALL + step) for step in steps)])
        )


@pytest.mark.parametrize("version", ["2.15.2", "2.22.0", "3.0", "nonsense"])
def test_an_unknown_version_is_refused(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    from importlib import metadata

    monkeypatch.setattr(metadata, "version", lambda _: version)
    with pytest.raises(DependencyError, match=rf"TensorBoard {version} \(want 2\.16 to 2\.21\)"):
        tbq.board("runs")


def test_a_version_that_needs_an_older_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    monkeypatch.setattr(metadata, "version", {"tensorboard": "2.16.2", "numpy": "2.1.0"}.__getitem__)
    with pytest.raises(DependencyError, match=r"TensorBoard 2\.16\.2 does not work with NumPy 2\.1\.0"):
        tbq.board("runs")


@pytest.mark.parametrize(
    ("tensorboard", "protobuf", "lost"),
    [("2.16.2", "7.36.2", True), ("2.16.2", "4.25.3", False), ("2.21.0", "7.36.2", False)],
)
def test_dashboards_that_an_old_version_cannot_show(
    monkeypatch: pytest.MonkeyPatch, tensorboard: str, protobuf: str, lost: bool
) -> None:
    """TensorBoard 2.16 answers them with status 500 beside protobuf 5 and later."""
    from importlib import import_module, metadata

    versions = {"tensorboard": tensorboard, "protobuf": protobuf}
    monkeypatch.setattr(metadata, "version", versions.__getitem__)
    assert ("protobuf<5" in import_module("tbq.tensorboard").dashboards_lost()) == lost


def test_without_tensorboard(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "tensorboard" else find(name)
    )
    with pytest.raises(DependencyError, match="tbq board needs tensorboard") as raised:
        tbq.board("runs")
    assert raised.value.hint == install_command("board")


def test_version_and_help() -> None:
    from tensorboard.version import VERSION

    assert run("--version_tb").stdout.strip() == VERSION
    assert "--samples_per_plugin" in run("--help").stdout
    assert "--max_reload_threads" in run("--helpfull").stdout


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ((), "logdir or db must be specified"),
        (("--logdir", "a", "--logdir_spec", "b:c"), "May not specify both --logdir and --logdir_spec"),
        (("a", "--logdir", "b"), "both LOGDIR and --logdir"),
        (("a", "--grpc_data_provider", "localhost:1"), "--grpc_data_provider is not supported by tbq board"),
        (("a", "--db", "sqlite:x"), "--db is not supported by tbq board"),
        (("a", "--path_prefix", "x"), "Path prefix must start with slash"),
        (("a", "--samples_per_plugin", "scalars=-1"), "got scalars=-1, want 0 (all) or more"),
        (("a", "--nonsense"), "--nonsense"),
        (("a", "b"), "unrecognized arguments: b"),
    ],
)
def test_wrong_flags(flags: tuple[str, ...], words: str) -> None:
    done = run(*flags)
    assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr


def test_a_store_that_is_not_known_is_refused() -> None:
    done = run("hdfs://host/logs", "--port", "0")
    assert done.returncode == 1 and "hdfs://host/logs: hdfs:// is not supported" in done.stderr


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run(str(tmp_path), "--port", str(port), "--host", "127.0.0.1")
    assert done.returncode != 0 and f"could not bind to port {port}" in done.stderr


def test_inspect(tmp_path: Path) -> None:
    write(tmp_path, range(5))
    done = run(str(tmp_path), "--inspect")
    assert done.returncode == 0 and "loss" in done.stdout and "num_steps            5" in done.stdout


def test_flags_reach_the_page(tmp_path: Path) -> None:
    write(tmp_path / "x", range(3))
    write(tmp_path / "y" / "sub", range(3))
    spec = f"one:{tmp_path / 'x'},two:{tmp_path / 'y'}"
    flags = "--logdir_spec", spec, "--path_prefix", "/deep/er", "--window_title", "mine"
    with boards.serving(boards.BOARD, tmp_path / "words", *flags) as board:
        assert board.url.endswith("/deep/er/")
        assert board.get("window_properties") == {"window_title": "mine"}
        assert board.get("runs") == ["one/.", "two/sub"]
        assert b"tb-relative-root" in board.raw("")[2]


def test_samples(tmp_path: Path) -> None:
    """Of 5,000 points the page gets 1,000, including the highest; all of them on request."""
    values = [float(step % 7) for step in range(5000)]
    values[1234] = 1e6
    payloads = [ef.version(), *(ef.scalar("loss", step, value) for step, value in enumerate(values))]
    payloads += [ef.image("image", step, bytes(99)) for step in range(50)]
    (tmp_path / "events.out.tfevents.1").write_bytes(ef.event_file(payloads))
    for flags, count in (
        ((), 1000),
        (("--samples_per_plugin", "scalars=0"), 5000),
        (("--samples_per_plugin", "scalars=9,images=5"), 9),
    ):
        with boards.serving(boards.BOARD, tmp_path / "words", str(tmp_path), *flags) as board:
            points = board.get("plugin/scalars/scalars", run=".", tag="loss")
            assert len(points) <= count and len(points) >= count - 1
            assert points[-1][1] == 4999 and [ef.WALL, 1234, 1e6] in points
            images = board.get("plugin/images/images", run=".", tag="image", sample=0)
            assert len(images) == (5 if count == 9 else 50)


def test_a_log_that_comes_grows_and_goes(tmp_path: Path) -> None:
    logdir = tmp_path / "logs"
    with boards.serving(boards.BOARD, tmp_path / "words", str(logdir)) as board:

        def points(run: str = "a", tag: str = "loss") -> int:
            status, _, body = board.raw("data/plugin/scalars/scalars", run=run, tag=tag)
            return body.count(b"[") - 1 if status == 200 else 0

        assert board.get("runs") == [] and board.get("plugin/scalars/tags") == {}
        write(logdir / "a", range(3))
        wait_for(lambda: points() == 3)
        for last in range(4, 9):
            write(logdir / "a", range(last - 1, last))
            wait_for(lambda last=last: points() == last)
        write(logdir / "b", range(2))
        wait_for(lambda: board.get("runs") == ["a", "b"])
        shutil.rmtree(logdir / "a")
        wait_for(lambda: board.get("runs") == ["b"])
        assert points() == 0
        shutil.rmtree(logdir)
        wait_for(lambda: board.get("runs") == [])
        write(logdir / "c", range(2))
        wait_for(lambda: board.get("runs") == ["c"])
        assert "Traceback" not in board.stderr()


def test_many_ask_while_many_runs_are_written(tmp_path: Path) -> None:
    for number in range(200):
        write(tmp_path / "logs" / f"run{number}", range(2))
    with (
        boards.serving(boards.BOARD, tmp_path / "words", str(tmp_path / "logs")) as board,
        ThreadPoolExecutor(6) as pool,
    ):
        requests = [
            ("data/runs", {}),
            ("data/plugin/scalars/tags", {}),
            ("data/plugin/scalars/scalars", {"run": "run7", "tag": "loss"}),
            ("data/plugin/timeseries/tags", {}),
            ("data/plugins_listing", {}),
        ]
        asked = [pool.submit(board.raw, path, **query) for _ in range(20) for path, query in requests]
        for step in range(2, 12):
            for number in range(0, 200, 9):
                write(tmp_path / "logs" / f"run{number}", range(step, step + 1))
        assert {each.result()[0] for each in asked} == {200}
        wait_for(lambda: board.get("plugin/scalars/scalars", run="run0", tag="loss")[-1][1] == 11)
        assert "Traceback" not in board.stderr()


def test_plugins_that_cannot_work_here_say_so(tmp_path: Path) -> None:
    write(tmp_path / "a", range(2))
    (tmp_path / "a" / "plugins" / "profile").mkdir(parents=True)
    (tmp_path / "tfdbg_events.1.metadata").write_bytes(b"")
    with boards.serving(boards.BOARD, tmp_path / "words", str(tmp_path)) as board:
        listing = board.get("plugins_listing")
        assert listing["profile"]["enabled"] and listing["debugger-v2"]["enabled"]
        for plugin in ("profile", "debugger-v2"):
            page = board.get(f"plugin/{plugin}/index.js")
            assert f"tensorboard --logdir {tmp_path}".encode() in page


@pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_when_it_is_told_to(tmp_path: Path, number: int) -> None:
    with boards.serving(boards.BOARD, tmp_path / "words", str(tmp_path)) as board:
        board.process.send_signal(number)
        assert board.process.wait(30) == 0
        assert "Traceback" not in board.stderr()


@pytest.mark.skipif(os.name == "nt", reason="signals are those of POSIX")
def test_it_ends_while_it_reads_and_answers(tmp_path: Path) -> None:
    """Wherever its threads are: they once returned after Python had ended, and aborted the process."""
    payloads = [ef.scalar(f"tag{i % 5}", i, i) for i in range(2000)]
    data = ef.event_file([ef.version()]) + ef.event_file(payloads) * 100
    for number in range(4):
        (tmp_path / f"run{number}").mkdir()
        (tmp_path / f"run{number}" / "events.out.tfevents.1").write_bytes(data)
    for wait in (0.0, 0.03, 0.1, 0.3):
        with (
            boards.serving(boards.BOARD, tmp_path / "words", str(tmp_path)) as board,
            ThreadPoolExecutor(4) as pool,
        ):
            for run in range(4):
                pool.submit(board.raw, "data/plugin/scalars/scalars", run=f"run{run}", tag="tag1")
            time.sleep(wait)
            board.process.terminate()
            assert board.process.wait(120) == 0, board.stderr()


def test_the_program_for_notebooks(tmp_path: Path) -> None:
    """`%tensorboard` starts it as it would start TensorBoard, and finds it again."""
    binary = Path(run("--print-binary").stdout.strip())
    assert binary.stem == "tbq-board" and os.access(binary, os.X_OK)
    write(tmp_path / "logs", range(3))
    code = (
        "import sys\n"
        "from tensorboard import manager\n"
        "arguments = ['--logdir', sys.argv[1], '--port', '0']\n"
        "first, second = manager.start(arguments), manager.start(arguments)\n"
        "import os, signal\n"
        "os.kill(first.info.pid, signal.SIGTERM)\n"
        "print(type(first).__name__, type(second).__name__, first.info.pid == second.info.pid)\n"
    )
    environment = {**os.environ, "TENSORBOARD_BINARY": str(binary), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "logs")],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.stdout.split() == ["StartLaunched", "StartReused", "True"], done.stderr
