"""Loggers and callbacks with the real trainers: the same directories, tags and numbers as the trainers' own."""

from __future__ import annotations

import functools
import importlib
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import tbq
from tbq.errors import UsageError

pytestmark = pytest.mark.filterwarnings("default")  # the trainers' own


def table(directory):
    """(run, tag) -> [(step, value)] of scalars."""
    rows = {}
    for row in tbq.open(directory).scalars():
        rows.setdefault((row.run, row.tag), []).append((row.step, row.value))
    return rows


def close(ours, theirs):
    return ours.keys() == theirs.keys() and all(
        ours[key] == [(step, pytest.approx(value, rel=1e-5, nan_ok=True)) for step, value in theirs[key]]
        for key in theirs
    )


def fit_lightning(logger, epochs=2):
    import lightning.pytorch as pl
    import torch

    class Model(pl.LightningModule):
        def __init__(self, lr=0.1, layers=None):
            super().__init__()
            self.save_hyperparameters()
            self.layer = torch.nn.Linear(4, 1)
            self.example_input_array = torch.zeros(1, 4)

        def forward(self, x):
            return self.layer(x)

        def training_step(self, batch, index):
            loss = self.layer(batch[0]).square().mean()
            self.log("train/loss", loss)
            return loss

        def validation_step(self, batch, index):
            self.log_dict(
                {"val/loss": self.layer(batch[0]).square().mean(), "val/epoch": float(self.current_epoch)}
            )

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=self.hparams.lr)

    pl.seed_everything(1)
    model = Model(layers=[1, 2])
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(32, 4)), batch_size=4)
    trainer = pl.Trainer(
        max_epochs=epochs, logger=logger, log_every_n_steps=2, enable_progress_bar=False,
        enable_model_summary=False, accelerator="cpu",
    )  # fmt: skip
    if hasattr(logger, "watch"):
        logger.watch(model, every=4)
    trainer.fit(model, data, data)
    return trainer


def files(directory):
    """All paths below a directory, with event files under a generic name."""
    return {
        "events" if "tfevents" in path.name else path.relative_to(directory).as_posix()
        for path in Path(directory).rglob("*")
        if path.is_file()
    }


def test_lightning(tmp_path):
    from lightning.pytorch.loggers import TensorBoardLogger

    from tbq.integrations.lightning import TbqLogger

    ours = fit_lightning(TbqLogger(tmp_path / "ours", name="exp", log_graph=True))
    fit_lightning(TensorBoardLogger(tmp_path / "theirs", name="exp", log_graph=True))
    assert ours.log_dir.endswith("exp/version_0") and isinstance(ours.logger, TensorBoardLogger)
    watched = {key for key in table(tmp_path / "ours") if key[1].startswith(("parameters/", "gradients/"))}
    assert ("exp/version_0", "gradients/layer.weight/norm") in watched
    rows = {key: value for key, value in table(tmp_path / "ours").items() if key not in watched}
    assert close(rows, table(tmp_path / "theirs"))
    assert files(tmp_path / "ours") == files(tmp_path / "theirs")
    for log in (tbq.open(tmp_path / "ours"), tbq.open(tmp_path / "theirs")):
        assert {row.name for row in log.hparams()} >= {"lr"}
    assert len(tbq.open(tmp_path / "ours").nodes()) == len(tbq.open(tmp_path / "theirs").nodes()) > 0
    again = fit_lightning(TbqLogger(tmp_path / "ours", name="exp"), epochs=1)
    assert again.log_dir.endswith("exp/version_1")


def test_lightning_without_tensorboard(tmp_path):
    program = """
import sys
import types
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("tensorboard", "tensorboardX"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hidden())
import lightning.fabric.loggers.tensorboard as fabric
fabric._TENSORBOARD_AVAILABLE = fabric._TENSORBOARDX_AVAILABLE = False  # it looks at what is installed
from tbq.integrations.lightning import TbqLogger
logger = TbqLogger(sys.argv[1])
logger.log_hyperparams({"lr": 0.1, "net": {"depth": 3}}, {"best": 1.0})
logger.log_metrics({"a": 1.0, "b": {"x": 1.0, "y": 2.0}}, 3)
logger.save()
logger.finalize("success")
"""
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert result.returncode == 0, result.stderr
    rows = table(tmp_path)
    assert rows["lightning_logs/version_0", "a"] == [(3, 1.0)]
    assert rows["lightning_logs/version_0", "best"] == [(0, 1.0)]
    assert (tmp_path / "lightning_logs/version_0/hparams.yaml").exists()


def train_transformers(directory, callbacks):
    import torch
    import transformers
    from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

    transformers.set_seed(1)
    config = BertConfig(
        vocab_size=50, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8,
        max_position_embeddings=16,
    )  # fmt: skip
    model = BertForSequenceClassification(config)
    data = [{"input_ids": torch.randint(0, 50, (8,)), "labels": torch.tensor(i % 2)} for i in range(16)]
    args = TrainingArguments(
        output_dir=str(directory), num_train_epochs=2, per_device_train_batch_size=4, logging_steps=2,
        eval_strategy="epoch", report_to="none", save_strategy="no", use_cpu=True, disable_tqdm=True,
    )  # fmt: skip
    Trainer(model, args, train_dataset=data, eval_dataset=data, callbacks=callbacks).train()


def test_transformers(tmp_path):
    from transformers.integrations import TensorBoardCallback

    from tbq.integrations.huggingface import TbqCallback

    train_transformers(tmp_path / "ours", [TbqCallback(watch=4)])
    train_transformers(tmp_path / "theirs", [TensorBoardCallback()])
    results = []
    for name in ("ours", "theirs"):
        (run,) = tbq.open(tmp_path / name).runs
        assert run.startswith("runs/")
        rows = {tag: values for (_, tag), values in table(tmp_path / name).items()}
        results.append(
            {tag: v for tag, v in rows.items() if not tag.startswith(("parameters/", "gradients/"))}
        )
        texts = {row.tag for row in tbq.open(tmp_path / name).texts()}
        assert texts == {"args/text_summary", "model_config/text_summary"}
    ours, theirs = results
    assert ours.keys() == theirs.keys()
    assert {"train/loss", "eval/loss", "train/learning_rate"} <= ours.keys()
    assert close(
        {k: v for k, v in ours.items() if k.endswith("loss")},
        {k: v for k, v in theirs.items() if k.endswith("loss")},
    )
    assert len(tbq.open(tmp_path / "ours").histograms(tag="gradients/classifier.weight")) == 2


def test_accelerate(tmp_path):
    import torch
    from accelerate import Accelerator

    from tbq.integrations.accelerate import TbqTracker

    accelerator = Accelerator(log_with=TbqTracker("exp", tmp_path), cpu=True)
    accelerator.init_trackers("project", config={"lr": 0.1, "name": "net", "sizes": [1, 2]})
    model, optimizer = accelerator.prepare(
        *(lambda m: (m, torch.optim.SGD(m.parameters(), 0.1)))(torch.nn.Linear(2, 1))
    )
    for step in range(3):
        loss = model(torch.ones(1, 2)).sum()
        accelerator.backward(loss)
        optimizer.step()
        accelerator.log({"loss": loss, "both": {"a": 1.0, "b": 2.0}, "note": "text"}, step=step)
    accelerator.get_tracker("tbq").log_images({"image": torch.rand(2, 3, 4, 4)}, step=1)
    accelerator.end_training()
    rows = table(tmp_path)
    assert [step for step, _ in rows["exp", "loss"]] == [0, 1, 2]
    assert rows["exp/both_a", "both"] == [(0, 1), (1, 1), (2, 1)]
    assert {row.name for row in tbq.open(tmp_path).hparams()} == {"lr", "name", "sizes"}
    assert len(tbq.open(tmp_path).images()) == 1


def test_stable_baselines3(tmp_path):
    import stable_baselines3
    from stable_baselines3.common import logger

    from tbq.integrations.sb3 import TbqOutputFormat, configure

    def learn(output):
        model = stable_baselines3.PPO(
            "MlpPolicy", "CartPole-v1", n_steps=32, batch_size=32, seed=1, device="cpu"
        )
        model.set_logger(output)
        model.learn(96)
        output.record("hist", __import__("numpy").arange(10.0))
        output.record("params", logger.HParam({"lr": 0.1}, {"rollout/ep_rew_mean": 0}))
        output.record("hidden", 1.0, exclude="tensorboard")
        output.record("text", "words")
        output.dump(200)
        output.close()

    learn(configure(tmp_path / "ours", formats=()))
    learn(logger.configure(str(tmp_path / "theirs"), ["tensorboard"]))
    ours, theirs = table(tmp_path / "ours"), table(tmp_path / "theirs")
    assert ours.keys() == theirs.keys()
    differing = {
        key for key in theirs if "time" not in key[1] and not close({key: ours[key]}, {key: theirs[key]})
    }
    assert not differing, {key: (ours[key], theirs[key]) for key in differing}
    assert isinstance(TbqOutputFormat(tmp_path / "third"), logger.KVWriter)
    for name in ("ours", "theirs"):
        assert len(tbq.open(tmp_path / name).histograms()) == 1
        assert len(tbq.open(tmp_path / name).hparams()) == 1


KERAS = """
import os, sys
os.environ["KERAS_BACKEND"] = sys.argv[2]
if sys.argv[2] != "tensorflow":  # not to be found, and not to be imported
    import importlib.util
    find = importlib.util.find_spec
    importlib.util.find_spec = lambda name, *a: None if name.startswith("tensorflow") else find(name, *a)
    class Hidden:
        def find_spec(self, name, path=None, target=None):
            if name.split(".")[0] in ("tensorflow", "tensorboard"):
                raise ModuleNotFoundError(name)
    sys.meta_path.insert(0, Hidden())
import keras, numpy as np
from tbq.integrations.keras import TbqCallback
keras.utils.set_random_seed(1)
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="first"), keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(0.01), "mse", metrics=["mae"])
x, y = np.random.rand(64, 3), np.random.rand(64, 1)
ours = TbqCallback(sys.argv[1] + "/ours", histogram_freq=1, update_freq="batch")
callbacks = [ours]
if sys.argv[2] == "tensorflow":
    callbacks.append(keras.callbacks.TensorBoard(sys.argv[1] + "/theirs", update_freq="batch", histogram_freq=1))
model.fit(x, y, 16, 3, 0, callbacks, validation_split=0.25)
model.evaluate(x, y, verbose=0, callbacks=callbacks[:1])
"""


@pytest.mark.parametrize("backend", ["torch", "jax", "tensorflow"])
def test_keras(tmp_path, backend):
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KERAS, str(tmp_path), backend],
        capture_output=True, text=True, timeout=230, env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    rows = table(tmp_path / "ours")
    assert [step for step, _ in rows["train", "epoch_loss"]] == [0, 1, 2]
    assert [step for step, _ in rows["train", "batch_loss"]] == list(range(1, 10))
    # `evaluate` after `fit` is at the step of the last validation, which it replaces.
    assert [step for step, _ in rows["validation", "evaluation_loss_vs_iterations"]] == [3, 6, 9]
    histograms = tbq.open(tmp_path / "ours").histograms(tag="sequential/first/kernel/histogram")
    assert histograms["step"].tolist() == [0, 1, 2]
    if backend == "tensorflow":
        theirs = tbq.open(tmp_path / "theirs").tags()
        ours = tbq.open(tmp_path / "ours").tags()
        skipped = "evaluation_"
        assert {(row.run, row.tag, row.kind) for row in ours if skipped not in row.tag} >= {
            (row.run, row.tag, row.kind) for row in theirs if skipped not in row.tag and row.kind != "graphs"
        }


SCRIPT = """
import sys
import types
from torch.utils.tensorboard import SummaryWriter
import tensorboardX
from tensorboard.summary import Writer
assert sys.argv[1:2] == ["--lr"], sys.argv
writer = SummaryWriter("runs/torch")
writer.add_scalar("a", 1.0, 1)
writer.close()
writer = tensorboardX.SummaryWriter("runs/x")
writer.add_scalar("b", 2.0, 1)
writer.close()
writer = Writer("runs/board")
writer.add_scalar("c", 3.0, 1)
writer.close()
"""


def test_patch_a_program(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    for command in (["train.py"], ["-m", "train"]):
        result = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "tbq.run", "--patch", *command, "--lr", "0.1"],
            cwd=tmp_path, capture_output=True, text=True, timeout=200,
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
    writers = {row.run: row.writer for row in tbq.open(tmp_path / "runs").table("runs")}
    assert writers == dict.fromkeys(("torch", "x", "board"), "tbq")


def test_patch_and_unpatch():
    from torch.utils import tensorboard

    theirs = tensorboard.SummaryWriter
    tbq.patch()
    try:
        assert issubclass(tensorboard.SummaryWriter, tbq.SummaryWriter)
        assert tensorboard.writer.SummaryWriter is tensorboard.SummaryWriter
        tbq.patch()  # again changes nothing
    finally:
        tbq.unpatch()
    assert tensorboard.SummaryWriter is theirs
    assert tensorboard.writer.SummaryWriter is theirs
    tbq.unpatch()


UNPATCH = """
import importlib, sys, types
import tbq

def module(name, text):
    made = sys.modules[name] = types.ModuleType(name)
    exec(text, made.__dict__)
    return made

{early}
tbq.patch()
import tensorboardX, tensorboard.summary, torch.utils.tensorboard
torches = module("torches", "from torch.utils.tensorboard import SummaryWriter as W, SummaryWriter")
theirs = module("theirs", "from tensorboardX import SummaryWriter; from tensorboard.summary import Writer")
own = module("own", "from tbq import SummaryWriter")
assert issubclass(torches.W, tbq.SummaryWriter) and issubclass(theirs.SummaryWriter, tbq.SummaryWriter)
assert theirs.Writer.__module__ == "tbq.write.patch"
{again}
tbq.unpatch()
assert torches.W is torches.SummaryWriter is torch.utils.tensorboard.SummaryWriter
assert torches.W is torch.utils.tensorboard.writer.SummaryWriter
assert torches.W.__module__ == "torch.utils.tensorboard.writer", torches.W
assert theirs.SummaryWriter is tensorboardX.SummaryWriter is tensorboardX.writer.SummaryWriter
assert theirs.SummaryWriter.__module__.startswith("tensorboardX"), theirs.SummaryWriter
assert theirs.Writer is tensorboard.summary.Writer and theirs.Writer.__module__.startswith("tensorboard.")
assert own.SummaryWriter is tbq.SummaryWriter
importlib.reload(tensorboardX.writer)
assert not issubclass(tensorboardX.writer.SummaryWriter, tbq.SummaryWriter)
tbq.patch()
assert issubclass(torches.W, tbq.SummaryWriter)
tbq.unpatch()
assert not issubclass(torches.W, tbq.SummaryWriter)
"""


@pytest.mark.parametrize(
    ("early", "again"), [("", ""), ("import torch.utils.tensorboard", "tbq.unpatch(); tbq.patch()")]
)
def test_unpatch_restores_what_was_imported_before_and_in_between(early, again):
    code = UNPATCH.format(early=early, again=again)
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=200
    )
    assert result.returncode == 0, result.stderr


def test_patch_names_what_it_does_not_replace(monkeypatch):
    import tensorboardX

    class Own(tensorboardX.SummaryWriter):
        pass

    def make(kind=tensorboardX.SummaryWriter):
        return kind

    def keyword(*, kind=tensorboardX.SummaryWriter):
        return kind

    bound = tensorboardX.SummaryWriter

    def closure():
        return bound

    registry = types.ModuleType("registry")
    registry.WRITERS = {"tensorboardX": tensorboardX.SummaryWriter}
    registry.make = functools.partial(tensorboardX.SummaryWriter, flush_secs=1)
    monkeypatch.setitem(sys.modules, "registry", registry)

    class Factory:
        def __init__(self):
            self.kind = tensorboardX.SummaryWriter

    factory = Factory()
    monkeypatch.setitem(sys.modules, "keras.src.callbacks.tensorboard", types.ModuleType("tensorboard"))
    try:
        with pytest.warns(tbq.errors.TbqWarning) as caught:
            tbq.patch()
        said, keras = (str(each.message) for each in caught)
        assert re.search(r"does not replace .*Call tbq.patch\(\) before", said)
        assert re.search(r"keras\.callbacks\.TensorBoard.*use tbq\.integrations\.keras", keras)
        for place in (
            rf"the subclass \S+{Own.__name__}",
            rf"a default argument of \S+{make.__name__}",
            rf"an attribute of \S+{Factory.__name__}",
            r"a default argument of \S+keyword",
            r"a variable of \S+closure",
            r"registry\.WRITERS",
            r"registry\.make",
        ):
            assert re.search(place, said), said
        assert "vis_formats" not in said  # tensorboardX's own
        # The program really keeps the original classes there.
        assert not any(issubclass(each, tbq.SummaryWriter) for each in (Own, make(), factory.kind))
    finally:
        tbq.unpatch()


def test_images_of_the_writer_of_tensorboard(tmp_path):
    """One tensor with the first `max_outputs` images, as in TensorFlow's summaries."""
    import tensorflow as tf

    module = importlib.import_module("tbq.write.patch")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    images = np.random.default_rng(1).integers(0, 256, (5, 4, 6, 3), dtype=np.uint8)
    writer = module.Writer(str(tmp_path / "ours"))
    writer.add_image("batch", images, 3, description="five")
    writer.add_image("one", images[0], 4, max_outputs=1)
    with pytest.raises(UsageError, match="data: got shape"):
        writer.add_image("bad", images[0, 0], 5)
    writer.close()
    with tf.summary.create_file_writer(str(tmp_path / "theirs")).as_default():
        tf.summary.image("batch", images, 3, description="five")
        tf.summary.image("one", images[:1], 4, max_outputs=1)
    found = []
    for name in ("ours", "theirs"):
        events = EventAccumulator(str(tmp_path / name), size_guidance={"tensors": 0})
        events.Reload()
        rows = {}
        for tag in ("batch", "one"):
            (event,) = events.Tensors(tag)
            strings = list(event.tensor_proto.string_val)
            pixels = [tf.io.decode_png(each).numpy().tolist() for each in strings[2:]]
            about = events.SummaryMetadata(tag)
            rows[tag] = (
                event.step,
                strings[:2],
                pixels,
                about.plugin_data.plugin_name,
                about.summary_description,
            )
        found.append(rows)
    assert found[0] == found[1]
    assert len(found[0]["batch"][2]) == 3


def test_an_output_of_the_program_keeps_its_writer(tmp_path):
    from tensorboard import summary

    module = importlib.import_module("tbq.write.patch")  # the attribute of `tbq` is the function
    theirs = summary.Writer
    tbq.patch()
    try:
        assert type(summary.Writer(summary.DirectoryOutput(str(tmp_path / "a")))) is theirs
        writer = summary.Writer(str(tmp_path / "b"))
        assert type(writer) is module.Writer
        writer.close()
    finally:
        tbq.unpatch()
