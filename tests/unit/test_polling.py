"""`Poller`: the loop that `tbq serve` and `tbq watch` share."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import eventfile as ef

import tbq
from tbq.dashboard.feed import Feed, Want
from tbq.following.polling import Poll, Poller


class Screen(Poller):
    """Keeps the polls; `broken` makes it fail."""

    def __init__(self, path: Path, **options: Any) -> None:
        super().__init__(tbq.follow(path, on_error="ignore", interval=0.01, **options), "test")
        self.polls: list[Poll] = []
        self.errors: list[Exception] = []
        self.changed = threading.Condition()
        self.broken = False

    def receive(self, poll: Poll) -> None:
        if self.broken:
            raise OSError("no space")
        with self.changed:
            self.polls.append(poll)
            self.changed.notify_all()

    def fail(self, error: Exception) -> None:
        with self.changed:
            self.errors.append(error)
            self.broken = False
            self.changed.notify_all()


def write(path: Path, step: int, **hparams: Any) -> None:
    with tbq.SummaryWriter(path) as writer:
        writer.add_scalar("loss", 1.0, step)
        if hparams:
            writer.add_hparams(hparams, {"accuracy": 0.5}, run_name=".")


def test_polls_in_the_order_of_a_log(tmp_path: Path) -> None:
    screen = Screen(tmp_path / "runs")
    empty = screen.poll()
    assert (empty.runs, empty.exists, empty.changed) == ((), False, True)
    assert not screen.poll().changed
    write(tmp_path / "runs" / "a", 1, lr=0.1)
    first, second = screen.poll(), screen.poll()
    assert first.runs == ("a",) and first.exists and first.changes.new == ["a"]
    assert first.hparams["a"].values == {"lr": 0.1} and first.hparams["a"].status is not None
    assert not second.changed and not second.latest
    screen.follower.close()


def test_a_large_log_is_listed_before_it_is_read(tmp_path: Path) -> None:
    write(tmp_path / "a", 1)
    screen = Screen(tmp_path)
    first = screen.poll()
    assert first.runs == ("a",) and first.left > 0 and first.is_backlog and screen.follower.pause() == 0
    second = screen.poll()
    assert (second.left, second.is_backlog, second.latest["a"].series[0].step) == (0, True, 1)
    write(tmp_path / "a", 2)
    assert not screen.poll().is_backlog
    screen.follower.close()


def test_a_poll_that_failed_comes_again(tmp_path: Path) -> None:
    write(tmp_path / "a", 1)
    screen = Screen(tmp_path)
    screen.broken = True
    screen.start()
    with screen.changed:
        assert screen.changed.wait_for(lambda: screen.polls and screen.polls[-1].left == 0, 30)
    assert [str(error) for error in screen.errors] == ["no space"]
    assert screen.polls[0].changed
    screen.stop()
    screen.follower.close()


def test_a_picture_along_relative_time_moves_with_the_start_of_its_run(tmp_path: Path) -> None:
    """An event with an earlier time than all others moves the points, though no series has new rows."""
    file = tmp_path / "a" / "events.out.tfevents.1.h"
    file.parent.mkdir()
    file.write_bytes(b"".join(map(ef.record, [ef.version(100.0), ef.scalar("loss", 0, 1.0, 101.0)])))
    want = Want("scalars", "loss", ("a",), "relative", None, 20)

    def extent(feed: Feed) -> tuple[float, float]:
        while feed.poll().left:
            pass
        feed.between_polls()
        return feed._made[want].extent

    with tbq.follow(tmp_path) as follower:
        feed = Feed(follower)
        feed.want((want,))
        assert extent(feed) == (1.0, 1.0)
        with file.open("ab") as more:
            more.write(ef.record(ef.version(97.0)))
        assert extent(feed) == (4.0, 4.0)
