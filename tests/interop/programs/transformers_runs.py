"""Short programs of transformers' Trainer with our callback and its own: `python transformers_runs.py OUT`."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import warnings
from pathlib import Path

sys.modules["tensorflow"] = None  # tensorboard would import it, which takes long
import torch
import transformers
from transformers.integrations import TensorBoardCallback

import tbq
from tbq.errors import TbqWarning, UsageError
from tbq.integrations.huggingface import TbqCallback

OUT = Path(sys.argv[1])
DATA = [{"x": torch.tensor([i, 1.0]), "labels": torch.tensor(float(i))} for i in range(8)]


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(2, 1)

    def forward(self, x, labels=None):
        return {"loss": (self.layer(x).squeeze(-1) - labels).square().mean()}


def trainer(callback, name, epochs=2, **options):
    options = {"save_strategy": "no", **options}
    args = transformers.TrainingArguments(
        output_dir=str(OUT / "output" / name), num_train_epochs=epochs, per_device_train_batch_size=4,
        logging_steps=1, eval_strategy="epoch", report_to="none", use_cpu=True, disable_tqdm=True, **options,
    )  # fmt: skip
    return transformers.Trainer(
        Model(), args, train_dataset=DATA, eval_dataset=DATA, callbacks=[callback] if callback else []
    )


class Stop(transformers.TrainerCallback):
    def on_step_end(self, args, state, control, **keywords):
        if state.global_step == 2:
            raise KeyError


def train_and_evaluate(run):
    run.train()
    run.evaluate()


def two_evaluations(run):
    run.evaluate()
    run.evaluate()


def predict(run):
    run.train()
    run.predict(DATA)


def logged_by_hand(run):
    run.train()
    run.log({"by_hand": 1.0, "note": "words"})


def fails(run):
    run.add_callback(Stop())
    with contextlib.suppress(KeyError):
        run.train()


def compare():
    for program in (train_and_evaluate, two_evaluations, predict, logged_by_hand, fails):
        for kind in ("theirs", "ours"):
            path = str(OUT / kind / program.__name__)
            os.environ["TENSORBOARD_LOGGING_DIR"] = path
            callback = TbqCallback() if kind == "ours" else TensorBoardCallback()
            program(trainer(callback, f"{program.__name__}_{kind}"))
            if getattr(callback, "tb_writer", None) is not None:
                callback.tb_writer.flush()
            del callback
            gc.collect()
    del os.environ["TENSORBOARD_LOGGING_DIR"]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", TbqWarning)
    compare()
    for epochs in (1, 3):
        run = trainer(
            TbqCallback(OUT / "watch" / "resumed", watch=1), "resumed", epochs, save_strategy="epoch"
        )
        run.train(resume_from_checkpoint=epochs == 3)
    trainer(TbqCallback(OUT / "watch" / "accumulated", watch=1), "a", gradient_accumulation_steps=2).train()
    writer = tbq.SummaryWriter(OUT / "given")
    run = trainer(TbqCallback(writer), "given")
    run.train()
    run.evaluate()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TbqWarning)
        for _ in range(2):
            run.log({"v": [1, 2], "d": {"a": 1}, "kept": 1.0})
    named = [str(each.message).split("'")[1] for each in caught if each.category is TbqWarning]
    assert named == ["train/v", "train/d"], named
    writer.add_scalar("after", 1.0, 9)
    writer.close()
    for wrong in ({"writer": object()}, {"log_dir": 3}, {"flush": 1}):
        try:
            TbqCallback(**wrong)
        except UsageError as error:
            assert next(iter(wrong)) in str(error)
        else:
            raise AssertionError(wrong)
