"""Comparing runs: a baseline, what differs, several tags on one chart, completed names, tooltips, many runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from webpage import Tab, hover, serving

import tbq

HOSTILE = 'tag "<img src=x onerror=alert(1)>" __proto__'
BOTH = f"with={quote(json.dumps(['val/loss', 'train/loss']))}"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("compare") / "runs"
    for run in range(12):
        with tbq.SummaryWriter(path / f"lr{run % 3}_s{run // 3}") as writer:
            for step in range(40):
                far = 10.0 ** (step - 20) if run == 11 and step > 20 else 0.0
                writer.add_scalar("train/loss", 1 / (step + 1) + run / 100 + far, step)
                writer.add_scalar("val/loss", 2 / (step + 1) + run / 100 + far, step)
            writer.add_scalar(HOSTILE, run, 0)
            writer.add_hparams({"lr": run % 3, "model": "resnet"}, {}, run_name=".")
    return path


@pytest.fixture(scope="module")
def page(log: Path) -> Iterator[str]:
    with serving(log) as url:
        yield url


def test_values_are_compared_with_a_baseline(page: str, tab: Tab) -> None:
    tab.open(page, "sort=name")
    row = tab.page.locator('.row[data-run="lr1_s0"]')
    row.hover()
    row.get_by_role("button", name="Compare with lr1_s0").click()
    tab.until(lambda: "baseline=lr1_s0" in tab.page.url)
    # The baseline is the first row, and stays although the filter excludes it.
    tab.page.fill("#filter", "lr0_s0")
    tab.until(lambda: tab.runs() == ["lr1_s0", "lr0_s0"])
    cells = tab.page.locator('.row[data-run="lr0_s0"] .cell .delta')
    tab.until(lambda: "-0.01" in cells.all_inner_texts())
    legend = tab.page.locator('.card[data-tag="val/loss"] .legend li')
    tab.until(lambda: legend.count() == 2)
    assert any("baseline" in text for text in legend.all_inner_texts())
    assert any("-0.01" in text for text in legend.all_inner_texts())
    hover(tab, "val/loss", 0.5)
    tab.until(lambda: "-0.01" in tab.page.locator(".tooltip .delta").all_inner_texts())
    tab.page.reload()
    tab.page.locator("#baseline").click()
    tab.until(lambda: "baseline" not in tab.page.url and tab.runs() == ["lr0_s0"])
    assert tab.wrong == []


def test_columns_that_do_not_differ_are_hidden(page: str, tab: Tab) -> None:
    columns = "&".join(f"column={each}" for each in ("step", "hparam.model", "hparam.lr", "val/loss:last"))
    tab.open(page, columns)
    heads = tab.page.locator(".head .head-label")
    tab.until(lambda: heads.all_inner_texts() == ["Run", "Step", "model", "lr", "val/loss"])
    tab.page.get_by_role("button", name="Columns").click()
    tab.page.get_by_role("button", name="Hide what is equal in all shown runs").click()
    tab.until(lambda: heads.all_inner_texts() == ["Run", "lr", "val/loss"])
    tab.page.keyboard.press("Escape")
    tab.page.fill("#filter", "lr1")
    tab.until(lambda: heads.all_inner_texts() == ["Run", "val/loss"])
    tab.page.get_by_role("button", name="3 equal columns hidden").click()
    tab.until(lambda: len(heads.all_inner_texts()) == 5)


def test_several_tags_on_one_chart(page: str, tab: Tab) -> None:
    tab.open(page, "filter=s0")
    tab.drawn("val/loss", "c.curves.series.length === 3")
    tab.page.get_by_role("button", name="Tags on the chart of val/loss").click()
    # The same loss in training is suggested first.
    first = tab.page.locator(".menu-panel .menu-item").first
    assert first.inner_text().strip() == "train/loss"
    first.click()
    tab.drawn("val/loss", "c.curves.series.length === 6")
    dashes = tab.page.evaluate(
        "(() => { const c = tbq.charts.get('val/loss');"
        " return c.series().map((s) => [s.tag, c.dash(s).length > 0]) })()"
    )
    assert sorted(map(tuple, dashes)) == [("train/loss", True)] * 3 + [("val/loss", False)] * 3
    tab.page.locator(".menu-panel .menu-item", has_text=HOSTILE).click()
    tab.drawn("val/loss", "c.curves.series.length === 9")
    tab.page.keyboard.press("Escape")
    tab.page.reload()
    tab.drawn("val/loss", "c.curves.series.length === 9")
    hover(tab, "val/loss", 0.5)
    tab.page.locator(".tooltip").wait_for()
    assert tab.wrong == []


def test_a_report_has_several_tags_on_one_chart(log: Path, tmp_path: Path, tab: Tab) -> None:
    tbq.open(log).report(tmp_path / "report.html")
    tab.page.goto(f"{(tmp_path / 'report.html').as_uri()}#{BOTH}&baseline=lr1_s0")
    tab.drawn("val/loss", "c.curves.series.length === 24")
    assert tab.wrong == []


def test_the_filter_completes_names(page: str, tab: Tab) -> None:
    tab.open(page)
    tab.until(lambda: len(tab.runs()) == 12)
    field = tab.page.get_by_role("combobox", name="Filter runs")
    field.click()
    tab.page.keyboard.type("val")
    options = tab.page.get_by_role("option")
    tab.until(lambda: options.all_inner_texts() == ['"val/loss"'])
    assert field.get_attribute("aria-expanded") == "true"
    tab.page.keyboard.press("ArrowDown")
    tab.until(lambda: field.get_attribute("aria-activedescendant") == "filter-name-0")
    tab.page.keyboard.press("Enter")
    tab.page.keyboard.type(" < 0.095 and lr")
    assert field.input_value() == '"val/loss" < 0.095 and lr'
    options.get_by_text("hparam.lr").click()
    tab.page.keyboard.type(" = 1")
    tab.until(lambda: sorted(tab.runs()) == ["lr1_s0", "lr1_s1"])
    # Escape closes the list first, then leaves the field; then keys are shortcuts again.
    field.fill("")
    tab.page.keyboard.type("tag")
    tab.until(lambda: options.count() == 1)
    assert options.first.inner_text() == '"' + HOSTILE.replace('"', '""') + '"'
    tab.page.keyboard.press("Escape")
    tab.until(lambda: options.count() == 0)
    assert field.input_value() == "tag"
    tab.page.keyboard.press("Escape")
    tab.until(lambda: not field.evaluate("(e) => e === document.activeElement"))
    assert tab.wrong == []


@pytest.mark.parametrize("width", [1440, 500, 400])
@pytest.mark.parametrize("full", [False, True])
def test_tooltips_cover_no_axis(page: str, tabs: Any, width: int, full: bool) -> None:
    tab = tabs(viewport={"width": width, "height": 900})
    tab.open(page, f"{BOTH}&baseline=lr1_s0{'&full=val/loss' if full else ''}")
    name = "val/loss (full)" if full else "val/loss"
    tab.drawn(name, "c.curves.series.length === 24")
    plot = tab.page.locator(".full .plot" if full else '.card[data-tag="val/loss"] .plot')
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    for share in (0.2, 0.5, 0.8, 0.95):
        tab.page.mouse.move(box["x"] + box["width"] * share, box["y"] + box["height"] * 0.7)
        tip = tab.page.locator(".tooltip")
        tip.wait_for()
        assert tip.count() == 1
        axes = tab.page.evaluate(
            "(n) => { const { left, bottom } = tbq.charts.get(n).layout; return { left, bottom } }", name
        )
        tab.until(
            lambda tip=tip, axes=axes: (
                (at := tip.bounding_box())
                and at["x"] >= box["x"] + axes["left"] - 0.5
                and at["y"] + at["height"] <= box["y"] + axes["bottom"] + 0.5
                and at["x"] + at["width"] <= width
            )
        )


def test_a_group_says_that_a_member_diverged(page: str, tab: Tab) -> None:
    tab.open(page, "group=hparam.lr&sort=-val/loss:last")
    tab.drawn("val/loss", "c.curves.series.length === 3")
    texts = tab.page.locator('.card[data-tag="val/loss"] .legend li')
    tab.until(lambda: any("n=4, 1 diverged" in text for text in texts.all_inner_texts()))
    assert sum("diverged" in text for text in texts.all_inner_texts()) == 1
    row = tab.page.locator(".row.group").first
    tab.until(lambda: row.get_by_role("img", name="1 run diverged").count() >= 1)
    assert "2.5e18" in row.inner_text()


def test_one_value_per_run_is_a_row_of_dots(page: str, tab: Tab) -> None:
    for state, n in (("zoom=1..3&x=wall&logx=1", 12), ("group=hparam.lr", 3)):
        tab.open(page, state)
        tab.drawn(HOSTILE, f"c.row && c.series().length === {n}")
        places = tab.page.evaluate(
            "(t) => tbq.charts.get(t).series().map((s) => [s.x[0], s.last[0]])", HOSTILE
        )
        assert [place for place, _ in places] == list(range(n))
        assert [value for _, value in places] == sorted(value for _, value in places)
        plot = tab.page.locator(".card", has_text="__proto__").locator(".plot")
        plot.scroll_into_view_if_needed()
        box = plot.bounding_box()
        tab.page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + box["height"] / 2)
        tab.page.locator(".tooltip .near").wait_for()
        # A place in the row means nothing on the other charts.
        tab.page.mouse.down()
        tab.page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] / 2 + 40)
        tab.page.mouse.up()
        tab.until(lambda: tab.page.evaluate("(t) => tbq.charts.get(t).yZoom !== null", HOSTILE))
        assert tab.page.evaluate("tbq.state.zoom.value?.join()") == ("1,3" if "zoom" in state else None)
    # With another tag on the chart, the values are curves again.
    tab.open(page, f"with={quote(json.dumps([HOSTILE, 'val/loss']))}")
    tab.page.reload()
    tab.drawn(HOSTILE, "!c.row && c.series().length === 24")
    assert tab.wrong == []


def test_names_in_a_tooltip_can_be_told_apart(tmp_path: Path, tab: Tab) -> None:
    for run in range(24):
        name = f"lr0.00{run // 8 + 1}_bs{16 << run % 4}_seed{run % 8}"
        with tbq.SummaryWriter(tmp_path / "runs" / name) as writer:
            for tag in ("val/loss", "val/accuracy"):
                for step in range(40):
                    writer.add_scalar(tag, 2 / (step + 1) + run / 1000, step)
    with serving(tmp_path / "runs") as url:
        tab.open(url, "baseline=lr0.001_bs16_seed0")
        tab.drawn("val/loss", "c.series().length === 24")
        for share in (0.1, 0.3, 0.5, 0.7):
            hover(tab, "val/loss", share)
            tab.page.locator(".tooltip").wait_for()
            cells = tab.page.locator(".tooltip-name")
            names = cells.all_inner_texts()
            assert len(names) == len(set(names)) > 4
            assert cells.evaluate_all(
                "(all) => all.every((each) => each.scrollWidth <= each.clientWidth + 1)"
            )
            assert min(map(len, names)) >= 3
        # A shortened name stands for one run of the chart, not only of those in the tooltip.
        tab.open(url)
        hover(tab, "val/loss", 0.5)  # above all curves: the highest eight have the same lr
        tab.until(lambda: tab.page.locator(".tooltip .near").count())
        for name in tab.page.locator(".tooltip-name").all_inner_texts():
            head, _, tail = name.partition("…")
            runs = [run.name for run in (tmp_path / "runs").iterdir()]
            assert sum(run.startswith(head) and run.endswith(tail) for run in runs) == 1, name


def test_the_legend_says_what_a_dotted_line_is(demo: str, tab: Tab) -> None:
    tab.open(demo)
    legend = tab.page.locator('.card[data-tag="val/loss"] .legend')
    tab.until(lambda: "1 resumed" in legend.inner_text())
    tab.open(demo, "filter=baseline*")
    tab.until(lambda: "resumed" not in legend.inner_text())


def test_the_table_of_groups_says_whether_the_best_differ(page: str, tab: Tab) -> None:
    tab.open(page, "group=hparam.lr")
    verdict = tab.page.locator(".pane-verdict")
    tab.until(
        lambda: verdict.count() == 1 and "lr=0 and lr=1 do not differ beyond chance" in verdict.inner_text()
    )
    assert "p = " in verdict.inner_text() and "4 and 4 runs" in verdict.inner_text()
    # The verdict follows the order of the table and the shown runs.
    tab.open(page, "group=hparam.lr&sort=train/loss:min&filter=re:.*s[01]")
    tab.until(
        lambda: "By train/loss min: " in verdict.inner_text() and "2 and 2 runs" in verdict.inner_text()
    )
    tab.open(page, "")
    tab.until(lambda: verdict.count() == 0)
    assert tab.wrong == []


def test_no_curve_of_many_hides_the_others(tmp_path: Path, tab: Tab) -> None:
    for run in range(260):
        with tbq.SummaryWriter(tmp_path / "runs" / f"{run:03}") as writer:
            for i in range(400):
                writer.add_scalar("noise", (i * 7919 + run * 104729) % 101, i)
    with serving(tmp_path / "runs") as url:
        tab.open(url)
        tab.drawn("noise", "c.curves.series.length === 260 && c.layout.raster")
        # Pixels in the pure colour of a run cover little of the chart.
        share = tab.page.evaluate(
            """() => { const { base, layout: l } = tbq.charts.get("noise"), counts = new Map();
            const { data } = base.getContext("2d").getImageData(l.left, l.top, l.right - l.left, l.bottom - l.top);
            const colours = new Set(tbq.runs.runs.value.map((run) => run.colours[1]));
            let own = 0;
            for (let i = 0; i < data.length; i += 4) {
              const hex = "#" + [0, 1, 2].map((k) => data[i + k].toString(16).padStart(2, "0")).join("");
              if (colours.has(hex)) own++;
            }
            return own / (data.length / 4); }"""
        )
        assert share < 0.3
        assert tab.wrong == []
