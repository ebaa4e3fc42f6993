"""Python shuts down while daemon threads are inside the core: they stop, and the process ends normally."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import eventfile as ef
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tbq.lake
from tbq.lake.location import in_arrow

# Objects that live until modules are cleared sleep, so that threads return from the core during shutdown.
PROGRAM = """
import sys, threading, time, warnings
import numpy as np
import tbq
from tbq import _core
warnings.simplefilter("ignore")

class Late:
    def __del__(self, sleep=time.sleep):
        sleep(0.3)

late = Late()
job, directory = sys.argv[1:3]
sys.setswitchinterval(0.0005)

def slow(*_):
    time.sleep(0.002)
    return True

def decode():
    tbq.open(directory).scalars(threads=2)

def progress():
    tbq.open(directory).scalars(progress=slow)

def select():
    paths = [path.encode() for run in tbq.open(directory)._reader.found.runs for path in run.files]
    runs = list(range(len(paths)))
    _core.decode(paths, runs, ["scalars"], slow, -2**63, 2**63 - 1, "resume", 2, 1 << 16, 1 << 20, False, None, None)

def packed():
    tbq.open(directory + "/packed").scalars()

def live():
    with tbq.follow([directory + "/a", directory + "/b"]) as follower:
        follower.poll()

def compat():
    from tbq.compat.event_accumulator import EventAccumulator
    EventAccumulator(directory + "/a").Reload()

def histogram():
    _core.default_histogram_f64(np.arange(200_000.0))

def take():
    buffer = _core.EventBuffer(1 << 30, 1 << 30, 1 << 30)
    for step in range(2_000):
        buffer.scalar("a", 1.0, step, 1.0)
    buffer.take()

rounds = []

def work():
    done = globals()[job]
    while True:
        done()
        rounds.append(1)

threads = [threading.Thread(target=work, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
while len(rounds) < 4:
    time.sleep(0.001)
    assert all(thread.is_alive() for thread in threads)
"""
JOBS = ["decode", "progress", "select", "packed", "live", "compat", "histogram", "take"]


def write(path: Path, rows: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    events = b"".join(
        ef.record(ef.scalar(f"t{step % 5}", step, step / 2, 100.0 + step)) for step in range(rows)
    )
    data = ef.record(ef.version(99.0)) + events
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


@pytest.mark.long
@pytest.mark.parametrize("job", JOBS)
def test_threads_in_the_core_while_python_ends(tmp_path: Path, job: str) -> None:
    for run in "ab":
        write(tmp_path / run / "events.out.tfevents.1.h", 2_000)
    write(tmp_path / "packed" / "events.out.tfevents.1.h.gz", 2_000)
    for _ in range(3):
        ended = subprocess.run(
            [sys.executable, "-c", PROGRAM, job, str(tmp_path)],
            stderr=subprocess.PIPE,
            text=True,
            timeout=100,
        )
        assert ended.returncode == 0, ended.stderr
        assert "terminate called" not in ended.stderr
        assert "FATAL" not in ended.stderr


def test_tables_need_no_reader_of_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pyarrow aborts the process if Python shuts down while a daemon thread releases one."""
    write(tmp_path / "a" / "events.out.tfevents.1.h", 20)
    monkeypatch.setattr(pa, "RecordBatchReader", None)
    log = tbq.open(tmp_path)
    assert len(log.scalars()) == 20 and len(log.scalars(restarts="split")) == 20
    assert len(log.scalars(steps=(100, None))) == 0 and len(log.tags()) == 5 and len(log.table("runs")) == 1


# An object in a cycle, which Python clears during shutdown: no thread gets the GIL from then on.
LAST = """
import gc, sys, threading, warnings
import tbq
from tbq import _core
warnings.simplefilter("ignore")
job, directory = sys.argv[1:3]

def select():
    return len(tbq.open(directory).scalars(tag="t*", threads=4))

def packed():
    return len(tbq.open(directory).scalars(threads=4))

def live():
    with tbq.follow(directory, tag="t*") as follower:
        return len(follower.poll().table())

class Last:
    def __init__(self, work):
        self.me, self.work = self, work

    def __del__(self, ending=sys.is_finalizing):
        print(ending(), self.work(), flush=True)

before = globals()[job]()  # whatever it imports is there
gc.collect()
gc.set_threshold(1 << 30)
Last(globals()[job])
print(False, before, flush=True)
"""


@pytest.mark.parametrize("job", ["select", "packed", "live"])
def test_the_last_object_reads(tmp_path: Path, job: str) -> None:
    """Work that calls Python starts no threads then: it would wait for them forever."""
    for number in range(4):
        write(tmp_path / f"run{number}" / f"events.out.tfevents.1.h{'.gz' * (job == 'packed')}", 2_000)
    ended = subprocess.run(
        [sys.executable, "-c", LAST, job, str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    before, at_the_end = ended.stdout.splitlines()
    assert (before.split()[0], at_the_end.split()[0]) == ("False", "True"), ended.stderr
    assert before.split()[1] == at_the_end.split()[1] != "0"


def test_no_thread_of_arrow_holds_memory_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow's threads may release what they read while Python shuts down (apache/arrow#34314)."""
    data = os.urandom(1000)
    held = sys.getrefcount(data)
    source = in_arrow(data)
    assert sys.getrefcount(data) == held
    assert source.read() == data
    given: list[object] = []
    original = pa.BufferReader

    def reader(memory: object) -> pa.BufferReader:
        given.append(memory)
        return original(memory)

    def read_table(*_args: object, **_given: object) -> None:
        raise AssertionError("its threads go on after it has returned")

    log, lake = tmp_path / "log", tmp_path / "lake"
    write(log / "a" / "events.out.tfevents.1.h", 100)
    tbq.lake.sync(log, lake)
    write(log / "b" / "events.out.tfevents.1.h", 100)
    monkeypatch.setattr(pa, "BufferReader", reader)
    monkeypatch.setattr(pq, "read_table", read_table)
    tbq.lake.sync(log, lake, compact=True)
    assert len(tbq.open(lake).scalars()) == 200
    assert given
    assert all(type(memory) is pa.Buffer for memory in given)


WRITER = """
import sys, threading, time
import numpy as np
import tbq

class Late:
    def __del__(self, sleep=time.sleep):
        sleep(0.3)

late = Late()
writer = tbq.SummaryWriter(sys.argv[1], flush_secs=0)

steps = []

def log(add=steps.append, values=np.arange(200_000.0), step=0):
    while True:
        writer.add_histogram("a", values, step)
        step += 1
        if step % 5 == 0:
            writer.flush()
        add(step)

threading.Thread(target=log, daemon=True).start()
while len(steps) < 5:
    time.sleep(0.001)
"""


@pytest.mark.long
def test_a_thread_that_logs_while_python_ends(tmp_path: Path) -> None:
    for place in range(4):
        ended = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", WRITER, str(tmp_path / str(place))],
            stderr=subprocess.PIPE, text=True, timeout=100,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
        assert len(tbq.open(tmp_path / str(place)).histograms()) >= 5


TEARDOWN = """
import numpy as np
from tbq import _core

class Last:
    def __del__(self, histogram=_core.default_histogram_f64, values=np.arange(1000.0)):
        print(histogram(values)[0], flush=True)

last = Last()  # it goes when modules are taken apart
"""


def test_what_goes_with_the_modules_may_use_the_core() -> None:
    """The thread that shuts Python down does not stop."""
    ended = subprocess.run([sys.executable, "-c", TEARDOWN], capture_output=True, text=True, timeout=100)
    assert (ended.returncode, ended.stdout) == (0, "0.0\n"), ended.stderr


def test_one_file_takes_the_lock_of_python() -> None:
    """Guards of nanobind abort the process there: tbq has its own."""
    sources = Path(__file__).parents[2] / "cpp" / "bind"
    others = [path.name for path in sources.iterdir() if "gil_scoped" in path.read_text()]
    assert others == []
