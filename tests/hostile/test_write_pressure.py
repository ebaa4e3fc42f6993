"""Events faster than the disk: a working disk loses none, a broken one is reported, nothing hangs."""

from __future__ import annotations

import errno
import os
import subprocess
import threading
import time
import warnings

import numpy as np
import pytest

import tbq
from tbq.errors import OutputError, TbqWarning, UsageError
from tbq.write import file


def steps(events, tag="x"):
    return [event.step for event in events for value in event.summary.value if value.tag == tag]


@pytest.fixture
def small(monkeypatch):
    """Memory for 100 kB of events."""
    monkeypatch.setattr(file, "_MAX_BYTES", 100_000)
    monkeypatch.setattr(file, "_FULL_BYTES", 10_000)


class Disk:
    """`os.write` as a disk that is slow, stuck or broken."""

    def __init__(self, monkeypatch):
        self.real = os.write
        self.seconds = 0.0
        self.stuck = threading.Event()
        self.stuck.set()
        self.error = None
        monkeypatch.setattr(os, "write", self.write)

    def write(self, descriptor, data):
        self.stuck.wait(120)
        if self.error is not None:
            raise OSError(self.error, os.strerror(self.error))
        time.sleep(self.seconds)
        return self.real(descriptor, data)


@pytest.fixture
def disk(monkeypatch):
    return Disk(monkeypatch)


def told(caught):
    return [str(warning.message) for warning in caught if issubclass(warning.category, TbqWarning)]


def test_a_slow_disk_loses_nothing(tmp_path, disk, small, read_events):
    disk.seconds = 0.002
    text = "x" * 5_000
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with tbq.SummaryWriter(tmp_path, flush_secs=0.01) as writer:
            for step in range(1_000):
                writer.add_text("x", text, step)
                assert writer._file.buffer.pending_bytes < 120_000
    assert told(caught) == []
    assert steps(read_events(tmp_path), "x/text_summary") == list(range(1_000))


@pytest.mark.long
def test_tensors_of_a_megabyte_in_a_tight_loop(tmp_path):
    """Far more than fits into memory, on a working disk: torch loses nothing either."""
    tensor = np.zeros(1 << 20, np.uint8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with tbq.SummaryWriter(tmp_path) as writer:
            for step in range(300):
                writer.add_tensor("x", tensor, step)
    log = tbq.open(tmp_path)
    assert log.tags().to_arrow()["count"].to_pylist() == [300]
    writer.path.unlink()


def test_threads_that_log_past_a_slow_disk_all_wait(tmp_path, disk, small, read_events):
    disk.seconds = 0.002
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with tbq.SummaryWriter(tmp_path, flush_secs=0.01) as writer:

            def log(number):
                for step in range(100):
                    writer.add_text(f"thread {number}", "x" * 5_000, step)

            threads = [threading.Thread(target=log, args=(i,)) for i in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    events = read_events(tmp_path)
    for number in range(8):
        assert steps(events, f"thread {number}/text_summary") == list(range(100))


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
def test_a_broken_disk_is_not_waited_for(tmp_path, disk, small, read_events, error):
    writer = tbq.SummaryWriter(tmp_path, flush_secs=0.01, max_wait=1e9)
    disk.error = error
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for step in range(20_000):
            writer.add_scalar("x", 1.0, step)
    said = told(caught)
    assert len(said) == 2  # that it fails, and that events are lost
    assert all(os.strerror(error) in each and str(writer.path) in each for each in said)
    dropped = writer._file.buffer.dropped
    assert dropped > 10_000
    disk.error = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        writer.flush()
        writer.add_scalar("x", 1.0, 20_000)
        writer.add_scalar("x", 1.0, 20_001)
    (again,) = told(caught)
    assert f"writing again, but {dropped} events were lost in the meantime: [Errno {error}]" in again
    with pytest.warns(TbqWarning, match=f"closed, but {dropped:,} events could not be written"):
        writer.close()
    got = steps(read_events(tmp_path))
    assert len(got) == 20_002 - dropped
    assert got[-2:] == [20_000, 20_001] and got[:1000] == list(range(1000))


def test_a_disk_that_hangs_is_waited_for_and_then_given_up(tmp_path, disk, small, read_events):
    writer = tbq.SummaryWriter(tmp_path, flush_secs=0.01, max_wait=0.2)
    disk.stuck.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for step in range(20_000):
            writer.add_scalar("x", 1.0, step)
    said = told(caught)
    assert len(said) == 2
    assert all("nothing could be written for 0.2 seconds (max_wait)" in each for each in said)
    dropped = writer._file.buffer.dropped
    assert dropped > 10_000
    disk.stuck.set()
    with pytest.warns(TbqWarning, match=rf"writing again, but {dropped} events were lost in the meantime"):
        writer.flush()
    writer.add_scalar("x", 1.0, 20_000)
    with pytest.warns(
        TbqWarning, match=f"closed, but {dropped:,} events could not be written: nothing could"
    ):
        writer.close()
    got = steps(read_events(tmp_path))
    assert len(got) == 20_001 - dropped and got[-1] == 20_000


def test_a_disk_that_hangs_raises_if_that_was_asked_for(tmp_path, disk, small, read_events):
    writer = tbq.SummaryWriter(tmp_path, flush_secs=0.01, max_wait=0.05, on_error="raise")
    disk.stuck.clear()
    step = 0
    with pytest.raises(OutputError, match=r"cannot write: nothing could be written for 0\.05 seconds"):
        while True:
            writer.add_scalar("x", 1.0, step)
            step += 1
    disk.stuck.set()
    writer.flush()
    writer.add_scalar("x", 1.0, step + 1)
    writer.close()
    assert steps(read_events(tmp_path)) == list(range(step + 2))


def test_who_does_not_want_to_wait_is_told_once_and_counted_at_the_end(tmp_path, disk, small, read_events):
    disk.seconds = 0.01
    writer = tbq.SummaryWriter(tmp_path, flush_secs=0.01, max_wait=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for step in range(3_000):
            writer.add_text("x", "y" * 1_000, step)
        dropped = writer._file.buffer.dropped
        writer.close()
    said = told(caught)
    assert dropped > 0
    assert len(said) <= 4
    assert "max_wait=0 does not allow waiting" in said[0]
    assert f"closed, but {dropped:,} events could not be written" in said[-1]
    assert len(steps(read_events(tmp_path), "x/text_summary")) == 3_000 - dropped


def test_one_record_may_be_larger_than_the_memory_for_all(tmp_path, small, read_events):
    with tbq.SummaryWriter(tmp_path) as writer:
        for step in range(5):
            writer.add_text("x", "y" * 500_000, step)
    assert steps(read_events(tmp_path), "x/text_summary") == list(range(5))


@pytest.mark.parametrize("wrong", [-1, "long", None, float("nan")])
def test_max_wait_is_a_number_of_seconds(tmp_path, wrong):
    with pytest.raises(UsageError, match=r"max_wait: got .*, want a number of seconds"):
        tbq.SummaryWriter(tmp_path, max_wait=wrong)
    tbq.SummaryWriter(tmp_path, max_wait=float("inf")).close()


def test_a_handler_of_the_log_that_logs_to_the_writer(tmp_path, disk, small):
    """It runs on the flusher's own thread, which must not wait for itself, nor end."""
    import logging

    class Handler(logging.Handler):
        def emit(self, record):
            writer.add_text("log", record.getMessage() * 2_000, 1)
            raise ValueError("and it fails")

    logger = logging.getLogger("tbq.write")
    handler = Handler()
    level = logger.level
    writer = tbq.SummaryWriter(tmp_path, flush_secs=0.01)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        disk.error = errno.EIO
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for step in range(5_000):
                writer.add_scalar("x", 1.0, step)
            disk.error = None
            writer.close()
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


@pytest.mark.long
def test_a_full_tmpfs_neither_hangs_nor_lies(tmp_path, read_events):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", str(disk)], capture_output=True, check=False
    ).returncode
    if mounted != 0:
        pytest.skip("mounting needs rights; the tests above play a full disk")
    try:
        tensor = np.zeros(1 << 20, np.uint8)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with tbq.SummaryWriter(disk / "run", flush_secs=0.05) as writer:
                for step in range(200):
                    writer.add_tensor("x", tensor, step)
        said = told(caught)
        got = steps(read_events(disk / "run"))
        assert got == list(range(len(got))) and 10 < len(got) < 20
        assert "cannot write: [Errno 28]" in said[0]
        assert f"closed, but {200 - len(got)} events could not be written: [Errno 28]" in said[-1]
    finally:
        subprocess.run(["umount", str(disk)], check=True)
