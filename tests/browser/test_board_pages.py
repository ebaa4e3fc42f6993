"""Every dashboard of `tbq board` in a real Chromium; screenshots are kept in build/screens, to be looked at."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boards
import eventfile as ef
import pytest
from waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SCREENS = Path(os.environ.get("TBQ_SCREENS", Path(__file__).parents[2] / "build" / "screens"))

# Tab: words that its page must show, in any frame.
TABS = {
    "timeseries": "exact",
    "scalars": "train",
    "custom_scalars": "losses",
    "images": "new/image",
    "audio": "tone",
    "graphs": "dense",
    "distributions": "old/histogram",
    "histograms": "old/histogram",
    "text": "the picture turns",
    "pr_curves": "classifier",
    "hparams": "optimizer",
    "mesh": "cube",
    "projector": "1 tensor found",
    "profile": "tbq board does not show profiles",
    "debugger-v2": "tbq board does not show debugger dumps",
}


@pytest.fixture(scope="module")
def browser(launch: Callable[..., Any]) -> Iterator[Any]:
    # A mesh and an embedding are drawn with WebGL, in software where there is no graphics card.
    started = launch("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
    yield started
    started.close()


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[boards.Board]:
    logdir = boards.everything(tmp_path_factory.mktemp("logs"))
    (logdir / "media" / "plugins" / "profile").mkdir(parents=True)
    (logdir / "tfdbg_events.1.metadata").write_bytes(b"")
    with boards.serving(boards.BOARD, tmp_path_factory.mktemp("words"), str(logdir)) as served:
        wait_for(lambda: served.get("plugins_listing")["projector"]["enabled"])
        yield served


class Page:
    """A browser tab, and its errors."""

    def __init__(self, browser: Any) -> None:
        self.page = browser.new_page(viewport={"width": 1400, "height": 900})
        self.wrong: list[str] = []
        self.types: list[str] = []  # of what was loaded
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("response", self._note)

    def _note(self, answer: Any) -> None:
        self.types.append(answer.headers.get("content-type", ""))
        if answer.status >= 400:
            self.wrong.append(f"{answer.status} {answer.url}")

    def shows(self, words: str) -> bool:
        self.page.wait_for_timeout(50)
        return any(frame.get_by_text(words).count() for frame in self.page.frames)

    def keep(self, name: str) -> None:
        SCREENS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENS / f"board-{name}.png")


@pytest.fixture
def page(browser: Any) -> Iterator[Page]:
    opened = Page(browser)
    yield opened
    opened.page.close()


@pytest.mark.parametrize("tab", TABS)
def test_dashboard(board: boards.Board, page: Page, tab: str) -> None:
    page.page.goto(f"{board.url}#{tab}", wait_until="networkidle")
    wait_for(lambda: page.shows(TABS[tab]))
    page.page.wait_for_timeout(2500)  # curves are drawn with an animation
    page.keep(tab)
    assert not page.wrong
    assert {"images": "image/png", "audio": "audio/"}.get(tab, "") in " ".join(page.types)
    assert "Traceback" not in board.stderr()


def test_two_tabs_see_a_run_grow(browser: Any, tmp_path: Path) -> None:
    """Both pages show a new point after a reload by their own button."""
    run = tmp_path / "logs" / "run"
    run.mkdir(parents=True)
    path = run / "events.out.tfevents.1.host"
    path.write_bytes(ef.event_file([ef.version(), *(ef.scalar("loss", step, step) for step in range(5))]))
    with boards.serving(boards.BOARD, tmp_path / "words", str(tmp_path / "logs")) as served:
        pages = [Page(browser) for _ in range(2)]
        for each in pages:
            each.page.goto(f"{served.url}#timeseries", wait_until="networkidle")
            each.page.get_by_text("loss").first.wait_for()
        with path.open("ab") as file:
            for step in range(5, 50):
                file.write(ef.event_file([ef.scalar("loss", step, step)]))
                file.flush()
        (tmp_path / "logs" / "late").mkdir()
        (tmp_path / "logs" / "late" / "events.out.tfevents.1").write_bytes(path.read_bytes())
        wait_for(lambda: served.get("runs") == ["late", "run"])
        for number, each in enumerate(pages):
            each.page.locator("app-header-reload button").click()
            each.page.get_by_text("late", exact=True).first.wait_for(timeout=30_000)
            each.page.wait_for_timeout(1500)
            each.keep(f"grown-{number}")
            assert not each.wrong
            each.page.close()


def test_an_empty_directory_that_is_filled(browser: Any, page: Page, tmp_path: Path) -> None:
    with boards.serving(boards.BOARD, tmp_path / "words", str(tmp_path / "logs")) as served:
        page.page.goto(served.url, wait_until="networkidle")
        page.page.get_by_text("No dashboards are active").first.wait_for(timeout=30_000)
        page.keep("empty")
        boards.everything(tmp_path / "logs")
        wait_for(lambda: "raw/a b" in served.get("runs"))  # the run that is written last
        page.page.reload(wait_until="networkidle")
        page.page.get_by_text("exact").first.wait_for(timeout=30_000)
        page.keep("filled")
        assert not page.wrong
