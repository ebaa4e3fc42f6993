"""A fresh JupyterLab: a live chart that grows, the page in a cell, and what a saved notebook shows without a kernel."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from waiting import wait_for
from webpage import SCREENS, Tab

import tbq

for module in ("jupyterlab", "anywidget", "ipykernel"):
    pytest.importorskip(module)

EVIL = "<img src=x onerror=alert(1)>"
CELLS = ["%load_ext tbq", "import tbq\ntbq.live('runs')", "%tbq serve runs"]


def write(folder: Path, first: int, last: int) -> None:
    """More steps of two runs."""
    for run, rate in (("lr=0.1", 0.1), (f"{EVIL} lr=0.3", 0.3)):
        with tbq.SummaryWriter(folder / run) as writer:
            for step in range(first, last):
                writer.add_scalar("val/loss", 2 / (1 + rate * step), step)
                writer.add_scalar("train/accuracy", 1 - 1 / (1 + rate * step), step)


def notebook(path: Path, cells: list[str]) -> None:
    nbformat = pytest.importorskip("nbformat")
    content = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each) for each in cells])
    content.metadata["kernelspec"] = {"display_name": "here", "language": "python", "name": "here"}
    nbformat.write(content, path)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A JupyterLab with an empty configuration, and a kernel of this Python; its folder and address."""
    home = tmp_path_factory.mktemp("home")
    folder = home / "work"
    folder.mkdir()
    spec = home / "data" / "kernels" / "here"
    spec.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(
        json.dumps({"argv": argv, "display_name": "here", "language": "python"})
    )
    quiet = home / "config" / "labconfig" / "page_config.json"
    quiet.parent.mkdir(parents=True)
    quiet.write_text(
        json.dumps({"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}})
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    places = {
        name: str(home / name.split("_")[1].lower())
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    }
    flags = [f"--ServerApp.port={port}", "--ServerApp.port_retries=0", "--IdentityProvider.token=secret",
             f"--ServerApp.root_dir={folder}", "--no-browser", "--allow-root"]  # fmt: skip
    with (home / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *flags], env=os.environ | places, stdout=log, stderr=log,
        )  # fmt: skip
    try:
        address = f"http://127.0.0.1:{port}"
        for _ in range(300):
            with suppress(OSError):
                urllib.request.urlopen(f"{address}/api/status?token=secret").close()
                break
            assert process.poll() is None, (home / "log").read_text()
            time.sleep(0.2)
        yield folder, address
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:  # it may wait for ever for a kernel that was starting
            process.kill()
            process.wait()


def run_cells(tab: Tab, address: str, name: str) -> None:
    tab.page.goto(f"{address}/lab/tree/{name}?token=secret&reset")
    tab.page.locator(".jp-Notebook .jp-CodeCell").first.wait_for(timeout=60_000)
    tab.page.get_by_text("here | Idle").wait_for(timeout=60_000)  # the kernel is ready
    tab.page.get_by_role("menuitem", name="Run", exact=True).click()
    tab.page.get_by_text("Run All Cells", exact=True).click()


def points(tab: Tab) -> str:
    return tab.page.locator(".tbq-plot canvas[role=img]").first.get_attribute("aria-label") or ""


def test_three_lines_show_a_live_chart(lab: tuple[Path, str], tabs: Callable[..., Tab]) -> None:
    folder, address = lab
    write(folder / "runs", 0, 50)
    notebook(folder / "live.ipynb", CELLS)
    tab = tabs(viewport={"width": 1280, "height": 1300})
    run_cells(tab, address, "live.ipynb")
    tab.page.locator(".tbq-card").nth(1).wait_for(timeout=60_000)
    assert wait_for(lambda: "100 points" in points(tab)), points(tab)
    titles = tab.page.locator(".tbq-title").all_inner_texts()
    assert titles == ["val/loss", "train/accuracy"]
    # A job writes more, and the chart has it without another cell.
    thread = threading.Thread(target=write, args=(folder / "runs", 50, 90))
    thread.start()
    assert wait_for(lambda: "180 points" in points(tab)), points(tab)
    thread.join()
    # Names are text, in the legend and in the tooltip.
    assert EVIL in tab.page.locator(".tbq-legend").first.inner_text()
    tab.page.locator(".tbq-plot").first.hover(position={"x": 200, "y": 80})
    assert "step" in tab.page.locator(".tbq-tip").first.inner_text()
    # The page is in the cell, with its own data.
    page = tab.page.frame_locator("iframe[title='tbq serve']")
    page.locator('[data-run="lr=0.1"]').wait_for(timeout=60_000)
    picture = tab.page.locator(".jp-RenderedImage img")
    assert picture.count() == 1 and not picture.is_visible()
    SCREENS.mkdir(parents=True, exist_ok=True)
    tab.page.screenshot(path=SCREENS / "notebook.png")
    assert not [each for each in tab.wrong if "dialog" in each or "tbq" in each], tab.wrong
    # Later, without the kernel: the picture shows, and the page's server has ended with the kernel.
    tab.page.keyboard.press("Control+s")
    assert wait_for(lambda: "image/png" in (folder / "live.ipynb").read_text())
    asked = {"headers": {"Authorization": "token secret"}}
    for session in json.load(
        urllib.request.urlopen(urllib.request.Request(f"{address}/api/sessions", **asked))
    ):
        place = f"{address}/api/sessions/{session['id']}"
        urllib.request.urlopen(urllib.request.Request(place, method="DELETE", **asked)).close()
    later = tabs(viewport={"width": 1280, "height": 900})
    later.page.goto(f"{address}/lab/tree/live.ipynb?token=secret&reset")
    later.page.locator(".jp-RenderedImage img").wait_for(timeout=60_000)
    assert later.page.locator(".jp-RenderedImage img").evaluate("image => image.naturalWidth") > 300
    assert later.page.get_by_text("tbq serve runs: run this cell to see the page.").is_visible()
    later.page.get_by_text("install jupyter-server-proxy").wait_for(
        timeout=60_000
    )  # as if it could not be reached
    assert later.page.locator("iframe[title='tbq serve']").count() == 0
    later.page.screenshot(path=SCREENS / "notebook-later.png")
