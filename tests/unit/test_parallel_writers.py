"""Processes that log side by side are not a restart, also if a writer dates its header after its first events."""

from __future__ import annotations

import collections
import gc
import itertools
import multiprocessing
import multiprocessing.context
import os
import pickle
import sys
from pathlib import Path
from typing import Any

import eventfile as ef
import pytest

import tbq
import tbq.lake
from tbq import termination
from tbq.write import flusher

POLICIES = ("resume", "keep", "last", "tensorboard")


def late(header: float, *times: float, tag: str = "loss", start: float | None = None) -> list[bytes]:
    """A session whose header carries the time of its first flush."""
    restart = [] if start is None else [ef.session_log(1, 0, start)]
    return [ef.version(header), *restart, *(ef.scalar(tag, i, wall, wall) for i, wall in enumerate(times))]


def put(root: Path, name: str, payloads: list[bytes]) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    path = root / f"events.out.tfevents.{name}"
    path.write_bytes(ef.event_file(payloads))
    return path


def values(table: Any) -> list[tuple[str, str, int, float]]:
    return [(row.run, row.tag, row.step, row.value) for row in table]


# Two workers that ran from 10 to 20, and opened their files at 21.
TIMES = (10.0, 12.0, 14.0, 16.0), (11.0, 13.0, 15.0, 20.0)


@pytest.mark.parametrize("start", [None, 21.0])
def test_a_session_begins_with_its_first_event(tmp_path: Path, start: float | None) -> None:
    for number, times in enumerate(TIMES):
        put(tmp_path / "runs/a", str(number), late(21.0 + number, *times, start=start))
    log = tbq.open(tmp_path / "runs")
    assert len(log.scalars()) == 8  # a dropped row would be a warning, which is an error here
    for policy in POLICIES:
        with tbq.follow(tmp_path / "runs", restarts=policy) as follower:
            follower.poll()
            assert values(follower.table("scalars")) == values(
                log.scalars(restarts=policy, on_error="ignore")
            )
    assert [row.run for row in log.scalars(restarts="split")] == ["a@1"] * 4 + ["a@2"] * 4
    findings = {finding.code for finding in tbq.doctor(tmp_path / "runs")}
    assert "TBQ301" in findings and not findings & {"TBQ302", "TBQ408"}


@pytest.mark.parametrize("options", [{}, {"steps": (1, 9)}, {"drop_tag": "other"}, {"restarts": "resume"}])
def test_a_rewrite_keeps_when_sessions_began(tmp_path: Path, options: dict[str, Any]) -> None:
    for number, times in enumerate(TIMES):
        first = ef.scalar("other", 0, 1.0, times[0] - 0.5)
        payloads = late(21.0 + number, *times)
        put(tmp_path / "runs/a", str(number), [payloads[0], first, *payloads[1:]])
    restart = [ef.scalar("loss", step, 30.0, 27.0 + step) for step in (3, 4)]
    put(tmp_path / "runs/a", "2", [ef.version(30.0), *restart])
    tbq.rewrite(tmp_path / "runs", tmp_path / "new", **options)
    chosen = {"steps": options["steps"]} if "steps" in options else {}
    before = values(tbq.open(tmp_path / "runs").scalars(tag="loss", on_error="ignore", **chosen))
    assert len(before) == (6 if chosen else 8)
    assert values(tbq.open(tmp_path / "new").scalars(tag="loss", on_error="ignore")) == before


def test_follow_agrees_at_every_byte(tmp_path: Path) -> None:
    """The first event comes after the header, and may change the order of sessions."""
    files = [put(tmp_path / "full", str(n), late(21.0 + n, *times)) for n, times in enumerate(TIMES)]
    grown = [put(tmp_path / "runs/a", str(n), []) for n in range(2)]
    data = [path.read_bytes() for path in files]
    with tbq.follow(tmp_path / "runs") as follower:
        for share in range(9):
            for path, whole in zip(grown, data, strict=True):
                path.write_bytes(whole[: len(whole) * share // 8])
            follower.poll()
            assert values(follower.table("scalars")) == values(tbq.open(tmp_path / "runs").scalars())


def test_a_lake_agrees_while_a_session_is_only_a_header(tmp_path: Path) -> None:
    put(tmp_path / "runs/a", "0", late(21.0, *TIMES[0]))
    path = put(tmp_path / "runs/a", "1", late(22.0))
    tbq.lake.sync(tmp_path / "runs", tmp_path / "lake")
    for count in (1, 2, 4):
        path.write_bytes(ef.event_file(late(22.0, *TIMES[1][:count])))
        tbq.lake.sync(tmp_path / "runs", tmp_path / "lake")
        want = values(tbq.open(tmp_path / "runs").scalars())
        assert len(want) == 4 + count
        assert sorted(values(tbq.open(tmp_path / "lake").scalars())) == sorted(want)


def test_a_restart_is_still_a_restart(tmp_path: Path) -> None:
    put(tmp_path / "a", "0", late(10.0, 11.0, 12.0, 13.0))
    put(tmp_path / "a", "1", late(21.0, 20.0, 20.5))
    assert [row.value for row in tbq.open(tmp_path).scalars(on_error="ignore")] == [20.0, 20.5]


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@needs_fork
def test_forked_workers_lose_nothing(tmp_path: Path, read_events: Any) -> None:
    context = multiprocessing.get_context("fork")
    writer = tbq.SummaryWriter(tmp_path / "run", flush_secs=0.2)
    turns = [context.Semaphore(1), context.Semaphore(0)]
    first = context.Event()

    def work(rank: int) -> None:
        for step in range(15):
            turns[rank].acquire()
            writer.add_scalar("loss", rank, step)
            turns[1 - rank].release()
        first.wait(120)

    workers = [context.Process(target=work, args=(rank,)) for rank in range(2)]
    for worker in workers:
        worker.start()
    first.set()
    for worker in workers:
        worker.join()
    writer.close()
    assert len(tbq.open(tmp_path).scalars()) == 30
    for path in (tmp_path / "run").iterdir():
        header, *events = read_events(path)
        assert all(header.wall_time <= event.wall_time for event in events)


@needs_fork
def test_workers_that_log_one_after_the_other_and_end_together_lose_nothing(tmp_path: Path) -> None:
    """They are not a restart, because the first was still running when the second began."""
    context = multiprocessing.get_context("fork")
    writer = tbq.SummaryWriter(tmp_path / "run")
    logged, over = context.Event(), context.Event()

    def work(rank: int) -> None:
        if rank:
            logged.wait(120)
        for step in range(5):
            writer.add_scalar("loss", rank, step)
        if rank:
            over.set()
        logged.set()
        over.wait(120)

    workers = [context.Process(target=work, args=(rank,)) for rank in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    writer.close()
    assert len(tbq.open(tmp_path).scalars()) == 10


def test_copies_that_end_together_lose_nothing(tmp_path: Path) -> None:
    writer = tbq.SummaryWriter(tmp_path / "run")
    copies = []
    for rank in range(2):
        copies.append(pickle.loads(pickle.dumps(writer)))
        copies[rank].add_scalar("loss", rank, 0)
        copies[rank].flush()
    for each in (*copies, writer):
        each.close()
    assert [row.value for row in tbq.open(tmp_path).scalars()] == [0.0, 1.0]


@needs_fork
def test_forked_workers_that_run_one_after_the_other_lose_nothing(tmp_path: Path) -> None:
    """They have ended before the next one begins. A restart of the program still replaces what they logged."""
    context = multiprocessing.get_context("fork")
    for attempt, first in enumerate((0, 3)):
        writer = tbq.SummaryWriter(tmp_path / "run", resume="auto")

        def work(rank: int, steps: range, writer: Any = writer) -> None:
            for step in steps:
                writer.add_scalar("loss", rank, step)

        for rank in range(3):
            worker = context.Process(target=work, args=(10 * attempt + rank, range(first, first + 5)))
            worker.start()
            worker.join()
        writer.close()
    rows = tbq.open(tmp_path).scalars(on_error="ignore")
    counts = collections.Counter((row.value, row.step) for row in rows)
    assert set(counts.values()) == {1}
    assert set(counts) == {
        *((rank, step) for rank in range(3) for step in range(3)),
        *((10 + rank, step) for rank in range(3) for step in range(3, 8)),
    }


@pytest.mark.parametrize("spawned", [False, True])
def test_copies_that_log_one_after_the_other_lose_nothing(tmp_path: Path, spawned: bool) -> None:
    """Tasks of a pool get a copy each, while the original is open; a spawned process may get one that is closed."""
    writer = tbq.SummaryWriter(tmp_path / "run")
    if spawned:
        multiprocessing.context.set_spawning_popen(writer)
    pickled = pickle.dumps(writer)
    multiprocessing.context.set_spawning_popen(None)
    if spawned:
        writer.close()
    for rank in range(3):
        with pickle.loads(pickled) as copy:
            copy.add_scalar("loss", rank, 0)
    writer.close()
    assert [row.value for row in tbq.open(tmp_path).scalars()] == [0.0, 1.0, 2.0]


def test_a_copy_of_a_closed_writer_continues_its_run(tmp_path: Path) -> None:
    """A program may pickle its state, and go on from there on another day."""
    with tbq.SummaryWriter(tmp_path / "run") as writer:
        for step in range(5):
            writer.add_scalar("loss", 1.0, step)
        pickled = pickle.dumps(writer)
    with pickle.loads(pickled) as copy:
        copy.add_scalar("loss", 2.0, 3)
    rows = tbq.open(tmp_path).scalars(on_error="ignore")
    assert [(row.step, row.value) for row in rows] == [(0, 1.0), (1, 1.0), (2, 1.0), (3, 2.0)]


def test_a_copy_that_is_never_closed_is_no_mistake(tmp_path: Path) -> None:
    """The user has not opened it: a pool of processes made it for one task."""
    with tbq.SummaryWriter(tmp_path / "run") as writer:
        copy = pickle.loads(pickle.dumps(writer))
        copy.add_scalar("loss", 1.0, 0)
        del copy
        gc.collect()  # a warning is an error here
    assert len(tbq.open(tmp_path).scalars()) == 1


@needs_fork
def test_a_forked_child_may_begin_at_any_step(tmp_path: Path) -> None:
    """Its file is a session of its own: it may begin before its parent's last step."""
    context = multiprocessing.get_context("fork")
    writer = tbq.SummaryWriter(tmp_path / "run")
    writer.add_scalar("loss", 1.0, 100)
    said = context.Queue()

    def work() -> None:
        import warnings

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            writer.add_scalar("loss", 1.0, 0)
            writer.flush()
        said.put([str(each.message) for each in caught])

    worker = context.Process(target=work)
    worker.start()
    assert said.get(timeout=120) == []
    worker.join()
    writer.close()


def test_a_scalar_that_is_repeated_is_no_mistake(tmp_path: Path) -> None:
    """Trainers log `epoch` beside everything they log at a step."""
    with tbq.SummaryWriter(tmp_path / "run") as writer:
        for step, exact in itertools.product((3, 4), (False, True)):
            writer.log({"epoch": 1, "train": step}, step, exact=exact)
            writer.log({"epoch": 1, f"val{exact}": step}, step, exact=exact)
    with tbq.SummaryWriter(tmp_path / "other") as writer:
        writer.add_scalar("loss", 1.0, 4)
        with pytest.warns(tbq.errors.TbqWarning, match="step 4 was logged twice"):
            writer.add_scalar("loss", 2.0, 4)


def test_a_writer_may_outlive_the_globals_of_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ignored: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    with monkeypatch.context() as ending:
        ending.setattr(sys, "is_finalizing", lambda: bool(ended))
        ended: list[bool] = []
        writer = tbq.SummaryWriter(tmp_path / "run")
        writer.close()
        ended.append(True)
        ending.setattr(flusher, "_live", None)
        ending.setattr(flusher, "termination", None)
        ending.setattr(termination, "_lock", None)
        del writer
        gc.collect()
    assert ignored == []


def test_sessions_of_one_file_stay_in_its_order(tmp_path: Path) -> None:
    """Events with earlier times than the header do not move a session before the one that it was appended to."""
    first = [ef.version(100.0), ef.scalar("loss", 1, 0.1, 2.0), ef.scalar("loss", 2, 0.2, 1.0)]
    second = [ef.version(100.0), ef.scalar("loss", 1, 0.3, 1.0)]
    path = tmp_path / "events.out.tfevents.1.host"
    path.write_bytes(ef.event_file(first) + ef.event_file(second))
    table = tbq.open(tmp_path).scalars(restarts="keep", on_error="ignore")
    assert table["value"].round(6).tolist() == [0.1, 0.2, 0.3]
