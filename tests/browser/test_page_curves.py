"""The curves: every point, zoom, crosshair, smoothing, axes, downloads, state in the address."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import eventfile as ef
import pytest
from webpage import Tab, serving


def box(tab: Tab, tag: str) -> dict[str, float]:
    plot = tab.page.locator(f'.card[data-tag="{tag}"] .plot')
    plot.scroll_into_view_if_needed()
    found = plot.bounding_box()
    assert found
    return dict(found)


def drag(tab: Tab, tag: str, begin: float, end: float) -> None:
    place = box(tab, tag)
    y = place["y"] + place["height"] / 2
    tab.page.mouse.move(place["x"] + place["width"] * begin, y)
    tab.page.mouse.down()
    tab.page.mouse.move(place["x"] + place["width"] * (begin + end) / 2, y)
    tab.page.mouse.move(place["x"] + place["width"] * end, y)
    tab.page.mouse.up()


def test_cards_are_grouped_by_prefix_and_searched(demo: str, tab: Tab) -> None:
    tab.open(demo)
    tab.drawn("val/loss")
    heads = tab.page.locator(".part-head").all_inner_texts()
    assert [head.split()[0] for head in heads[:2]] == ["val/", "train/"]
    tab.page.fill("#search", "val/*")
    tab.until(lambda: tab.page.locator(".card[data-tag]").count() == 2)
    tab.page.fill("#search", "re:.*/loss")
    tab.until(lambda: tab.page.locator(".card[data-tag]").count() == 2)
    tab.page.get_by_role("button", name="Pin to the top").first.click()
    tab.page.get_by_role("button", name="Pinned").wait_for()
    assert "pin=val/loss" in tab.page.url
    assert not tab.wrong


def test_every_point_counts(tmp_path: Path, tab: Tab) -> None:
    """One point of 50,000 is seen in a card of some hundred pixels."""
    events = [ef.scalar("loss", step, 100.0 if step == 31_415 else 1.0) for step in range(50_000)]
    folder = tmp_path / "log" / "run"
    folder.mkdir(parents=True)
    (folder / "events.out.tfevents.1.host").write_bytes(ef.event_file([ef.version(), *events]))
    with serving(tmp_path / "log") as url:
        tab.open(url)
        shown = tab.drawn("loss", "Math.max(...c.curves.series[0].max) === 100")
        assert shown["y"][1] > 100
        # On the canvas too: a column of ink at the peak.
        assert tab.inked('.card[data-tag="loss"] .plot-base') > 500
        low = tab.page.evaluate(
            "() => { const s = tbq.charts.get('loss').curves.series[0]; return s.x[s.max.indexOf(100)] }"
        )
        assert abs(low - 31_415) < 200


def test_drag_zooms_all_cards_and_fetches_finer_data(demo: str, tab: Tab) -> None:
    tab.open(demo)
    before = tab.drawn("train/loss")
    drag(tab, "train/loss", 0.4, 0.6)
    after = tab.drawn("train/loss", "c.curves.high - c.curves.low < 60")
    assert before["low"] < after["low"] < after["high"] < before["high"]
    other = tab.drawn("val/loss", "c.curves.high - c.curves.low < 60")
    assert math.isclose(other["x"][0], after["x"][0], rel_tol=1e-6)  # one x axis for all cards
    assert "zoom=" in tab.page.url
    tab.keep("zoom")
    place = box(tab, "train/loss")
    tab.page.mouse.dblclick(place["x"] + 200, place["y"] + 80)
    tab.drawn("train/loss", "c.curves.high - c.curves.low > 150")
    tab.page.go_back()
    tab.drawn("train/loss", "c.curves.high - c.curves.low < 60")


def test_wheel_and_keys_zoom_and_move(demo: str, tab: Tab) -> None:
    tab.open(demo)
    tab.drawn("train/loss")
    place = box(tab, "train/loss")
    tab.page.mouse.move(place["x"] + place["width"] / 2, place["y"] + 100)
    tab.page.keyboard.down("Control")
    tab.page.mouse.wheel(0, -200)
    tab.page.keyboard.up("Control")
    zoomed = tab.drawn("train/loss", "c.curves.high - c.curves.low < 190")
    tab.page.locator('.card[data-tag="train/loss"] .plot').focus()
    tab.page.keyboard.press("ArrowRight")
    moved = tab.drawn("train/loss", f"c.curves.low > {zoomed['low'] + 0.1}")
    assert moved["low"] > zoomed["low"]
    tab.page.keyboard.press("0")
    tab.drawn("train/loss", "c.curves.high - c.curves.low > 190")


def test_the_crosshair_is_shared_and_values_are_exact(demo: str, tab: Tab) -> None:
    tab.open(demo, "hide=diverged")
    tab.drawn("val/loss", "c.curves.series.length === 7")
    tab.drawn("val/accuracy")
    place = box(tab, "val/loss")
    blank = tab.inked('.card[data-tag="val/accuracy"] .plot-over')
    tab.page.mouse.move(place["x"] + place["width"] * 0.97, place["y"] + place["height"] * 0.8)
    tip = tab.page.locator('.card[data-tag="val/loss"] .tooltip')
    # The value as it was logged, to its last digit.
    want = tab.page.evaluate(
        "async () => (await (await fetch('api/nearest?tag=val%2Floss&runs=*&x=199&axis=step')).json()).points.map((p) => p.text)"
    )
    tab.until(lambda: any(text in tip.inner_text() and len(text) > 6 for text in want))
    assert tip.locator("tr").count() <= 8
    tab.until(lambda: tab.inked('.card[data-tag="val/accuracy"] .plot-over') > blank)
    tab.keep("crosshair")


def test_smoothing_keeps_the_raw_line_behind(demo: str, tab: Tab) -> None:
    tab.open(demo)
    raw = tab.drawn("train/accuracy")
    tab.page.locator("#smooth").fill("0.9")
    tab.drawn("train/accuracy", "c.curves.series[0].rawMin !== null")
    smooth = tab.drawn("train/accuracy", "c.curves.series[0].rawMin !== null")
    assert raw["series"][1]["last"] != smooth["series"][1]["last"]
    assert "smooth=0.9" in tab.page.url


@pytest.mark.parametrize(
    ("x", "check"),
    [
        ("relative", "c.curves.low >= 0"),
        ("wall", "c.curves.low > 1e9"),
        ("tag:train/loss", "c.curves.series.length > 0"),
    ],
)
def test_x_axes(demo: str, tab: Tab, x: str, check: str) -> None:
    tab.open(demo, f"x={x}")
    assert tab.drawn("val/accuracy", check)["series"]
    assert not tab.wrong


def test_log_scales_and_full_screen(demo: str, tab: Tab) -> None:
    tab.open(demo)
    tab.drawn("val/loss")
    card = tab.page.locator('.card[data-tag="val/loss"]').first
    card.get_by_role("button", name="log").click()
    assert tab.drawn("val/loss", "c.layout.ys.log")["log"]
    card.get_by_role("button", name="log").click()
    card.get_by_role("button", name="Full screen").click()
    big = tab.page.locator(".full .plot")
    big.wait_for()
    assert big.bounding_box()["height"] > 600
    tab.drawn("val/loss (full)")
    tab.keep("full")
    tab.page.keyboard.press("Escape")
    tab.page.locator(".full").wait_for(state="detached")


def test_nan_and_restarts_are_marked(demo: str, tab: Tab) -> None:
    tab.open(demo)
    tab.drawn("train/loss")
    marks: Any = tab.page.evaluate(
        "() => { const runs = tbq.runs.byId.value; const all = tbq.charts.get('train/loss').curves.series;"
        " const of = (name) => all.find((s) => runs.get(s.id).name === name);"
        " return [of('diverged').broken, of('resumed').takeovers] }"
    )
    assert marks[0] == [120]
    assert len(marks[1]) == 1


def test_downloads(demo: str, tab: Tab) -> None:
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.open(demo, "filter=lr=0.1")
    tab.drawn("val/loss", "c.curves.series.length === 2")
    got = {}
    for name in ("PNG", "SVG", "CSV"):
        tab.page.get_by_role("button", name="More for val/loss").click()
        with tab.page.expect_download() as waiting:
            tab.page.get_by_role("button", name=f"Download {name}").click()
        got[name] = Path(waiting.value.path()).read_bytes()
    assert got["PNG"].startswith(b"\x89PNG")
    assert got["SVG"].startswith(b"<svg") and b"lr=0.1/seed=0" in got["SVG"]
    assert len(got["CSV"].splitlines()) == 21  # ten points of two runs
    tab.page.get_by_role("button", name="More for val/loss").click()
    tab.page.get_by_role("button", name="Copy the tbq plot command").click()
    tab.page.get_by_text("Copied the command").wait_for()
    assert tab.page.evaluate("navigator.clipboard.readText()").startswith("tbq plot")


def test_a_link_shows_the_same(demo: str, tab: Tab, tabs: Any) -> None:
    tab.open(demo)
    tab.drawn("train/loss")
    tab.page.fill("#filter", "lr=0.03")
    tab.page.locator("#smooth").fill("0.5")
    drag(tab, "train/loss", 0.3, 0.7)
    ours = tab.drawn(
        "train/loss", "c.curves.series.length === 2 && c.curves.high < 190 && c.curves.series[0].rawMin"
    )
    other = tabs()
    other.open(demo, tab.page.url.split("#", 1)[1])
    theirs = other.drawn("train/loss", "c.curves.series.length === 2")
    assert [each["id"] for each in theirs["series"]] == [each["id"] for each in ours["series"]]
    assert theirs["x"] == pytest.approx(ours["x"], rel=1e-6)


def test_keys(demo: str, tab: Tab) -> None:
    tab.open(demo)
    tab.drawn("val/loss")
    tab.page.keyboard.press("/")
    assert tab.page.evaluate("document.activeElement.id") == "search"
    tab.page.keyboard.press("Escape")
    tab.page.keyboard.press("f")
    assert tab.page.evaluate("document.activeElement.id") == "filter"
    tab.page.keyboard.press("Escape")
    first = tab.runs()[1]
    tab.page.keyboard.press("j")
    tab.page.keyboard.press("j")
    assert tab.page.locator(".row.cursor").get_attribute("data-run") == first
    tab.page.keyboard.press("Space")
    tab.until(lambda: "off" in (tab.page.locator(".row.cursor").get_attribute("class") or ""))
    tab.page.keyboard.press("d")
    assert tab.page.evaluate("document.documentElement.dataset.theme") == "dark"
    tab.page.keyboard.press("?")
    keys = tab.page.get_by_role("dialog", name="Keys and mouse")
    keys.wait_for()
    tab.page.keyboard.press("Escape")
    keys.wait_for(state="hidden")
    tab.page.keyboard.press("4")
    tab.page.locator("#query").wait_for()


def test_single_keys_can_be_turned_off(demo: str, tab: Tab) -> None:
    tab.open(demo)
    tab.until(lambda: tab.runs())
    tab.page.get_by_role("button", name="Keys and mouse").click()
    tab.page.get_by_label("Single-key shortcuts").uncheck()
    tab.page.keyboard.press("Escape")
    tab.page.reload()
    tab.until(lambda: tab.runs())
    tab.page.keyboard.press("4")
    tab.page.keyboard.press("f")
    assert "tab=" not in tab.page.url
    assert tab.page.evaluate("document.activeElement.id") != "filter"
    tab.page.locator("#runs").focus()  # keys of the table work while it has the focus
    tab.page.keyboard.press("ArrowDown")
    tab.page.locator(".row.cursor").wait_for()
    tab.page.get_by_role("button", name="Keys and mouse").click()
    tab.page.get_by_label("Single-key shortcuts").check()
    tab.page.keyboard.press("Escape")
    tab.page.locator("dialog").wait_for(state="detached")
    tab.page.keyboard.press("4")
    tab.page.locator("#query").wait_for()


def test_the_page_keeps_its_modules_to_itself(demo: str, chromium: Any) -> None:
    context = chromium.new_context()
    page = context.new_page()
    page.goto(demo)
    page.locator(".row[data-run]").first.wait_for()
    assert page.evaluate("typeof window.tbq") == "undefined"
    context.close()


def test_zooming_selects_no_text(demo: str, tab: Tab) -> None:
    tab.open(demo)
    tab.drawn("train/loss")
    place = box(tab, "train/loss")
    tab.page.mouse.move(place["x"] + 150, place["y"] + 80)
    tab.page.mouse.down()
    tab.page.mouse.move(place["x"] + 300, place["y"] + 80, steps=5)
    tab.page.locator(".tooltip").first.wait_for()
    tab.page.mouse.move(place["x"] + 320, place["y"] + 80, steps=5)
    tab.page.mouse.up()
    tab.until(lambda: "zoom=" in tab.page.url)
    assert tab.page.evaluate("getSelection().toString()") == ""


@pytest.mark.parametrize("state", ["smooth=0.6&other=%2", "tab=__proto__"])
def test_a_link_that_was_cut_short_still_opens(demo: str, tab: Tab, state: str) -> None:
    tab.open(demo, state)
    tab.page.reload()
    tab.until(lambda: tab.runs())
    tab.drawn("train/loss")
    assert not tab.wrong
