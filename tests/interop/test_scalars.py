"""Scalars written by torch, TensorFlow, Keras and Lightning, value by value against TensorBoard's loaders."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import oracles
import pytest

import tbq

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("default")  # warnings of frameworks must not fail the tests

NUMBERS = [0.0, 0.1, 1e-45, 3.4e38, -7.25, math.nan, math.inf, -math.inf, 1 / 3]


def with_torch(folder: Path) -> None:
    import torch
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(folder)) as writer:
        for step, number in enumerate(NUMBERS * 20):
            writer.add_scalar("loss/train", number, step, walltime=1e9 + step)
            writer.add_scalar("new/style", number, step, new_style=True)
            writer.add_scalar("double", number, step, double_precision=True, new_style=True)
            writer.add_scalar("tensor", torch.tensor(number), step)
        writer.add_scalars("several", {"a": 1.0, "b": 2.0}, 3)
        writer.add_scalar("negative", 1.0, -4)
        writer.add_hparams({"lr": 0.1}, {"hparam/loss": 0.5})


def with_tensorflow(folder: Path) -> None:
    import tensorflow as tf

    writer = tf.summary.create_file_writer(str(folder))
    with writer.as_default():
        for step, number in enumerate(NUMBERS):
            tf.summary.scalar("loss", number, step=step, description="words")
            for dtype in (tf.float64, tf.float32, tf.float16):
                tf.summary.scalar(f"cast/{dtype.name}", tf.constant(number, dtype), step=step)
            for dtype in (tf.int32, tf.int64, tf.uint8, tf.int16):
                tf.summary.write(
                    f"raw/{dtype.name}",
                    tf.constant(step, dtype),
                    step=step,
                    metadata=_scalar_metadata(),
                )
            tf.summary.write(
                "raw/float64", tf.constant(number, tf.float64), step=step, metadata=_scalar_metadata()
            )
            tf.summary.write("raw/bool", tf.constant(step % 2 == 0), step=step, metadata=_scalar_metadata())
    writer.close()


def _scalar_metadata() -> Any:
    import tensorflow as tf

    metadata = tf.compat.v1.SummaryMetadata()
    metadata.plugin_data.plugin_name = "scalars"
    return metadata


def with_tensorflow_v1(folder: Path) -> None:
    """TF1's writer: several values per event, and session logs."""
    import tensorflow as tf

    v1 = tf.compat.v1
    with tf.Graph().as_default():
        writer = v1.summary.FileWriter(str(folder))
        writer.add_session_log(v1.SessionLog(status=v1.SessionLog.START), 0)
        for step, number in enumerate(NUMBERS):
            held = v1.Summary()
            held.value.add(tag="loss", simple_value=number)
            held.value.add(tag="acc", simple_value=step)
            writer.add_summary(held, step)
        writer.close()


def with_keras(folder: Path) -> None:
    import keras

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"])
    generator = np.random.default_rng(1)
    x, y = generator.random((64, 4)), generator.random((64, 1))
    callback = keras.callbacks.TensorBoard(str(folder), update_freq="batch", write_graph=False)
    model.fit(x, y, batch_size=8, epochs=3, validation_split=0.25, verbose=0, callbacks=[callback])


def with_lightning(folder: Path) -> None:
    import lightning
    import torch
    from lightning.pytorch.loggers import TensorBoardLogger

    class Model(lightning.LightningModule):
        def __init__(self, width: int = 3) -> None:
            super().__init__()
            self.save_hyperparameters()
            self.layer = torch.nn.Linear(4, 1)

        def training_step(self, batch: Any, index: int) -> Any:
            loss = self.layer(batch[0]).square().mean()
            self.log("loss", loss)
            self.log_dict({"a/x": index, "a/y": float(index) / 3})
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.01)

    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.rand(40, 4)), batch_size=4)
    trainer = lightning.Trainer(
        max_epochs=2,
        log_every_n_steps=1,
        logger=TensorBoardLogger(str(folder)),
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
        accelerator="cpu",
        devices=1,
    )
    trainer.fit(Model(), data)


WRITERS: dict[str, tuple[Callable[[Path], None], set[str]]] = {
    "torch": (with_torch, {".", "several_a", "several_b"}),
    "tensorflow": (with_tensorflow, {"."}),
    "tensorflow_v1": (with_tensorflow_v1, {"."}),
    "keras": (with_keras, {"train", "validation"}),
    "lightning": (with_lightning, {"lightning_logs/version_0"}),
}


@pytest.fixture(scope="module", params=WRITERS)
def written(request: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp(request.param)
    WRITERS[request.param][0](folder)
    return request.param, folder


def test_every_scalar_of_every_run(written: tuple[str, Path]) -> None:
    writer, folder = written
    log = tbq.open(folder, sub_runs="keep")
    table = log.scalars(restarts="keep").to_arrow().to_pylist()
    assert {row["run"] for row in table} >= WRITERS[writer][1]
    for run in log.runs:
        got = {}
        for row in table:
            if row["run"] == run:
                point = (row["step"], row["wall_time"], oracles.comparable(row["value"]))
                got.setdefault(row["tag"], []).append(point)
        assert got == oracles.scalars_of_files(folder / run)
    assert [problem for problem in log.problems if problem.severity != "info"] == []


def test_no_restart_is_seen_where_there_was_none(written: tuple[str, Path]) -> None:
    _, folder = written
    log = tbq.open(folder)
    resumed, kept = log.scalars().to_arrow(), log.scalars(restarts="keep").to_arrow()
    for name in ("run", "tag", "step", "wall_time"):
        assert resumed[name].to_pylist() == kept[name].to_pylist()
    assert "restart" not in {problem.code for problem in log.problems}


def test_the_values_are_those_that_were_logged(tmp_path: Path) -> None:
    """The writer's own numbers, not only those of another reader."""
    with_torch(tmp_path)
    log = tbq.open(tmp_path)
    want = NUMBERS * 20
    np.testing.assert_array_equal(log.series("double", run=".").values, want)
    np.testing.assert_array_equal(log.series("loss/train", run=".").values, np.float32(want))
    np.testing.assert_array_equal(log.series("loss/train", run=".").wall_times, 1e9 + np.arange(len(want)))
