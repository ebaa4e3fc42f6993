"""`tbq` as a subprocess, and a small logdir for it."""

import math
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import started
from tensorboardX import SummaryWriter

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of 50 steps; `val/acc` at every tenth, and one NaN."""
    root = tmp_path_factory.mktemp("logs") / "runs"
    for run, shift in (("exp1/train", 0.0), ("exp2", 1.0)):
        writer = SummaryWriter(str(root / run))
        for step in range(50):
            loss = math.nan if (run, step) == ("exp2", 49) else math.exp(-step / 10) + shift
            writer.add_scalar("loss", loss, step, walltime=1.7e9 + step)
            if step % 10 == 0:
                writer.add_scalar("val/acc", step / 100, step, walltime=1.7e9 + step)
        writer.close()
    return root


@pytest.fixture(scope="session")
def tbq() -> Run:
    """Run `tbq` to its end; its output must not contain a traceback."""
    return started.tbq
