"""A report opened from disk, with the network off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tbq


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("report")
    tbq.demo(root / "runs")
    tbq.open(root / "runs").report(
        root / "report.html",
        by="hparam.lr",
        text="# Notes\n\nLarger **rates** win. <img src=x onerror=alert(1)>",
    )
    return root / "report.html"


def test_a_report_opens_from_disk(report: Path, tabs: Any) -> None:
    tab = tabs(offline=True)
    asked: list[str] = []
    tab.page.on("request", lambda request: asked.append(request.url))
    tab.page.goto(report.as_uri())
    tab.page.get_by_role("heading", name="Notes").wait_for()
    assert tab.page.locator(".prose strong").inner_text() == "rates"
    shown = tab.drawn("val/loss", "c.curves.series.some((s) => s.lower)")
    assert {each["group"] for each in shown["series"]} >= {"lr=0.01", "lr=0.03", "lr=0.1"}
    assert "0.1939" in tab.page.inner_text(".table")
    tab.page.locator(".finding", has_text="train/loss").first.wait_for()
    tab.until(lambda: tab.page.locator(".strip img").first.evaluate("(e) => e.naturalWidth > 0"))
    assert "tbq report" in tab.page.inner_text(".report")
    assert all(url.startswith(("file:", "data:", "blob:")) for url in asked)
    assert not tab.wrong
    tab.keep("report")


def test_a_report_is_interactive_and_prints(report: Path, tabs: Any) -> None:
    tab = tabs(offline=True)
    tab.page.goto(report.as_uri())
    tab.drawn("val/loss")
    tab.page.fill("#search", "val/*")
    tab.until(lambda: tab.page.locator(".card[data-tag]").count() == 2)
    plot = tab.page.locator('.card[data-tag="val/loss"] .plot')
    plot.scroll_into_view_if_needed()
    place = plot.bounding_box()
    tab.page.mouse.move(place["x"] + 150, place["y"] + 100)
    tab.page.locator(".tooltip").wait_for()
    tab.page.mouse.down()
    tab.page.mouse.move(place["x"] + 300, place["y"] + 100)
    tab.page.mouse.up()
    assert tab.drawn("val/loss", "c.layout.xs.high < 190")
    assert tab.page.pdf().startswith(b"%PDF")
