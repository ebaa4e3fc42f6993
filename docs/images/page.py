"""Makes the pictures of the page again, `make recording`: the log of `tbq demo`, and three runs that grow."""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright
from watch import EVERY, SECONDS, save, train

import tbq

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "fixtures"))
from webpage import serving

SIZE = {"width": 1000, "height": 560}


@contextmanager
def opened(folder: Path, state: str = "", **size: int) -> Iterator[Page]:
    """The page of a log directory in a browser."""
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    with sync_playwright() as playwright, serving(folder) as url:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport=size, color_scheme="light")
        page.goto(f"{url}#{state}")
        yield page
        browser.close()


def draw(folder: Path, name: str) -> None:
    """Save a picture of the demo's runs by learning rate, with the readings below the cursor."""
    tbq.demo(folder)
    with opened(folder, "group=hparam.lr&smooth=0.4", width=1280, height=800) as page:
        chart = page.locator(".card canvas").nth(1)
        chart.wait_for()
        page.wait_for_load_state("networkidle")
        box = chart.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 0.45 * box["width"], box["y"] + 0.7 * box["height"])
        page.wait_for_selector(".tooltip")
        page.screenshot(path=Path(__file__).parent / name)


def record(folder: Path) -> list[Image.Image]:
    """Pictures of the page, one every `EVERY` seconds."""
    pictures = []
    with opened(folder, **SIZE) as page:
        end = time.monotonic() + SECONDS
        jobs = [threading.Thread(target=train, args=(folder, rate, end)) for rate in (0.1, 0.3, 1.0)]
        for job in jobs:
            job.start()
        page.wait_for_selector("canvas")
        while time.monotonic() < end:
            page.wait_for_timeout(EVERY * 1000)
            pictures.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
        for job in jobs:
            job.join()
    return pictures


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        draw(Path(name) / "demo", "page.png")
        runs = Path(name) / "runs"
        runs.mkdir()
        save(record(runs), "page.gif")
