"""Polls that an interrupt (Ctrl-C) or another thread ends: nothing is lost, nothing is delivered twice."""

from __future__ import annotations

import asyncio
import dis
import linecache
import shutil
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import eventfile as ef
import pytest

import tbq
from tbq.select import Selection

RETURN = dis.opmap["RETURN_VALUE"]
NAME = "events.out.tfevents.1.host"
pytestmark = pytest.mark.filterwarnings("ignore::tbq.TbqWarning")


def log(folder: Path, *steps: int) -> Path:
    folder.mkdir(parents=True)
    path = folder / NAME
    events = [ef.version(), *(ef.scalar("loss", step, step, ef.WALL + step) for step in steps)]
    path.write_bytes(ef.event_file(events))
    return path


class Interrupt:
    """Raises KeyboardInterrupt before the n-th bytecode that tbq/following executes."""

    def __init__(self, number: int) -> None:
        self._left = number
        self.place = ""

    def __call__(self, frame: FrameType, event: str, _arg: Any) -> Any:
        if Path(frame.f_code.co_filename).parent.name != "following":
            return None
        frame.f_trace_opcodes = True
        # Not at the return of poll: from there on, the update belongs to the caller.
        returns = frame.f_code.co_code[frame.f_lasti] == RETURN and frame.f_code.co_name == "poll"
        if event == "opcode" and not returns:
            self._left -= 1
            if self._left == 0:
                self.place = f"{frame.f_code.co_name}, line {frame.f_lineno}"
                raise KeyboardInterrupt
        return self


def interrupted_at(number: int, root: Path, damaged: bool) -> str:
    """Where the second poll of a changed log was interrupted; "" if it has fewer lines."""
    shutil.rmtree(root, ignore_errors=True)
    grows, goes = log(root / "grows", 1, 2), log(root / "goes", 1)
    with tbq.follow(root, on_error="ignore") as follower:
        updates = [follower.poll()]
        data = bytearray(grows.read_bytes() + ef.event_file([ef.scalar("loss", 3, 3.0, ef.WALL + 3)]))
        data[-20] ^= damaged
        grows.write_bytes(bytes(data) + ef.event_file([ef.scalar("loss", 4, 4.0, ef.WALL + 4)]))
        shutil.rmtree(goes.parent)
        log(root / "new", 5)
        interrupt = Interrupt(number)
        before = sys.gettrace()
        sys.settrace(interrupt)
        try:
            updates.append(follower.poll())
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        updates += [follower.poll(), follower.poll()]
        rows = sum(len(update.table()) - len(update.retracted_rows) for update in updates)
        whole = tbq.open(root).scalars(on_error="ignore")
        assert rows == len(follower.table()) == len(whole) == 5 - damaged, interrupt.place
        seen = {
            what: [name for update in updates for name in getattr(update.runs, what)]
            for what in ("new", "grown", "gone")
        }
        assert seen == {"new": ["goes", "grows", "new"], "grown": ["grows"], "gone": ["goes"]}, (
            interrupt.place
        )
        assert sum(len(update.problems) for update in updates) == len(follower.problems) == damaged, (
            interrupt.place
        )
        assert follower.runs == ["grows", "new"]
    return interrupt.place


@pytest.mark.long
@pytest.mark.parametrize("damaged", [False, True])
def test_an_interrupt_at_any_bytecode(tmp_path: Path, damaged: bool) -> None:
    number, places = 1, []
    while place := interrupted_at(number, tmp_path / "log", damaged):
        places.append(place)
        number += 1 if place.startswith("poll,") else 7  # it hands the update over
    assert len(places) > 60 and places[-1].startswith("poll,")


@pytest.mark.long
def test_an_alarm_while_the_core_searches_past_damage(tmp_path: Path) -> None:
    """A later poll returns the rows before and after damage, whenever the search is interrupted."""
    path = log(tmp_path / "a", *range(50))
    # Ten million headers, each of which claims a record, keep the search busy for several ticks.
    junk = ef.header(30) * 10_000_000
    rest = ef.event_file([ef.scalar("loss", step, step, ef.WALL + step) for step in range(50, 1000)])

    def ring(_number: int, frame: FrameType | None) -> None:
        while frame is not None:  # after poll has returned an update, losing it would be the test's fault
            if frame.f_code is tbq.Follower.poll.__code__:
                raise KeyboardInterrupt
            frame = frame.f_back

    before = signal.signal(signal.SIGALRM, ring)
    interrupted = 0
    try:
        for delay in (0.005, 0.02, 0.06, 0.12, 0.2):
            with tbq.follow(tmp_path, on_error="ignore", threads=1) as follower:
                rows = len(follower.poll().table())
                old = path.read_bytes()
                path.write_bytes(old + junk + rest)
                signal.setitimer(signal.ITIMER_REAL, delay)
                try:
                    rows += len(follower.poll().table())
                except KeyboardInterrupt:
                    interrupted += 1
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
                rows += len(follower.poll().table())
                assert rows == len(follower.table()) == 1000
                path.write_bytes(old)
        assert interrupted
    finally:
        signal.signal(signal.SIGALRM, before)


@pytest.mark.long
def test_an_interrupt_at_any_line_of_an_iteration(tmp_path: Path) -> None:
    log(tmp_path / "a", 1, 2)

    class Lines(Interrupt):
        def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
            line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).split("#")[0].strip()
            # No signal comes between the removal of an update and its yield: nothing is called there.
            counts = event == "line" and line not in ("if has_changes:", "yield update")
            return super().__call__(frame, "opcode" if counts else "", arg)

    for number in range(1, 10_000):
        with tbq.follow(tmp_path) as follower:
            steps: list[int] = []
            interrupt = Lines(number)
            before = sys.gettrace()
            sys.settrace(interrupt)
            try:
                for update in follower:
                    sys.settrace(before)
                    steps += [row.step for row in update.table()]
                    break
            except KeyboardInterrupt:
                pass
            finally:
                sys.settrace(before)
            steps += [row.step for row in follower.poll().table()]
            assert steps == [1, 2], interrupt.place
        if not interrupt.place:
            break
    assert number > 30


def test_a_signal_while_the_core_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python raises KeyboardInterrupt when the core's poll has returned, with all rows."""
    matches = Selection.matches
    interrupting: list[str] = []

    def interrupt(self: Selection, tag: str) -> bool:
        if tag in interrupting:
            signal.raise_signal(signal.SIGINT)  # in a thread of the core; the main thread gets it
        return matches(self, tag)

    monkeypatch.setattr(Selection, "matches", interrupt)
    path = log(tmp_path / "a", 1, 2)
    with tbq.follow(tmp_path, tag="l*") as follower:
        assert len(follower.poll().table()) == 2
        with path.open("ab") as file:
            file.write(ef.event_file([ef.scalar("later", 3, 3.0, ef.WALL + 3)]))
        interrupting.append("later")
        with pytest.raises(KeyboardInterrupt):
            follower.poll()
        interrupting.clear()
        assert [row.step for row in follower.poll().table()] == [3]
        assert not follower.poll() and len(follower.table()) == 3


def test_it_is_closed_by_another_thread_at_any_moment(tmp_path: Path) -> None:
    log(tmp_path / "a", 1)

    class Closing(tbq.Follower):
        """Is closed after it was asked whether it is."""

        @property
        def closed(self) -> bool:
            was = super().closed
            thread = threading.Thread(target=self.close)
            thread.start()
            thread.join()
            return was

    follower = tbq.follow(tmp_path)
    follower.__class__ = Closing
    assert list(follower) == []

    async def take() -> list[tbq.Update]:
        return [update async for update in asynchronous]

    asynchronous = tbq.follow(tmp_path)
    asynchronous.__class__ = Closing
    assert asyncio.run(take()) == []
