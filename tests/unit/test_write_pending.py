"""Values that arrive later: order, flush, close, exit, failures; no device is needed for any of it."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from late import Late
from waiting import wait_for

import tbq
from tbq.errors import OutputError, TbqWarning, UsageError
from tbq.write import pending

FIXTURES = Path(__file__).parents[1] / "fixtures"


def logged(events):
    """The contents of a file, in order: (tag, step, number)."""
    return [
        (value.tag, event.step, value.simple_value if value.HasField("simple_value") else None)
        for event in events
        for value in event.summary.value
    ]


@st.composite
def programs(draw):
    """Calls of a writer and, in between, which late values arrive and who polls."""
    return draw(
        st.lists(
            st.one_of(
                st.tuples(st.sampled_from(["number", "late", "text", "log", "mixed"]), st.integers(0, 2)),
                st.tuples(st.just("arrive"), st.integers(0, 20)),
                st.tuples(st.sampled_from(["look", "flush"]), st.just(0)),
            ),
            max_size=40,
        )
    )


@given(program=programs())
def test_the_file_has_everything_in_the_order_of_the_calls(tmp_path_factory, read_events, program):
    directory = tmp_path_factory.mktemp("run")
    want, late = [], []
    with tbq.SummaryWriter(directory, flush_secs=1000) as writer:
        for step, (action, number) in enumerate(program):
            tag = f"tag{number}"
            if action == "number":
                writer.add_scalar(tag, step / 2, step)
                want.append((tag, step, step / 2))
            elif action == "late":
                late.append(Late(step / 2))
                writer.add_scalar(tag, late[-1], step)
                want.append((tag, step, step / 2))
            elif action == "text":
                writer.add_text(tag, "text", step)
                want.append((f"{tag}/text_summary", step, None))
            elif action == "log":
                writer.log({tag: 1.5, "other": step}, step)
                want += [(tag, step, 1.5), ("other", step, step)]
            elif action == "mixed":
                late.append(Late(step / 4))
                writer.log({tag: late[-1], "other": step}, step)
                want += [(tag, step, step / 4), ("other", step, step)]
            elif action == "arrive" and late:
                late[number % len(late)].arrive()
            elif action == "look":
                writer._file.flush(0.0)
            elif action == "flush" and all(value.arrived for value in late):
                writer.flush()
                assert logged(read_events(directory)) == want
        for value in late:
            value.arrive()
    assert logged(read_events(directory)) == want


def test_wall_times_are_those_of_the_calls(tmp_path, read_events):
    value = Late(1.0)
    with tbq.SummaryWriter(tmp_path) as writer:
        before = time.time()
        writer.add_scalar("a", value, 1)
        writer.add_scalar("b", 2.0, 1)
        writer.add_text("c", "text", 1)
        writer.log({"d": 1.0}, 1)
        after = time.time()
        writer.add_scalar("e", 1.0, 1, walltime=5.0)
        wait_for(lambda: time.time() > after)
        value.arrive()
    times = [event.wall_time for event in read_events(tmp_path)[1:]]
    assert all(before <= seconds <= after for seconds in times[:4])
    assert times[4] == 5.0
    assert times[:4] == sorted(times[:4])


@pytest.mark.parametrize("end", ["flush", "close"])
def test_flush_and_close_wait_for_what_arrives_later(tmp_path, read_events, end):
    value = Late(7.0)
    writer = tbq.SummaryWriter(tmp_path)
    writer.add_scalar("a", value, 1)
    writer.add_scalar("b", 8.0, 1)
    timer = threading.Timer(0.1, value.arrive)
    timer.start()
    getattr(writer, end)()
    assert logged(read_events(tmp_path)) == [("a", 1, 7.0), ("b", 1, 8.0)]
    timer.join()
    writer.close()


def test_the_flusher_writes_what_has_arrived(tmp_path, read_events):
    first, second = Late(1.0), Late(2.0)
    with tbq.SummaryWriter(tmp_path, flush_secs=0.02) as writer:
        writer.add_scalar("a", first, 1)
        writer.add_scalar("a", second, 2)
        first.arrive()
        wait_for(lambda: len(read_events(tmp_path)) == 2)
        assert logged(read_events(tmp_path)) == [("a", 1, 1.0)]
        second.arrive()
        wait_for(lambda: len(read_events(tmp_path)) == 3)


def test_a_full_batch_wakes_the_flusher(tmp_path, read_events):
    with tbq.SummaryWriter(tmp_path, flush_secs=1000) as writer:
        for step in range(pending.BATCH):
            value = Late(1.0)
            value.arrive()
            writer.add_scalar("a", value, step)
        wait_for(lambda: len(read_events(tmp_path)) == 1 + pending.BATCH)


def test_a_failed_value_is_named_and_the_others_are_written(tmp_path, read_events):
    good, bad = Late(1.0), Late(2.0)
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", bad, 7)
        writer.log({"x": good, "y": bad, "z": 3.0}, 8)
        good.arrive()
        bad.fail(RuntimeError("CUDA error: device-side assert triggered\nmore"))
        with pytest.warns(
            TbqWarning, match=r"'loss' at step 7: CUDA error.*'y' at step 8.*others are written"
        ):
            writer.flush()
    assert logged(read_events(tmp_path)) == [("x", 8, 1.0), ("z", 8, 3.0)]


def test_a_failed_value_is_reported_by_close_and_by_the_next_call(tmp_path):
    value = Late(1.0)
    writer = tbq.SummaryWriter(tmp_path / "a", on_error="raise")
    writer.add_scalar("loss", value, 7)
    value.fail(RuntimeError("gone"))
    with pytest.raises(OutputError, match="'loss' at step 7: gone"):
        writer.close()
    value = Late(1.0)
    with tbq.SummaryWriter(tmp_path / "b", flush_secs=0.01) as writer:
        writer.add_scalar("loss", value, 7)
        value.fail(RuntimeError("gone"))
        wait_for(lambda: not writer._file.pending.events)
        with pytest.warns(TbqWarning, match="'loss' at step 7: gone"):
            writer.add_scalar("other", 1.0, 1)


def test_wrong_arguments_raise_at_the_call_also_behind_a_late_value(tmp_path, read_events):
    value = Late(1.0)
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("a", value, 1)
        for call in (
            lambda: writer.add_scalar("b", "text", 1),
            lambda: writer.add_scalar("b", 10**400, 1),
            lambda: writer.add_scalar("", 1.0, 1),
            lambda: writer.add_scalar("b", 1.0, 0.5),
            lambda: writer.log({"b": "text"}, 1),
            lambda: writer.log({"b": Late(1.0), "c": 10**400}, 1),
            lambda: writer.log({"b": 1.0, "": 2.0}, 1),
            lambda: writer.add_text("b", 5, 1),
        ):
            with pytest.raises(UsageError):
                call()
        value.arrive()
    assert logged(read_events(tmp_path)) == [("a", 1, 1.0)]


def test_a_closed_writer_takes_no_late_value(tmp_path):
    writer = tbq.SummaryWriter(tmp_path)
    writer.close()
    with pytest.raises(UsageError, match="closed"):
        writer.add_scalar("a", Late(1.0), 1)


def test_steps_that_decrease_are_reported_for_late_values_too(tmp_path):
    writer = tbq.SummaryWriter(tmp_path)
    for step in (2, 1):
        value = Late(1.0)
        value.arrive()
        writer.add_scalar("a", value, step)
    with pytest.warns(TbqWarning, match="decreased from 2 to 1"):
        writer.flush()
    writer.close()


def test_more_than_the_limit_waits_for_the_device(tmp_path, read_events, monkeypatch):
    monkeypatch.setattr(pending, "_MAX_EVENTS", 10)
    values = [Late(float(i)) for i in range(30)]
    with tbq.SummaryWriter(tmp_path, flush_secs=1000) as writer:
        timer = threading.Timer(0.05, lambda: [value.arrive() for value in values])
        timer.start()
        for step, value in enumerate(values):
            writer.add_scalar("a", value, step)
            assert len(writer._file.pending.events) <= 11
        timer.join()
    assert len(read_events(tmp_path)) == 31


def test_a_value_that_takes_long_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(pending, "_PROBE_SECONDS", 0.01)
    value = Late(1.0)
    monkeypatch.setattr(value, "probe", value.arrive, raising=False)
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("a", value, 1)


@pytest.mark.parametrize("end", ["", "sys.exit(3)", "raise RuntimeError('oops')", "del writer"])
def test_the_end_of_the_program_loses_nothing(tmp_path, read_events, end):
    program = f"""
import sys, threading, tbq
sys.path.insert(0, {str(FIXTURES)!r})
from late import Late
values = [Late(float(i)) for i in range(5)]
writer = tbq.SummaryWriter({str(tmp_path)!r}, flush_secs=1000)
for step, value in enumerate(values):
    writer.add_scalar("a", value, step)
    writer.add_scalar("b", 1.0, step)
threading.Timer(0.2, lambda: [value.arrive() for value in values]).start()
{end}
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], timeout=120, capture_output=True)
    assert [row for row in logged(read_events(tmp_path)) if row[0] == "a"] == [
        ("a", i, float(i)) for i in range(5)
    ]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_leaves_late_values_to_its_parent(tmp_path, read_events):
    value = Late(1.0)
    writer = tbq.SummaryWriter(tmp_path)
    writer.add_scalar("parent", value, 1)
    child = os.fork()
    if child == 0:
        try:
            writer.add_scalar("child", 2.0, 1)
            writer.close()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    value.arrive()
    writer.close()
    assert sorted(logged(read_events(tmp_path))) == [("child", 1, 2.0), ("parent", 1, 1.0)]


def test_ctrl_c_inside_flush_loses_nothing(tmp_path, read_events):
    """The values arrive one by one, and KeyboardInterrupt comes at any moment of flush()."""
    program = f"""
import itertools, os, signal, sys, threading, time, tbq
sys.path.insert(0, {str(FIXTURES)!r})
from late import Late
from tbq.write import pending

signal.signal(signal.SIGINT, signal.default_int_handler)

class Slow(Late):
    def result(self):  # Python, in which an interrupt may come
        return sum(self.number for _ in range(200)) / 200

def interrupt():
    while not done:
        time.sleep(0.002)
        os.kill(os.getpid(), signal.SIGINT)

done = False
writer = tbq.SummaryWriter({str(tmp_path)!r}, flush_secs=1000)
for step in range(3000):
    value = Slow(float(step))
    value.arrive()
    writer.add_scalar("a", value, step)
threading.Thread(target=interrupt, daemon=True).start()
while writer._waiting:
    try:
        writer.flush()
    except KeyboardInterrupt:
        pass
signal.signal(signal.SIGINT, signal.SIG_IGN)
done = True
writer.close()
"""
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], timeout=100, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert logged(read_events(tmp_path)) == [("a", step, float(step)) for step in range(3000)]


def test_flush_returns_though_another_thread_goes_on_logging(tmp_path):
    stop = threading.Event()
    with tbq.SummaryWriter(tmp_path) as writer:

        def log():
            before = Late(0.0)
            for step in itertools.takewhile(lambda _: not stop.is_set(), itertools.count()):
                value = Late(0.0)  # there is always one that has not arrived
                writer.add_scalar("b", value, step)
                before.arrive()
                before = value
                time.sleep(0.001)
            before.arrive()

        thread = threading.Thread(target=log)
        thread.start()
        flushing = threading.Thread(target=writer.flush)
        flushing.start()
        flushing.join(20)
        returned = not flushing.is_alive()
        stop.set()
        thread.join()
        assert returned


def test_max_queue_counts_late_values(tmp_path, read_events):
    with tbq.SummaryWriter(tmp_path, flush_secs=1000, max_queue=3) as writer:
        for step in range(3):
            value = Late(1.0)
            value.arrive()
            writer.add_scalar("a", value, step)
        wait_for(lambda: len(read_events(tmp_path)) == 4)


def test_the_flusher_does_not_spin_while_a_device_computes(tmp_path, monkeypatch):
    value = Late(1.0)
    with tbq.SummaryWriter(tmp_path, flush_secs=0) as writer:
        looks = []
        move = writer._file.pending.move
        monkeypatch.setattr(writer._file.pending, "move", lambda: (looks.append(1), move()))
        writer.add_scalar("a", value, 1)
        wait_for(lambda: looks)
        time.sleep(0.3)
        value.arrive()
        assert len(looks) < 100


def test_close_reports_notes_about_late_values(tmp_path):
    values = [Late(1.0), Late(2.0)]
    writer = tbq.SummaryWriter(tmp_path)
    for step, value in zip((5, 4), values, strict=True):
        writer.add_scalar("a", value, step)
        value.arrive()
    with pytest.warns(TbqWarning, match="the step decreased from 5 to 4"):
        writer.close()


@pytest.mark.filterwarnings("ignore:.*was never closed:tbq.TbqWarning")
def test_a_writer_that_is_collected_by_the_flusher_waits_for_its_values(tmp_path, read_events):
    value = Late(3.0)
    writer = tbq.SummaryWriter(tmp_path / "a", flush_secs=1000)
    writer.add_scalar("a", value, 1)

    class Trap:  # its destructor runs on the flusher's thread
        def __init__(self, held):
            self.held = held

        def ready(self):
            return True

        def write(self, lost):
            self.held.clear()

        size = 0

    with tbq.SummaryWriter(tmp_path / "b") as other:
        other._file.pending.add(Trap([writer]))
        del writer
        timer = threading.Timer(0.3, value.arrive)
        timer.start()
        other.flush()
        timer.join()
    assert logged(read_events(tmp_path / "a")) == [("a", 1, 3.0)]


@pytest.mark.skipif(os.name != "posix", reason="no such signals on this system")
def test_sigterm_waits_for_late_values(tmp_path, read_events):
    program = f"""
import os, signal, sys, threading, time, tbq
sys.path.insert(0, {str(FIXTURES)!r})
from late import Late
values = [Late(float(i)) for i in range(50)]
writer = tbq.SummaryWriter({str(tmp_path)!r}, flush_secs=1000)
for step, value in enumerate(values):
    writer.add_scalar("a", value, step)
threading.Timer(0.3, lambda: [value.arrive() for value in values]).start()
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(60)
"""
    result = subprocess.run([sys.executable, "-c", program], timeout=100, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (-15, "")
    assert logged(read_events(tmp_path)) == [("a", step, float(step)) for step in range(50)]


def test_two_processes_on_one_directory(tmp_path, read_events):
    """Each has its own file, and its own late values."""
    program = f"""
import sys, threading, tbq
sys.path.insert(0, {str(FIXTURES)!r})
from late import Late
values = [Late(float(i)) for i in range(200)]
with tbq.SummaryWriter({str(tmp_path)!r}, flush_secs=0.01) as writer:
    threading.Timer(0.1, lambda: [value.arrive() for value in values]).start()
    for step, value in enumerate(values):
        writer.add_scalar(sys.argv[1], value, step)
"""
    processes = [subprocess.Popen([sys.executable, "-W", "ignore", "-c", program, name]) for name in "ab"]
    assert [process.wait(timeout=100) for process in processes] == [0, 0]
    assert len(list(tmp_path.glob("*tfevents*"))) == 2
    rows = logged(read_events(tmp_path))
    for name in "ab":
        assert [row for row in rows if row[0] == name] == [(name, step, float(step)) for step in range(200)]
