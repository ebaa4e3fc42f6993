"""The app of `tbq watch` through Textual's pilot: keys, the mouse, live data, and that only what changed is drawn."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.events import Key
from textual.geometry import Region
from textual.pilot import Pilot

import tbq
from tbq.dashboard.app import WatchApp
from tbq.dashboard.feed import Feed
from tbq.dashboard.model import Model
from tbq.dashboard.widgets import CardPane, Pane, RunPane
from tbq.following.polling import Poll
from tbq.plot.cells import plain

PATIENCE = 600  # times a tenth of a second


@pytest.fixture
def app(runs: Path) -> Iterator[WatchApp]:
    yield from app_of(runs)


def app_of(path: Path, **options: Any) -> Iterator[WatchApp]:
    with tbq.follow(path, on_error="ignore", interval=0.05, **options) as follower:
        feed = Feed(follower)
        feed.start()
        try:
            yield WatchApp(feed, Model("runs"))
        finally:
            feed.stop()


Script = Callable[[WatchApp, "Pilot[None]"], Awaitable[None]]


def play(app: WatchApp, script: Script, size: tuple[int, int] = (100, 30)) -> None:
    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await script(app, pilot)

    asyncio.run(run())
    if app.failure:
        raise app.failure


async def until(pilot: Pilot[None], true: Callable[[], object]) -> None:
    for _ in range(PATIENCE):
        await pilot.pause(0.1)
        if true():
            return
    raise AssertionError("never came true\n" + text(pilot.app))


def text(app: Any) -> str:
    return "\n".join(plain(pane.lines) for pane in app.query(Pane) if pane.display)


def drawn(app: WatchApp) -> bool:
    """Whether every card has its picture."""
    cards = [pane for pane in app.query(CardPane) if pane.tag]
    return bool(cards) and all(
        "└" in plain(pane.lines) or "its runs are hidden" in plain(pane.lines) for pane in cards
    )


@pytest.mark.long
def test_keys(app: WatchApp) -> None:
    async def script(app: WatchApp, pilot: Pilot[None]) -> None:
        model = app.model
        await until(pilot, lambda: drawn(app))
        await pilot.press("slash", *"acc", "enter")
        assert model.tags == ["val/accuracy", "train/accuracy", "hparam/accuracy"]
        await pilot.press("slash", *"x", "escape")
        assert model.tag_filter == "acc"
        await pilot.press("escape")
        assert (model.tag_filter, len(model.tags)) == ("", 6)
        await pilot.press("f", *"lr=0.1", "enter")
        assert model.listed == ["lr=0.1/seed=0", "lr=0.1/seed=1"]
        await pilot.press("escape", "j", "down", "k", "G")
        assert model.run == "resumed"
        await pilot.press("g", "tab", "right", "left", "p", "s", "l", "x", "o", "space", "w")
        assert (model.tag, model.pins, model.smooth, model.log) == (
            "val/loss",
            ["val/loss"],
            0.3,
            True,
        )
        assert (model.axis, model.sort, model.wide) == ("relative", "state", True)
        assert len(model.hidden) == 1
        await pilot.press("w", "enter")
        assert model.full
        await until(pilot, lambda: drawn(app))
        await pilot.press("enter", "n", "b", "question_mark")
        assert "filter tags" in text(app)
        await pilot.press("j")
        assert "filter tags" not in text(app)
        await pilot.press("exclamation_mark")
        assert "Nothing was lost" in text(app)
        await pilot.press("q")
        await pilot.press("q")
        assert not app.is_running or app._exit

    play(app, script)


def test_a_filter_that_is_typed_at_once(app: WatchApp) -> None:
    async def script(app: WatchApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: drawn(app))
        for name, character in [("slash", "/"), *((each, each) for each in "val"), ("slash", "/")]:
            app.post_message(Key(name, character))
        await until(pilot, lambda: app.model.tag_filter == "val/")
        assert app.model.kind == "scalars"

    play(app, script)


def test_zoom_and_pan(app: WatchApp) -> None:
    async def script(app: WatchApp, pilot: Pilot[None]) -> None:
        model = app.model
        await until(pilot, lambda: drawn(app))
        await pilot.press("slash", *"train/loss", "enter")
        await until(pilot, lambda: model.cards == ["train/loss"] and drawn(app))
        await pilot.press("plus")
        assert model.zoom == (99.5, 199)
        await pilot.press("left_square_bracket")
        assert model.zoom == (74.625, 174.125)
        await until(pilot, lambda: "160" in text(app) and "zoom" in text(app))
        await pilot.press("minus", "0")
        assert model.zoom is None

    play(app, script)


def test_u_shows_curves_that_leave_the_range(tmp_path: Path) -> None:
    for run in range(4):
        with tbq.SummaryWriter(tmp_path / f"r{run}") as writer:
            for step in range(60):
                rising = 0.1 + step / 80 if run == 3 else 0.1
                writer.add_scalar("accuracy", rising, step)
                writer.add_scalar("loss", 1e6 if run == 3 and step > 30 else 1 / (step + 1), step)

    async def script(app: WatchApp, pilot: Pilot[None]) -> None:
        def of(tag: str) -> str:
            return next((plain(pane.lines) for pane in app.query(CardPane) if pane.tag == tag), "")

        await until(pilot, lambda: "1 run leaves" in of("loss"))
        assert "▲1M" in of("loss") and "u shows all" in of("loss")
        assert "leaves" not in of("accuracy")  # the best run of a score is not an outlier
        await pilot.press("u")
        await until(pilot, lambda: "leaves" not in of("loss"))
        assert app.model.outliers and "▲" not in of("loss") and "1M" in of("loss")
        await pilot.press("u")
        await until(pilot, lambda: "1 run leaves" in of("loss"))

    for app in app_of(tmp_path):
        play(app, script, size=(140, 34))


def test_zoom_is_of_all_charts_on_the_screen(app: WatchApp) -> None:
    async def script(app: WatchApp, pilot: Pilot[None]) -> None:
        model = app.model
        await until(pilot, lambda: drawn(app) and len(model.tags) == 6)
        await pilot.press(*["right"] * 5)
        await until(pilot, lambda: drawn(app) and model.tag == "hparam/accuracy")  # which has one point
        await pilot.press("plus")
        assert model.zoom == (100, 200)  # the chart beside it begins at step 0
        await until(pilot, lambda: drawn(app) and "160" in text(app))
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: "no data in this range" in text(app))
        await pilot.press("0")
        await until(pilot, lambda: drawn(app) and "no data in this range" not in text(app))

    play(app, script)


def test_compare(app: WatchApp) -> None:
    async def script(app: WatchApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: drawn(app))
        await pilot.press("j", "c")
        assert "compare with" in text(app)
        await pilot.press("j", "c")
        await until(pilot, lambda: "B − A" in text(app))
        assert "A○ lr=0.01/seed=0" in text(app)
        assert "B○ lr=0.01/seed=1" in text(app)
        await pilot.press("c")
        assert "B − A" not in text(app)

    play(app, script)


def test_other_kinds_of_data(app: WatchApp) -> None:
    async def script(app: WatchApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: app.model.loaded)
        await pilot.press("v")
        await until(pilot, lambda: "▀▀▀" in text(app))
        await pilot.press("v")
        await until(pilot, lambda: "the picture turns" in text(app))
        await pilot.press("v")
        await until(pilot, lambda: "median" in text(app) and "█" in text(app))
        await pilot.press("1")
        await until(pilot, lambda: drawn(app))

    play(app, script)


def test_the_mouse(app: WatchApp) -> None:
    async def script(app: WatchApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: drawn(app))
        await pilot.click(RunPane, offset=(5, 3))
        assert app.model.run == app.model.listed[2]
        pane = [pane for pane in app.query(CardPane) if pane.tag][1]
        await pilot.click(pane)
        assert app.model.tag == pane.tag
        await pilot.click(pane, times=2)
        assert app.model.full

    play(app, script)


@pytest.mark.long
@pytest.mark.parametrize("size", [(80, 24), (120, 34), (40, 10), (20, 5), (8, 3), (200, 60)])
def test_any_size(app: WatchApp, size: tuple[int, int]) -> None:
    async def script(app: WatchApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: app.model.loaded)
        await pilot.press("w")
        await pilot.pause()
        await pilot.press("w", "j", "s", "question_mark", "j", "2", "3", "4")
        await pilot.pause()
        await pilot.resize_terminal(90, 25)
        await pilot.press("1")
        await until(pilot, lambda: drawn(app))

    play(app, script, size)


def test_live_data_and_only_what_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "runs"
    refreshed: list[tuple[str, int]] = []
    refresh = Pane.refresh

    def count(self: Pane, *regions: Region, **options: Any) -> Any:
        refreshed.extend((self.id or "card", region.y) for region in regions)
        return refresh(self, *regions, **options)

    async def script(app: WatchApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: "does not exist" in text(app))
        with tbq.SummaryWriter(root / "a") as a, tbq.SummaryWriter(root / "b") as b:
            for step in range(100):
                a.add_scalar("loss", 1.0, step)
                b.add_scalar("other", 1.0, step)
            a.flush()
            b.flush()
            await until(pilot, lambda: len(app.model.runs) == 2 and drawn(app))
            await pilot.press("a")  # b, which is not selected, is not drawn in the chart of `loss`
            await until(pilot, lambda: drawn(app))
            await pilot.pause(0.5)
            monkeypatch.setattr(Pane, "refresh", count)
            b.add_scalar("third", 7.0, 99)
            b.flush()
            await until(pilot, lambda: "third" in app.model.tags)
            await pilot.pause(0.5)
            changed = {y for name, y in refreshed if name == "runs"}
            assert 1 not in changed, "the line of run a did not change"
            a.add_scalar("loss", math.nan, 101)
            a.flush()
            await until(pilot, lambda: app.model.states.get("a") == "diverged" and "≁ a" in text(app))

    generator = app_of(root)
    play(next(generator), script)
    generator.close()


def test_news_that_come_while_the_app_ends(app: WatchApp) -> None:
    async def script(app: WatchApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: drawn(app))
        await app.screen.remove_children()
        app._take(Poll())
        app._tick()

    play(app, script)
