"""A page that is open while the log changes: restarts, runs that go and come back, errors of the disk, many readers."""

from __future__ import annotations

import asyncio
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from served import Asked

import tbq
from tbq.serve.guard import Guard
from tbq.serve.state import Change, LiveLog

# Writers that begin where others were.
pytestmark = pytest.mark.filterwarnings("ignore::tbq.errors.TbqWarning")


def write(path: Path, values: list[float], first: int = 0, tag: str = "loss") -> None:
    with tbq.SummaryWriter(path) as writer:
        for step, value in enumerate(values, first):
            writer.add_scalar(tag, value, step)


def looked(asked: Asked) -> None:
    """Look until what is on the disk now has been seen."""
    for _ in range(3):
        asked.log.look()
        time.sleep(0.02)


def values(asked: Asked, run: str, tag: str = "loss") -> list[float]:
    header, columns = asked.frame("curves", tag=tag, width=1000)
    place = [each["id"] for each in header["series"]].index(asked.id(run))
    part = columns["last"][place * 1000 : (place + 1) * 1000]
    return [float(each) for each in part[~np.isnan(part)]]


def test_an_empty_directory_fills_later(tmp_path: Path) -> None:
    asked = Asked(tmp_path / "later")
    state = asked.json("state")
    assert (state["waiting"], state["exists"], state["runs"]) == (True, False, 0)
    assert asked.json("runs")["runs"] == asked.json("tags")["tags"] == []
    assert asked.json("filter", where="run = 'a'")["ids"] == []
    assert asked.json("hparams")["runs"] == []
    assert asked.json("health", wait=1)["restarts"] == []
    (tmp_path / "later").mkdir()
    looked(asked)
    assert asked.json("state")["exists"] is True
    write(tmp_path / "later" / "a", [1.0, 2.0])
    looked(asked)
    assert asked.json("state")["waiting"] is False
    assert values(asked, "a") == [1.0, 2.0]


def test_a_restart_takes_points_back(tmp_path: Path) -> None:
    write(tmp_path / "a", [1.0, 2.0, 3.0, 4.0])
    asked = Asked(tmp_path)
    before = asked.json("state")["version"]
    assert values(asked, "a") == [1, 2, 3, 4]
    time.sleep(1.1)  # a session is known by the second of its start
    write(tmp_path / "a", [9.0], first=2)
    looked(asked)
    assert values(asked, "a") == [1, 2, 9]
    assert asked.json("state")["version"] > before
    header, columns = asked.frame("metrics", columns='[["loss","max"],["loss","last"],["loss","count"]]')
    assert [columns[name][0] for name in "012"] == [9, 9, 3]
    _, groups = asked.frame("curves", tag="loss", group="*", width=1000)
    assert np.nanmax(groups["max"]) == 9
    assert header["version"] == asked.log.version


def test_a_run_that_disappears_and_comes_back_has_its_number(tmp_path: Path) -> None:
    for name in "abc":
        write(tmp_path / name, [1.0])
    asked = Asked(tmp_path)
    numbers = {run["name"]: run["id"] for run in asked.json("runs")["runs"]}
    shutil.rmtree(tmp_path / "b")
    looked(asked)
    assert [run["name"] for run in asked.json("runs")["runs"]] == ["a", "c"]
    assert asked.json("nearest", tag="loss", x=0, runs=numbers["b"])["points"] == []
    assert "not there" in asked.json("image", 404, run=numbers["b"], tag="x")["error"]
    header, _ = asked.frame("curves", tag="loss", runs="0-2", width=5)
    assert {each["id"] for each in header["series"]} == {numbers["a"], numbers["c"]}
    write(tmp_path / "d", [4.0])
    write(tmp_path / "b", [5.0])
    looked(asked)
    again = {run["name"]: run["id"] for run in asked.json("runs")["runs"]}
    assert {name: again[name] for name in "abc"} == numbers
    assert again["d"] == 3
    assert values(asked, "b") == [5.0]


def test_listeners_are_told_which_runs_changed(tmp_path: Path) -> None:
    write(tmp_path / "a", [1.0])
    write(tmp_path / "b", [1.0])
    asked = Asked(tmp_path)
    told: list[Change] = []
    end = asked.log.listen(told.append)
    write(tmp_path / "b", [2.0], tag="other")
    looked(asked)
    assert {run for change in told for run in change.runs or ()} == {asked.id("b")}
    assert told[-1].version == asked.log.version
    end()
    write(tmp_path / "a", [2.0], tag="other")
    count = len(told)
    looked(asked)
    assert len(told) == count


def test_a_run_that_stalls_is_told_of(tmp_path: Path) -> None:
    write(tmp_path / "a", [1.0])
    now = [time.time()]
    asked = Asked(tmp_path, clock=lambda: now[0], stalled_after=60)
    told: list[Change] = []
    asked.log.listen(told.append)
    looked(asked)
    assert asked.json("runs")["runs"][0]["state"] == "running"
    now[0] += 100
    asked.log._states_due = 0
    looked(asked)
    assert asked.json("runs")["runs"][0]["state"] == "stalled"
    assert [change.runs for change in told][-1] == [0]


def test_a_look_that_fails_is_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "a", [1.0])
    log = LiveLog(tmp_path, interval=0.01)
    poll = log.follower.poll
    failing = threading.Event()

    def sometimes(*args: Any, **options: Any) -> Any:
        if failing.is_set():
            raise OSError("the disk went away")
        return poll(*args, **options)

    monkeypatch.setattr(log.follower, "poll", sometimes)
    log.start()
    until(lambda: bool(log.states))
    failing.set()
    until(lambda: log.failure == "OSError")
    asked = Asked.__new__(Asked)
    asked.log = log
    assert asked.json("state")["failure"] == "OSError"
    assert values(asked, "a") == [1.0]
    failing.clear()
    write(tmp_path / "b", [2.0])
    until(lambda: "b" in log.states and log.failure is None)
    log.close()


def until(true: Any, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.long
def test_many_ask_while_the_log_grows(tmp_path: Path) -> None:
    log = LiveLog(tmp_path, interval=0.01)
    asked = Asked.__new__(Asked)
    asked.log = log
    log.start()
    wrong: list[BaseException] = []
    done = threading.Event()

    def ask() -> None:
        try:
            while not done.is_set():
                asked.json("state")
                for run in asked.json("runs")["runs"]:
                    assert log.name_of(run["id"]) in (run["name"], None)
                asked.json("tags")
                given = asked.answer("curves", tag="loss", width=50, smooth=0.5)
                assert given.status in (200, 404)
                given = asked.answer("curves", tag="loss", width=50, group="re:(.).*")
                assert given.status in (200, 404)
                asked.frame("metrics", columns='[["loss","min"],["loss","mean"]]')
                asked.json("filter", where="step > 2")
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(6)]
    for thread in threads:
        thread.start()
    for number in range(60):
        write(tmp_path / f"run{number % 7}", [1.0] * 20, first=number)
        time.sleep(0.02)
        if number % 9 == 8:
            shutil.rmtree(tmp_path / f"run{number % 7}")
    done.set()
    for thread in threads:
        thread.join(60)
    log.close()
    assert not wrong, wrong[:1]


def test_events_of_a_page(tmp_path: Path) -> None:
    """One message at the start, one after each change; the listener is gone after the page."""
    from tbq.serve.app import _events

    write(tmp_path / "a", [1.0])
    asked = Asked(tmp_path)

    class Request:
        async def is_disconnected(self) -> bool:
            return False

    async def listen() -> list[bytes]:
        stream = _events(asked.log, Request(), asyncio.Event())  # type: ignore[arg-type]
        got = [await anext(stream)]
        write(tmp_path / "b", [1.0])
        await asyncio.to_thread(looked, asked)
        got.append(await asyncio.wait_for(anext(stream), 10))
        await stream.aclose()  # type: ignore[attr-defined]
        return got

    first, second = asyncio.run(listen())
    assert first.startswith(b"event: changed\ndata: {")
    assert f'"runs": [{asked.id("b")}]'.encode() in second
    assert not asked.log._listeners


def test_the_guard_takes_any_cookie() -> None:
    guard = Guard("0.0.0.0", 80, "secret")
    for cookie in ("", "a=b", 'tbq-80="', "tbq-80=wrong", ";;;", "\x00", "tbq-80"):
        assert not guard.admits({"cookie": cookie}, None)
    assert guard.admits({"cookie": "x=1; tbq-80=secret"}, None)
