"""Everything that ends or hinders a writer: signals, forks, threads, full disks. Nothing flushed is lost."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings

import pytest

import tbq
from tbq.errors import OutputError, TbqWarning

posix = pytest.mark.skipif(os.name != "posix", reason="a POSIX system call")


def steps(events, tag=None):
    return [
        event.step for event in events for value in event.summary.value if tag is None or value.tag == tag
    ]


def run(code, *arguments, **options):
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )


KILLED = """
import sys, tbq
writer = tbq.SummaryWriter(sys.argv[1], flush_secs=0.01)
step = 0
while True:
    for _ in range(200):
        writer.log({"loss": step / 2, "accuracy": 0.5}, step)
        step += 1
    writer.flush()
    print(step, flush=True)
"""


@pytest.mark.long
@posix
def test_killed_at_any_moment_what_was_flushed_is_there(tmp_path):
    rng = random.Random(5)
    for attempt in range(4):
        directory = tmp_path / str(attempt)
        with subprocess.Popen(
            [sys.executable, "-c", KILLED, str(directory)], stdout=subprocess.PIPE, text=True
        ) as it:
            assert it.stdout.readline() == "200\n"
            time.sleep(rng.random() * 0.2)
            it.kill()
            flushed = max([200, *(int(line) for line in it.stdout.read().split("\n")[:-1] if line)])
        (file,) = directory.iterdir()
        got, tail = whole_steps(file.read_bytes())
        assert got == list(range(len(got)))
        assert len(got) >= flushed
        assert tail < 100  # of one record at most


def whole_steps(data):
    """The steps of the complete records, and the number of bytes left over."""
    from tensorboard.compat.proto.event_pb2 import Event

    from tbq import _core

    whole = _core.whole_records(data, len(data))
    got, at = [], 0
    while at < whole:
        length = int.from_bytes(data[at : at + 8], "little")
        event = Event.FromString(data[at + 12 : at + 12 + length])
        if event.HasField("summary"):
            got.append(event.step)
        at += 16 + length
    return got, len(data) - whole


@posix
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_deadly_signal_flushes_first(tmp_path, read_events, name):
    code = """
import os, signal, sys, time, tbq
writer = tbq.SummaryWriter(sys.argv[1], flush_secs=3600)
for step in range(1000):
    writer.add_scalar("x", 1.0, step)
print("logged", flush=True)
time.sleep(60)
"""
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as it:
        assert it.stdout.readline() == "logged\n"
        it.send_signal(getattr(signal, name))
        assert it.wait(30) == -getattr(signal, name)
    assert steps(read_events(tmp_path)) == list(range(1000))


@posix
def test_a_handler_of_the_user_is_left_alone(tmp_path, read_events):
    code = """
import os, signal, sys, tbq
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
writer = tbq.SummaryWriter(sys.argv[1], flush_secs=3600)
writer.add_scalar("x", 1.0, 1)
os.kill(os.getpid(), signal.SIGTERM)
"""
    assert run(code, tmp_path).returncode == 7
    assert steps(read_events(tmp_path)) == [1]


@pytest.mark.parametrize("end", ["pass", "sys.exit(3)", "raise ValueError", "del writer"])
def test_the_interpreter_ends_without_close(tmp_path, read_events, end):
    code = f"""
import sys, tbq
writer = tbq.SummaryWriter(sys.argv[1], flush_secs=3600)
for step in range(5000):
    writer.add_scalar("x", 1.0, step)
writer.add_scalars("y", {{"z": 1.0}}, 1)
{end}
"""
    done = run(code, tmp_path)
    assert steps(read_events(tmp_path)) == list(range(5000))
    assert steps(read_events(tmp_path / "y_z")) == [1]
    assert "Traceback" not in done.stderr.replace('Traceback (most recent call last):\n  File "<string>"', "")
    assert ("was never closed" in done.stderr) == (end == "del writer")


def test_a_loop_in_a_daemon_thread_does_not_hinder_the_end(tmp_path, read_events):
    code = """
import sys, threading, tbq
writer = tbq.SummaryWriter(sys.argv[1], flush_secs=0.001)
begun = threading.Event()
def log():
    step = 0
    while True:
        try:
            writer.add_scalar("x", 1.0, step)
        except tbq.TbqError:
            return
        step += 1
        if step == 1000:
            begun.set()
threading.Thread(target=log, daemon=True).start()
begun.wait()
"""
    done = run(code, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    got = steps(read_events(tmp_path))
    assert len(got) >= 1000
    assert got == list(range(len(got)))


@pytest.mark.long
def test_sixteen_threads_lose_nothing_and_write_nothing_twice(tmp_path, read_events):
    with tbq.SummaryWriter(tmp_path, flush_secs=0.01) as writer:

        def log(name):
            for step in range(5_000):
                writer.add_scalar(name, step, step)
                writer.log({name + "/a": step}, step)

        threads = [threading.Thread(target=log, args=(f"thread {i}",)) for i in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    seen = {}
    for event in read_events(tmp_path):
        for value in event.summary.value:
            seen.setdefault(value.tag, []).append(event.step)
    assert len(seen) == 32
    assert all(found == list(range(5_000)) for found in seen.values())


FULL = """
import resource, sys, warnings, tbq
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    writer = tbq.SummaryWriter(sys.argv[1], flush_secs=0.01)
    for step in range(20_000):
        writer.add_scalar("x", 1.0, step)
        if step % 1000 == 0:
            writer.flush()
    writer.close()
print(*(str(w.message) for w in caught), sep="\\n")
"""


@posix
@pytest.mark.parametrize("limit", [100_000, 100_001, 100_017, 100_033])
def test_a_file_that_may_not_grow_stays_valid(tmp_path, read_events, limit):
    done = run(FULL, tmp_path, limit)
    assert (done.returncode, done.stderr) == (0, "")  # reported by warnings, once, and by nothing else
    first, second = done.stdout.strip().split("\n")
    assert "cannot write: [Errno 27]" in first and "are kept in memory" in first
    got = steps(read_events(tmp_path))  # fails on anything but whole records
    assert got == list(range(len(got)))
    (file,) = tmp_path.iterdir()
    assert limit - 60 < file.stat().st_size <= limit  # full to the last whole record
    assert f"closed, but {20_000 - len(got):,} events could not be written" in second


UNCLOSED = """
import resource, sys, tbq
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
writer = tbq.SummaryWriter(sys.argv[1], flush_secs=3600)
for step in range(1000):
    writer.add_scalar("x", 1.0, step)
"""


@posix
def test_what_is_lost_at_the_end_of_the_process_is_told(tmp_path, read_events):
    done = run(UNCLOSED, tmp_path, 10_000)
    assert done.returncode == 0
    left = len(steps(read_events(tmp_path)))
    assert 0 < left < 1000 and f"{1000 - left} events could not be written" in done.stderr


def test_a_full_tmpfs_goes_on_when_there_is_room(tmp_path, read_events):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], capture_output=True, text=True
    ).returncode
    if mounted != 0:
        # The same with a write that accepts a part and then refuses, which needs no privileges.
        full_disk_by_system_call(tmp_path / "run", read_events)
        return
    try:
        filler = disk / "filler"
        filler.write_bytes(bytes(128 << 10))
        with tbq.SummaryWriter(disk / "run", flush_secs=0.02) as writer:
            with pytest.warns(TbqWarning, match=r"cannot write: \[Errno 28\]"):
                for step in range(10_000):
                    writer.add_scalar("x", 1.0, step)
                writer.flush()
            got = steps(read_events(disk / "run"))
            assert 0 < len(got) < 10_000
            assert got == list(range(len(got)))
            filler.unlink()
            for step in range(10_000, 10_100):
                writer.add_scalar("x", 1.0, step)
            with pytest.warns(TbqWarning):  # 256k is too little for all of it
                writer.flush()
                writer.close()
        got = steps(read_events(disk / "run"))
        assert got == list(range(len(got)))
        assert len(got) > 3000
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_without_rights(tmp_path, read_events):
    full_disk_by_system_call(tmp_path / "run", read_events)


def full_disk_by_system_call(directory, read_events):
    """`os.write` accepts a part of its data, then nothing, then everything again."""
    real, room = os.write, [0]

    def write(descriptor, data):
        if room[0] is None:
            return real(descriptor, data)
        if room[0] == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        count = real(descriptor, bytes(data[: room[0]]))
        room[0] -= count
        return count

    writer = tbq.SummaryWriter(directory, flush_secs=0.01)
    expected = 0
    try:
        os.write = write
        for allowed in (0, 1, 17, 45, 46, 47, 1000):
            room[0] = allowed
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TbqWarning)
                for _ in range(10):
                    writer.add_scalar("x", 1.0, expected)
                    expected += 1
                writer.flush()
            got = steps(read_events(directory))
            assert got == list(range(len(got)))
        room[0] = None
        writer.flush()
        assert steps(read_events(directory)) == list(range(expected))
        writer.close()
    finally:
        os.write = real
    assert steps(read_events(directory)) == list(range(expected))


def test_the_disk_refuses_and_raising_was_asked_for(tmp_path, monkeypatch, read_events):
    writer = tbq.SummaryWriter(tmp_path, flush_secs=3600, on_error="raise")
    writer.add_scalar("x", 1.0, 1)

    def refuse(descriptor, data):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", refuse)
        with pytest.raises(OutputError, match=r"cannot write: .*Input/output error"):
            writer.flush()
        with pytest.raises(OutputError, match="cannot write"):
            writer.add_scalar("x", 1.0, 2)
    writer.flush()  # the disk is well again
    writer.add_scalar("x", 1.0, 3)
    writer.close()
    assert steps(read_events(tmp_path)) == [1, 2, 3]


def test_memory_is_bounded_while_the_disk_refuses(tmp_path, monkeypatch, read_events):
    from tbq.write import file

    monkeypatch.setattr(file, "_MAX_BYTES", 100_000)

    def refuse(descriptor, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    writer = tbq.SummaryWriter(tmp_path, flush_secs=0.01)
    with monkeypatch.context() as patched, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        patched.setattr(os, "write", refuse)
        for step in range(20_000):
            writer.add_scalar("x", 1.0, step)
        assert writer._file.buffer.pending_bytes <= 100_000
    said = [str(warning.message) for warning in caught]
    assert sum("Events are lost until" in each for each in said) == 1
    dropped = writer._file.buffer.dropped
    assert dropped > 10_000
    with pytest.warns(TbqWarning, match=f"closed, but {dropped:,} events could not be written"):
        writer.close()
    assert len(steps(read_events(tmp_path))) == 20_000 - dropped


def test_the_caller_does_not_wait_for_a_slow_disk(tmp_path, monkeypatch, read_events):
    real = os.write
    release = threading.Event()

    def hang(descriptor, data):
        release.wait(120)
        return real(descriptor, data)

    writer = tbq.SummaryWriter(tmp_path, flush_secs=0)
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", hang)
        for step in range(50_000):  # past a megabyte, with the disk hanging all the while
            writer.add_scalar("x", 1.0, step)
        assert not release.is_set()
        release.set()
        writer.close()
    assert steps(read_events(tmp_path)) == list(range(50_000))
