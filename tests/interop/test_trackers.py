"""Logs that the real trackers write: the same training gives the same scalars, opened, followed and synced."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tbq

pytestmark = pytest.mark.filterwarnings("default")

STEPS = list(range(0, 50, 10))
LOSS = [1 / (i + 3) for i in range(5)]
VALUES = {
    "loss": LOSS,
    "train/acc": [float(i) for i in range(5)],
    "nan": [math.nan] * 5,
    "inf": [math.inf] * 5,
}
LOGGED = """\
for i, step in enumerate(range(0, 50, 10)):
    v = {'loss': 1 / (i + 3), 'train/acc': i, 'nan': math.nan, 'inf': math.inf}
"""

PROGRAMS = {
    "wandb": """
        import wandb
        run = wandb.init(project="p", name="first", config={"lr": 0.1, "opt": "adam"}, mode="offline")
        LOGGED
            run.log(v, step=step)
        run.log({"image": wandb.Image(np.zeros((4, 6, 3), np.uint8)), "text": "hello"}, step=step)
        run.finish()
    """,
    "mlflow": """
        import mlflow
        mlflow.set_tracking_uri("sqlite:///" + os.path.abspath("mlflow.db"))
        mlflow.set_experiment("exp")
        with mlflow.start_run(run_name="first"):
            mlflow.log_params({"lr": 0.1, "opt": "adam"})
            LOGGED
                mlflow.log_metrics(v, step=step)
            with mlflow.start_run(run_name="inner", nested=True):
                mlflow.log_metric("loss", 1.0, step=1)
    """,
    "trackio": """
        os.environ["TRACKIO_DIR"] = os.getcwd()
        import trackio
        trackio.init(project="p", name="first", config={"lr": 0.1, "opt": "adam"}, auto_log_cpu=False)
        LOGGED
            trackio.log(v, step=step)
        trackio.finish()
    """,
}
RUNS = {"mlflow": "exp/first", "trackio": "first"}


def run(writer: str, folder: Path) -> None:
    """Let a tracker log into a folder, in a process of its own."""
    lines = []
    for line in textwrap.dedent(PROGRAMS[writer]).splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        lines.append(textwrap.indent(LOGGED, indent) if line.strip() == "LOGGED" else line)
    program = "import math, os\nimport numpy as np\n" + "\n".join(lines)
    environment = {**os.environ, "WANDB_SILENT": "true", "MLFLOW_DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1"}
    folder.mkdir(exist_ok=True)
    subprocess.run([sys.executable, "-c", program], cwd=folder, check=True, timeout=300, env=environment)


@pytest.mark.parametrize("writer", PROGRAMS)
def test_a_training(writer: str, tmp_path: Path) -> None:
    run(writer, tmp_path / "log")
    log = tbq.open(tmp_path / "log")
    name = RUNS.get(writer) or next(each for each in log.runs if each.startswith("wandb/"))
    for tag, values in VALUES.items():
        series = log.series(tag, run=name)
        assert series.steps.tolist() == STEPS
        assert list(map(repr, series.values.tolist())) == list(map(repr, values))
        assert (series.wall_times > 1.7e9).all()
    hparams = {row.name: row.number if row.type == "number" else row.string for row in log.hparams(run=name)}
    assert hparams == {"lr": 0.1, "opt": "adam"}
    (about,) = [row for row in log.sql("select run, writer, state from runs") if row.run == name]
    assert about.writer == writer
    if writer != "trackio":  # its database does not say that a run ended
        assert about.state == "finished"
    if writer == "wandb":
        (image,) = log.images(run=name)
        assert (image.width, image.height) == (6, 4)
        assert [row.text for row in log.texts(run=name)] == ["hello"]
    if writer == "mlflow":
        assert log.series("loss", run="exp/first/inner").values.tolist() == [1.0]
    with tbq.follow(tmp_path / "log") as follower:
        follower.poll()
        assert list(map(repr, follower.table("scalars"))) == list(map(repr, log.scalars()))
    tbq.lake.sync(tmp_path / "log", tmp_path / "lake")
    assert list(map(repr, tbq.open(tmp_path / "lake").scalars())) == list(map(repr, log.scalars()))


def test_five_people_use_five_trackers(tmp_path: Path) -> None:
    for writer in PROGRAMS:
        run(writer, tmp_path / writer)
    with tbq.SummaryWriter(tmp_path / "tensorboard", exact=True) as writer:
        for step, loss in zip(STEPS, LOSS, strict=True):
            writer.add_scalar("loss", loss, step)
    rows = tbq.open(tmp_path).sql(
        "select writer, step, value from scalars join runs using (run) where tag = 'loss' and run not like '%inner' "
        "order by all"
    )
    by_writer: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        by_writer.setdefault(row.writer, []).append((row.step, row.value))
    assert len(by_writer) == 4
    assert all(pairs == list(zip(STEPS, LOSS, strict=True)) for pairs in by_writer.values())


def test_lightning(tmp_path: Path) -> None:
    from lightning.fabric.loggers import CSVLogger

    logger = CSVLogger(tmp_path, name="logs")
    for step, loss in zip(STEPS, LOSS, strict=True):
        logger.log_metrics({"loss": loss}, step)
    logger.log_metrics({"val": 0.5}, 50)
    logger.save()
    log = tbq.open(tmp_path)
    assert log.runs == ["logs/version_0"]
    assert log.series("loss").steps.tolist() == STEPS and log.series("loss").values.tolist() == pytest.approx(
        LOSS
    )
    assert log.series("val").steps.tolist() == [50]


def test_keras(tmp_path: Path) -> None:
    import keras
    import numpy as np

    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"])
    logger = keras.callbacks.CSVLogger(tmp_path / "training.csv")
    data = np.ones((8, 2)), np.ones((8, 1))
    history = model.fit(*data, epochs=4, validation_data=data, callbacks=[logger], verbose=0).history
    log = tbq.open(tmp_path)
    for tag in ("loss", "mae", "val_loss"):
        assert log.series(tag).steps.tolist() == [0, 1, 2, 3]
        assert log.series(tag).values.tolist() == pytest.approx(history[tag], rel=1e-6)


def test_transformers(tmp_path: Path) -> None:
    from transformers import TrainerState

    for count in (2, 5):
        history = [
            {"loss": loss, "epoch": step / 50, "step": step}
            for step, loss in list(zip(STEPS, LOSS, strict=True))[:count]
        ]
        folder = tmp_path / f"checkpoint-{count * 10}"
        folder.mkdir()
        state = TrainerState(epoch=count / 5, global_step=count * 10, log_history=history)
        state.save_to_json(str(folder / "trainer_state.json"))
    log = tbq.open(tmp_path)
    assert log.runs == ["."]
    assert log.series("loss").steps.tolist() == STEPS and log.series("loss").values.tolist() == LOSS
