"""`tbq.init`: steps that count themselves, nested values, kinds by type, the configuration, and how the run ends."""

from __future__ import annotations

import argparse
import dataclasses
import multiprocessing
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tbq
from tbq.errors import TbqWarning, UsageError

PIL_IMAGE = pytest.importorskip("PIL.Image")


def points(directory: Path, tag: str) -> list[tuple[int, float]]:
    return [(row.step, row.value) for row in tbq.open(directory).scalars(tag=tag, on_error="ignore")]


def state(directory: Path, run: str) -> str:
    states = tbq.open(directory).table("runs")
    return {row.run: row.state for row in states}[run]


def test_steps(tmp_path: Path) -> None:
    with tbq.init(tmp_path, run="a") as run:
        run.log({"x": 0.0})
        run.log({"x": 1.0, "y": 1.0})
        run.log({"y": 10.0}, step=10)
        run.log({"x": 11.0})
        run.log({"z": 5.0}, step=5)  # does not set the counter back
        with run.step(20):
            run.log({"x": 20.0})
            run.log({"y": 20.0})
        run.log({})  # a step without values
        run.log({"x": 22.0})
        assert run.last_step == 22
    assert points(tmp_path, "x") == [(step, float(step)) for step in (0, 1, 11, 20, 22)]


def test_a_name_that_is_taken_gets_a_number_and_a_resumed_run_counts_on(tmp_path: Path) -> None:
    for _ in range(2):
        with tbq.init(tmp_path, run="a") as run:
            run.log({"x": 1.0})
    assert tbq.open(tmp_path).runs == ["a", "a-1"]
    for _ in range(2):
        with tbq.init(tmp_path, run="a", resume="auto", config={"lr": 0.1}) as run:
            run.log({"x": 2.0})
    assert points(tmp_path, "x")[:3] == [(0, 1.0), (1, 2.0), (2, 2.0)]
    with tbq.init(tmp_path, run="a", resume="auto", purge_step=1) as run:
        run.log({"x": 3.0})
    assert points(tmp_path, "x")[:2] == [(0, 1.0), (1, 3.0)]
    unnamed = [tbq.init(tmp_path / "unnamed") for _ in range(2)]
    for run in unnamed:
        run.finish()
    assert len({run.log_dir for run in unnamed}) == 2


@dataclasses.dataclass
class Model:
    layers: int = 3
    act: Any = None


@pytest.mark.parametrize(
    "config",
    [
        {
            "lr": 0.1,
            "model": {"layers": 3, "act": None},
            "sizes": [1, 2],
            "path": Path("x"),
            "big": np.int64(7),
        },
        argparse.Namespace(lr=0.1, model={"layers": 3}, sizes=(1, 2), path="x", big=7),
    ],
)
def test_the_configuration(config: Any, tmp_path: Path) -> None:
    with tbq.init(tmp_path, run="a", config=config) as run:
        run.log({"loss": 1.0})
        assert run.config is config
    row = tbq.open(tmp_path).summary().to_dicts()[0]
    names = ("lr", "model/layers", "sizes", "path", "big")
    assert [row[f"hparam.{name}"] for name in names] == [0.1, 3, "[1, 2]", "x", 7]


def test_other_configurations(tmp_path: Path) -> None:
    tbq.init(tmp_path, run="a", config=Model(layers=5)).finish()
    assert [(row.name, row.number) for row in tbq.open(tmp_path).hparams()] == [("layers", 5)]
    with pytest.raises(UsageError, match="config: got"):
        tbq.init(tmp_path, config=[1])
    with pytest.raises(UsageError, match="config: 'a/b' is there twice"):
        tbq.init(tmp_path, config={"a": {"b": 1}, "a/b": 2})


def test_kinds(tmp_path: Path) -> None:
    figures = pytest.importorskip("matplotlib.figure")
    figure = figures.Figure()
    figure.subplots().plot([1, 2])
    with tbq.init(tmp_path, run="a") as run, pytest.warns(TbqWarning, match="not logged") as caught:
        for _ in range(2):
            run.log(
                {
                    "train": {"loss": np.float32(0.5), "deep": {"er": 1}},
                    "weights": np.arange(10.0),
                    "one": np.ones(1),
                    "photo": PIL_IMAGE.new("RGB", (4, 4)),
                    "plot": figure,
                    "note": "words",
                    "none": None,
                    "list": [1, 2],
                    "names": np.array(["a", "b"]),
                }
            )
    assert len(caught) == 3  # once per name
    log = tbq.open(tmp_path)
    kinds = {row.tag: row.kind for row in log.tags()}
    assert kinds == {
        "train/loss": "scalars", "train/deep/er": "scalars", "one": "scalars", "weights": "histograms",
        "photo": "images", "plot": "images", "note/text_summary": "texts",
    }  # fmt: skip
    assert {row.step for row in log.images()} == {0, 1}
    with tbq.init(tmp_path) as run, pytest.raises(UsageError, match="metrics: got"):
        run.log(3)  # type: ignore[arg-type]


def test_a_run_with_a_configuration_has_not_finished_before_its_end(tmp_path: Path) -> None:
    with tbq.init(tmp_path, run="a", config={"lr": 0.1}) as run:
        run.flush()
        assert state(tmp_path, "a") == "running"
        assert tbq.open(tmp_path).hparams()["status"].tolist() == [None]
        run.add_hparams({"lr": 0.2}, {"loss": 1.0})  # of another trial
    assert state(tmp_path, "a") == "finished"
    assert tbq.open(tmp_path).hparams(run="a")["status"].tolist() == ["success"]


def test_ends(tmp_path: Path) -> None:
    for name, error in (("interrupted", KeyboardInterrupt), ("failed", ValueError)):
        with pytest.raises(error), tbq.init(tmp_path, run=name) as run:
            run.log({"x": 1.0})
            raise error
        assert state(tmp_path, name) == "crashed"
    run = tbq.init(tmp_path, run="said")
    run.finish(failed="no luck")
    run.finish()
    tbq.init(tmp_path, run="well").finish()
    assert (state(tmp_path, "said"), state(tmp_path, "well")) == ("crashed", "finished")
    tbq.init(tmp_path, run="forgotten").log({"x": 1.0})  # without a warning
    assert state(tmp_path, "forgotten") == "finished"


def test_threads(tmp_path: Path) -> None:
    with tbq.init(tmp_path, run="a") as run:
        threads = [
            threading.Thread(target=lambda: [run.log({"x": 1.0}) for _ in range(200)]) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(step for step, _ in points(tmp_path, "x")) == list(range(800))


def _log(run: tbq.RunWriter) -> None:
    assert run.config == {"lr": 0.1}
    run.log({"child": 1.0})
    run.finish()


def test_a_copy_in_another_process(tmp_path: Path) -> None:
    with tbq.init(tmp_path, run="a", config={"lr": 0.1}) as run:
        run.log({"x": 1.0})
        process = multiprocessing.get_context("spawn").Process(target=_log, args=(run,))
        process.start()
        process.join(60)
        assert process.exitcode == 0
        copy = pickle.loads(pickle.dumps(run))
        assert isinstance(copy, tbq.RunWriter)
        copy.finish()
    assert len(points(tmp_path, "child")) == 1


def test_an_unknown_argument_is_named_and_leaves_no_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="project"):
        tbq.init(tmp_path, project="x")
    assert list(tmp_path.iterdir()) == []


def test_names_stay_below_the_log_directory(tmp_path: Path) -> None:
    for name in ("../x", "/x", ""):
        with pytest.raises(UsageError):
            tbq.init(tmp_path, run=name or "..")
    with tbq.init(tmp_path, run="group/a") as run:
        run.log({"x": 1.0})
    assert tbq.open(tmp_path).runs == ["group/a"]
