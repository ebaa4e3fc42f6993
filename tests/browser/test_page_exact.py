"""The page's numbers are those of the log: 64-bit floats, steps past 2^53, smoothed values, links, long texts."""

from __future__ import annotations

import math
import re
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from webpage import Tab, hover, serving

import tbq

FAR = 2**60 + 1  # not a 64-bit float
CURVES: dict[str, Callable[[int], float]] = {
    "offset": lambda i: 1.7e9 + 0.25 * i,
    "ripple": lambda i: 1 + 1e-9 * math.sin(i / 9),
    "huge": lambda i: 1e39 * (1 + math.sin(i / 9)),
    "largest": lambda i: 1.7e308 * math.sin(i / 9),
    "tiny": lambda i: 1e-60 * (2 + math.sin(i / 9)),
    "usual": lambda i: math.sin(i / 9),
}
LONG = "# Begin\n\n" + "\n".join(f"line {i} " + "x" * 90 for i in range(3000)) + "\nthe very end"


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("exact") / "runs"
    for run in range(2):
        with tbq.SummaryWriter(path / f"run{run}") as writer:
            for i in range(100):
                for tag, value in CURVES.items():
                    writer.add_scalar(tag, value(i + run), i, 1.7e9 + i / 8, exact=True)
                writer.add_scalar("late", float(i), 2_000_000_000 + i, 1.7e9 + i / 8)
            for k in range(3):
                writer.add_image("picture", np.full((1, 8, 8), k / 3, np.float32), FAR + k)
                writer.add_text("note", f"text {k}", FAR + k)
                writer.add_histogram("weights", np.arange(9.0) + k, FAR + k)
                writer.add_tensor("counts", np.array([2**60 + 3 + k, 5]), FAR + k)
            writer.add_text("long", LONG, 1)
            writer.add_hparams({"lr": 10.0 ** -(run + 1), "seed": 1.7e9 + run}, {"score": run}, run_name=".")
    return path


@pytest.fixture(scope="module")
def page(logs: Path) -> Iterator[str]:
    with serving(logs) as url:
        yield url


def spread(tab: Tab, tag: str) -> float:
    """The share of a chart's height that its curves take, in coloured pixels."""
    return float(
        tab.page.evaluate(
            """(tag) => { const c = tbq.charts.get(tag), l = c.layout, canvas = c.base, ratio = canvas.width / c.width;
            const d = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
            let [top, bottom] = [Infinity, -Infinity];
            for (let y = Math.floor((l.top - 4) * ratio); y < l.bottom * ratio - 2; y++) for (let x = Math.ceil(l.left * ratio); x < l.right * ratio; x++) {
              const p = (y * canvas.width + x) * 4;
              if (Math.max(d[p], d[p+1], d[p+2]) - Math.min(d[p], d[p+1], d[p+2]) > 60) { top = Math.min(top, y); bottom = Math.max(bottom, y); } }
            return Math.max(0, (bottom - top) / ((l.bottom - l.top) * ratio)); }""",
            tag,
        )
    )


def labels(tab: Tab, tag: str) -> list[str]:
    """The labels of the y axis, as the file of the chart has them."""
    tab.page.locator(f'.card[data-tag="{tag}"]').get_by_role("button", name=f"More for {tag}").click()
    with tab.page.expect_download() as saved:
        tab.page.get_by_role("button", name="Download SVG").click()
    svg = Path(saved.value.path()).read_text()
    return re.findall(r'text-anchor="end"[^>]*>([^<]*)<', svg)


@pytest.mark.parametrize("tag", CURVES)
def test_64_bit_values_are_drawn_as_they_are(page: str, tab: Tab, tag: str) -> None:
    tab.open(page, f"tags={tag}")
    drawn = tab.drawn(tag, "c.curves.series.length === 2")
    values = [CURVES[tag](i) for i in range(100)]
    assert drawn["series"][0]["last"] == values[-1]
    assert drawn["series"][0]["min"] == min(values)
    assert spread(tab, tag) > 0.8
    shown = labels(tab, tag)
    assert len(shown) >= 3 and len(set(shown)) == len(shown), shown
    tab.keep(f"exact-{tag}")
    assert not tab.wrong


def test_a_logarithmic_axis_keeps_small_differences(page: str, tab: Tab) -> None:
    tab.open(page, "tags=offset&log=offset")
    tab.drawn("offset", "c.layout.ys.log")
    assert spread(tab, "offset") > 0.8
    shown = labels(tab, "offset")
    assert len(shown) >= 3 and len(set(shown)) == len(shown), shown


def test_many_packed_curves_keep_small_differences(tmp_path: Path, tab: Tab) -> None:
    for run in range(260):
        with tbq.SummaryWriter(tmp_path / "runs" / f"{run}") as writer:
            for i in range(40):
                writer.add_scalar("clock", 1.7e9 + 0.25 * i + run / 1000, i, exact=True)
    with serving(tmp_path / "runs") as url:
        tab.open(url, "full=clock")
        chart = "tbq.charts.get('clock (full)')"
        tab.until(lambda: tab.page.evaluate(f"window.tbq && {chart}?.curves?.series.length === 260"))
        tab.until(lambda: tab.page.evaluate(f"!!{chart}.layout?.raster"))
        assert spread(tab, "clock (full)") > 0.8
        assert not tab.wrong


def test_hover_shows_smoothed_and_raw_values_and_marks_the_line(demo: str, tab: Tab) -> None:
    tab.open(demo, "tags=train/loss&smooth=0.9&solo=lr%3D0.1/seed%3D0")
    tab.drawn("train/loss", "c.curves.series.length === 1 && c.curves.series[0].rawMin !== null")
    answers: list[Any] = []
    tab.page.on("response", lambda reply: answers.append(reply) if "api/nearest" in reply.url else None)
    hover(tab, "train/loss", 0.3)
    (point,) = tab.until(lambda: answers and answers[-1].json()["points"])
    assert point["smoothed"] != point["value"]
    tab.page.locator(".tooltip th", has_text="smoothed").wait_for()
    tab.page.locator(".tooltip th", has_text="raw").wait_for()
    cells = tab.until(
        lambda: (
            (found := tab.page.locator(".tooltip tbody td.num").all_inner_texts())
            and found[1] == point["text"]
            and found
        )
    )
    assert float(cells[0]) == pytest.approx(point["smoothed"], rel=2e-3)
    mark = tab.page.evaluate("tbq.charts.get('train/loss').marks")
    assert [(each["x"], each["y"]) for each in mark] == [(point["x"], point["smoothed"])]
    # The mark is on the line: the column at its x has the smoothed value.
    near = tab.page.evaluate(
        """() => { const c = tbq.charts.get("train/loss"), s = c.curves.series[0], m = c.marks[0], slope = (c.layout.ys.to - c.layout.ys.from) / (c.layout.ys.high - c.layout.ys.low);
        const width = (c.curves.high - c.curves.low) / c.curves.width;
        return Math.min(...[...s.x.keys()].filter((k) => Math.abs(s.x[k] - m.x) <= width && s.last[k] === s.last[k]).map((k) => m.y > s.max[k] ? (s.max[k] - m.y) * slope : m.y < s.min[k] ? (m.y - s.min[k]) * slope : 0).map(Math.abs)); }"""
    )
    assert near < 0.5
    tab.keep("hover-smoothed")
    tab.page.mouse.move(5, 5)
    tab.until(lambda: tab.page.evaluate("tbq.charts.get('train/loss').marks.length") == 0)
    assert not tab.wrong


def test_hover_without_smoothing_has_one_value(demo: str, tab: Tab) -> None:
    tab.open(demo, "tags=train/loss")
    tab.drawn("train/loss")
    hover(tab, "train/loss")
    tab.page.locator(".tooltip").wait_for()
    tab.until(lambda: tab.page.evaluate("tbq.charts.get('train/loss').marks.length") > 1)
    assert tab.page.locator(".tooltip th").count() == 0
    tab.keep("hover-plain")


def test_a_line_far_out_of_the_range_and_back_is_drawn(tmp_path: Path, tab: Tab) -> None:
    """On the screen, in the saved file, and in the small curve of the table, however large a value is."""
    for run in range(8):
        with tbq.SummaryWriter(tmp_path / f"run{run}") as writer:
            for i in range(100):
                writer.add_scalar("loss", 1e300 if (i, run) == (50, 7) else 1.0 + i / 1000, i, exact=True)
    with serving(tmp_path) as url:
        tab.open(url)
        tab.drawn("loss")
        inked = """(top) => { const c = tbq.charts.get("loss"), l = c.layout, r = c.base.width / c.width;
            const d = c.base.getContext("2d").getImageData(0, (l.top + top) * r, l.right * r, 4).data;
            let n = 0; for (let i = 0; i < d.length; i += 4) n += Math.max(...d.slice(i, i + 3)) - Math.min(...d.slice(i, i + 3)) > 40;
            return n }"""
        assert tab.page.evaluate(inked, 20)  # below the mark at the edge, above the other curves
        tab.page.get_by_role("button", name="More for loss").click()
        with tab.page.expect_download() as waiting:
            tab.page.get_by_role("button", name="Download SVG").click()
        saved = Path(waiting.value.path()).read_text("utf-8")
        assert "Infinity" not in saved and "NaN" not in saved
        small = tab.page.locator(".row[data-run=run7] .spark")
        high = "(e) => [...e.getContext('2d').getImageData(0, 0, 120, 12).data].some(Boolean)"
        tab.until(lambda: small.evaluate(high))
    assert tab.wrong == []


def test_a_zoom_by_hand_is_the_same_after_a_reload(page: str, tab: Tab) -> None:
    tab.open(page, "tags=late")
    tab.drawn("late")
    hover(tab, "late", 0.4321)
    tab.page.mouse.down()
    hover(tab, "late", 0.6543)
    tab.page.mouse.up()
    tab.drawn("late", "c.layout.xs.high < 2000000090")
    zoom = tab.page.evaluate("tbq.state.zoom.value")
    tab.page.reload()
    tab.drawn("late")
    assert tab.page.evaluate("tbq.state.zoom.value") == zoom


def test_steps_past_2_to_the_53_are_exact(page: str, tab: Tab) -> None:
    tab.open(page, "tab=media&kind=images")
    picture = tab.page.locator(".strip img").first
    tab.until(lambda: picture.evaluate("(e) => e.complete && e.naturalWidth > 0"))
    assert f"step={FAR + 2}" in (picture.get_attribute("src") or "")
    assert f"{FAR + 2:,}" in tab.page.locator(".slider.wide output").inner_text()
    tab.page.locator("#step").fill("1")
    tab.until(lambda: f"step={FAR + 1}" in (picture.get_attribute("src") or ""))
    tab.until(lambda: picture.evaluate("(e) => e.complete && e.naturalWidth > 0"))
    assert f"at={FAR + 1}" in tab.page.url
    tab.page.reload()
    tab.until(lambda: f"step={FAR + 1}" in (picture.get_attribute("src") or ""))
    tab.page.locator(".strip button").first.click()
    tab.page.get_by_role("button", name="Previous step").click()
    tab.until(lambda: f"step={FAR}&" in (tab.page.locator(".large-scroll img").get_attribute("src") or ""))
    tab.page.keyboard.press("Escape")
    for kind, text in (("texts", "text 1"), ("tensors", f"{2**60 + 4}")):
        tab.open(page, f"tab=media&kind={kind}&tags={'note*' if kind == 'texts' else 'counts'}&at={FAR + 1}")
        tab.page.locator(".media-card", has_text=text).first.wait_for()
        assert f"step {FAR + 1:,}" in tab.page.locator(".run-label").first.inner_text()
    tab.open(page, "tab=media&kind=histograms")
    tab.page.locator('.histogram[data-rows="3"]').first.wait_for()
    box = tab.page.locator(".histogram").first.bounding_box()
    tab.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 30)
    tab.page.locator(".run-label", has_text=f"step {FAR + 2:,}").first.wait_for()
    tab.page.mouse.move(5, 5)
    tab.keep("far-histograms")
    row = tab.page.locator('.row[data-run="run0"]')
    assert f"{FAR + 2:,}" in row.inner_text()
    assert not tab.wrong


def test_a_long_text_is_shown_to_its_end(page: str, tab: Tab) -> None:
    tab.open(page, "tab=media&kind=texts&tags=long*")
    tab.page.get_by_text("characters are shown as Markdown, the rest as it is").first.wait_for()
    assert "the very end" in tab.page.locator(".text").first.inner_text()
    tab.page.get_by_role("button", name="Changes").click()
    tab.page.get_by_text("The first 1,500 of").first.wait_for()
    assert not tab.wrong


def test_a_very_long_text_can_be_downloaded(tmp_path: Path, tab: Tab) -> None:
    text = "0123456789" * 210_000 + "the end"
    with tbq.SummaryWriter(tmp_path / "runs") as writer:
        writer.add_text("long", text, 1)
    with serving(tmp_path / "runs") as url:
        tab.open(url, "tab=media&kind=texts")
        tab.page.get_by_text("The first 2,000,000 of 2,100,007 characters are shown").wait_for()
        with tab.page.expect_download() as saved:
            tab.page.get_by_role("link", name="Download the full text").click()
        assert Path(saved.value.path()).read_text() == text
        assert not tab.wrong


@pytest.mark.parametrize("smooth", [0.7, 0.9, 0.123456789, 1e-5])
def test_a_report_opens_as_it_was_smoothed(tmp_path: Path, tabs: Any, smooth: float) -> None:
    tbq.demo(tmp_path / "runs")
    tbq.open(tmp_path / "runs").report(tmp_path / "report.html", tag="train/loss", smooth=smooth)
    tab = tabs(offline=True)
    tab.page.goto((tmp_path / "report.html").as_uri())
    tab.drawn(
        "train/loss",
        f"c.params.smooth === {smooth} && !c.flying && !c.stale && !c.error && c.curves.series[0].rawMin",
    )
    assert tab.page.locator(".plot-note[role=status]").count() == 0
    tab.page.select_option("#smooth", "0")
    tab.drawn(
        "train/loss", "!c.params.smooth && !c.flying && !c.stale && !c.error && !c.curves.series[0].rawMin"
    )
    assert "smooth=0" in tab.page.url
    tab.page.reload()
    tab.drawn(
        "train/loss", "!c.params.smooth && !c.flying && !c.stale && !c.error && !c.curves.series[0].rawMin"
    )
    command = tab.page.locator(".command code").first.inner_text()
    assert f"--smooth {smooth}" in command
    assert not tab.wrong


def test_hover_in_a_smoothed_report_has_both_values(tmp_path: Path, tabs: Any) -> None:
    tbq.demo(tmp_path / "runs")
    tbq.open(tmp_path / "runs").report(tmp_path / "report.html", tag="train/loss", smooth=0.9)
    tab = tabs(offline=True)
    tab.page.goto((tmp_path / "report.html").as_uri())
    tab.drawn("train/loss", "c.params.smooth === 0.9 && !c.flying && !c.stale && !c.error")
    hover(tab, "train/loss", 0.4)
    tab.page.locator(".tooltip th", has_text="raw").wait_for()
    cells = tab.page.locator(".tooltip tbody tr").first.locator("td.num").all_inner_texts()
    assert len(cells) == 2 and all(cells) and cells[0] != cells[1]
    tab.keep("report-hover")


def test_brushed_axes_take_the_runs_inside(page: str, tab: Tab) -> None:
    """The ends of a brush are rounded outward: values that differ in the tenth digit stay apart, none is lost."""
    tab.open(page, "tab=hparams")
    tab.page.wait_for_selector('.parallel[data-lines="2"]')
    box = tab.page.locator(".parallel").bounding_box()
    places = str(tab.page.locator(".parallel").get_attribute("data-places")).split()
    assert len(places) >= 2
    x = box["x"] + int(places[1])  # the second axis: seed
    tab.page.mouse.move(x, box["y"] + 44 + (box["height"] - 68) * 0.5)
    tab.page.mouse.down()
    tab.page.mouse.move(x, box["y"] + box["height"] - 24, steps=4)
    tab.page.mouse.up()
    where = tab.until(lambda: tab.page.evaluate("tbq.state.filter.value"))
    assert where.startswith("hparam.seed between 1700000000 and 1700000000."), where
    tab.until(lambda: "1 of 2 runs" in tab.page.inner_text("#count"))
    assert tab.runs() == ["run0"]
    tab.keep("brush-exact")


NAMED = {
    "button",
    "slider",
    "textbox",
    "searchbox",
    "combobox",
    "checkbox",
    "radio",
    "link",
    "tab",
    "spinbutton",
}


@pytest.mark.parametrize("width", [320, 390, 1000, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_control_has_a_name_and_nothing_scrolls_sideways(
    page: str, tabs: Any, width: int, scheme: str
) -> None:
    tab = tabs(viewport={"width": width, "height": 844}, color_scheme=scheme)
    states = {
        "curves": ("tab=curves", ".card[data-tag] canvas"), "images": ("tab=media&kind=images", ".strip img"),
        "texts": ("tab=media&kind=texts", ".text"), "tensors": ("tab=media&kind=tensors", ".facts"),
        "histograms": ("tab=media&kind=histograms", ".histogram"), "hparams": ("tab=hparams", ".parallel"),
        "sql": ("tab=sql", "#query"), "health": ("tab=health", ".health-sum"),
    }  # fmt: skip
    for name, (state, there) in states.items():
        tab.open(page, state)
        tab.page.locator(there).first.wait_for(timeout=60_000)
        session = tab.context.new_cdp_session(tab.page)
        nodes = session.send("Accessibility.getFullAXTree")["nodes"]
        nameless = [
            each["role"]["value"]
            for each in nodes
            if not each.get("ignored")
            and each["role"]["value"] in NAMED
            and not each.get("name", {}).get("value")
        ]
        assert not nameless, (name, nameless)
        wide = tab.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert wide <= 0, (name, wide)
        if width < 500 or (name in ("hparams", "curves") and width == 1440):
            tab.page.screenshot(path=_screen(f"{name}-{width}-{scheme}"), full_page=True)
    assert not tab.wrong


@pytest.mark.parametrize("width", [320, 390])
def test_hparams_of_several_runs_fit_a_small_screen(tmp_path: Path, tabs: Any, width: int) -> None:
    for run in range(6):
        with tbq.SummaryWriter(tmp_path / "runs" / f"run{run}") as writer:
            writer.add_scalar("val/loss", 1 / (run + 1), 1)
            hparams = {"a_rather_long_name_of_a_hyperparameter_that_differs": run * 0.1, "lr": 10.0**-run}
            writer.add_hparams(hparams, {"score": run}, run_name=".")
    with serving(tmp_path / "runs") as url:
        tab = tabs(viewport={"width": width, "height": 700}, color_scheme="dark")
        tab.open(url, "tab=hparams")
        tab.page.get_by_text("What decides").wait_for()
        tab.page.wait_for_selector('.parallel[data-lines="6"]')
        assert tab.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        tab.page.screenshot(path=_screen(f"decisions-{width}"), full_page=True)


def _screen(name: str) -> Path:
    from webpage import SCREENS

    SCREENS.mkdir(parents=True, exist_ok=True)
    return SCREENS / f"exact-{name}.png"


def test_names_that_differ_by_an_accent_are_two_names(tmp_path: Path, tab: Tab) -> None:
    for run, value in (("a", 1.0), ("b", 3.0)):
        with tbq.SummaryWriter(tmp_path / "runs" / run) as writer:
            writer.add_scalar("É", value, 1)
            writer.add_scalar("é", 2.0, 1)
    with serving(tmp_path / "runs") as url:
        tab.open(url, "filter=" + urllib.parse.quote('"É" < "é"'))
        tab.until(lambda: tab.runs() == ["a"])
        assert tab.page.inner_text("#filter-error") == ""
