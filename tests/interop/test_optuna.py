"""One run per trial of Optuna: the runs say of each trial what Optuna itself says."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest

import tbq
from tbq.errors import UsageError
from tbq.integrations.optuna import run_per_trial

pytestmark = pytest.mark.filterwarnings("default::optuna.exceptions.ExperimentalWarning")
optuna.logging.set_verbosity(optuna.logging.CRITICAL)

#: With these Optuna itself fails, and leaves the trial as it is.
ODD = ("6.0", "6", 10**400)
#: What objectives return or raise, of studies with one objective.
ENDS: list[Any] = [
    0.5, 1, True, np.float32(2), np.array([3.0]), np.array([1.0, 2.0]), [4.0], (5.0,), *ODD, None, "words", [],
    math.nan, math.inf, -math.inf, float("nan"), [1.0, 2.0], {"a": 1}, object(),
    optuna.TrialPruned(), optuna.TrialPruned("too slow"), ValueError("boom"), MemoryError(), KeyboardInterrupt(),
]  # fmt: skip


def told(directory: Path) -> dict[str, dict[str, Any]]:
    """What the log says of each run."""
    log = tbq.open(directory)
    states = {row.run: row.text for row in log.texts() if row.tag.startswith("trial/state")}
    return {row["run"]: {**row, "state of trial": states.get(row["run"])} for row in log.summary().to_dicts()}


def test_trials_end_in_every_way(tmp_path: Path) -> None:
    @run_per_trial(tmp_path)
    def objective(trial: Any, run: Any) -> Any:
        x = trial.suggest_float("x", -1, 1)
        run.log({"loss": x})
        trial.suggest_categorical("late", ["a", True, None, 3])
        trial.report(x, 0)
        end = ENDS[trial.number]
        if isinstance(end, BaseException):
            raise end
        return end

    study = optuna.create_study()
    while len(study.trials) < len(ENDS):
        end = ENDS[len(study.trials)]
        failing = isinstance(end, BaseException) and not isinstance(end, optuna.TrialPruned)
        if failing or any(end is each for each in ODD):
            with pytest.raises(type(end) if failing else AssertionError):
                study.optimize(objective, n_trials=1)
        else:
            study.optimize(objective, n_trials=1)
    rows = told(tmp_path)
    assert len(rows) == len(ENDS) == len(study.trials)
    for trial in study.trials:
        row = rows[f"trial-{trial.number}"]
        state = trial.state.name.lower().replace("running", "fail")
        assert row["state of trial"] == state, trial
        assert row["state"] == ("crashed" if state == "fail" else "finished"), trial
        assert row["hparam.status"] == ("failure" if state == "fail" else "success"), trial
        assert row["hparam.x"] == trial.params["x"] and row["loss"] == pytest.approx(trial.params["x"])
        assert row["hparam.late"] == str(trial.params["late"]).replace("True", "true")
        assert row["objective"] == (pytest.approx(trial.value) if trial.state.name == "COMPLETE" else None), (
            trial
        )
    assert {trial.state.name for trial in study.trials} >= {"COMPLETE", "PRUNED", "FAIL"}


def test_a_function_may_close_its_run(tmp_path: Path) -> None:
    @run_per_trial(tmp_path)
    def objective(trial: Any, run: Any) -> float:
        x: float = trial.suggest_float("x", 1, 2)
        with run:
            run.log({"loss": x})
        run.finish()
        if trial.number:
            raise ValueError("boom")
        return x

    study = optuna.create_study()
    study.optimize(objective, n_trials=2, catch=(ValueError,))
    rows = told(tmp_path)
    assert rows["trial-0"]["objective"] == pytest.approx(study.trials[0].value)
    assert [rows[name]["state of trial"] for name in ("trial-0", "trial-1")] == ["complete", "fail"]
    assert [rows[name]["state"] for name in ("trial-0", "trial-1")] == ["finished", "crashed"]


@pytest.mark.parametrize("names", [None, ["loss", "bytes"]])
def test_several_objectives(tmp_path: Path, names: list[str] | None) -> None:
    @run_per_trial(tmp_path)
    def objective(trial: Any, run: Any) -> Any:
        trial.suggest_int("n", 1, 3)
        return [(1.0, 2.0), [3.0, 4.0], [5.0], 6.0, [7.0, math.nan]][trial.number]

    study = optuna.create_study(directions=["minimize", "maximize"])
    if names:
        study.set_metric_names(names)
    study.optimize(objective, n_trials=5)
    rows = told(tmp_path)
    for trial in study.trials:
        row = rows[f"trial-{trial.number}"]
        assert row["state of trial"] == trial.state.name.lower()
        values = [row[f"objective/{name}"] for name in names or range(2)]
        assert values == (trial.values or [None, None])


def test_threads(tmp_path: Path) -> None:
    @run_per_trial(tmp_path)
    def objective(trial: Any, run: Any) -> float:
        x = trial.suggest_float("x", 0, 1)
        for step in range(50):
            run.log({"mine": float(trial.number)}, step=step)
        if trial.number % 5 == 4:
            raise ValueError
        return x

    study = optuna.create_study()
    study.optimize(objective, n_trials=40, n_jobs=8, catch=(ValueError,))
    log, rows = tbq.open(tmp_path), told(tmp_path)
    assert len(rows) == 40
    for trial in study.trials:
        series = log.series("mine", run=f"trial-{trial.number}")
        assert series.steps.tolist() == [*range(50)] and set(series.values) == {trial.number}
        assert rows[f"trial-{trial.number}"]["state of trial"] == trial.state.name.lower()
        assert rows[f"trial-{trial.number}"]["hparam.x"] == trial.params["x"]


def work(storage: str, directory: str) -> None:
    """A worker of a study that several processes share."""

    @run_per_trial(directory)
    def objective(trial: Any, run: Any) -> float:
        run.log({"pid": os.getpid()})
        return trial.suggest_float("x", 0, 1)

    optuna.load_study(study_name="shared", storage=storage).optimize(objective, n_trials=5)


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_processes(tmp_path: Path, method: str) -> None:
    storage = f"sqlite:///{tmp_path}/study.db"
    study = optuna.create_study(study_name="shared", storage=storage)
    if method == "fork":  # the parent has a writer, and a flusher, before it forks
        work(storage, str(tmp_path / "runs"))
    context = multiprocessing.get_context(method)
    workers = [context.Process(target=work, args=(storage, str(tmp_path / "runs"))) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    rows = told(tmp_path / "runs")
    assert len(rows) == len(study.trials) == (15 if method == "fork" else 10)
    for trial in study.trials:
        row = rows[f"trial-{trial.number}"]
        assert (row["hparam.x"], row["state"]) == (trial.params["x"], "finished")


KILLED = """
import os, signal, sys, time, optuna
from tbq.integrations.optuna import run_per_trial

@run_per_trial(sys.argv[1])
def objective(trial, run):
    trial.suggest_float("x", 0.25, 0.25)
    run.log({"loss": 1.0})
    run.flush()
    if sys.argv[2] == "SIGINT":
        print("ready", flush=True)
        time.sleep(60)
    os.kill(os.getpid(), getattr(signal, sys.argv[2]))

optuna.create_study().optimize(objective, n_trials=3)
"""


@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT"])
def test_a_process_that_ends_in_a_trial(tmp_path: Path, name: str) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path), name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        if name == "SIGINT":
            process.stdout.readline()
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode != 0
    (row,) = told(tmp_path).values()
    assert (row["run"], row["hparam.x"], row["loss"]) == ("trial-0", 0.25, 1.0)
    if name == "SIGINT":
        assert (row["state"], row["state of trial"]) == ("crashed", "fail")


def test_trials_of_no_study(tmp_path: Path) -> None:
    """`ask` and `tell`; the best trial once more, as Optuna's manual does; the next study in the same directory."""

    @run_per_trial(tmp_path)
    def objective(trial: Any, run: Any) -> float:
        x = trial.suggest_float("x", 0, 1)
        run.finish()  # what follows has no place in the log
        return x

    @run_per_trial(tmp_path)
    def logged(trial: Any, run: Any) -> float:
        with run.step(7):
            run.log({"by step": 1.0})
        return trial.suggest_float("x", 0, 1)

    study = optuna.create_study()
    trial = study.ask()
    study.tell(trial, logged(trial))
    assert logged(study.best_trial) == study.best_value
    assert logged(optuna.trial.FixedTrial({"x": 0.5}, number=3)) == 0.5
    optuna.create_study().optimize(objective, n_trials=1)
    rows = told(tmp_path)
    assert rows.keys() == {"trial-0", "trial-0-1", "trial-3", "trial-0-2"}
    assert [rows[run]["objective"] for run in ("trial-0", "trial-0-1", "trial-3")] == pytest.approx(
        [study.best_value, study.best_value, 0.5]
    )
    assert tbq.open(tmp_path).series("objective", run="trial-3").steps.tolist() == [8]


def test_arguments(tmp_path: Path) -> None:
    for wrong in ({"run": "mine"}, {"resume": "auto"}, {"flush": 1}):
        with pytest.raises(UsageError, match=next(iter(wrong))):
            run_per_trial(tmp_path, **wrong)
    assert not any(tmp_path.iterdir())

    @run_per_trial(tmp_path, exact=True)
    def objective(trial: Any, run: Any) -> float:
        """Says what it does."""
        return 0.1

    assert objective.__doc__ == "Says what it does."
    optuna.create_study().optimize(objective, n_trials=1)  # a trial without parameters
    assert told(tmp_path)["trial-0"]["objective"] == 0.1
