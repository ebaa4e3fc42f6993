"""Logs of successful runs of real frameworks: the doctor finds nothing; and its findings for a `fit` that ran twice."""

from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tbq


def findings(path: Path) -> list[str]:
    return [f"{each.code} {each}" for each in tbq.doctor(path)]


@pytest.mark.filterwarnings("ignore")
def test_torch(tmp_path: Path) -> None:
    import torch
    from torch.utils.tensorboard import SummaryWriter

    rng = np.random.default_rng(0)
    with SummaryWriter(tmp_path / "basic") as writer:
        for step in range(200):
            writer.add_scalar("train/loss", math.exp(-step / 50) + rng.normal() / 100, step)
            writer.add_scalar("lr", 1e-3, step)
            if step % 10 == 9:
                writer.add_scalar("val/loss", math.exp(-step / 50) + 0.1, step)
                writer.add_histogram("weights", rng.normal(size=100), step)
        writer.add_text("notes", "hello")
        writer.add_image("picture", torch.rand(3, 8, 8), 1)
        writer.add_graph(torch.nn.Linear(2, 2), torch.ones(1, 2))
        writer.add_hparams({"lr": 0.1, "batch": 32}, {"hparam/accuracy": 0.5})
    with SummaryWriter(tmp_path / "lines") as writer:  # nothing but runs below it
        for step in range(30):
            writer.add_scalars("loss", {"train": 1 / (1 + step), "val": 1.1 / (1 + step)}, step)
    with SummaryWriter(tmp_path / "curves") as writer:
        for step in range(30):
            writer.add_pr_curve("pr", rng.integers(0, 2, 50), rng.random(50), step)
            writer.add_scalar("epoch", step // 10, step)
    assert findings(tmp_path) == []


@pytest.mark.filterwarnings("ignore")
def test_lightning(tmp_path: Path) -> None:
    import lightning
    import torch
    from lightning.pytorch.callbacks import LearningRateMonitor
    from lightning.pytorch.loggers import TensorBoardLogger

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

    class Model(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.save_hyperparameters({"lr": 0.1})
            self.layer = torch.nn.Linear(4, 1)

        def loss(self, batch: Any) -> Any:
            return torch.nn.functional.mse_loss(self.layer(batch[0]).squeeze(), batch[1])

        def training_step(self, batch: Any, _index: int) -> Any:
            loss = self.loss(batch)
            self.log("train_loss", loss, on_step=True, on_epoch=True)
            return loss

        def validation_step(self, batch: Any, _index: int) -> None:
            self.log("val_loss", self.loss(batch))

        def test_step(self, batch: Any, _index: int) -> None:
            self.log("test_loss", self.loss(batch))

        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.SGD(self.parameters(), 0.01)
            return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 3)]

    x = torch.rand(320, 4)
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, x.sum(1)), batch_size=16)
    for name, options in {
        "plain": {},
        "steps": {"log_every_n_steps": 1, "callbacks": [LearningRateMonitor(logging_interval="step")]},
        "often": {"log_every_n_steps": 5, "val_check_interval": 0.25},
        "rarely": {"log_every_n_steps": 50, "check_val_every_n_epoch": 3},
    }.items():
        trainer = lightning.Trainer(
            max_epochs=8, accelerator="cpu", logger=TensorBoardLogger(tmp_path, name=name), enable_progress_bar=False,
            enable_model_summary=False, enable_checkpointing=False, **options,
        )  # fmt: skip
        model = Model()
        trainer.fit(model, data, data)
        trainer.test(model, data, verbose=False)
    assert findings(tmp_path) == []


@pytest.mark.filterwarnings("ignore")
def test_keras_and_a_second_fit_into_the_same_directory(tmp_path: Path) -> None:
    import keras
    import tensorflow as tf

    x = np.random.default_rng(0).random((320, 4)).astype("f4")
    y = (x.sum(1) > 2).astype("f4")

    def fit(name: str, **options: Any) -> None:
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8), keras.layers.Dense(1)])
        model.compile("sgd", "mse", metrics=["mae"])
        board = keras.callbacks.TensorBoard(tmp_path / name, **options)
        model.fit(x, y, epochs=12, batch_size=32, verbose=0, validation_data=(x, y), callbacks=[board])

    fit("epochs")
    fit("batches", update_freq="batch")
    fit("some", update_freq=5, histogram_freq=1)
    with tf.summary.create_file_writer(str(tmp_path / "summaries")).as_default():
        for step in range(60):
            tf.summary.scalar("loss", 1 / (1 + step), step)
            tf.summary.text("note", "x", step)
    assert findings(tmp_path) == []
    fit("batches", update_freq="batch")  # the same directory again: the most common mistake
    found = tbq.doctor(tmp_path)
    assert [(each.code, each.run) for each in found] == [
        ("TBQ408", "batches/train"),
        ("TBQ408", "batches/validation"),
    ]
    assert all("(50 %)" in each.message and "its own directory" in (each.hint or "") for each in found)
