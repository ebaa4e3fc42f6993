"""torch's writer in its own process, at full speed, while a follower polls: nothing is lost or delivered twice."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import tbq

pytest.importorskip("torch.utils.tensorboard")

CODE = """
import sys
import numpy
from torch.utils.tensorboard import SummaryWriter
writer = SummaryWriter(sys.argv[1], flush_secs=1)
for step in range(5000):
    writer.add_scalar("loss", 1 / (1 + step), step)
    if step % 500 == 0:
        writer.add_histogram("weights", numpy.arange(3.0), step)
        writer.flush()
writer.close()
"""


def test_torch(tmp_path: Path) -> None:
    rows: Counter[tuple[str, int]] = Counter()
    with (
        tbq.follow(tmp_path, interval=0.002) as follower,
        subprocess.Popen([sys.executable, "-c", CODE, str(tmp_path / "run")]) as process,
    ):
        while True:
            ended = process.poll() is not None
            update = follower.poll()
            assert update.problems == [] and len(update.retracted_rows) == 0
            for table in update.tables.values():
                rows.update((row["tag"], row["step"]) for row in table.to_dicts())
            if ended and not update:
                break
            follower.wait()
        assert process.returncode == 0
        assert follower.table("scalars").to_arrow().equals(tbq.open(tmp_path).scalars().to_arrow())
    want = {("loss", step) for step in range(5000)} | {("weights", step) for step in range(0, 5000, 500)}
    assert rows == Counter(dict.fromkeys(want, 1))
