"""Real writers in their own processes log at full speed, die and restart while a follower polls: nothing is
lost, and nothing is delivered twice."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import tbq

STEPS = 10_000
WRITERS = {
    "tbq": """
import sys, tbq
writer = tbq.SummaryWriter(sys.argv[1], flush_secs=0.01)
""",
    "tensorboardX": """
import sys, warnings
warnings.simplefilter("ignore")
from tensorboardX import SummaryWriter
writer = SummaryWriter(sys.argv[1], flush_secs=0.01)
""",
}
LOOP = """
import os, time
first, last = map(int, sys.argv[2:4])
for step in range(first, last):
    if step == (first + last) // 2:
        writer.flush()
        while not os.path.exists(sys.argv[4]):  # until something has been seen
            time.sleep(0.001)
    writer.add_scalar("loss", 1 / (1 + step), step)
    if step % 100 == 0:
        writer.add_text("notes", f"step {step}", step)
        writer.flush()
if len(sys.argv) > 5:
    writer.flush()
    os._exit(0)  # without closing anything
writer.close()
"""


def start(code: str, folder: Path, first: int, last: int, go: Path, *more: str) -> subprocess.Popen[bytes]:
    arguments = [folder, first, last, go, *more]
    return subprocess.Popen([sys.executable, "-c", code + LOOP, *map(str, arguments)])


def collect(
    follower: tbq.Follower,
    processes: list[subprocess.Popen[bytes]],
    go: Path,
    rows: Counter[tuple[object, ...]],
) -> Counter[tuple[object, ...]]:
    """Poll until all writers have ended. `rows`: the rows of all updates without the retracted ones."""
    updates, end = 0, time.monotonic() + 120
    while True:
        assert time.monotonic() < end, "the writers do not end"
        ended = all(process.poll() is not None for process in processes)
        update = follower.poll()
        updates += bool(update)
        if update and not go.exists():
            go.touch()
        assert update.problems == []
        for row in update.retracted_rows.to_dicts():
            key = row["run"], row["kind"], row["tag"], row["step"]
            assert rows[key] > 0, "what is retracted was there"
            rows[key] -= 1
        for kind, table in update.tables.items():
            rows.update((row["run"], kind, row["tag"], row["step"]) for row in table.to_dicts())
        if ended and not update:
            break
        follower.wait()
    assert all(process.returncode == 0 for process in processes)
    assert updates > 1
    return +rows


@pytest.mark.long
@pytest.mark.parametrize("name", WRITERS)
def test_nothing_is_lost_and_nothing_comes_twice(tmp_path: Path, name: str) -> None:
    with tbq.follow(tmp_path / "runs", kinds=["scalars", "texts"], interval=0.002) as follower:
        go = tmp_path / "go"
        processes = [start(WRITERS[name], tmp_path / "runs" / run, 0, STEPS, go) for run in ("a", "b")]
        rows = collect(follower, processes, go, Counter())
        log = tbq.open(tmp_path / "runs")
        for kind in ("scalars", "texts"):
            assert follower.table(kind).to_arrow().equals(log.table(kind).to_arrow())
    texts = {tag for _, kind, tag, _ in rows if kind == "texts"}
    want = {(run, "scalars", "loss", step) for run in "ab" for step in range(STEPS)}
    want |= {(run, "texts", tag, step) for run in "ab" for tag in texts for step in range(0, STEPS, 100)}
    assert len(texts) == 1 and rows == Counter(dict.fromkeys(want, 1))


def test_a_writer_that_dies_and_starts_again(tmp_path: Path) -> None:
    with tbq.follow(tmp_path, kinds="scalars", interval=0.002) as follower:
        rows: Counter[tuple[object, ...]] = Counter()
        for first, last in ((0, 1000), (700, 1500), (1400, 2000)):
            go = tmp_path / f"go{first}"
            writer = start(WRITERS["tbq"], tmp_path / "run", first, last, go, "dies")
            rows = collect(follower, [writer], go, rows)
        table = follower.table()
        assert table["step"].tolist() == list(range(2000))
        assert rows == Counter({("run", "scalars", "loss", step): 1 for step in range(2000)})
        assert table.to_arrow().equals(tbq.open(tmp_path).scalars(on_error="ignore").to_arrow())
