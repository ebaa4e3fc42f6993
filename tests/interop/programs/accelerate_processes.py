"""A model that two processes of accelerate train and watch: `python accelerate_processes.py OUT`."""

from __future__ import annotations

import sys

sys.modules["tensorflow"] = None  # accelerate would import it, which takes long


def train(out):
    import torch
    from accelerate import Accelerator

    from tbq.integrations.accelerate import TbqTracker

    tracker = TbqTracker("exp", out)
    accelerator = Accelerator(log_with=tracker, cpu=True)
    accelerator.init_trackers("project", config={"lr": 0.1})
    model = torch.nn.Linear(2, 1)
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), 0.1))
    assert accelerator.num_processes == 2 and type(model).__name__ == "DistributedDataParallel"
    tracker.watch(model, every=1)
    for step in range(3):
        optimizer.zero_grad()
        loss = model(torch.ones(4, 2)).sum()
        accelerator.backward(loss)
        optimizer.step()
        accelerator.log({"loss": loss}, step=step)
    accelerator.end_training()


if __name__ == "__main__":
    from accelerate import debug_launcher

    debug_launcher(train, (sys.argv[1],), num_processes=2)
