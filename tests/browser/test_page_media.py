"""Media, hyperparameters, SQL and health, used as a person would."""

from __future__ import annotations

from pathlib import Path

import pytest
from webpage import Tab, serving

import tbq


def test_images_follow_the_slider_and_open_large(demo: str, tab: Tab) -> None:
    tab.open(demo, "tab=media")
    picture = tab.page.locator(".strip img").first
    tab.until(lambda: picture.evaluate("(e) => e.complete && e.naturalWidth"))
    last = picture.get_attribute("src")
    tab.page.locator("#step").fill("0")
    tab.until(lambda: picture.get_attribute("src") != last)
    assert "step=0" in (picture.get_attribute("src") or "")
    assert "at=0" in tab.page.url
    tab.page.get_by_role("button", name="all steps").click()
    tab.until(lambda: tab.page.locator(".strip img").count() == 3)
    tab.page.get_by_role("button", name="all steps").click()
    tab.page.locator(".strip button").first.click()
    dialog = tab.page.get_by_role("dialog", name="samples")
    dialog.get_by_role("button", name="8×").click()
    tab.until(lambda: dialog.locator("img").evaluate("(e) => e.clientWidth === e.naturalWidth * 8"))
    dialog.get_by_role("button", name="Compare with another").click()
    assert dialog.locator("img").count() == 2
    tab.keep("images")
    assert not tab.wrong


def test_audio_has_a_waveform_and_plays(demo: str, tab: Tab) -> None:
    tab.open(demo, "tab=media&kind=audio")
    tab.page.locator("audio").wait_for()
    tab.until(lambda: tab.inked(".wave") > 100)
    tab.page.locator("audio").evaluate("(e) => e.load()")
    tab.until(
        lambda: tab.page.locator("audio").evaluate("(e) => { e.preload = 'metadata'; return e.duration > 0 }")
    )


def test_texts_are_markdown_and_show_changes(demo: str, tab: Tab) -> None:
    tab.open(demo, "tab=media&kind=texts")
    tab.page.locator(".text strong", has_text="step 100").wait_for()
    tab.page.get_by_role("button", name="Changes").click()
    tab.page.locator(".diff .added", has_text="step 100").wait_for()
    tab.page.locator(".diff .removed", has_text="step 50").wait_for()
    tab.keep("texts")


@pytest.mark.parametrize("look", ["Ridges", "Heat map"])
def test_histograms(demo: str, tab: Tab, look: str) -> None:
    tab.open(demo, "tab=media&kind=histograms")
    tab.page.get_by_role("button", name=look).click()
    tab.page.locator('.histogram[data-rows="3"]').wait_for()
    tab.until(lambda: tab.inked(".histogram") > 1000)
    tab.keep(f"histograms-{look.split()[0].lower()}")


def test_other_kinds(demo: str, tab: Tab) -> None:
    tab.open(demo, "tab=media&kind=pr_curves")
    tab.page.locator('.histogram[data-series="1"]').wait_for()
    tab.until(lambda: tab.inked(".histogram") > 300)
    tab.page.get_by_role("button", name="Tensors").click()
    tab.page.locator(".facts dd").first.wait_for()
    assert tab.page.locator(".bars span").count() > 5
    tab.page.get_by_role("button", name="Graphs").click()
    tab.page.locator("button.tree-line").first.click()
    tab.until(lambda: tab.page.locator(".tree li li").count() > 0)
    tab.keep("graph")
    assert not tab.wrong


def test_parallel_coordinates_filter_the_runs(demo: str, tab: Tab) -> None:
    tab.open(demo, "tab=hparams")
    tab.page.locator('.parallel[data-lines="9"]').wait_for()
    tab.until(lambda: tab.inked(".parallel") > 1000)
    tab.keep("hparams")
    place = tab.page.locator(".parallel").bounding_box()
    places = str(tab.page.locator(".parallel").get_attribute("data-places")).split()
    assert place and len(places) >= 4
    x = place["x"] + int(places[1])  # the second axis: lr
    tab.page.mouse.move(x, place["y"] + 40)
    tab.page.mouse.down()
    tab.page.mouse.move(x, place["y"] + place["height"] * 0.3)
    tab.page.mouse.move(x, place["y"] + place["height"] * 0.58)
    tab.page.mouse.up()
    tab.until(lambda: "hparam.lr between" in tab.page.input_value("#filter"))
    tab.until(lambda: 0 < len(tab.runs()) < 7)
    tab.page.get_by_role("button", name="clear brushes").click()
    tab.until(lambda: len(tab.runs()) == 9)


def test_sql_table_chart_history_export_and_link(demo: str, tab: Tab) -> None:
    tab.open(demo, "tab=sql")
    tab.page.fill(
        "#query", "select step, value from scalars where tag = 'train/loss' and run = 'resumed' order by step"
    )
    tab.page.keyboard.press("Control+Enter")
    tab.until(lambda: tab.page.locator("#rows").count() and "200 rows" in tab.page.inner_text("#rows"))
    assert tab.page.locator(".result tbody tr").count() > 10
    tab.until(lambda: tab.inked(".sql-chart canvas") > 300)
    tab.keep("sql")
    with tab.page.expect_download() as waiting:
        tab.page.get_by_role("button", name="CSV", exact=True).click()
    assert len(Path(waiting.value.path()).read_text().splitlines()) == 201
    tab.page.fill("#query", "select nothing from nowhere")
    tab.page.click("#execute")
    tab.page.locator(".sql-error").wait_for()
    assert "nowhere" in tab.page.inner_text(".sql-error")
    tab.page.locator(".history button").first.click()
    assert "resumed" in tab.page.input_value("#query")
    tab.page.reload()
    tab.until(lambda: tab.page.locator("#rows").count() and "200 rows" in tab.page.inner_text("#rows"))


def test_sql_reads_only(demo: str, tab: Tab) -> None:
    tab.open(demo, "tab=sql")
    for query in (
        "select * from read_text('/etc/passwd')",
        "copy (select 1) to '/tmp/x'",
        "create table t as select 1",
    ):
        tab.page.fill("#query", query)
        tab.page.click("#execute")
        tab.page.locator(".sql-error").wait_for()
        tab.page.fill("#query", "")


def test_health_names_what_is_wrong_and_leads_to_the_curve(demo: str, tab: Tab) -> None:
    tab.open(demo, "tab=health")
    finding = tab.page.locator(".finding", has_text="train/loss").first
    finding.wait_for()
    assert "is NaN from step 120" in finding.inner_text()
    tab.keep("health")
    finding.get_by_role("button", name="TBQ501").click()
    tab.page.get_by_role("dialog", name="TBQ501").wait_for()
    tab.page.keyboard.press("Escape")
    finding.get_by_role("button", name="Show curves").click()
    tab.drawn("train/loss", "c.curves.series.length === 1")


def test_health_leads_to_one_run_whatever_its_name(tmp_path: Path, tab: Tab) -> None:
    """A name with spaces or signs of patterns is neither words nor a pattern, nor is that of a tag."""
    for run in ("run a -b", "run a", "a", "re:x*", "trail "):
        with tbq.SummaryWriter(tmp_path / "runs" / run) as writer:
            for step in range(20):
                for tag in ("train loss -x", "train loss"):
                    writer.add_scalar(tag, float("nan") if step > 10 else 1.0, step)
    with serving(tmp_path / "runs") as url:
        for run in ("run a -b", "re:x*", "trail "):
            tab.open(url, "tab=health")
            finding = tab.page.locator(".finding", has_text=f"{run.strip()} · train loss -x").first
            finding.get_by_role("button", name="Show curves").click()
            tab.drawn("train loss -x", "c.curves.series.length === 1")
            assert tab.runs() == [run]
            assert tab.page.locator(".card[data-tag]").count() == 1
