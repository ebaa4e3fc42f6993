"""A Chromium, the page of the sample log, and tabs."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import sync_playwright
from webpage import Tab, serving

import tbq


@pytest.fixture(scope="session")
def launch() -> Iterator[Callable[..., Any]]:
    """Starts Debian's Chromium, or another that is installed, or Playwright's own; a process has one Playwright."""
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    with sync_playwright() as playwright:
        yield lambda *flags: playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", *flags]
        )


@pytest.fixture(scope="session")
def chromium(launch: Callable[..., Any]) -> Iterator[Any]:
    started = launch()
    yield started
    started.close()


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page of the sample log."""
    path = tmp_path_factory.mktemp("demo") / "runs"
    tbq.demo(path)
    with serving(path) as url:
        yield url


@pytest.fixture
def tab(chromium: Any) -> Iterator[Tab]:
    made = Tab(chromium)
    yield made
    made.close()


@pytest.fixture
def tabs(chromium: Any) -> Iterator[Callable[..., Tab]]:
    """Tabs of another size or scheme."""
    opened: list[Tab] = []

    def make(**options: Any) -> Tab:
        opened.append(Tab(chromium, **options))
        return opened[-1]

    yield make
    for each in opened:
        each.close()
