"""The blocks of the pages about other trackers that need the real ones; tests/docs runs all others."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tbq

HOW = Path(__file__).parents[2] / "docs" / "how"
pytestmark = pytest.mark.filterwarnings("default")


def block(page: str, needed: str) -> str:
    text = (HOW / f"{page}.md").read_text(encoding="utf-8")
    (found,) = (each for each in re.findall(r"```python\n(.*?)```", text, re.S) if needed in each)
    return str(found)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, value in (("WANDB_SILENT", "true"), ("MLFLOW_DISABLE_TELEMETRY", "1"), ("DO_NOT_TRACK", "1")):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    return tmp_path


def points(log: tbq.LogDir, *, exact: bool = False) -> set[tuple[Any, ...]]:
    """Tag, step and value of each point of each run, without the names of the runs; `exact` adds the time."""
    table = log.scalars().to_arrow().to_pylist()
    return {
        (row["tag"], row["step"], repr(row["value"]), *([round(row["wall_time"], 2)] if exact else []))
        for row in table
        if not row["tag"].startswith("system/")
    }


def parameters(log: tbq.LogDir) -> set[tuple[str, str]]:
    rows = log.hparams().wide().to_dicts()
    return {(str(float(row["lr"])), str(row["optimizer"])) for row in rows if row["lr"] is not None}


@pytest.mark.parametrize("tracker", ["wandb", "mlflow", "trackio"])
def test_event_files_become_runs_of_a_tracker(tracker: str, here: Path) -> None:
    tbq.demo("runs")
    text = block("to-trackers", f"import {'mlflow' if tracker == 'mlflow' else 'wandb'}\n")
    if tracker == "trackio":
        text = text.replace("import wandb\n", "import trackio as wandb\n").replace(', mode="offline"', "")
    Path("archive.py").write_text(text)
    subprocess.run([sys.executable, "archive.py"], check=True, timeout=300)
    log, copy = tbq.open("runs"), tbq.open("mlflow.db" if tracker == "mlflow" else tracker)
    with_values = {run for run in log.runs if len(log.scalars(run=run))}
    assert len(copy.runs) >= len(with_values)
    if tracker != "wandb":  # whose runs are named after their folders
        assert with_values <= {run.removeprefix("archive/") for run in copy.runs}
    exact = tracker == "mlflow"
    assert points(copy, exact=exact) == points(log, exact=exact)
    assert parameters(copy) == parameters(log)


class Run(SimpleNamespace):
    """A run as W&B's server describes it."""

    def scan_history(self) -> Iterator[dict[str, Any]]:
        for step in range(5):
            yield {"_step": step, "_timestamp": 1.7e9 + step, "loss": 1 / (step + 1), "text": "words"}


def test_runs_of_a_server_become_event_files(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import wandb

    runs = [Run(name="a", id="x1", config={"lr": 0.1}), Run(name="a", id="x2", config={})]
    api = SimpleNamespace(runs=lambda path: runs if path == "team/project" else [])
    monkeypatch.setattr(wandb, "Api", lambda: api)
    Path("fetch.py").write_text(block("from-trackers", "wandb.Api()"))
    runpy.run_path("fetch.py")
    log = tbq.open("from-wandb")
    assert log.runs == ["a-x1", "a-x2"]
    found = log.series("loss", run="a-x1")
    assert found.steps.tolist() == [0, 1, 2, 3, 4] and found.wall_times[0] == 1.7e9
    assert log.hparams(run="a-x1").wide().to_dicts()[0]["lr"] == 0.1
