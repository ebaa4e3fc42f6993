"""Records docs/images/page.gif again, `make recording`: the page of `tbq serve` while three runs are written."""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright
from watch import EVERY, SECONDS, save, train

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "fixtures"))
from webpage import serving

SIZE = {"width": 1000, "height": 560}


def record(folder: Path) -> list[Image.Image]:
    """Pictures of the page, one every `EVERY` seconds."""
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    pictures = []
    with sync_playwright() as playwright, serving(folder) as url:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(url)
        end = time.monotonic() + SECONDS
        jobs = [threading.Thread(target=train, args=(folder, rate, end)) for rate in (0.1, 0.3, 1.0)]
        for job in jobs:
            job.start()
        page.wait_for_selector("canvas")
        while time.monotonic() < end:
            page.wait_for_timeout(EVERY * 1000)
            pictures.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
        browser.close()
        for job in jobs:
            job.join()
    return pictures


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        runs = Path(name) / "runs"
        runs.mkdir()
        save(record(runs), "page.gif")
