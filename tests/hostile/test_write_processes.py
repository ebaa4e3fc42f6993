"""A writer in several processes: each has its own file, and none of their events is lost, however they end."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

posix = pytest.mark.skipif(os.name != "posix", reason="a POSIX system call")
METHODS = ["spawn"] if os.name == "nt" else ["fork", "spawn", "forkserver"]


def steps(events, tag=None):
    return [
        event.step for event in events for value in event.summary.value if tag is None or value.tag == tag
    ]


def run(code, *arguments):
    return subprocess.run(
        # Newer Pythons warn of each fork beside threads.
        [sys.executable, "-Wignore::DeprecationWarning", "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@posix
def test_fork_in_the_middle(tmp_path, read_events):
    code = """
import os, sys, tbq
writer = tbq.SummaryWriter(sys.argv[1], flush_secs=3600)
for step in range(100):
    writer.add_scalar("parent", 1.0, step)
writer.add_scalars("line", {"a": 1.0}, 1)
pid = os.fork()
if pid == 0:
    for step in range(50):
        writer.add_scalar("child", 1.0, step)
    writer.add_scalars("line", {"a": 1.0}, 2)
    writer.close()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
for step in range(100, 200):
    writer.add_scalar("parent", 1.0, step)
"""
    done = run(code, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    files = sorted(tmp_path.glob("*tfevents*"), key=lambda file: len(read_events(file)))
    assert [steps(read_events(file), "child") for file in files] == [list(range(50)), []]
    assert [steps(read_events(file), "parent") for file in files] == [[], list(range(200))]
    assert sorted(steps(read_events(tmp_path / "line_a"))) == [1, 2]


WAYS = {
    "argument": """
def work(writer, number):
    for step in range(100):
        writer.add_scalar(f"worker {number}", 1.0, step)

def main(context, writer):
    workers = [context.Process(target=work, args=(writer, i)) for i in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
""",
    "opened there": """
def work(path, number):
    writer = tbq.SummaryWriter(path, flush_secs=3600)
    for step in range(100):
        writer.add_scalar(f"worker {number}", 1.0, step)

def main(context, writer):
    workers = [context.Process(target=work, args=(writer.log_dir, i)) for i in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
""",
    "pool": """
def begin(writer):
    global ours
    ours = writer

def work(number):
    for step in range(100):
        ours.add_scalar(f"worker {number}", 1.0, step)

def main(context, writer):
    import concurrent.futures
    with concurrent.futures.ProcessPoolExecutor(2, context, begin, (writer,)) as pool:
        list(pool.map(work, range(2)))
""",
    "thread that lasts": """
import threading, time

def log(writer, number):
    for step in range(100):
        if step == 50:
            time.sleep(0.5)  # the function of the process has returned long ago
        writer.add_scalar(f"worker {number}", 1.0, step)

def work(writer, number):
    threading.Thread(target=log, args=(writer, number)).start()

def main(context, writer):
    workers = [context.Process(target=work, args=(writer, i)) for i in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
""",
    "failed": """
def work(writer, number):
    for step in range(100):
        writer.add_scalar(f"worker {number}", 1.0, step)
    raise SystemExit(3)

def main(context, writer):
    workers = [context.Process(target=work, args=(writer, i)) for i in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 3
""",
    "terminated": """
import time

def work(writer, number, ready):
    for step in range(100):
        writer.add_scalar(f"worker {number}", 1.0, step)
    ready.set()
    time.sleep(60)

def main(context, writer):
    ready = [context.Event() for _ in range(2)]
    workers = [context.Process(target=work, args=(writer, i, ready[i])) for i in range(2)]
    for worker in workers:
        worker.start()
    for one, worker in zip(ready, workers):
        one.wait()
        worker.terminate()
        worker.join()
        assert worker.exitcode == -15
""",
    "worker of a worker": """
def inner(writer, number):
    for step in range(100):
        writer.add_scalar(f"worker {number}", 1.0, step)

def work(writer, number):
    import multiprocessing
    writer.add_scalar("between", 1.0, number)
    process = multiprocessing.get_context(sys.argv[2]).Process(target=inner, args=(writer, number))
    process.start()
    process.join()
    assert process.exitcode == 0

def main(context, writer):
    workers = [context.Process(target=work, args=(writer, i)) for i in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
""",
}

PROCESSES = """
import multiprocessing, sys, tbq
{way}
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[2])
    with tbq.SummaryWriter(sys.argv[1], flush_secs=3600) as writer:
        writer.add_scalar("parent", 1.0, 1)
        main(context, writer)
"""


@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("way", WAYS)
def test_processes_of_multiprocessing_flush_without_close(tmp_path, read_events, way, method):
    if way == "terminated" and os.name == "nt":
        pytest.skip("Windows ends a process without asking it")
    script = tmp_path / "script.py"
    script.write_text(PROCESSES.format(way=WAYS[way]))
    command = [sys.executable, "-Wignore::DeprecationWarning", str(script), str(tmp_path / "run"), method]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert ("their points will mix" if way == "opened there" else "") in done.stderr
    assert done.stderr == "" or way == "opened there"
    events = read_events(tmp_path / "run")
    assert steps(events, "parent") == [1]
    for number in range(2):
        assert steps(events, f"worker {number}") == list(range(100))
    # Each process that logged has a file of its own; one worker of a pool may do the work of both.
    assert len(list((tmp_path / "run").iterdir())) >= (2 if way == "pool" else 3)


FORKS = """
import os, sys, threading, tbq
writer = tbq.SummaryWriter(sys.argv[1], flush_secs=0)
stop = threading.Event()

def log(name):
    step = 0
    while not stop.is_set():
        writer.add_text(name, "x" * 10_000, step)
        step += 1
        if step % 50 == 0:
            writer.flush()
    counts[name] = step

counts = {}
threads = [threading.Thread(target=log, args=(f"thread {i}",)) for i in range(4)]
for thread in threads:
    thread.start()
children = []
for number in range(20):
    pid = os.fork()
    if pid == 0:
        for step in range(20):
            writer.add_scalar(f"child {number}", 1.0, step)
        writer.flush() if number % 2 else writer.close()
        os._exit(0)
    children.append(pid)
for pid in children:
    assert os.waitpid(pid, 0)[1] == 0
stop.set()
for thread in threads:
    thread.join()
writer.close()
print(counts)
"""


@posix
def test_forks_while_threads_log_and_flush(tmp_path, read_events):
    done = run(FORKS, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    counts = eval(done.stdout)
    events = read_events(tmp_path)
    for name, count in counts.items():
        assert steps(events, f"{name}/text_summary") == list(range(count))
    for number in range(20):
        assert steps(events, f"child {number}") == list(range(20))


@posix
def test_a_child_of_os_fork_that_ends_by_itself_flushes(tmp_path, read_events):
    code = """
import os, sys, tbq
writer = tbq.SummaryWriter(sys.argv[1], flush_secs=3600)
writer.add_scalar("parent", 1.0, 1)
pid = os.fork()
if pid == 0:
    writer.add_scalar("child", 1.0, 2)
    sys.exit(4)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 4
"""
    done = run(code, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    events = read_events(tmp_path)
    assert (steps(events, "parent"), steps(events, "child")) == ([1], [2])
