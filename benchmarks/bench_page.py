"""The page in Chromium: time to drawn curves, zoom, hover, bytes, heap; compared with TensorBoard's page."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.bench_serve import Server
from benchmarks.harness import UnavailableError, megabytes, seconds

if TYPE_CHECKING:
    from benchmarks.harness import Bench

TAG = "loss/train"
LONGEST = 240.0  # seconds that TensorBoard's page may take
#: Everything was read, the chart shows all of it, nothing newer is pending, and the canvas is drawn.
_DRAWN = """(tag) => {
    const c = globalThis.tbq?.charts.get(tag), server = globalThis.tbq?.runs.server.value;
    return c && server && server.loaded && !server.left && c.curves && c.layout && !c.stale && !c.flying && !c.frame
        && c.version === server.version && c.curves.series.length === 1000;
}"""
#: The share of the chart's pixels that differ from its corner; it is large once the curves are drawn.
_COVERED = """(tag) => {
    const { base, layout } = tbq.charts.get(tag);
    const { left, top, right, bottom } = layout;
    const { data } = base.getContext('2d').getImageData(left, top, right - left, bottom - top);
    let coloured = 0;
    for (let i = 0; i < data.length; i += 4) if (Math.max(...[0, 1, 2].map((k) => Math.abs(data[i + k] - data[k]))) > 60) coloured++;
    return coloured / (data.length / 4);
}"""


def run(bench: Bench) -> None:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise UnavailableError("pip install playwright") from None

    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        raise UnavailableError("there is no Chromium (Debian: chromium)")
    path = bench.corpus_in_memory("page")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--enable-precise-memory-info"]
        )
        ours = _ours(bench, browser, path)
        _appended(bench, browser)
        _report(bench, browser, path)
        if not bench.quick:
            theirs, words = _tensorboard(browser, path)
            shown = f"{seconds(theirs)}, {words}" if theirs < LONGEST else f"not in {LONGEST:.0f} s"
            bench.add("page: drawn curves, beside TensorBoard's page", seconds(ours), shown, theirs / ours)
        _table(bench, browser)
        browser.close()


def _limit(bench: Bench, what: str, shown: str, figure: float, limit: float, words: str) -> None:
    bench.add(what, shown, f"limit {words}", figure / limit, "<= 1x")


def _p95(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=20, method="inclusive")[-1]


def _ours(bench: Bench, browser: Any, path: Path) -> float:
    starts = [_start(browser, path) for _ in range(1 if bench.quick else 3)]
    drawn = statistics.median(starts)
    _limit(bench, "page: start of the process to drawn curves", seconds(drawn), drawn, 1.5, "1.5 s")
    with Server(path) as server:
        server.complete()
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        page = context.new_page()
        page.add_init_script("window.tbqUnderTest = true")
        wire: list[int] = []
        page.on("requestfinished", lambda request: wire.append(request.sizes()["responseBodySize"]))
        page.goto(server.url)
        page.wait_for_function(_DRAWN, arg=TAG, timeout=120_000)
        total = sum(wire)
        _limit(bench, "page: over the wire until curves are drawn", megabytes(total), total, 3e6, "3 MB")
        zooms = [_zoom(page, turn) for turn in range(10 if bench.quick else 40)]
        p95 = _p95(zooms)
        shown = f"{seconds(p95 / 1000)} (median {seconds(statistics.median(zooms) / 1000)})"
        _limit(bench, "page: zoom to new pixels, p95", shown, p95, 100, "100 ms")
        hovers = _hovers(page)
        _limit(bench, "page: hover, p95", seconds(hovers / 1000), hovers, 16, "16 ms")
        heap = page.evaluate("performance.memory.usedJSHeapSize")
        _limit(bench, "page: heap", megabytes(heap), heap, 200e6, "200 MB")
        context.close()
    return drawn


def _start(browser: Any, path: Path) -> float:
    """Seconds from the start of the process until all points are on the screen; the browser is open before."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.add_init_script("window.tbqUnderTest = true")
    with Server(path) as server:
        page.goto(server.url, wait_until="commit")
        page.wait_for_function(_DRAWN, arg=TAG, timeout=120_000)
        drawn = time.perf_counter() - server.began
        covered = page.evaluate(_COVERED, TAG)
        if covered < 0.2:
            raise AssertionError(f"curves cover {covered:.1%} of the chart: they are not drawn")
        context.close()
    return drawn


def _zoom(page: Any, turn: int) -> float:
    """Milliseconds from the new range to the frame after the one in which the curves of that range were drawn."""
    low = 500 + 400 * turn
    took: float = page.evaluate(
        """async ([tag, low, high]) => {
            const c = tbq.charts.get(tag);
            const frame = () => new Promise((r) => requestAnimationFrame(r));
            await frame();
            const begin = performance.now();
            tbq.state.zoom.value = [low, high];
            while (!(c.curves.low === low && c.curves.high === high && c.layout.xs.low === low && !c.frame)) await frame();
            await frame();
            return performance.now() - begin;
        }""",
        [TAG, low, low + 2500],
    )
    return took


def _appended(bench: Bench, browser: Any) -> None:
    """The longest time from a write until the point is on a canvas."""
    import tbq

    worst = 0.0
    with tempfile.TemporaryDirectory() as folder, tbq.SummaryWriter(Path(folder, "run")) as writer:
        for step in range(100):
            writer.add_scalar("loss", 1 / (step + 1), step)
        writer.flush()
        with Server(Path(folder)) as server:
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.add_init_script("window.tbqUnderTest = true")
            page.goto(server.url)
            shown = "(step) => { const c = tbq.charts.get('loss'); return c && c.curves && c.curves.high >= step && c.layout && c.layout.xs.high >= step && !c.frame }"
            page.wait_for_function(shown, arg=99, timeout=60_000)
            for turn in range(8 if bench.quick else 25):
                time.sleep(0.7 + 0.13 * (turn % 7))
                writer.add_scalar("loss", 0.5, 100 + turn)
                writer.flush()
                began = time.perf_counter()
                page.wait_for_function(shown, arg=100 + turn, timeout=60_000)
                worst = max(worst, time.perf_counter() - began)
            page.close()
    _limit(bench, "page: an appended event is on the screen (worst)", seconds(worst), worst, 1.0, "1 s")


def _report(bench: Bench, browser: Any, path: Path) -> None:
    """`tbq report` of the same log: its size, and from opening the file until its curves answer the mouse."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "report.html")
        began = time.perf_counter()
        subprocess.run([sys.executable, "-m", "tbq", "report", str(path), "-o", str(target)], check=True)
        made, size = time.perf_counter() - began, target.stat().st_size
        shown = f"{megabytes(size)}, made in {seconds(made)}"
        _limit(bench, "report: 20 million points", shown, size, 5e6, "5 MB")
        times = []
        for _ in range(1 if bench.quick else 5):
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.add_init_script("window.tbqUnderTest = true")
            began = time.perf_counter()
            page.goto(target.as_uri(), wait_until="commit")
            drawn = "(tag) => { const c = globalThis.tbq?.charts.get(tag); return c && c.curves && c.layout && !c.frame && c.curves.series.length === 1000 && document.querySelectorAll('.table [role=row]').length > 5 }"
            page.wait_for_function(drawn, arg=TAG, timeout=60_000)
            _hovers(page, 1)
            times.append(time.perf_counter() - began)
            page.close()
        taken = statistics.median(times)
        _limit(bench, "report: interactive", seconds(taken), taken, 1.5, "1.5 s")


def _hovers(page: Any, count: int = 100) -> float:
    """Milliseconds that a move of the mouse keeps the page busy, p95."""
    took: list[float] = page.evaluate(
        """async (count) => {
            const plot = document.querySelector('.plot');
            const box = plot.getBoundingClientRect();
            const list = [];
            for (let i = 0; i < count; i++) {
                await new Promise((r) => requestAnimationFrame(r));
                const begin = performance.now();
                plot.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + 60 + i * 3, clientY: box.top + 60 + (i % 50), bubbles: true }));
                await Promise.resolve();
                list.push(performance.now() - begin);
            }
            return list;
        }""",
        count,
    )
    return _p95(took) if count > 1 else took[0]


def _table(bench: Bench, browser: Any) -> None:
    """1,500 runs with 300 columns, sorted by one of them: until the rows are drawn."""
    import tbq

    with tempfile.TemporaryDirectory(dir=bench.corpus("page").parent) as folder:
        for number in range(1500):
            with tbq.SummaryWriter(Path(folder) / f"run_{number:04}") as writer:
                for tag in range(300):
                    writer.add_scalar(f"m/{tag:03}", (number * 7919 + tag * 104729) % 1000, 1)
        with Server(Path(folder)) as server:
            server.complete()
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.add_init_script("window.tbqUnderTest = true")
            columns = "&".join(f"column=m/{tag:03}:last" for tag in range(300))
            page.goto(f"{server.url}#wide=1&{columns}")
            page.wait_for_function("() => Object.keys(tbq.runs.metrics.value).length >= 300", timeout=120_000)
            took: list[float] = page.evaluate(
                """async () => {
                    const list = [];
                    for (let i = 0; i < 20; i++) {
                        const begin = performance.now();
                        tbq.state.sort.value = `m/${String(i * 13).padStart(3, '0')}:last`;
                        await new Promise((r) => requestAnimationFrame(() => setTimeout(r)));
                        list.push(performance.now() - begin);
                    }
                    return list;
                }"""
            )
            p95 = _p95(took)
            _limit(bench, "page: 1,500 runs × 300 columns sort, p95", seconds(p95 / 1000), p95, 100, "100 ms")
            page.close()


def _tensorboard(browser: Any, path: Path) -> tuple[float, str]:
    """Seconds from the start of TensorBoard until its page shows the curves of all runs, and how it got there.

    Its server answers before it has read everything, and its page does not reload by itself, so the page is opened when
    everything has been read. With more than 40 runs it draws none until they are selected, so the benchmark clicks its
    first check box, which selects all. Its canvas cannot be read: curves are drawn when the picture of the card has
    their colours, and complete when two pictures in a row are the same.
    """
    import tbq

    last = tbq.open(path).runs[-1]
    address = "http://127.0.0.1:16016/"
    began = time.perf_counter()
    command = [
        sys.executable,
        "-m",
        "tensorboard.main",
        "--logdir",
        str(path),
        "--port",
        "16016",
        "--load_fast",
        "true",
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.add_init_script("window.tbqUnderTest = true")
        try:
            query = urllib.parse.urlencode({"tag": TAG, "run": last})
            while not _complete(f"{address}data/plugin/scalars/scalars?{query}", 19_999):
                if time.perf_counter() - began > LONGEST:
                    return LONGEST, ""
                time.sleep(0.1)
            page.goto(f"{address}#timeseries")
            boxes = page.locator("runs-data-table input[type=checkbox]")
            boxes.nth(5).wait_for(
                timeout=LONGEST * 1000
            )  # the runs are listed: before that there is nothing to choose
            before = b""
            while time.perf_counter() - began < LONGEST:
                if not boxes.first.is_checked():  # its page may still be too busy for a click
                    boxes.first.click(timeout=LONGEST * 1000)
                now = page.locator("line-chart").first.screenshot()
                if now == before and _coloured(now) > 0.05:
                    return (
                        time.perf_counter() - began,
                        "after a click that chooses all runs; 1,000 points of each",
                    )
                before = now
                time.sleep(0.2)
            return LONGEST, ""
        finally:
            page.close()
            process.terminate()


def _complete(url: str, step: int) -> bool:
    """Whether TensorBoard has read this run to its end."""
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            points = json.loads(answer.read())
    except (OSError, ValueError):
        return False
    return bool(points) and points[-1][1] >= step


def _coloured(picture: bytes) -> float:
    """The share of the pixels of a PNG that are not grey."""
    import io

    import numpy as np
    from PIL import Image

    pixels = np.asarray(Image.open(io.BytesIO(picture)).convert("RGB")).astype(int)
    return float(((pixels.max(axis=2) - pixels.min(axis=2)) > 30).mean())
