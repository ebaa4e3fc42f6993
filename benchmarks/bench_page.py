"""Issue 16: the page in Chromium: from the start to drawn curves, zoom, hover, wire, heap; beside TensorBoard's page."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.bench_serve import Server
from benchmarks.harness import megabytes, seconds

if TYPE_CHECKING:
    from benchmarks.harness import Bench

TAG = "loss/train"
LONGEST = 180.0  # seconds that TensorBoard's page may take
_DRAWN = "(tag) => { const c = tbq.charts.get(tag); return c && c.curves && c.layout && !c.stale && c.curves.series.length === 1000 }"


def run(bench: Bench) -> None:
    from playwright.sync_api import sync_playwright

    path = bench.corpus("page")
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--enable-precise-memory-info"]
        )
        ours = _ours(bench, browser, path)
        if not bench.quick:
            theirs = _tensorboard(browser, path)
            shown = seconds(theirs) if theirs < LONGEST else f"not in {LONGEST:.0f} s"
            bench.add("page: drawn curves, beside TensorBoard's page", seconds(ours), shown, theirs / ours)
        _table(bench, browser)
        browser.close()


def _limit(bench: Bench, what: str, shown: str, figure: float, limit: float, words: str) -> None:
    bench.add(what, shown, f"limit {words}", figure / limit, "<= 1x")


def _ours(bench: Bench, browser: Any, path: Path) -> float:
    with Server(path) as server:
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        page = context.new_page()
        wire: list[int] = []
        page.on("requestfinished", lambda request: wire.append(request.sizes()["responseBodySize"]))
        page.goto(server.url)
        page.wait_for_function(_DRAWN, arg=TAG, timeout=120_000)
        drawn = time.perf_counter() - server.began
        server.complete()
        page.wait_for_timeout(1500)
        _limit(bench, "page: start of the process to drawn curves", seconds(drawn), drawn, 3.0, "3 s")
        page.reload()
        wire.clear()
        page.wait_for_function(_DRAWN, arg=TAG, timeout=120_000)
        total = sum(wire)
        _limit(bench, "page: over the wire until curves are drawn", megabytes(total), total, 3e6, "3 MB")
        zooms = [_zoom(page, turn) for turn in range(10 if bench.quick else 40)]
        p95 = statistics.quantiles(zooms, n=20)[-1]
        _limit(bench, "page: zoom to new pixels, p95", seconds(p95 / 1000), p95, 150, "150 ms")
        hovers = _hovers(page)
        _limit(bench, "page: hover, p95", seconds(hovers / 1000), hovers, 16, "16 ms")
        heap = page.evaluate("performance.memory.usedJSHeapSize")
        _limit(bench, "page: heap", megabytes(heap), heap, 200e6, "200 MB")
        context.close()
    return drawn


def _zoom(page: Any, turn: int) -> float:
    """Milliseconds from the new range to the curves of that range on the canvas."""
    low = 500 + 400 * turn
    took: float = page.evaluate(
        """async ([tag, low, high]) => {
            const c = tbq.charts.get(tag);
            const begin = performance.now();
            tbq.state.zoom.value = [low, high];
            while (!(c.curves.low === low && c.curves.high === high)) await new Promise((r) => requestAnimationFrame(r));
            return performance.now() - begin;
        }""",
        [TAG, low, low + 2500],
    )
    return took


def _hovers(page: Any) -> float:
    """Milliseconds that a move of the mouse keeps the page busy, p95."""
    took: list[float] = page.evaluate(
        """async () => {
            const plot = document.querySelector('.plot');
            const box = plot.getBoundingClientRect();
            const list = [];
            for (let i = 0; i < 100; i++) {
                await new Promise((r) => requestAnimationFrame(r));
                const begin = performance.now();
                plot.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + 60 + i * 3, clientY: box.top + 60 + (i % 50), bubbles: true }));
                await Promise.resolve();
                list.push(performance.now() - begin);
            }
            return list;
        }"""
    )
    return statistics.quantiles(took, n=20)[-1]


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
            p95 = statistics.quantiles(took, n=20)[-1]
            _limit(bench, "page: 1,500 runs × 300 columns sort, p95", seconds(p95 / 1000), p95, 100, "100 ms")
            page.close()


def _tensorboard(browser: Any, path: Path) -> float:
    """Seconds from the start of TensorBoard until its time series dashboard has the curves of all runs."""
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
        try:
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            while time.perf_counter() - began < LONGEST:
                try:
                    page.goto("http://127.0.0.1:16016/#scalars")
                    break
                except Exception:  # it does not listen yet
                    time.sleep(0.2)
            while time.perf_counter() - began < LONGEST:
                # The classic dashboard draws one path per run.
                drawn = page.evaluate(
                    "() => { let n = 0; const walk = (r) => { for (const e of r.querySelectorAll('*')) { if (e.tagName === 'path' && e.closest('svg')) n++; if (e.shadowRoot) walk(e.shadowRoot) } }; walk(document); return n }"
                )
                if drawn >= 1000:
                    return time.perf_counter() - began
                time.sleep(0.25)
            return LONGEST
        finally:
            process.terminate()
