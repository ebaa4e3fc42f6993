"""Short Lightning programs: `python lightning_runs.py OUT LOGGER`, where LOGGER is `theirs` or `ours`."""

from __future__ import annotations

import contextlib
import logging
import sys
import warnings
from pathlib import Path

sys.modules["tensorflow"] = None  # tensorboard would import it, which takes long
import lightning.pytorch as pl
import torch

warnings.filterwarnings("ignore", module="lightning")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
OUT, KIND = Path(sys.argv[1]), sys.argv[2]


def logger(name, **options):
    if KIND == "ours":
        from tbq.integrations.lightning import TbqLogger as Logger
    else:
        from lightning.pytorch.loggers import TensorBoardLogger as Logger
    return Logger(OUT, name=name, version=0, **options)


class Model(pl.LightningModule):
    def __init__(self, fails_at=-1):
        super().__init__()
        self.save_hyperparameters()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch, index):
        if self.global_step == self.hparams.fails_at:
            raise KeyError
        loss = self.layer(batch[0]).square().mean()
        self.log("train/loss", loss, on_step=True, on_epoch=True)
        return loss

    def validation_step(self, batch, index):
        self.log("val/loss", self.layer(batch[0]).square().mean())

    def test_step(self, batch, index):
        self.log("test/loss", self.layer(batch[0]).square().mean())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)


def data(workers=0):
    rows = torch.randn(16, 4, generator=torch.Generator().manual_seed(0))
    return torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(rows), batch_size=4, num_workers=workers
    )


def trainer(loggers, epochs=2, **options):
    return pl.Trainer(
        max_epochs=epochs, logger=loggers, log_every_n_steps=1, enable_progress_bar=False, accelerator="cpu",
        enable_model_summary=False, enable_checkpointing=False, **options,
    )  # fmt: skip


def fit_then_validate_and_test_twice(name):
    model, run = Model(), trainer(logger(name))
    run.fit(model, data(), data())
    for _ in range(2):
        run.validate(model, data(), verbose=False)
        run.test(model, data(), verbose=False)


def test_only(name):
    trainer(logger(name)).test(Model(), data(), verbose=False)


def validate_then_fit(name):
    model, run = Model(), trainer(logger(name))
    run.validate(model, data(), verbose=False)
    run.fit(model, data(), data())


def second_fit(name):
    model, run = Model(), trainer(logger(name))
    run.fit(model, data(), data())
    run.fit_loop.max_epochs = 3
    run.fit(model, data(), data())


def resumed(name):
    path = OUT / f"{name}.ckpt"
    run = trainer(logger(name))
    run.fit(Model(), data(), data())
    run.save_checkpoint(path)
    trainer(logger(name), 3).fit(Model(), data(), data(), ckpt_path=path, weights_only=False)


def exception_then_test(name):
    model, log = Model(fails_at=5), logger(name)
    with contextlib.suppress(KeyError):
        trainer(log).fit(model, data(), data())
    trainer(log).test(model, data(), verbose=False)


def list_of_loggers(name):
    trainer([logger(name), logger(f"{name}_second")]).fit(Model(), data(), data())


def loader_with_workers(name):
    trainer(logger(name)).fit(Model(), data(2), data(2))


def prefix_and_no_metric(name):
    trainer(logger(name, prefix="p", default_hp_metric=False)).fit(Model(), data(), data())


def prefix(name):
    trainer(logger(name, prefix="p")).fit(Model(), data(), data())


def experiment_by_hand(name):
    log = logger(name)
    model, run = Model(), trainer(log)
    run.fit(model, data(), data())
    log.experiment.add_scalar("after", 1.0, 99)
    log.experiment.flush()
    run.test(model, data(), verbose=False)


PROGRAMS = [
    fit_then_validate_and_test_twice, test_only, validate_then_fit, second_fit, resumed, exception_then_test,
    list_of_loggers, loader_with_workers, prefix_and_no_metric, prefix, experiment_by_hand,
]  # fmt: skip

if __name__ == "__main__":
    for program in PROGRAMS:
        program(program.__name__)
