"""A page that is open while the log changes: restarts, runs that disappear and return, disk errors, many readers."""

from __future__ import annotations

import asyncio
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from served import Asked, strict, unframed
from waiting import wait_for
from webserver import scripted

import tbq
from tbq.server.live_log import Change, LiveLog

# Writers that begin at steps that already exist.
pytestmark = pytest.mark.filterwarnings("ignore::tbq.errors.TbqWarning")


def write(path: Path, values: list[float], first: int = 0, tag: str = "loss") -> None:
    with tbq.SummaryWriter(path) as writer:
        for step, value in enumerate(values, first):
            writer.add_scalar(tag, value, step)


def looked(asked: Asked) -> None:
    """Poll until what is on the disk now has been read."""
    wait_for(lambda: not asked.log.poll().left)


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
    second = int(time.time())
    wait_for(lambda: int(time.time()) > second)  # the name of a file has the second of its start
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
    assert "does not exist" in asked.json("image", 404, run=numbers["b"], tag="x")["error"]
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
    reported: list[Change] = []
    end = asked.log.listen(reported.append)
    write(tmp_path / "b", [2.0], tag="other")
    looked(asked)
    assert {run for change in reported for run in change.runs or ()} == {asked.id("b")}
    assert reported[-1].version == asked.log.version
    end()
    write(tmp_path / "a", [2.0], tag="other")
    count = len(reported)
    looked(asked)
    assert len(reported) == count


def test_a_run_that_stalls_is_told_of(tmp_path: Path) -> None:
    writer = tbq.SummaryWriter(tmp_path / "a")
    writer.add_scalar("loss", 1.0, 0)
    writer.flush()
    now = [time.time()]
    asked = Asked(tmp_path, clock=lambda: now[0], stalled_after=60)
    reported: list[Change] = []
    asked.log.listen(reported.append)
    looked(asked)
    assert asked.json("runs")["runs"][0]["state"] == "running"
    now[0] += 100
    looked(asked)
    assert asked.json("runs")["runs"][0]["state"] == "stalled"
    assert [change.runs for change in reported][-1] == [0]
    writer.close()
    looked(asked)
    assert asked.json("runs")["runs"][0]["state"] == "finished"


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
    wait_for(lambda: bool(log.states))
    failing.set()
    wait_for(lambda: log.failure == "OSError")
    asked = Asked.__new__(Asked)
    asked.log = log
    assert asked.json("state")["failure"] == "OSError"
    assert values(asked, "a") == [1.0]
    failing.clear()
    write(tmp_path / "b", [2.0])
    wait_for(lambda: "b" in log.states and log.failure is None)
    log.close()


def test_what_a_look_found_is_shown_though_the_rest_of_it_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "a", [1.0])
    log = LiveLog(tmp_path)
    log.poll()
    write(tmp_path / "a", [2.0], first=7)

    def fail(_runs: Any) -> Any:
        raise OSError("the disk went away")

    with monkeypatch.context() as patched:
        patched.setattr(log.view, "latest", fail)
        with pytest.raises(OSError, match="went away"):
            log.poll()
    assert log.poll().changed
    assert log.states["a"].step == 7
    log.close()


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
        version = log.version
        write(tmp_path / f"run{number % 7}", [1.0] * 20, first=number)
        wait_for(lambda: log.version > version or wrong)  # noqa: B023 - called at once
        if number % 9 == 8:
            shutil.rmtree(tmp_path / f"run{number % 7}")
    done.set()
    for thread in threads:
        thread.join(60)
    log.close()
    assert not wrong, wrong[:1]


def test_events_of_a_page(tmp_path: Path) -> None:
    """One message at the start, one after each change; the listener is gone after the page."""
    from tbq.server.http.app import _events

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


def image(shade: int) -> Any:
    return np.full((4, 4, 3), shade, np.uint8)


def draw(path: Path, shade: int, wall: float | None = None, name: str = "") -> None:
    with tbq.SummaryWriter(path, filename_suffix=name) as writer:
        writer.add_image("picture", image(shade), 3, dataformats="HWC", walltime=wall)
        writer.add_text("note", f"shade {shade}", 3, walltime=wall)


def test_a_value_that_is_written_anew_has_another_address(tmp_path: Path) -> None:
    """Also with the same step and the same time; what only grows keeps its addresses."""
    draw(tmp_path / "runs" / "a", 10, 100.0)
    asked = Asked(tmp_path / "runs")

    def marks(kind: str, tag: str) -> list[str]:
        (entry,) = asked.json("series", kind=kind, tag=tag)["runs"]
        assert entry["steps"] == [3]
        marks: list[str] = entry["marks"]
        return marks

    first = marks("images", "picture"), marks("texts", _text_tag(asked))
    etag = asked.answer("image", run=0, tag="picture", step=3, mark=first[0][0]).headers["ETag"]
    write(tmp_path / "runs" / "a", [1.0])  # more of it, in another file
    looked(asked)
    (old,) = (each for each in (tmp_path / "runs" / "a").iterdir() if b"picture" in each.read_bytes())
    second = marks("images", "picture")
    draw(tmp_path / "other", 200, 100.0)
    (new,) = (tmp_path / "other").iterdir()
    new.replace(old)
    looked(asked)
    third = marks("images", "picture"), marks("texts", _text_tag(asked))
    assert third[0] != second and third[1] != first[1]
    reply = asked.answer("image", run=0, tag="picture", step=3, mark=third[0][0])
    assert reply.headers["ETag"] != etag and "no-cache" in reply.headers["Cache-Control"]
    with tbq.SummaryWriter(tmp_path / "runs" / "b") as writer:
        writer.add_scalar("loss", 1.0, 0)
    looked(asked)
    assert marks("images", "picture") == third[0]  # another run grew
    assert Asked(tmp_path / "runs").json("state")["instance"] != asked.json("state")["instance"]
    asked.log.close()


def _text_tag(asked: Asked) -> str:
    return next(each["tag"] for each in asked.json("tags")["tags"] if "texts" in each["kinds"])


def test_growth_of_a_run_keeps_the_addresses_of_its_images(tmp_path: Path) -> None:
    with tbq.SummaryWriter(tmp_path / "a") as writer:
        for tag in ("z", "a"):
            writer.add_image(tag, image(1), 0, dataformats="HWC")
        writer.flush()
        asked = Asked(tmp_path)
        before = asked.json("series", kind="images", tag="z")["runs"][0]["marks"]
        writer.add_image("a", image(2), 1, dataformats="HWC")
        writer.add_image("z", image(2), 1, dataformats="HWC")
        writer.add_scalar("loss", 1.0, 1)
        writer.flush()
        looked(asked)
        after = asked.json("series", kind="images", tag="z")["runs"][0]["marks"]
    assert len(after) == 2 and after[0] == before[0] and after[1] != after[0]
    asked.log.close()


def test_a_value_is_looked_up_in_one_version_of_its_run(tmp_path: Path) -> None:
    """Rows of a run have other numbers once an earlier tag grows, also if that happens during a request."""
    with tbq.SummaryWriter(tmp_path / "a") as writer:
        for tag in ("a", "z"):
            writer.add_image(tag, image(1), 0, dataformats="HWC")
            writer.add_histogram(tag, [1.0, 2.0], 0)
        writer.flush()
        asked = Asked(tmp_path)
        find, steps = asked.log.cache.of, iter(range(1, 100))

        def find_then_poll(*args: Any, **options: Any) -> Any:
            found = find(*args, **options)
            step = next(steps)
            writer.add_image("a", image(2), step, dataformats="HWC")
            writer.add_histogram("a", [1.0, 1000.0], step)
            writer.flush()
            looked(asked)
            return found

        requests: list[tuple[str, dict[str, Any]]] = [
            ("image", {"run": 0, "tag": "z"}),
            ("histograms", {"run": 0, "tag": "z"}),
            ("series", {"kind": "images", "tag": "z"}),
        ]
        expected = [asked.answer(path, **params) for path, params in requests]
        looked(asked)
        asked.log.cache.of = find_then_poll  # type: ignore[method-assign]
        given = [asked.answer(path, **params) for path, params in requests]
    assert given[0].body == expected[0].body
    assert np.array_equal(unframed(given[1].body)[1]["edges"], unframed(expected[1].body)[1]["edges"])
    assert strict(given[2].body)["runs"] == strict(expected[2].body)["runs"]
    asked.log.close()


def test_two_pages_that_open_at_once_have_the_same_names_of_tags(tmp_path: Path) -> None:
    with tbq.SummaryWriter(tmp_path / "a") as writer:
        writer.add_scalar("loss", 1.0, 0, display_name="Loss", summary_description="of training")
    with tbq.SummaryWriter(tmp_path / "b") as writer:  # later runs do not change it
        writer.add_scalar("loss", 1.0, 0, display_name="Other")
        writer.add_scalar("of b", 1.0, 0)
    asked = Asked(tmp_path)
    list_runs, other = asked.log.listing.of_runs, []

    def list_during_another_request(runs: Any) -> Any:
        asked.log.listing.of_runs = list_runs  # type: ignore[method-assign]
        other.append(asked.json("tags")["tags"])
        return list_runs(runs)

    asked.log.listing.of_runs = list_during_another_request  # type: ignore[method-assign]
    tag, of_b = asked.json("tags")["tags"]
    assert tag["display_name"] == "Loss" and tag["description"] == "of training"
    assert other == [[tag, of_b]]
    asked.log.close()


def test_a_store_is_listed_every_30_seconds_unless_told_otherwise(tmp_path: Path) -> None:
    """A store charges for each listing."""
    with scripted("a") as web:
        remote = Asked(f"{web.url}/runs")
        assert remote.json("state")["runs"] == 1
        assert remote.log.follower.interval == 30
        assert LiveLog(f"{web.url}/runs", interval=2.0).follower.interval == 2
    assert LiveLog(tmp_path).follower.interval < 1
    remote.log.close()
