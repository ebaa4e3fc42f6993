"""One run per trial of Ray Tune: with our callback, and with Tune's own callback after `tbq.patch()`."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tbq
from tbq.errors import UsageError
from tbq.integrations.ray import TbqCallback

PROGRAM = Path(__file__).with_name("programs") / "ray_tune_runs.py"
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.timeout(900)]  # Ray takes long to start

#: The loss of a trial that reaches its end.
LOSS = [(1, 1.0), (2, 0.5), (3, 0.333333), (4, 0.25), (5, "nan"), (6, 0.166667)]


def start(*arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, str(PROGRAM), *arguments]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def trials(path: Path) -> dict[int, dict[str, Any]]:
    """The row of each trial in the summary, by its `x`, with the points of its loss."""
    log = tbq.open(path, source="events")
    rows = {}
    for row in log.summary(on_error="ignore").to_dicts():
        points = log.scalars(run=row["run"], tag="ray/tune/loss", on_error="ignore")
        loss = [(each.step, "nan" if math.isnan(each.value) else round(each.value, 6)) for each in points]
        rows[int(row["hparam.x"])] = {**row, "loss": loss}
    return rows


def test_trials_that_fail_and_continue(tmp_path: Path) -> None:
    with start(str(tmp_path)) as process:
        _, errors = process.communicate(timeout=600)
        assert process.returncode == 0, errors[-3000:]
    assert "TbqWarning" not in errors
    ends = {
        "retried": {0: "finished", 1: "crashed", 2: "finished"},
        "restored": {0: "finished", 1: "finished", 2: "finished"},
    }
    for name, states in ends.items():
        rows = trials(tmp_path / name)
        assert {x: row["state"] for x, row in rows.items()} == states, name
        for x, row in rows.items():
            failed = states[x] == "crashed"
            assert row["hparam.status"] == ("failure" if failed else "success")
            assert row["loss"] == (LOSS[:3] if failed else LOSS), (name, x)
            assert row["hparam.net/layers"] == "[1, 2]" and "hparam.constant" not in row
            folder = tmp_path / name / row["run"]
            assert (folder / "result.json").exists() and row["ray/tune/net/n"] in (2.0, 5.0)
    assert trials(tmp_path / "patched")[0]["loss"] == [each for each in LOSS if each[1] != "nan"]
    assert {row.writer for row in tbq.open(tmp_path, source="events").table("runs")} == {"tbq"}


def test_interrupt(tmp_path: Path) -> None:
    with start(str(tmp_path), "endless") as process:
        until = time.monotonic() + 300
        while (
            len([*tmp_path.rglob("*tfevents*")]) < 2 and process.poll() is None and time.monotonic() < until
        ):
            time.sleep(0.2)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
    rows = trials(tmp_path)
    assert {x: (row["state"], row["hparam.status"]) for x, row in rows.items()} == dict.fromkeys(
        range(2), ("crashed", "failure")
    )


def test_hyperparameters_that_a_scheduler_changes(tmp_path: Path) -> None:
    def result(iteration: int) -> dict[str, Any]:
        return {"training_iteration": iteration, "loss": 1.0 / iteration, "config": trial.config}

    config = {"lr": 0.1, "layers": {"count": 2}, "constant": 1}
    trial = Trial(
        local_path=str(tmp_path / "trial"), config=config, evaluated_params={"lr": 0.1, "layers/count": 2}
    )
    callback = TbqCallback(exact=True)
    for lr, iterations in ((0.1, (1, 2)), (0.5, (3, 4))):
        trial.config["lr"] = lr
        callback.on_trial_start(iteration=0, trials=[trial], trial=trial)
        for iteration in iterations:
            callback.on_trial_result(0, [trial], trial, result(iteration))
    callback.on_trial_complete(0, [trial], trial)
    callback.on_trial_complete(0, [trial], trial)  # nothing is left
    other = Trial(local_path=str(tmp_path / "other"), config={"lr": 3}, evaluated_params={"lr": 3})
    callback.on_trial_start(iteration=0, trials=[other], trial=other)
    callback.on_trial_error(0, [other], other)  # before its first result
    rows = {row["run"]: row for row in tbq.open(tmp_path).summary(on_error="ignore").to_dicts()}
    row = rows["trial"]
    assert (row["hparam.lr"], row["hparam.layers/count"], row["ray/tune/loss"]) == (0.5, 2.0, 0.25)
    assert row["state"] == "finished" and "hparam.constant" not in row
    assert (rows["other"]["hparam.lr"], rows["other"]["state"]) == (3.0, "crashed")
    assert (rows["other"]["hparam.status"], row["hparam.status"]) == ("failure", "success")


class Trial(SimpleNamespace):
    """What the callback uses of a trial of Tune."""

    error_file = None
    __hash__ = object.__hash__

    def init_local_path(self) -> None:
        Path(self.local_path).mkdir(parents=True, exist_ok=True)


def test_arguments() -> None:
    with pytest.raises(UsageError, match="flush"):
        TbqCallback(flush=1)
