"""Every entry point folds sub-runs, and shows them with `sub_runs="keep"`, for local and remote logs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import started
from buckets import web_server
from protos import add_hparams, value, write

import tbq
import tbq.lake

if TYPE_CHECKING:
    from buckets import Bucket

pytestmark = pytest.mark.filterwarnings("ignore::tbq.TbqWarning")

SUB = "exp/1700000000.5"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    root = tmp_path / "log"
    write(root, *(value("loss", simple_value=float(i)) for i in range(3)), run="exp")
    write(root, *add_hparams({"lr": 0.5}), value("acc", simple_value=0.75), run=SUB)
    return root


def _followed(path: Path, sub_runs: Any) -> list[str]:
    with tbq.follow(path, sub_runs=sub_runs, interval=0) as follower:
        return sorted({row["run"] for row in follower.poll().table().to_dicts()})


def _synced(path: Path, sub_runs: Any) -> list[str]:
    tbq.lake.sync(path, path.parent / "lake", sub_runs=sub_runs)
    return tbq.open(path.parent / "lake").runs


FUNCTIONS: dict[str, Callable[[Path, Any], list[str]]] = {
    "open": lambda path, sub_runs: tbq.open(path, sub_runs=sub_runs).runs,
    "follow": _followed,
    "sync": _synced,
}


@pytest.mark.parametrize("sub_runs", ["fold", "keep"])
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_functions(log: Path, function: Callable[[Path, Any], list[str]], sub_runs: str) -> None:
    assert function(log, sub_runs) == (["exp"] if sub_runs == "fold" else ["exp", SUB])


COMMANDS = {
    "ls": [],
    "tags": [],
    "summary": ["--format", "csv"],
    "export": ["--format", "csv"],
    "reduce": ["--by", "run", "--format", "csv"],
    "sql": ["select run from runs"],
}


@pytest.mark.parametrize("sub_runs", ["fold", "keep"])
@pytest.mark.parametrize("command", COMMANDS)
def test_commands(log: Path, command: str, sub_runs: str) -> None:
    done = started.tbq(command, log, *COMMANDS[command], "--sub-runs", sub_runs)
    assert done.returncode == 0, done.stderr
    assert (SUB in done.stdout) == (sub_runs == "keep")


@pytest.mark.parametrize("command", ["plot", "compare", "report", "serve", "watch", "follow", "sync"])
def test_commands_with_other_outputs_have_the_option(command: str) -> None:
    assert "--sub-runs" in started.tbq(command, "--help").stdout


def test_a_web_server(log: Path, tmp_path: Path) -> None:
    with web_server(log) as (url, _):
        paths = [f"{url}/{path.relative_to(log)}" for path in sorted(log.rglob("*tfevents*"))]
        assert len(paths) == 2
        found = tbq.open(url, cache=tmp_path / "cache")
        assert found.runs == ["exp"]
        assert found.sub_runs == {SUB: "exp"}
        assert tbq.open(url, cache=tmp_path / "cache", sub_runs="keep").runs == ["exp", SUB]


def test_a_bucket_in_which_the_sub_run_appears_later(log: Path, bucket: Bucket, tmp_path: Path) -> None:
    own, sub = (next((log / run).glob("*tfevents*")) for run in ("exp", SUB))
    bucket.put(f"runs/exp/{own.name}", own.read_bytes())
    options: dict[str, Any] = {"storage": bucket.storage, "cache": tmp_path / "cache"}
    with tbq.follow(bucket.url("runs"), interval=0, **options) as follower:
        assert {row["tag"] for row in follower.poll().table().to_dicts()} == {"loss"}
        bucket.put(f"runs/{SUB}/{sub.name}", sub.read_bytes())
        rows = follower.poll().table().to_dicts()
        assert [(row["run"], row["tag"], row["value"]) for row in rows] == [("exp", "acc", 0.75)]
    assert tbq.open(bucket.url("runs"), **options).sub_runs == {SUB: "exp"}
    assert tbq.open(bucket.url("runs"), sub_runs="keep", **options).runs == ["exp", SUB]
