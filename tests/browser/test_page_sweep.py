"""The page of an ordinary sweep: 3 learning rates, 2 batch sizes, 3 seeds, one run diverged."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from webpage import Tab, hover, serving

import tbq


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sweep") / "runs"
    for lr in (0.001, 0.01, 0.1):
        for size in (16, 128):
            for seed in range(3):
                with tbq.SummaryWriter(path / f"resnet_lr{lr}_bs{size}_s{seed}") as writer:
                    best = 0.2 + 0.3 * abs(math.log10(lr) + 2) + size / 2000 + seed / 1000
                    for step in range(50):
                        value = best + 2 * math.exp(-step / 8)
                        diverged = (lr, size, seed) == (0.1, 128, 2) and step >= 30
                        writer.add_scalar("val/loss", 10.0 ** (step - 29) if diverged else value, step)
                    hparams = {
                        "lr": lr,
                        "batch_size": size,
                        "seed": seed,
                        "optimizer": "adam" if seed else "sgd",
                    }
                    writer.add_hparams(hparams, {}, run_name=".")
    return path


@pytest.fixture(scope="module")
def page(sweep: Path) -> Iterator[str]:
    with serving(sweep) as url:
        yield url


def test_a_diverged_run_leaves_the_range_and_a_word_shows_it(page: str, tab: Tab) -> None:
    tab.open(page)
    assert tab.drawn("val/loss", "c.curves.series.length === 18")["y"][1] < 5
    word = tab.page.get_by_role("button", name="1 run leaves the range")
    word.click()
    assert tab.drawn("val/loss", "c.layout.ys.high > 1e19")["y"][1] > 1e19
    assert "entire=val/loss" in tab.page.url
    tab.page.get_by_role("button", name="whole range").click()
    tab.drawn("val/loss", "c.layout.ys.high < 5")
    # On a log axis too, and for the means of groups.
    tab.open(page, "log=val/loss")
    assert tab.drawn("val/loss", "c.curves.series.length === 18 && c.layout.ys.log")["y"][1] < 100
    tab.open(page, "group=hparam.lr")
    assert tab.drawn("val/loss", "c.curves.series.length === 3")["y"][1] < 5
    tab.page.get_by_role("button", name="1 group leaves the range").wait_for()
    assert tab.wrong == []


def test_the_report_ignores_outliers_too(sweep: Path, tmp_path: Path, tab: Tab) -> None:
    tbq.open(sweep).report(tmp_path / "report.html", by="hparam.lr")
    tab.page.goto((tmp_path / "report.html").as_uri())
    assert tab.drawn("val/loss", "c.curves.series.length > 0")["y"][1] < 5
    tab.page.get_by_role("button", name="leaves the range").first.wait_for()


@pytest.mark.parametrize("width", [1440, 900])
def test_names_can_be_told_apart(page: str, tabs: Any, width: int) -> None:
    tab = tabs(viewport={"width": width, "height": 900})
    tab.open(page, "group=hparam.lr,hparam.batch_size")
    rows = tab.page.locator(".row.group .run-name")
    tab.until(lambda: rows.count() >= 4)
    for names in (rows, tab.page.locator(".row:not(.group) .run-name")):
        texts = names.all_inner_texts()
        assert len(set(texts)) == len(texts)
        # All of each label is visible: the column is as wide as its content.
        tab.until(
            lambda names=names: names.evaluate_all(
                "(all) => all.every((e) => e.scrollWidth <= e.clientWidth)"
            )
        )
    assert tab.page.locator(".row[data-run='resnet_lr0.1_bs16_s0'] .run-name").inner_text() == "lr0.1_bs16_s0"
    handle = tab.page.locator(".name-handle")
    before = tab.page.locator(".cell.name").first.bounding_box()["width"]
    box = handle.bounding_box()
    tab.page.mouse.move(box["x"] + 4, box["y"] + 4)
    tab.page.mouse.down()
    tab.page.mouse.move(box["x"] - 76, box["y"] + 4, steps=3)
    tab.page.mouse.up()
    tab.until(lambda: abs(tab.page.locator(".cell.name").first.bounding_box()["width"] - before + 80) < 3)
    # The values stay, without their keys; in less room the middle goes.
    tab.until(lambda: "=" not in rows.first.inner_text() or "…" in rows.first.inner_text())
    assert rows.first.get_attribute("title") == tab.page.locator(".row.group").first.get_attribute(
        "data-group"
    )


def test_groups_of_one_colour_differ_in_their_dashes(tmp_path: Path, tab: Tab) -> None:
    for lr in (0.001, 0.01, 0.1):
        for size in (16, 32, 64, 128):
            with tbq.SummaryWriter(tmp_path / f"lr{lr}_bs{size}") as writer:
                for step in range(5):
                    writer.add_scalar("loss", lr + size + step, step)
                writer.add_hparams({"lr": lr, "batch_size": size}, {}, run_name=".")
    with serving(tmp_path) as url:
        tab.open(url, "group=hparam.lr,hparam.batch_size&full=loss")
        lines = tab.page.locator(".full .legend .sample line")
        tab.until(lambda: lines.count() == 12)
        drawn = lines.evaluate_all(
            "(all) => all.map((e) => `${e.getAttribute('stroke')} ${e.getAttribute('stroke-dasharray')}`)"
        )
        assert len(set(drawn)) == 12 and len({each.split()[0] for each in drawn}) < 12
        boxes = tab.page.locator(".row.group .box").evaluate_all(
            "(all) => all.map((e) => e.style.background)"
        )
        assert len(set(boxes)) == len(boxes)


def test_names_that_fit_are_shown_in_full(page: str, tab: Tab) -> None:
    tab.open(page)
    names = tab.page.locator(".row .run-name")
    tab.until(lambda: names.count() == 18)
    tab.until(lambda: "lr0.001_bs128_s2" in names.all_inner_texts())
    tab.open(page, "group=hparam.lr,hparam.batch_size")
    groups = tab.page.locator(".row.group .run-name")
    tab.until(lambda: "lr=0.001, batch_size=128" in groups.all_inner_texts())
    assert not any("…" in text for text in groups.all_inner_texts())


def test_names_in_wide_letters_keep_their_ends(tmp_path: Path, tab: Tab) -> None:
    for name in ("b" * 150 + "1", "b" * 150 + "2", "i" * 150):
        with tbq.SummaryWriter(tmp_path / name) as writer:
            writer.add_scalar("loss", 1.0, 1)
    with serving(tmp_path) as url:
        tab.open(url)
        names = tab.page.locator(".row .run-name")
        tab.until(lambda: names.count() == 3 and "…" in names.first.inner_text())
        tab.until(lambda: names.evaluate_all("(all) => all.every((e) => e.scrollWidth <= e.clientWidth)"))
        assert {text[-1] for text in names.all_inner_texts()} == {"1", "2", "i"}


def test_a_narrow_legend_names_its_groups(page: str, tabs: Any) -> None:
    tab = tabs(viewport={"width": 390, "height": 844})
    tab.open(page, "group=hparam.lr&tags=val/loss")
    legend = tab.page.locator('.card[data-tag="val/loss"] .legend-name')
    tab.until(lambda: legend.count() == 3)
    tab.page.get_by_role("button", name="1 group leaves the range").wait_for()
    assert legend.evaluate_all("(all) => all.every((e) => e.scrollWidth <= e.clientWidth)")
    tab.open(page, "wide=1")  # the table has the whole page here too
    tab.until(lambda: tab.page.locator(".table").bounding_box()["height"] > 400)


def test_the_hparams_tab_says_what_decides_and_which_configuration_is_best(page: str, tab: Tab) -> None:
    tab.open(page, "tab=hparams")
    first = tab.page.locator(".importance tbody tr").first
    first.wait_for()
    assert first.inner_text().split("\t")[0].strip() == "lr"
    tab.page.locator(".verdict").wait_for()
    tab.open(page, "tab=hparams&group=hparam.lr,hparam.batch_size")
    tab.until(lambda: "lr=0.01, batch_size=16" in tab.page.locator(".board tbody tr").first.inner_text())
    assert tab.page.locator(".board tbody tr").count() == 6
    assert "lr=0.1, batch_size=128" in tab.page.locator(".board tbody tr").last.inner_text()
    assert tab.wrong == []


def test_groups_by_several_parameters_are_sorted_by_their_metric(page: str, tab: Tab) -> None:
    tab.open(page, "sort=val/loss:last")
    tab.page.click("#group")
    for name in ("lr", "batch_size"):
        tab.page.locator(".menu-item", has_text=name).first.click()
    tab.page.keyboard.press("Escape")
    groups = tab.page.locator(".row.group")
    tab.until(lambda: groups.first.get_attribute("data-group") == "lr=0.01, batch_size=16")
    assert tab.page.evaluate("tbq.state.group.value") == "hparam.lr,hparam.batch_size"
    # By a link too, and if nothing sorts the table.
    tab.open(page, "group=hparam.lr,hparam.batch_size")
    tab.until(lambda: groups.first.get_attribute("data-group") == "lr=0.01, batch_size=16")
    assert tab.page.locator("[role=columnheader][aria-sort=ascending]").inner_text().startswith("val/loss")


def test_legends_have_short_names_and_values_at_the_cursor(page: str, tab: Tab) -> None:
    tab.open(page, "group=hparam.lr")
    tab.drawn("val/loss", "c.curves.series.length === 3")
    legend = tab.page.locator('.card[data-tag="val/loss"] .legend li')
    tab.until(lambda: legend.count() == 3)
    last = legend.first.inner_text()
    hover(tab, "val/loss", 0.2)
    tab.until(lambda: legend.first.inner_text() != last)
    tip, plot = tab.page.locator(".tooltip"), tab.page.locator('.card[data-tag="val/loss"] .plot')
    tip.wait_for()
    left = plot.bounding_box()["x"] + tab.page.evaluate("tbq.charts.get('val/loss').layout.left")
    tab.until(lambda: tip.bounding_box()["x"] >= left)
    tab.open(page, "full=val/loss")
    names = tab.page.locator(".full .legend-name")
    tab.until(lambda: names.count() == 18)
    assert names.first.inner_text().startswith("lr0.1_bs128")


def test_sql_examples_run_text_gives_bars_and_errors_clear_the_result(page: str, tab: Tab) -> None:
    tab.open(page, "tab=sql")
    tab.page.get_by_role("button", name="Best runs").click()
    tab.page.locator("#rows").get_by_text("10 rows").wait_for()
    assert "val/loss.min by run" in tab.page.inner_text(".sql-chart summary")
    tab.until(lambda: tab.inked(".sql-chart canvas") > 1000)
    assert tab.page.locator(".sql-side summary").first.inner_text() == "summary"
    tab.page.fill("#query", "select nothing from nowhere")
    tab.page.keyboard.press("Control+Enter")
    tab.page.locator(".sql-error").wait_for()
    assert tab.page.locator(".result").count() == 0
    assert tab.page.locator(".sql-chart").count() == 0


def test_bands_of_medians(page: str, tab: Tab) -> None:
    tab.open(page, "group=hparam.lr&band=quantiles")
    drawn = tab.drawn("val/loss", "c.curves.series.length === 3 && c.curves.series[0].lower !== null")
    # The median of a group with one diverged run of six is finite.
    assert max(each["last"] for each in drawn["series"]) < 5


def test_views_are_saved_in_the_browser_and_shared_by_a_file(sweep: Path, tmp_path: Path, tab: Tab) -> None:
    file = tmp_path / "views.json"
    file.write_text('{"rates": "http://host/#group=hparam.lr&smooth=0.5"}')
    with serving(sweep, flags=("--views", str(file))) as url:
        tab.open(url, "group=hparam.batch_size")
        tab.page.click("#views")
        tab.page.fill("[aria-label='Name of this view']", "sizes")
        tab.page.keyboard.press("Enter")
        tab.page.locator(".views-menu .menu-item", has_text="rates").click()
        tab.until(lambda: tab.page.evaluate("tbq.state.group.value") == "hparam.lr")
        assert tab.page.evaluate("tbq.state.smooth.value") == 0.5
        tab.page.reload()
        tab.page.click("#views")
        tab.page.locator(".views-menu .menu-item", has_text="sizes").click()
        tab.until(lambda: tab.page.evaluate("tbq.state.group.value") == "hparam.batch_size")
        tab.page.click("#views")
        tab.page.get_by_role("button", name="Remove sizes").click()
        tab.page.locator(".views-menu .menu-item", has_text="sizes").wait_for(state="detached")
        file.write_text("{")
        tab.page.keyboard.press("Escape")
        tab.page.click("#views")
        tab.page.locator(".views-menu .field-error", has_text="not JSON").wait_for()
