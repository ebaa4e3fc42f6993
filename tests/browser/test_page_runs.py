"""The runs table: filter, sort, group, show and hide, top N, columns, CSV."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import eventfile as ef
from webpage import Tab, serving

import tbq

LR = [
    "lr=0.01/seed=0",
    "lr=0.01/seed=1",
    "lr=0.03/seed=0",
    "lr=0.03/seed=1",
    "lr=0.1/seed=0",
    "lr=0.1/seed=1",
]


def test_all_runs_are_listed_with_state_and_values(demo: str, tab: Tab) -> None:
    tab.open(demo)
    tab.until(lambda: len(tab.runs()) == 9)
    diverged = tab.page.locator('.row[data-run="diverged"]')
    assert "≁" in diverged.inner_text()
    tab.until(lambda: "nan" in diverged.inner_text())
    assert "0.1939" in tab.page.locator('.row[data-run="lr=0.1/seed=0"]').inner_text()
    tab.keep("runs")
    assert not tab.wrong


def test_filters_by_words_glob_pattern_and_expression(demo: str, tab: Tab) -> None:
    tab.open(demo)
    tab.until(lambda: len(tab.runs()) == 9)
    for typed, want in (
        ("lr=0.1", {"lr=0.1/seed=0", "lr=0.1/seed=1"}),
        ("*seed=0", {name for name in LR if name.endswith("0")}),
        ("/seed=1$/", {name for name in LR if name.endswith("1")}),
        ("re:lr=0.0[13]/seed=1", {"lr=0.01/seed=1", "lr=0.03/seed=1"}),
        ("lr -seed=1", {name for name in LR if name.endswith("0")}),
        ("hparam.lr = .1", {"lr=0.1/seed=0", "lr=0.1/seed=1"}),
        ('isnan("val/loss")', {"diverged"}),
        ("lower(run) = 'diverged'", {"diverged"}),
        ("not (hparam.lr is distinct from 0.01)", {"lr=0.01/seed=0", "lr=0.01/seed=1"}),
        ("-hparam.lr<-.05 and run like 'lr%'", {"lr=0.1/seed=0", "lr=0.1/seed=1"}),
        ('hparam.lr > 0.01 and "val/loss" < 0.3', {"lr=0.03/seed=0", "lr=0.1/seed=0", "lr=0.1/seed=1"}),
    ):
        tab.page.fill("#filter", typed)
        tab.until(lambda want=want: set(tab.runs()) == want)
    shown = tab.drawn("val/loss", "c.curves.series.length === 3")
    assert len(shown["series"]) == 3  # the curves follow the table
    tab.page.fill("#filter", '"val/los" < 1')
    tab.until(lambda: 'did you mean the column "val/loss"' in tab.page.inner_text("#filter-error"))
    tab.page.fill("#filter", "no such run")
    tab.page.get_by_text("No run matches the filter").wait_for()
    tab.page.get_by_role("button", name="Clear the filter").click()
    tab.until(lambda: len(tab.runs()) == 9)


def test_a_filter_that_leaves_nothing_says_how_it_was_read(demo: str, tab: Tab) -> None:
    tab.open(demo)
    tab.until(lambda: len(tab.runs()) == 9)
    for typed, *said in (
        ("duration = 9", "The condition is true for none of 9 runs"),
        ("hparam.lr > 100", "The condition is true for none of 9 runs", "have no value for it"),
        (
            "sedd=1",
            "Read as a name pattern, which matches none of 9 runs",
            "Closest: seed=1",
            "As a condition",
        ),
        ("lr=0.1 sedd", "Read as a name pattern", "syntax error"),
        ("divergde", "Read as a name pattern", "Closest: diverged"),
    ):
        tab.page.fill("#filter", typed)
        tab.until(lambda said=said: all(each in tab.page.inner_text("#filter-error") for each in said))
        assert tab.page.inner_text("#count") == "0 of 9 runs"
    tab.keep("filter-nothing")
    tab.page.fill("#filter", "-nothing-like-it")
    tab.until(lambda: "excludes nothing" in tab.page.inner_text("#filter-error"))
    assert len(tab.runs()) == 9
    tab.page.fill("#filter", "lr=0.1")
    tab.until(lambda: tab.page.inner_text("#count") == "2 of 9 runs")
    assert not tab.page.inner_text("#filter-error")
    assert not tab.wrong


def test_a_name_with_a_sign_of_sql_is_found(tmp_path: Path, tab: Tab) -> None:
    """Words of names filter by name, even if they are valid SQL; a condition of several words stays a condition."""
    for name in ("lr=0.5", "lr=0.7", "shuffle=true"):
        with tbq.SummaryWriter(tmp_path / name) as writer:
            writer.add_scalar("lr", 0.5 if name == "lr=0.7" else 0.25, 0)
    with serving(tmp_path) as url:
        tab.open(url)
        tab.until(lambda: len(tab.runs()) == 3)
        for typed, want in (("lr=0.5", "lr=0.5"), ("true", "shuffle=true"), ("lr = 0.5", "lr=0.7")):
            tab.page.fill("#filter", typed)
            tab.until(lambda want=want: tab.runs() == [want])
        tab.until(lambda: "type *lr* = 0.5" in tab.page.inner_text("#filter-error"))
        tab.page.fill("#filter", "*lr* = 0.5")
        tab.until(lambda: tab.runs() == ["lr=0.5"])


def test_sorts_by_a_column_with_missing_values_last(demo: str, tab: Tab) -> None:
    tab.open(demo)
    tab.until(lambda: "0.1939" in tab.page.inner_text(".table"))
    head = tab.page.get_by_role("columnheader", name="val/loss")
    head.get_by_role("button").click()
    tab.until(lambda: tab.runs()[:2] == ["lr=0.1/seed=0", "lr=0.1/seed=1"])
    assert head.get_attribute("aria-sort") == "ascending"
    head.get_by_role("button").click()
    tab.until(lambda: tab.runs()[0] == "lr=0.01/seed=0")
    assert tab.runs()[-1] in {"media", "diverged"}


def test_groups_have_one_colour_a_mean_and_a_band(demo: str, tab: Tab) -> None:
    tab.open(demo)
    tab.page.click("#group")
    tab.page.locator(".menu-panel").get_by_role("button", name="lr").first.click()
    tab.page.keyboard.press("Escape")
    tab.page.locator('.row[data-group="lr=0.03"]').wait_for()
    shown = tab.drawn("val/loss", "c.curves.series.some((s) => s.lower)")
    assert {each["group"] for each in shown["series"]} >= {"lr=0.01", "lr=0.03", "lr=0.1"}
    assert all(each["band"] for each in shown["series"])
    tab.keep("groups")
    tab.page.locator('.row[data-group="lr=0.03"] .fold').click()
    tab.until(lambda: not any(name.startswith("lr=0.03") for name in tab.runs()))
    assert "group=hparam.lr" in tab.page.url


def test_groups_by_a_pattern_of_the_name(demo: str, tab: Tab) -> None:
    tab.open(demo, "group=re:.*/(seed=.)")
    tab.page.locator('.row[data-group="seed=1"]').wait_for()
    shown = tab.drawn("val/loss", "c.curves.series.some((s) => s.lower)")
    assert {"seed=0", "seed=1"} <= {each["group"] for each in shown["series"]}


def test_hide_solo_pin_and_top(demo: str, tab: Tab) -> None:
    tab.open(demo)
    tab.drawn("val/loss", "c.curves.series.length === 8")
    tab.page.get_by_role("button", name="Hide diverged").click()
    tab.drawn("val/loss", "c.curves.series.length === 7")
    assert "hide=diverged" in tab.page.url
    row = tab.page.locator('.row[data-run="resumed"]')
    row.hover()
    row.get_by_role("button", name="Show only resumed").click()
    tab.drawn("val/loss", "c.curves.series.length === 1")
    tab.page.keyboard.press("Escape")
    tab.drawn("val/loss", "c.curves.series.length === 7")
    row.hover()
    row.get_by_role("button", name="Pin resumed").click()
    tab.until(lambda: tab.runs()[0] == "resumed")
    tab.page.click("#top")
    tab.page.get_by_role("button", name="Top 3").first.click()
    tab.until(lambda: set(tab.runs()) == {"lr=0.1/seed=0", "lr=0.1/seed=1", "resumed"})


def test_columns_are_chosen_and_the_table_is_saved(demo: str, tab: Tab) -> None:
    tab.open(demo, "wide=1&filter=seed=0")
    tab.until(lambda: len(tab.runs()) == 3)
    tab.page.get_by_role("button", name="Columns").click()
    tab.page.get_by_role("button", name="train/loss min", exact=True).click()
    tab.page.get_by_role("columnheader", name="train/loss min").wait_for()
    tab.page.keyboard.press("Escape")
    tab.until(lambda: tab.page.locator('.row[data-run="lr=0.1/seed=0"] .cell').last.inner_text())
    tab.keep("wide")
    with tab.page.expect_download() as waiting:
        tab.page.get_by_role("button", name="Download the table as CSV").click()
    rows = list(csv.DictReader(io.StringIO(Path(waiting.value.path()).read_text())))
    assert {row["run"] for row in rows} == {name for name in LR if name.endswith("0")}
    best = next(row for row in rows if row["run"] == "lr=0.1/seed=0")
    assert float(best["train/loss.min"]) < 1 and float(best["hparam.lr"]) == 0.1


def test_ten_thousand_rows_are_not_ten_thousand_elements(tmp_path: Path, tab: Tab) -> None:
    for number in range(1200):
        folder = tmp_path / "log" / f"run_{number:04}"
        folder.mkdir(parents=True)
        events = [ef.version(), ef.scalar("loss", 1, float(number))]
        (folder / "events.out.tfevents.1.host").write_bytes(ef.event_file(events))
    with serving(tmp_path / "log") as url:
        tab.open(url, "sort=-loss:last&column=loss:last")
        tab.until(lambda: tab.runs() and tab.runs()[0] == "run_1199", 40)
        assert tab.page.locator(".table .row").count() < 80
        tab.page.evaluate("document.getElementById('runs').scrollTop = 1e9")
        tab.until(lambda: tab.runs()[-1] == "run_0000")
        assert tab.page.locator("#count").inner_text().startswith("1,200 runs")
        # Every row and every curve is there, though the names of all are not in the page.
        assert len(tab.drawn("loss", "c.curves.series.length === 1200")["series"]) == 1200


def test_nan_is_nan_in_a_csv_file(demo: str, tab: Tab) -> None:
    tab.open(demo, "column=val/loss:last")
    tab.until(lambda: tab.page.locator('.row[data-run="diverged"] .cell').last.inner_text() == "nan")
    with tab.page.expect_download() as waiting:
        tab.page.get_by_role("button", name="Download the table as CSV").click()
    rows = {row["run"]: row for row in csv.DictReader(io.StringIO(Path(waiting.value.path()).read_text()))}
    assert (rows["diverged"]["val/loss"], rows["media"]["val/loss"]) == ("nan", "")
    tab.open(demo, "tab=sql&query=select+'nan'::double+as+a,+null::double+as+b")
    tab.page.get_by_role("button", name="Run").first.click()
    with tab.page.expect_download() as waiting:
        tab.page.get_by_role("button", name="CSV", exact=True).click()
    assert Path(waiting.value.path()).read_text() == "a,b\nnan,\n"
