"""`flush`, `close` and SIGTERM: when they are done, everything that was logged before is in the file."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tbq

pytestmark = pytest.mark.long

posix = pytest.mark.skipif(os.name != "posix", reason="a POSIX signal")


def start(code, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, text=True
    )


def whole_steps(path):
    """The steps of the whole records of one run, tag by tag, in the order of the files."""
    from tensorboard.compat.proto.event_pb2 import Event

    from tbq import _core

    found = {}
    for file in sorted(path.glob("*tfevents*")):
        data = file.read_bytes()
        at, whole = 0, _core.whole_records(data, len(data))
        while at < whole:
            length = int.from_bytes(data[at : at + 8], "little")
            event = Event.FromString(data[at + 12 : at + 12 + length])
            for value in event.summary.value:
                found.setdefault(value.tag, []).append(event.step)
            at += 16 + length
    return found


@pytest.mark.parametrize(("size", "times"), [(4 << 20, 60), (16 << 20, 20)])
def test_flush_waits_for_what_the_flusher_took_already(tmp_path, size, times):
    """A large tensor leaves the buffer at once; `flush` is called at any moment while it is copied and written."""
    rng = random.Random(1)
    tensor = np.zeros(size, np.uint8)
    with tbq.SummaryWriter(tmp_path, flush_secs=3600) as writer:
        for count in range(1, times + 1):
            writer.add_tensor("x", tensor, count)
            time.sleep(rng.random() * (0.0005 if count % 2 else 0.005))
            writer.flush()
            assert writer.path.stat().st_size >= count * size
    writer.path.unlink()


def test_flush_waits_for_what_another_thread_flushes(tmp_path):
    tensor = np.zeros(1 << 18, np.uint8)
    sizes = []
    with tbq.SummaryWriter(tmp_path, flush_secs=0) as writer:
        lock = threading.Lock()

        def log(number):
            for count in range(1, 40):
                writer.add_tensor(f"thread {number}", tensor, count)
                writer.flush()
                with lock:
                    sizes.append(writer.path.stat().st_size >= count * len(tensor))

        threads = [threading.Thread(target=log, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(sizes) == 8 * 39 and all(sizes)
    assert whole_steps(tmp_path) == {f"thread {i}": list(range(1, 40)) for i in range(8)}


def test_flush_returns_while_another_thread_never_stops_logging(tmp_path):
    stop = threading.Event()
    with (
        tbq.SummaryWriter(tmp_path / "busy", flush_secs=0) as writer,
        tbq.SummaryWriter(tmp_path / "b") as other,
    ):

        def log():
            step = 0
            while not stop.is_set():
                for _ in range(100):
                    writer.log({"x": 1.0, "y": 2.0}, step)
                    step += 1

        thread = threading.Thread(target=log)
        thread.start()
        try:
            for step in range(50):
                other.add_scalar("z", 1.0, step)
                writer.flush()
                other.flush()
                assert whole_steps(tmp_path / "b")["z"][-1] == step
        finally:
            stop.set()
            thread.join()


def test_close_waits_for_the_close_of_another_thread(tmp_path, monkeypatch):
    real, begun, go = os.write, threading.Event(), threading.Event()

    def slow(descriptor, data):
        begun.set()
        go.wait(120)
        return real(descriptor, data)

    writer = tbq.SummaryWriter(tmp_path, flush_secs=3600)
    writer.add_scalar("x", 1.0, 7)
    monkeypatch.setattr(os, "write", slow)
    first = threading.Thread(target=writer.close)
    first.start()
    begun.wait(120)
    seen = []
    second = threading.Thread(target=lambda: (writer.close(), seen.append(whole_steps(tmp_path).get("x"))))
    second.start()
    second.join(0.2)
    assert seen == []  # it still waits
    go.set()
    first.join(60)
    second.join(60)
    assert seen == [[7]]


FLUSHED = """
import os, random, signal, sys, time
import numpy as np
import tbq
writer = tbq.SummaryWriter(sys.argv[1], flush_secs=3600)
tensor = np.zeros(8 << 20, np.uint8)
for step in range(int(sys.argv[2])):
    writer.add_tensor("x", tensor, step)
    time.sleep(random.random() * 0.002)
    writer.flush()
os.kill(os.getpid(), signal.SIGKILL)
"""


@posix
def test_killed_after_flush_large_tensors_are_there(tmp_path):
    for count in range(1, 13):
        directory = tmp_path / str(count)
        done = subprocess.run(
            [sys.executable, "-c", FLUSHED, str(directory), str(count % 3 + 1)], check=False
        )
        assert done.returncode == -signal.SIGKILL
        assert whole_steps(directory)["x"] == list(range(count % 3 + 1))
        shutil.rmtree(directory)


TERMINATED = """
import os, sys, threading, time
import numpy as np
import tbq

def log(number):
    writer = tbq.SummaryWriter(sys.argv[1], run=str(number), flush_secs=3600)
    writers.append(writer)
    for step in range(3):
        writer.add_tensor("x", np.zeros(1 << 20, np.uint8), step)
        writer.add_scalar("y", 1.0, step)

writers = []
if sys.argv[2] == "thread":
    threads = [threading.Thread(target=log, args=(i,), daemon=True) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
else:
    for i in range(4):
        log(i)
print("logged", flush=True)
if sys.argv[3] == "closing":
    threading.Thread(target=lambda: [writer.close() for writer in writers]).start()
if sys.argv[3] == "native":
    import hashlib
    hashlib.pbkdf2_hmac("sha256", b"a", b"b", 100_000_000)  # the main thread is in C for minutes
time.sleep(60)
"""


@posix
@pytest.mark.parametrize(
    ("name", "where", "doing"),
    [("SIGHUP", "main", "nothing"), ("SIGHUP", "thread", "native")]
    + [
        ("SIGTERM", where, doing)
        for where in ("main", "thread")
        for doing in ("nothing", "closing", "native")
    ],
)
def test_a_signal_flushes_whoever_opened_the_writer(tmp_path, name, where, doing):
    with start(TERMINATED, tmp_path, where, doing) as it:
        assert it.stdout.readline() == "logged\n"
        it.send_signal(getattr(signal, name))
        assert it.wait(120) == -getattr(signal, name)
    for number in range(4):
        assert whole_steps(tmp_path / str(number)) == {"x": [0, 1, 2], "y": [0, 1, 2]}


@posix
def test_a_storm_of_signals_ends_the_process_once_and_after_the_flush(tmp_path):
    with start(TERMINATED, tmp_path, "thread", "nothing") as it:
        assert it.stdout.readline() == "logged\n"
        end = time.monotonic() + 60
        while it.poll() is None:
            assert time.monotonic() < end, "no signal ends it"
            it.send_signal(random.choice([signal.SIGTERM, signal.SIGHUP]))
        assert it.returncode in (-signal.SIGTERM, -signal.SIGHUP)
    assert all(whole_steps(tmp_path / str(i))["y"] == [0, 1, 2] for i in range(4))


HANDLED = """
import os, signal, sys, threading, tbq

threading.Thread(target=lambda: writers.append(tbq.SummaryWriter(sys.argv[1], flush_secs=3600)))
writers = [tbq.SummaryWriter(sys.argv[1], flush_secs=3600)]
assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL  # other libraries see that nobody handles it
{change}
writers[0].add_scalar("x", 1.0, 1)
os.kill(os.getpid(), signal.SIGTERM)
threading.Event().wait(120)
"""


@posix
@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))", 7),
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN); sys.exit(5)", 5),
        ("", -signal.SIGTERM),
    ],
)
def test_a_handler_that_comes_later_is_respected(tmp_path, change, code):
    done = subprocess.run(
        [sys.executable, "-c", HANDLED.format(change=change), str(tmp_path)], timeout=120, check=False
    )
    assert done.returncode == code
    if code != 5:
        assert whole_steps(tmp_path) == {"x": [1]}


CLOSED = """
import os, signal, sys, tbq
from tbq import termination
writer = tbq.SummaryWriter(sys.argv[1])
writer.close()
assert not termination._held  # the signal is nobody's again, so that it also ends a process that hangs
pid = os.fork()
if pid == 0:
    signal.pause()
os.kill(pid, signal.SIGTERM)
assert os.waitpid(pid, 0)[1] == signal.SIGTERM
other = tbq.SummaryWriter(sys.argv[1])
other.add_scalar("x", 1.0, 1)
ready, child = os.pipe()
pid = os.fork()
if pid == 0:
    if sys.argv[2] == "logs":
        other.add_scalar("x", 1.0, 2)
    os.write(child, b"!")
    signal.pause()
os.read(ready, 1)
os.kill(pid, signal.SIGTERM)
assert os.waitpid(pid, 0)[1] == signal.SIGTERM
other.add_scalar("x", 1.0, 3)
"""


@posix
@pytest.mark.parametrize("child", ["logs", "nothing"])
def test_a_signal_for_a_forked_child_is_not_taken_for_one_of_the_parent(tmp_path, child):
    done = subprocess.run(
        [sys.executable, "-Wignore::DeprecationWarning", "-c", CLOSED, str(tmp_path), child],
        timeout=120,
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    want = [1, 2, 3] if child == "logs" else [1, 3]
    assert sorted(whole_steps(tmp_path)["x"]) == want


WAITED = """
import os, signal, sys, tbq
writer = tbq.SummaryWriter(sys.argv[1], flush_secs=3600)
writer.add_scalar("x", 1.0, 1)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
os.kill(os.getpid(), signal.SIGTERM)
assert signal.sigwait([signal.SIGTERM]) == signal.SIGTERM  # none of our threads took it
"""


@posix
def test_a_program_that_waits_for_its_signals_gets_them(tmp_path):
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", WAITED, str(tmp_path)], timeout=120, check=False)
        assert done.returncode == 0


ALONE = """
import sys, threading, warnings, tbq
real = threading.Thread.start
def start(thread):
    if thread.name.startswith("tbq"):
        raise RuntimeError("can't start new thread")
    real(thread)
threading.Thread.start = start
with tbq.SummaryWriter(sys.argv[1]) as writer:
    def log(number):
        for step in range(2000):
            writer.add_scalar(str(number), 1.0, step)
            if step % 100 == 0:
                writer.flush()
    threads = [threading.Thread(target=log, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_a_process_that_may_have_no_more_threads(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(tmp_path)], timeout=120, check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert whole_steps(tmp_path) == {str(i): list(range(2000)) for i in range(4)}


WHILE_IT_FAILS = """
import sys, threading, tbq
real = threading.Thread.start
def start(thread):
    if not thread.name.startswith("tbq"):
        return real(thread)
    if not others:  # another thread flushes while this one finds out that no thread can be started
        others.append(threading.Thread(target=writer.flush))
        others[0].start()
        others[0].join(0.5)
    raise RuntimeError("can't start new thread")
others = [None]
threading.Thread.start = start
with tbq.SummaryWriter(sys.argv[1]) as writer:
    writer.add_scalar("0", 1.0, 0)
    others.clear()
    writer.flush()
    others[0].join()
"""


def test_a_flush_while_another_cannot_start_the_thread(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", WHILE_IT_FAILS, str(tmp_path)],
        timeout=60, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert whole_steps(tmp_path) == {"0": [0]}


GREEN = """
import _thread, signal, sys
real = _thread.start_new_thread
_thread.start_new_thread = lambda *given: real(*given)  # as gevent does, whose threads are not the system's
import tbq
from tbq import termination
with tbq.SummaryWriter(sys.argv[1]) as writer:
    assert termination._pipe is None
    writer.add_scalar("x", 1.0, 1)
"""


@posix
def test_threads_that_are_none_do_not_wait_for_signals(tmp_path):
    done = subprocess.run([sys.executable, "-c", GREEN, str(tmp_path)], timeout=120, check=False)
    assert done.returncode == 0
    assert whole_steps(tmp_path) == {"x": [1]}


LATE = """
import atexit, sys
def late():
    global writer  # opened after the writers were closed, and never closed itself
    writer = tbq.SummaryWriter(sys.argv[1], flush_secs=3600)
    writer.add_scalar("x", 1.0, 1)
atexit.register(late)
import tbq
tbq.SummaryWriter(sys.argv[1], run="other").close()
"""


def test_a_writer_opened_while_the_interpreter_ends(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", LATE, str(tmp_path)], timeout=120, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert whole_steps(tmp_path) == {"x": [1]}
