"""Watching a model over resumed, repeated and spawned fits: `python lightning_watch.py OUT logger|callback`.

`logger` calls `TbqLogger.watch`; `callback` passes `TbqWatch` to the Trainer.
"""

from __future__ import annotations

import sys

BY = sys.argv.pop(2)
sys.argv.append("ours")
import lightning_runs as runs
from lightning.pytorch.loggers import TensorBoardLogger

import tbq
from tbq.integrations.lightning import TbqWatch


def watched(name, part=lambda model: model, every=1, **options):
    """A model, and a function that creates trainers which watch it."""
    model, log = runs.Model(), runs.logger(name)
    if BY == "logger":
        log.watch(part(model), every=every)
    else:
        options["callbacks"] = [TbqWatch(every=every)]
    return model, lambda epochs=2: runs.trainer(log, epochs, **options)


def both():
    path = runs.OUT / "resumed.ckpt"
    model, trainer = watched("resumed")
    first = trainer()
    first.fit(model, runs.data(), runs.data())
    first.save_checkpoint(path)
    model, trainer = watched("resumed")
    trainer(3).fit(model, runs.data(), runs.data(), ckpt_path=path, weights_only=False)

    model, trainer = watched("second_fit", lambda model: model.layer, every=2)
    twice = trainer()
    twice.fit(model, runs.data())
    twice.test(model, runs.data(), verbose=False)
    twice.fit_loop.max_epochs = 3
    twice.fit(model, runs.data())

    model, trainer = watched("accumulated", accumulate_grad_batches=2)
    trainer().fit(model, runs.data())

    model, trainer = watched("spawned", strategy="ddp_spawn", devices=2)
    trainer().fit(model, runs.data())


class TwoOptimizers(runs.Model):
    """Each batch makes a step of both."""

    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.other = runs.torch.nn.Linear(4, 1)

    def training_step(self, batch, index):
        for layer, optimizer in zip((self.layer, self.other), self.optimizers(), strict=True):
            optimizer.zero_grad()
            loss = layer(batch[0]).square().mean()
            self.manual_backward(loss)
            optimizer.step()
        self.log("train/loss", loss)

    def configure_optimizers(self):
        return [runs.torch.optim.SGD(each.parameters(), 0.01) for each in (self.layer, self.other)]


def callback_only():
    model, trainer = TwoOptimizers(), runs.trainer(runs.logger("manual"), callbacks=[TbqWatch(every=1)])
    trainer.fit(model, runs.data())

    # Watching ends with the fit: a later one without the callback does not watch.
    log = runs.logger("once")
    model = runs.Model()
    runs.trainer(log, 1, callbacks=[TbqWatch(every=1)]).fit(model, runs.data())
    runs.trainer(log, 1).fit(model, runs.data())

    try:
        runs.trainer(False, callbacks=[TbqWatch()]).fit(runs.Model(), runs.data())
    except tbq.TbqError as error:
        assert "TbqLogger" in str(error.hint), error
    else:
        raise AssertionError("no logger")
    runs.trainer(False, fast_dev_run=True, callbacks=[TbqWatch()]).fit(runs.Model(), runs.data())

    tbq.patch()
    log = TensorBoardLogger(runs.OUT, name="patched", version=0)
    runs.trainer(log, 2, callbacks=[TbqWatch(every=1)]).fit(runs.Model(), runs.data())


if __name__ == "__main__":
    both()
    if BY == "callback":
        callback_only()
