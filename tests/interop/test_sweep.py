"""An ordinary sweep by torch's and tensorboardX's SummaryWriter: every view sees one run per training run."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch_sweep
from torch.utils.tensorboard import SummaryWriter as TorchWriter

import tbq
import tbq.lake

LRS, SIZES, SEEDS, STEPS = (0.01, 0.1, 1.0), (16, 32, 64, 128), range(5), 20
CRASHED = ("lr0.01_bs16_s0", "lr0.1_bs32_s1")
RESUMED = ("lr0.01_bs32_s0", "lr0.1_bs64_s2", "lr1.0_bs128_s3")
DIVERGED = "lr1.0_bs16_s4"
Make = Callable[[str], Any]


def train(make: Make, path: Path, name: str, lr: float, size: int, when: str) -> None:
    """One training run; `when` says when add_hparams is called."""
    folder = str(path / name)
    given, metrics = {"lr": lr, "bs": size}, {"hparam/val_loss": 0.5, "val/loss": 9.0}
    writer = make(folder)
    if when == "first":
        writer.add_hparams(given, metrics)
    last = STEPS // 4 if name in CRASHED else STEPS
    for step in range(last):
        if name in RESUMED and step == STEPS // 2:
            writer.close()
            writer = make(folder)
            if when == "first":
                writer.add_hparams(given, metrics)
            for again in range(step - 3, step):
                writer.add_scalar("val/loss", 1 / (1 + again), again)
        loss = math.nan if name == DIVERGED and step > 10 else 1 / (1 + step)
        writer.add_scalar("val/loss", loss, step)
    if when == "last" and name not in CRASHED:
        writer.add_hparams(given, metrics)
    writer.close()


def sweep(make: Make, path: Path, when: str) -> list[str]:
    names = []
    for lr in LRS:
        for size in SIZES:
            for seed in SEEDS:
                names.append(f"lr{lr}_bs{size}_s{seed}")
                train(make, path, names[-1], lr, size, when)
    return sorted(names)


def writers() -> dict[str, Make]:
    import tensorboardX

    return {"torch": TorchWriter, "tensorboardX": tensorboardX.SummaryWriter, "tbq": tbq.SummaryWriter}


@pytest.fixture(scope="module", params=["torch", "tensorboardX", "tbq"])
def swept(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[str], str]:
    root = tmp_path_factory.mktemp("sweep") / "runs"
    return root, sweep(writers()[request.param], root, "last"), request.param


pytestmark = pytest.mark.filterwarnings("ignore::tbq.TbqWarning", "ignore::DeprecationWarning")


def test_every_view_has_one_run_per_training_run(swept: tuple[Path, list[str], str], tmp_path: Path) -> None:
    root, names, writer = swept
    log = tbq.open(root)
    assert log.runs == names
    assert len(log.sub_runs) == (0 if writer == "tbq" else len(names) - len(CRASHED))
    # The curve has no point of the metric of the same name, which stays beside it.
    assert {row.step for row in log.scalars("val/loss", run=names[7])} == set(range(STEPS))
    metric = log.scalars("hparam/val/loss")
    assert sorted({row.run for row in metric}) == sorted(set(names) - set(CRASHED))
    assert {row.value for row in metric} == {9.0}
    assert {row["run"] for row in log.hparams().to_dicts()} == set(names) - set(CRASHED)
    summary = {row["run"]: row for row in log.summary().to_dicts()}
    assert list(summary) == names and summary[names[7]]["hparam.lr"] == 0.01
    reduced = log.reduce("val/loss", by="hparam.lr", stats="mean").to_dicts()
    assert sorted({row["n"] for row in reduced if row["step"] == 19}) == [
        19
    ]  # one of each rate crashed or diverged
    assert len({row["group"] for row in reduced}) == 3
    assert log.sql("select count(distinct run) as n from scalars").to_dicts() == [{"n": len(names)}]
    assert len(log.plot("val/loss", by="hparam.lr").axes) >= 1
    with tbq.follow(root) as follower:
        follower.poll()
        assert follower.runs == names
        assert repr(follower.table("scalars").to_dicts()) == repr(log.scalars().to_dicts())
    tbq.lake.sync(root, tmp_path / "lake")
    assert tbq.open(tmp_path / "lake").runs == names
    log.report(tmp_path / "report.html")
    kept = tbq.open(root, sub_runs="keep")
    assert len(kept.runs) == len(names) + len(log.sub_runs)
    assert len(kept.scalars()) == len(log.scalars())


def test_states(swept: tuple[Path, list[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    root, names, writer = swept
    later = time.time() + 7200  # the headers of files have the time of day
    monkeypatch.setattr("time.time", lambda: later)
    states = {row["run"]: row["state"] for row in tbq.open(root).table("runs").to_dicts()}
    expected = dict.fromkeys(names, "finished") | {DIVERGED: "diverged"}
    if writer != "tbq":  # closed without a word: the others went much further
        expected |= dict.fromkeys(CRASHED, "crashed")
    assert states == expected
    found = [finding.run for finding in tbq.doctor(root, select="TBQ409")]
    assert found == ([] if writer == "tbq" else sorted(CRASHED))


@pytest.mark.parametrize("writer", ["torch", "tensorboardX", "tbq"])
def test_hyperparameters_first(tmp_path: Path, writer: str) -> None:
    names = sweep(writers()[writer], tmp_path / "runs", "first")
    log = tbq.open(tmp_path / "runs")
    assert log.runs == names  # also those that were resumed: both calls have the same hyperparameters
    assert {row["run"] for row in log.hparams().to_dicts()} == set(names)
    # The end that add_hparams writes at once is no end; nobody else says one, but tbq's close().
    states = {row["run"]: row["state"] for row in log.table("runs").to_dicts()}
    assert states[names[7]] == ("finished" if writer == "tbq" else "running")


def test_the_page_has_one_row_per_training_run(swept: tuple[Path, list[str], str]) -> None:
    from served import Asked

    root, names, _ = swept
    asked = Asked(root)
    while asked.log.poll().left:
        pass
    runs = asked.json("runs")["runs"]
    assert sorted(run["name"] for run in runs) == names
    assert sum(run["state"] == "finished" for run in runs) >= len(names) - len(CRASHED) - 1
    assert json.dumps(runs[7]["hparams"])


def test_tensorboard_reads_our_hyperparameters_and_ends(tmp_path: Path) -> None:
    """Our first call goes to the run itself: TensorBoard's plugin has one session with its metric, and no more."""
    from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
    from tensorboard.context import RequestContext
    from tensorboard.plugins import base_plugin
    from tensorboard.plugins.hparams import api_pb2, backend_context, list_session_groups

    with tbq.SummaryWriter(tmp_path / "exp") as writer:
        for step in range(5):
            writer.add_scalar("loss", 1.0 / (1 + step), step)
        writer.add_hparams({"lr": 0.5}, {"accuracy": 0.75})
        writer.add_hparams({"lr": 0.25}, {"accuracy": 0.5}, run_name="second")
    multiplexer = plugin_event_multiplexer.EventMultiplexer()
    multiplexer.AddRunsFromDirectory(str(tmp_path))
    multiplexer.Reload()
    assert sorted(multiplexer.Runs()) == ["exp", "exp/second"]
    assert [event.step for event in multiplexer.Tensors("exp", "loss")] == list(range(5))
    provider = data_provider.MultiplexerDataProvider(multiplexer, str(tmp_path))
    context = backend_context.Context(base_plugin.TBContext(data_provider=provider))
    request = api_pb2.ListSessionGroupsRequest(
        start_index=0, slice_size=10, allowed_statuses=[api_pb2.STATUS_SUCCESS]
    )
    handler = list_session_groups.Handler(RequestContext(), context, "", request)
    groups = handler.run().session_groups
    assert sorted(group.hparams["lr"].number_value for group in groups) == [0.25, 0.5]
    log = tbq.open(tmp_path)
    assert log.runs == ["exp", "exp/second"]  # two trials


def test_an_exception_is_a_crash(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), tbq.SummaryWriter(tmp_path / "a") as writer:
        writer.add_scalar("loss", 1.0, 0)
        1 / 0  # noqa: B018
    writer = tbq.SummaryWriter(tmp_path / "b")
    writer.add_scalar("loss", 1.0, 0)
    writer.close()
    assert [row["state"] for row in tbq.open(tmp_path).table("runs").to_dicts()] == ["crashed", "finished"]


def test_the_decision_from_the_files_of_torch(tmp_path: Path) -> None:
    torch_sweep.write(tmp_path / "runs", TorchWriter)
    torch_sweep.check_decision(tmp_path / "runs")
