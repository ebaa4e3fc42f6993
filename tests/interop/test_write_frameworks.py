"""Arrays of TensorFlow, the Keras callback, and Lightning's logger over our writer."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import tensorflow as tf

import tbq
from tbq.errors import UsageError
from tbq.integrations.keras import TbqCallback

# Keras calls NumPy in a way that NumPy 2 deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:.*__array__ implementation:DeprecationWarning")


def scalars(events):
    return {
        (value.tag, event.step): value.simple_value
        for event in events
        for value in event.summary.value
        if value.HasField("simple_value")
    }


def test_tensorflow_tensors(tmp_path, read_events):
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("constant", tf.constant(1.5), tf.constant(3))
        writer.add_scalar("variable", tf.Variable([2.5]), tf.Variable(4, dtype=tf.int64))
        writer.log({"bfloat16": tf.constant(0.5, tf.bfloat16)}, 5)
        writer.add_histogram("histogram", tf.random.normal([10]), 1)
        writer.add_image("image", tf.zeros([4, 4, 3]), 1, dataformats="HWC")
        writer.add_tensor("bfloat16 tensor", tf.constant([1.5], tf.bfloat16), 1)
        writer.add_tensor("tensor", tf.constant([[1, 2]]), 1)
    events = read_events(tmp_path)
    assert scalars(events) == {("constant", 3): 1.5, ("variable", 4): 2.5, ("bfloat16", 5): 0.5}
    assert list(events[-2].summary.value[0].tensor.half_val) == [0x3FC0]
    assert list(events[-1].summary.value[0].tensor.int_val) == [1, 2]


def fit(callback, epochs=3):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.01), "mse", metrics=["mae"])
    x, y = np.random.rand(64, 3), np.random.rand(64, 1)
    return model.fit(x, y, 16, epochs, 0, [callback], validation_split=0.25)


def test_the_keras_callback_logs_what_fit_reports(tmp_path, read_events):
    history = fit(TbqCallback(tmp_path, update_freq=2)).history
    train = scalars(read_events(tmp_path / "train"))
    validation = scalars(read_events(tmp_path / "validation"))
    for epoch in range(3):
        for name in ("loss", "mae"):
            assert train[f"epoch_{name}", epoch] == pytest.approx(history[name][epoch])
            assert validation[f"epoch_{name}", epoch] == pytest.approx(history[f"val_{name}"][epoch])
        assert train["epoch_learning_rate", epoch] == pytest.approx(0.01)


@pytest.mark.parametrize("update_freq", ["epoch", "batch", 2])
def test_it_has_the_runs_tags_and_steps_of_keras_own(tmp_path, read_events, update_freq):
    fit(TbqCallback(tmp_path / "ours", update_freq=update_freq, write_graph=False))
    theirs = keras.callbacks.TensorBoard(str(tmp_path / "theirs"), write_graph=False, update_freq=update_freq)
    fit(theirs)
    for run in ("train", "validation"):
        ours, theirs = (
            {(v.tag, e.step) for e in read_events(tmp_path / name / run) for v in e.summary.value}
            for name in ("ours", "theirs")
        )
        if update_freq == 2:  # Keras drops epochs and evaluations whose last batch is not due
            assert theirs <= ours
            assert {tag.partition("_")[0] for tag, _ in ours - theirs} <= {"epoch", "evaluation"}
        else:
            assert ours == theirs


def test_bad_options_of_the_callback(tmp_path):
    with pytest.raises(UsageError, match="update_freq: got 'sometimes'"):
        TbqCallback(tmp_path, update_freq="sometimes")


LIGHTNING = """
import sys, torch, lightning, warnings, logging
import torch.utils.tensorboard
import tbq
torch.utils.tensorboard.SummaryWriter = tbq.SummaryWriter
from lightning.pytorch.loggers import TensorBoardLogger
class Model(lightning.LightningModule):
    def __init__(self, width=2):
        super().__init__()
        self.save_hyperparameters()
        self.layer = torch.nn.Linear(4, 1)
    def training_step(self, batch, index):
        loss = self.layer(batch[0]).pow(2).mean()
        self.log("loss", loss)
        return loss
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.rand(20, 4)), 2)
logger = TensorBoardLogger(sys.argv[1], name="exp")
trainer = lightning.Trainer(max_epochs=2, logger=logger, log_every_n_steps=1, enable_progress_bar=False,
                            enable_model_summary=False, enable_checkpointing=False, accelerator="cpu")
trainer.fit(Model(), data)
assert type(logger.experiment) is tbq.SummaryWriter
"""


def test_lightnings_logger_over_our_writer(tmp_path, read_events):
    done = subprocess.run([sys.executable, "-c", LIGHTNING, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    events = read_events(tmp_path / "exp" / "version_0")
    assert [step for tag, step in scalars(events) if tag == "loss"] == list(range(20))
    assert "_hparams_/session_start_info" in {v.tag for e in events for v in e.summary.value}
