"""`TbqLogger.watch` over resumed, repeated and spawned fits: `python lightning_watch.py OUT`."""

from __future__ import annotations

import sys

sys.argv.append("ours")
import lightning_runs as runs


def watched(name, what=lambda model: model, every=1):
    model, log = runs.Model(), runs.logger(name)
    log.watch(what(model), every=every)
    return model, log


if __name__ == "__main__":
    path = runs.OUT / "resumed.ckpt"
    model, log = watched("resumed")
    trainer = runs.trainer(log)
    trainer.fit(model, runs.data(), runs.data())
    trainer.save_checkpoint(path)
    model, log = watched("resumed")
    runs.trainer(log, 3).fit(model, runs.data(), runs.data(), ckpt_path=path, weights_only=False)

    model, log = watched("second_fit", lambda model: model.layer, every=2)
    trainer = runs.trainer(log)
    trainer.fit(model, runs.data())
    trainer.test(model, runs.data(), verbose=False)
    trainer.fit_loop.max_epochs = 3
    trainer.fit(model, runs.data())

    model, log = watched("accumulated")
    runs.trainer(log, accumulate_grad_batches=2).fit(model, runs.data())

    model, log = watched("spawned")
    runs.trainer(log, strategy="ddp_spawn", devices=2).fit(model, runs.data())
