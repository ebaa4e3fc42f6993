"""Trials of Ray Tune that fail, continue and change: `python ray_tune_runs.py OUT`, or `… OUT endless` for Ctrl-C."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

os.environ.update(RAY_AIR_NEW_OUTPUT="0", RAY_USAGE_STATS_ENABLED="0")
import ray
from ray import tune

import tbq
from tbq.errors import TbqWarning
from tbq.integrations.ray import TbqCallback

OUT = Path(sys.argv[1])
REPAIRED = OUT / "repaired"


def train(config):
    """Six steps with a checkpoint after the second; `x` says what happens in the fourth."""
    first, checkpoint = 0, tune.get_checkpoint()
    if checkpoint:
        with checkpoint.as_directory() as directory:
            first = int(Path(directory, "step").read_text()) + 1
    for step in range(first, 6):
        if step == 3 and config["x"] == 1 and not REPAIRED.exists():
            raise ValueError("boom")
        if step == 3 and config["x"] == 2 and not checkpoint:
            raise ValueError("only once")
        with tempfile.TemporaryDirectory() as directory:
            Path(directory, "step").write_text(str(step))
            saved = tune.Checkpoint.from_directory(directory) if step in (1, 4) else None
            loss = float("nan") if step == 4 else 1 / (step + 1)
            tune.report({"loss": loss, "net": {"n": step}, "words": "are left out"}, checkpoint=saved)


def endless(config):
    while True:
        tune.report({"loss": 1.0})
        time.sleep(0.1)


SPACE = {"x": tune.grid_search([0, 1, 2]), "net": {"layers": tune.grid_search([[1, 2]])}, "constant": 3}


def fit(name, callbacks, retries, function=train, space=SPACE):
    tune.Tuner(
        function,
        param_space=space,
        run_config=tune.RunConfig(
            name=name, storage_path=str(OUT), callbacks=callbacks, verbose=0,
            failure_config=tune.FailureConfig(max_failures=retries),
        ),
    ).fit()  # fmt: skip


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", TbqWarning)
    ray.init(num_cpus=2, include_dashboard=False, logging_level="CRITICAL", log_to_driver=False)
    if sys.argv[2:] == ["endless"]:
        fit("endless", [TbqCallback()], 0, endless, {"x": tune.grid_search([0, 1])})
        sys.exit()
    fit("retried", [TbqCallback()], 1)
    fit("restored", [TbqCallback()], 0)
    REPAIRED.touch()
    tune.Tuner.restore(str(OUT / "restored"), trainable=train, resume_errored=True).fit()
    tbq.patch()
    fit("patched", [], 0, space={"x": tune.grid_search([0])})
    ray.shutdown()
