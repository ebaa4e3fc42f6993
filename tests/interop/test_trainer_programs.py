"""Unchanged training programs give the same rows with torch's own writer, under `tbq.patch`, and with our loggers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tbq

PROGRAMS = Path(__file__).with_name("programs")
pytestmark = pytest.mark.timeout(900)  # trainers take long to import


def start(program, arguments, *, patched=False):
    """Start a program."""
    command = [
        sys.executable,
        *(["-m", "tbq.run", "--patch"] if patched else []),
        str(PROGRAMS / program),
        *arguments,
    ]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(processes):
    """Wait for programs; their stderr."""
    said = []
    for process in processes:
        _, errors = process.communicate(timeout=550)
        assert process.returncode == 0, errors[-3000:]
        said.append(errors)
    return said


def plain(run):
    """The name of a run, without the name of an hparams run below it, which is a time."""
    return "/".join(part for part in run.split("/") if not part.replace(".", "").isdigit())


def rows(directory, restarts):
    """Each program's values: (run, tag) -> [(step, value)]."""
    found = {}
    for row in tbq.open(directory).scalars(restarts=restarts, on_error="ignore"):
        found.setdefault((plain(row.run), row.tag), []).append((row.step, repr(round(row.value, 5))))
    return found


def kinds(directory):
    return {
        (plain(row.run), row.tag, row.kind)
        for row in tbq.open(directory).tags(on_error="ignore")
        if row.kind != "scalars"
    }


def said(errors):
    """tbq's messages on stderr, and exceptions that Python could only print."""
    return [line for line in errors.splitlines() if "TbqWarning" in line or "Exception ignored" in line]


def assert_same(ours, theirs, restarts=("keep", "resume")):
    for policy in restarts:
        got, want = rows(ours, policy), rows(theirs, policy)
        assert want and got.keys() == want.keys()
        assert {key: (got[key], want[key]) for key in want if got[key] != want[key]} == {}, policy


def run_loops(tmp_path, module):
    _, errors = finish(
        [
            start("loops.py", [str(tmp_path / "theirs"), module]),
            start("loops.py", [str(tmp_path / "ours"), module], patched=True),
        ]
    )
    assert {row.writer for row in tbq.open(tmp_path / "ours").table("runs")} == {"tbq"}
    # Two programs log to a run that has points: that is the only reason for a warning.
    expected = ("two_writers", "before step")
    assert all(any(each in line for each in expected) for line in said(errors)), said(errors)


def test_loops_of_torch(tmp_path):
    run_loops(tmp_path, "torch.utils.tensorboard")
    assert_same(tmp_path / "ours", tmp_path / "theirs")
    assert kinds(tmp_path / "ours") == kinds(tmp_path / "theirs")


def test_loops_of_tensorboardx(tmp_path):
    """It puts the lines of `add_scalars` into other directories than torch, and loses flushed events on SIGTERM."""
    run_loops(tmp_path, "tensorboardX")
    for policy in ("keep", "resume"):
        ours, theirs = (rows(tmp_path / name, policy) for name in ("ours", "theirs"))
        for lines in ("both", "chart"):
            for name in [key for key in theirs if key[1] == lines]:
                theirs[name[0].replace(f"{lines}/", f"{lines}_"), lines] = theirs.pop(name)
        assert len(ours.pop(("ended_by_sigterm", "loss"))) == 3
        theirs.pop(("ended_by_sigterm", "loss"), None)
        assert ours == theirs, policy
    assert kinds(tmp_path / "ours") == kinds(tmp_path / "theirs")


def test_lightning(tmp_path):
    _, patched, ours = finish(
        [
            start("lightning_runs.py", [str(tmp_path / "theirs"), "theirs"]),
            start("lightning_runs.py", [str(tmp_path / "patched"), "theirs"], patched=True),
            start("lightning_runs.py", [str(tmp_path / "ours"), "ours"]),
        ]
    )
    for name in ("patched", "ours"):
        assert_same(tmp_path / name, tmp_path / "theirs", ("keep",))
    for errors in (patched, ours):
        assert all("before step" in line for line in said(errors)), said(errors)


def test_keras(tmp_path):
    (errors,) = finish([start("keras_runs.py", [str(tmp_path)])])
    assert said(errors) == []
    for program in tmp_path.iterdir():
        ours, theirs = (
            {
                (row.run, row.tag): row.count
                for row in tbq.open(program / name).tags(restarts="keep", on_error="ignore")
                if row.kind not in ("graphs", "run_metadata")
            }
            for name in ("ours", "theirs")
        )
        if program.name == "evaluate_only":  # Keras' callback logs the model even if nothing is trained
            theirs.pop(("train", "keras"), None)
        assert ours == theirs, program.name
        if program.name == "no_input":  # it gets its graph all the same
            assert tbq.open(program / "ours").graphs("keras", run="train")["format"].tolist() == [
                "keras_model"
            ]
        for policy in ("keep", "resume"):
            if (program / "theirs").exists():
                got, want = rows(program / "ours", policy), rows(program / "theirs", policy)
                assert got == want, (program.name, policy)


ACCELERATE = """
import sys
sys.modules["tensorflow"] = None
import torch, warnings
from accelerate import Accelerator
from accelerate.tracking import TensorBoardTracker
from tbq.integrations.accelerate import TbqTracker
import pytest

import tbq
for name, kind in (("ours", TbqTracker), ("theirs", TensorBoardTracker)):
    tracker = kind("exp", sys.argv[1] + "/" + name)
    accelerator = Accelerator(log_with=tracker, cpu=True)
    accelerator.init_trackers("project", config={"lr": 0.1, "name": "net"})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", tbq.errors.TbqWarning)
        for step in range(3):
            values = {"v": [1, 2], "loss": 1.0 / (step + 1), "t": torch.tensor(2.0), "both": {"a": 1.0}}
            accelerator.log(values, step=step)
    said = [str(each.message) for each in caught if issubclass(each.category, tbq.errors.TbqWarning)]
    assert (len(said) == 1 and "'v'" in said[0]) == (name == "ours"), said
    accelerator.end_training()
tracker = TbqTracker("odd", sys.argv[1] + "/odd")
tracker.start()
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tracker.log({"both": {"a": [1, 2], "b": 1.0}, "none": None, "loss": 1.0}, 0)
tracker.finish()
"""


def test_accelerate(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", ACCELERATE, str(tmp_path)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert rows(tmp_path / "ours", "keep") == rows(tmp_path / "theirs", "keep")
    ours, theirs = ([*(tmp_path / name).rglob("hparams.yml")] for name in ("ours", "theirs"))
    assert [path.read_text() for path in ours] == [path.read_text() for path in theirs] != []
    assert ours[0].relative_to(tmp_path / "ours").parts[0] == "exp"
    assert set(rows(tmp_path / "odd", "keep")) == {("odd", "loss"), ("odd/both_b", "both")}


def steps(directory, tag):
    return [row.step for row in tbq.open(directory).scalars(tag=tag, on_error="ignore")]


def test_watching_with_lightning(tmp_path):
    finish([start("lightning_watch.py", [str(tmp_path / by), by]) for by in ("logger", "callback")])
    for by in ("logger", "callback"):
        for name, count, every in (
            ("resumed", 12, 1),
            ("second_fit", 12, 2),
            ("accumulated", 4, 1),
            ("spawned", 4, 1),
        ):
            run = tmp_path / by / name
            assert steps(run, "train/loss_step") == [*range(count)], (by, name)
            assert steps(run, "gradients/norm") == [*range(0, count, every)], (by, name)
    callback = tmp_path / "callback"
    assert (
        steps(callback / "manual", "train/loss")
        == steps(callback / "manual", "gradients/norm")
        == [*range(8)]
    )
    assert steps(callback / "once", "gradients/norm") == [*range(4)]
    assert steps(callback / "patched", "gradients/norm") == [*range(8)]


def test_transformers(tmp_path):
    (errors,) = finish([start("transformers_runs.py", [str(tmp_path)])])
    assert said(errors) == []
    for timed in ("runtime", "samples_per_second", "steps_per_second"):
        assert any(timed in tag for _, tag in rows(tmp_path / "ours", "keep"))
    ours, theirs = (
        {
            key: values
            for key, values in rows(tmp_path / kind, "keep").items()
            if not key[1].endswith(("runtime", "second", "preparation_time"))  # what the clock gave
        }
        for kind in ("ours", "theirs")
    )
    assert ours == theirs
    assert steps(tmp_path / "watch/resumed", "gradients/norm") == [*range(6)]
    assert steps(tmp_path / "watch/accumulated", "gradients/norm") == [0, 1]
    assert {"after", "train/kept", "train/loss", "eval/loss"} <= {
        tag for _, tag in rows(tmp_path / "given", "keep")
    }


def test_trials_of_transformers(tmp_path):
    """The runs say of each trial of `hyperparameter_search` what Optuna says."""
    (errors,) = finish([start("transformers_search.py", [str(tmp_path)])])
    assert said(errors) == []
    names = {
        "search": "search/run-{}",
        "late": "late/lr/{}",
        "several": "several/run-{}",
        "given": "given/run-{}",
    }
    log = tbq.open(tmp_path)
    summary = {row["run"]: row for row in log.summary(on_error="ignore").to_dicts()}
    states = {row.run: row.text for row in log.texts() if row.tag.startswith("trial/state")}
    expected = {"search", "given", "search/run-0-1"}
    for name, pattern in names.items():
        for trial in json.loads((tmp_path / f"{name}.json").read_text()):
            run, failed = pattern.format(trial["number"]), trial["state"] == "fail"
            row = summary[run]
            expected.add(run)
            assert states[run] == trial["state"]
            assert row["state"] == ("crashed" if failed else "finished")
            assert row["hparam.status"] == ("failure" if failed else "success")
            assert {key: row[f"hparam.{key}"] for key in trial["params"]} == trial["params"]
            tags = ["objective/0", "objective/1"] if name == "several" else ["objective"]
            want = trial["values"] if trial["state"] == "complete" else [None] * len(tags)
            assert [row[tag] for tag in tags] == [
                each if each is None else pytest.approx(each) for each in want
            ]
    assert summary.keys() == expected
    assert sorted(states.values()) == ["complete"] * 7 + ["fail", "pruned", "pruned"]
    watched = {row.run: [] for row in log.scalars(tag="gradients/norm")}
    for row in log.scalars(tag="gradients/norm"):
        watched[row.run].append(row.step)
    assert watched == {
        "search": [*range(6)], "search/run-0": [*range(6)], "search/run-1": [*range(6)], "search/run-2": [0, 1],
        "search/run-3": [*range(6)], "search/run-4": [*range(4)],
    }  # fmt: skip


def test_accelerate_in_two_processes(tmp_path):
    finish([start("accelerate_processes.py", [str(tmp_path)])])
    assert steps(tmp_path, "gradients/norm") == steps(tmp_path, "loss") == [0, 1, 2]
    tags = {row.tag for row in tbq.open(tmp_path).tags()}
    assert {"gradients/weight", "parameters/bias/norm"} <= tags  # not those of the wrapper, `module.weight`
    assert len([*tmp_path.rglob("*tfevents*")]) == 1
