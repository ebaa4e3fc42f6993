"""Baselines with any name, in two tabs, while their run disappears and comes back; links with tags of another log."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from webpage import Tab, hover, serving

import tbq

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "a\"b'c`d&amp;",
    "__proto__",
    "constructor",
    "\u202egnp.exe \u05d0\u05d1",
    "/".join(["x" * 125] * 4),
)


def _write(path: Path, offset: float) -> None:
    with tbq.SummaryWriter(path) as writer:
        for step in range(20):
            writer.add_scalar("loss", 1 / (step + 1) + offset, step)
            writer.add_scalar("other", offset, step)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Any:
    root = tmp_path_factory.mktemp("baseline") / "log"
    for number, name in enumerate(HOSTILE):
        _write(root / name, number)
    with serving(root) as url:
        yield url


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_baseline_has_any_name(hostile: str, tab: Tab, name: str) -> None:
    tab.open(hostile, "sort=name")
    row = tab.page.locator(f".row[data-run={json.dumps(name, ensure_ascii=False)}]")
    row.hover()
    row.get_by_label(f"Compare with {name}", exact=True).click()
    chip = tab.page.locator("#baseline")
    chip.wait_for()
    tab.page.reload()  # the address names the baseline
    tab.until(lambda: tab.runs()[:1] == [name])
    assert name in (chip.get_attribute("title") or "")
    pane = tab.page.locator(".pane").bounding_box()
    box = chip.bounding_box()
    assert box["x"] + box["width"] <= pane["x"] + pane["width"]
    tab.drawn("loss", f"c.bases().size === 1 && c.series().length === {len(HOSTILE)}")
    hover(tab, "loss", 0.3)
    tip = tab.page.locator(".tooltip")
    tip.wait_for()
    names = tab.page.locator(".tooltip-name").all_inner_texts()
    assert len(set(names)) == len(names) == len(HOSTILE)
    assert tip.bounding_box()["width"] < 700
    assert tab.page.locator("img, iframe").count() == 0
    chip.click()
    tab.until(lambda: chip.count() == 0)
    assert tab.wrong == []


def test_a_baseline_that_goes_and_comes_back(tmp_path: Path, tab: Tab, tabs: Any) -> None:
    log = tmp_path / "log"
    for number, name in enumerate(("a", "b", "c")):
        _write(log / name, number)
    with serving(log, flags=("--interval", "0.1")) as url:
        tab.open(url, "baseline=a&sort=name")
        second = tabs()
        second.open(url, "baseline=b&sort=name")
        tab.drawn("loss", "c.bases().size === 1 && c.series().length === 3")
        second.drawn("loss", "c.bases().size === 1 && c.series().length === 3")
        assert (tab.runs(), second.runs()) == (["a", "b", "c"], ["b", "a", "c"])
        shutil.move(log / "a", tmp_path / "away")
        tab.until(lambda: tab.runs() == ["b", "c"])
        tab.drawn("loss", "c.bases().size === 0 && c.series().length === 2")
        assert tab.page.locator("#baseline").count() == 0
        second.until(lambda: second.runs() == ["b", "c"])
        shutil.move(tmp_path / "away", log / "a")
        tab.until(lambda: tab.runs() == ["a", "b", "c"])
        tab.drawn("loss", "c.bases().size === 1 && c.series().length === 3")
        tab.page.locator("#baseline").wait_for()
        second.drawn("loss", "c.bases().size === 1 && c.series().length === 3")
        _write(log / "d", 3)  # the comparison continues
        tab.until(lambda: tab.runs() == ["a", "b", "c", "d"])
        assert tab.wrong == second.wrong == []


def test_a_view_of_another_log(tmp_path: Path, tab: Tab) -> None:
    _write(tmp_path / "log" / "a", 0)
    unknown = "gone/<b>tag</b>"
    state = (
        f"with={quote(json.dumps(['loss', unknown]))}&with={quote(json.dumps([unknown, 'loss']))}"
        f"&pin={quote(unknown)}&log={quote(unknown)}&entire={quote(unknown)}&baseline={quote(unknown)}"
        f"&column={quote(unknown)}:last&column=hparam.none&sort={quote(unknown)}:min&solo="
    )
    with serving(tmp_path / "log") as url:
        tab.open(url, state)
        tab.until(lambda: tab.runs() == ["a"])
        shown = tab.drawn("loss", "c.series().length === 1 && !c.error")
        assert shown["series"][0]["last"] == pytest.approx(0.05)
        assert tab.page.locator("#baseline").count() == 0
        assert tab.page.locator(".card").count() == 2
        assert tab.wrong == []
