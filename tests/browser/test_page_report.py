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
    # Groups are folded, best first, with the verdict on the first two. Unfolding a group shows its runs.
    rows = tab.page.locator(".table [role=row]:not(.head)")
    assert rows.evaluate_all("(all) => all.map((each) => each.dataset.group)") == [
        "lr=0.1", "lr=0.03", "lr=0.01", "lr=1", "in no group"
    ]  # fmt: skip
    verdict = tab.page.inner_text(".pane-verdict")
    assert verdict.startswith("By the last val/loss: lr=0.1 and lr=0.03 ") and "2 and 2 runs" in verdict
    assert "0.1939" not in tab.page.inner_text(".table")
    tab.page.get_by_label("Unfold lr=0.1").click()
    assert "0.1939" in tab.page.inner_text(".table")
    tab.page.locator(".finding", has_text="train/loss").first.wait_for()
    tab.until(lambda: tab.page.locator(".strip img").first.evaluate("(e) => e.naturalWidth > 0"))
    assert "tbq report" in tab.page.inner_text(".report")
    assert all(url.startswith(("file:", "data:", "blob:")) for url in asked)
    assert not tab.wrong
    tab.keep("report")


def test_the_filter_of_a_report_is_about_names_and_says_so(report: Path, tabs: Any) -> None:
    tab = tabs(offline=True)
    tab.page.goto(report.as_uri())
    tab.until(lambda: tab.page.inner_text("#count").startswith("9 runs"))
    assert "<" not in (tab.page.get_attribute("#filter", "placeholder") or "")
    tab.page.fill("#filter", "seed=1 -lr=0.1")
    tab.until(lambda: tab.page.inner_text("#count").startswith("2 of 9 runs"))
    assert not tab.page.inner_text("#filter-error")
    for typed in ("hparam.lr = .1", '"val/loss" < 0.3', "no-such-run"):
        tab.page.fill("#filter", typed)
        tab.until(lambda: "filter by name only" in tab.page.inner_text("#filter-error"))
        assert tab.page.inner_text("#count").startswith("0 of 9 runs")
    assert not tab.wrong


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


def test_smoothing_and_axes_of_a_report(report: Path, tabs: Any) -> None:
    tab = tabs(offline=True)
    tab.page.goto(report.as_uri())
    plain = tab.drawn("train/loss")
    tab.page.select_option("#smooth", "0.9")
    smoothed = tab.drawn("train/loss", "c.params.smooth === 0.9 && !c.flying && !c.stale")
    assert smoothed["series"] != plain["series"]
    tab.page.select_option("#axis", "relative")
    tab.drawn("train/loss", "c.params.x === 'relative' && !c.flying && !c.stale && c.layout.xs.high < 120")
    tab.page.get_by_role("button", name="Group: lr").click()
    tab.page.get_by_role("menuitemradio", name="none").or_(tab.page.get_by_text("No groups")).first.click()
    tab.drawn("train/loss", "!c.flying && !c.stale && !c.error && c.curves.series.length === 8")
    assert tab.page.locator(".plot-note[role=status]").count() == 0
    assert not tab.wrong
    tab.keep("report-smooth")


def test_every_run_of_a_report_is_printed(tmp_path: Path, tabs: Any) -> None:
    for number in range(60):
        with tbq.SummaryWriter(tmp_path / "runs" / f"run{number}") as writer:
            writer.add_scalar("loss", number, 1)
    tbq.open(tmp_path / "runs").report(tmp_path / "report.html")
    tab = tabs(offline=True)
    tab.page.goto((tmp_path / "report.html").as_uri())
    rows = tab.page.locator(".table .row[data-run]")
    tab.until(lambda: 0 < rows.count() < 60)  # those on the screen
    tab.page.evaluate("addEventListener('beforeprint', () => queueMicrotask(() => { window.printed = "
                      "document.querySelectorAll('.table .row[data-run]').length }))")  # fmt: skip
    tab.page.pdf()
    tab.until(lambda: tab.page.evaluate("window.printed") == 60 and rows.count() < 60)
    assert not tab.wrong


def test_a_report_on_paper(report: Path, tabs: Any) -> None:
    """Colours stay, charts are sharp, and nothing that is only for the screen is printed."""
    tab = tabs(offline=True)
    tab.page.goto(report.as_uri())
    tab.drawn("val/loss")
    tab.page.emulate_media(media="print")
    size = "(e) => [e.width / e.getBoundingClientRect().width, getComputedStyle(e).printColorAdjust]"
    tab.until(lambda: tab.page.locator(".plot-base").first.evaluate(size)[0] > 2.9)
    assert tab.page.locator(".plot-base").first.evaluate(size)[1] == "exact"
    assert (
        not tab.page.locator(".bar").is_visible() and not tab.page.locator(".card-tools").first.is_visible()
    )
    tab.page.emulate_media(media="screen")
    tab.until(lambda: tab.page.locator(".plot-base").first.evaluate(size)[0] < 1.1)
    assert not tab.wrong
