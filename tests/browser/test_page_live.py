"""A page that is open while runs are written, an empty directory, many tags."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path
from typing import Any

import eventfile as ef
import numpy as np
from webpage import Tab, serving

import tbq


def test_a_page_follows_a_writer(tmp_path: Path, tab: Tab, tabs: Any) -> None:
    (tmp_path / "log").mkdir()
    with serving(tmp_path / "log") as url:
        tab.open(url)
        tab.page.get_by_text("Waiting. The page updates by itself.").first.wait_for()
        tab.keep("empty")
        second = tabs()
        second.open(url)
        with tbq.SummaryWriter(tmp_path / "log" / "first", flush_secs=0.05) as writer:
            for step in range(20):
                writer.add_scalar("loss", 20 - step, step)
            writer.flush()
            tab.drawn("loss", "c.curves.high === 19")
            second.drawn("loss", "c.curves.high === 19")
            before = tab.page.locator('.card[data-tag="loss"]').bounding_box()
            for step in range(20, 50):
                writer.add_scalar("loss", 20 - step, step)
            writer.flush()
            tab.drawn("loss", "c.curves.high === 49")
            assert tab.page.locator('.card[data-tag="loss"]').bounding_box() == before  # nothing jumps
            # While zoomed in, the axis stays.
            tab.open(url, "zoom=5..15")
            tab.drawn("loss", "c.curves.high === 15")
            writer.add_scalar("loss", 1.0, 60)
            writer.add_scalar("other", 1.0, 60)
            writer.flush()
            tab.page.locator('.card[data-tag="other"]').wait_for()
            assert tab.drawn("loss")["x"] == [5, 15]
        with tbq.SummaryWriter(tmp_path / "log" / "late") as writer:
            writer.add_scalar("loss", 1.0, 1)
        tab.until(lambda: set(tab.runs()) == {"first", "late"})
        tab.until(lambda: "60" in tab.page.locator('.row[data-run="first"]').inner_text())
    assert not [each for each in tab.wrong if "ERR_" not in each]


def test_the_cursor_stays_at_its_run(tmp_path: Path, tab: Tab) -> None:
    """New runs above the selected one do not move the selection."""
    for run in ("m", "n"):
        with tbq.SummaryWriter(tmp_path / "log" / run) as writer:
            writer.add_scalar("loss", 1.0, 0)
    with serving(tmp_path / "log") as url:
        tab.open(url, "sort=name")
        tab.until(lambda: tab.runs() == ["m", "n"])
        tab.page.locator('.row[data-run="m"] .run-name').click()
        with tbq.SummaryWriter(tmp_path / "log" / "a") as writer:
            writer.add_scalar("loss", 1.0, 0)
        tab.until(lambda: tab.runs() == ["a", "m", "n"])
        assert tab.page.locator(".row.cursor").get_attribute("data-run") == "m"
        tab.page.locator("#runs").focus()
        tab.page.keyboard.press("s")
        tab.page.locator('.row.off[data-run="a"]').wait_for()
        assert tab.page.locator('.row:not(.off)[data-run="m"]').count() == 1
        tab.page.keyboard.press("s")
        tab.page.locator(".head-button", has_text="Run").first.click()
        tab.until(lambda: tab.runs() == ["n", "m", "a"])
        assert tab.page.locator(".row.cursor").get_attribute("data-run") == "m"


def test_a_run_vanishes_while_it_is_the_only_one_shown(tmp_path: Path, tab: Tab) -> None:
    """No run is drawn then, not all of them; and none if all are hidden."""
    for run in ("a", "b"):
        with tbq.SummaryWriter(tmp_path / "log" / run) as writer:
            for step in range(20):
                writer.add_scalar("loss", 20 - step, step)
    with serving(tmp_path / "log") as url:
        tab.open(url, "solo=b")
        assert [each["n"] for each in tab.drawn("loss", "c.curves.series.length === 1")["series"]] == [20]
        shutil.rmtree(tmp_path / "log" / "b")
        assert (
            tab.drawn(
                "loss", "tbq.runs.runs.value.length === 1 && !c.flying && c.curves.series.length !== 1"
            )["series"]
            == []
        )
        tab.page.get_by_text("The shown runs have no points").wait_for()
        tab.page.get_by_text("only b").click()
        assert len(tab.drawn("loss", "c.curves.series.length > 0")["series"]) == 1
        tab.page.locator('.row[data-run="a"]').click()
        tab.page.keyboard.press("Space")
        tab.drawn("loss", "tbq.runs.shown.value.length === 0 && !c.flying && c.curves.series.length === 0")
    assert not [each for each in tab.wrong if "ERR_" not in each]


def test_the_page_says_that_the_server_is_gone(tmp_path: Path, tab: Tab) -> None:
    tbq.demo(tmp_path / "runs")
    with serving(tmp_path / "runs") as url:
        tab.open(url)
        tab.drawn("val/loss")
    tab.page.get_by_role("alert").wait_for()
    assert "does not answer" in tab.page.get_by_role("alert").inner_text()
    assert tab.drawn("val/loss")["series"]  # what was there still is


def _port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def test_another_server_at_the_same_version(tmp_path: Path, tab: Tab) -> None:
    """The page shows the data of the current server: its numbers, its runs, its filter."""
    flags = ("--port", str(_port()))

    def write(values: dict[str, float]) -> None:
        shutil.rmtree(tmp_path / "runs", ignore_errors=True)
        for name, value in values.items():
            with tbq.SummaryWriter(tmp_path / "runs" / name) as writer:
                writer.add_scalar("loss", value, 0, walltime=100.0)
                writer.add_scalar("loss", value, 1, walltime=101.0)

    def shown() -> dict[str, str]:
        return {name: tab.page.inner_text(f'.row[data-run="{name}"]') for name in tab.runs()}

    write({"a": 1.0, "b": 5.0})
    with serving(tmp_path / "runs", flags=flags) as url:
        tab.open(url, "filter=loss+>+3&column=loss:max")
        tab.until(lambda: tab.runs() == ["b"] and "5" in shown()["b"])
        first = tab.page.evaluate("tbq.runs.server.value")
    tab.page.get_by_role("alert").wait_for()
    write({"a": 7.0, "b": 2.0})
    with serving(tmp_path / "runs", flags=flags):
        tab.until(lambda: tab.runs() == ["a"] and "7" in shown()["a"], 60)
        now = tab.page.evaluate("tbq.runs.server.value")
        tab.until(lambda: tab.drawn("loss", "c.curves.series.length === 1")["series"][0]["last"] == 7.0)
    assert first["instance"] != now["instance"]
    assert not [each for each in tab.wrong if "ERR_" not in each]


def test_images_and_texts_of_a_run_that_is_written_anew(tmp_path: Path, tab: Tab) -> None:
    """At the same step, with the same time, in a file of the same name: the page shows the current content."""
    path = tmp_path / "runs" / "a"

    def write(shade: int) -> None:
        with tbq.SummaryWriter(tmp_path / str(shade)) as writer:
            picture = np.full((8, 8, 3), shade, np.uint8)
            writer.add_image("picture", picture, 3, dataformats="HWC", walltime=100.0)
            writer.add_text("note", f"shade-{shade}", 3, walltime=100.0)
        (file,) = (tmp_path / str(shade)).iterdir()
        path.mkdir(parents=True, exist_ok=True)
        file.replace(path / "events.out.tfevents.100.host")

    def shade() -> int:
        return int(
            tab.page.evaluate(
                "() => { const i = document.querySelector('.strip img'); if (!i?.complete || !i.naturalWidth) return -1;"
                " const c = new OffscreenCanvas(8, 8).getContext('2d'); c.drawImage(i, 0, 0);"
                " return c.getImageData(2, 2, 1, 1).data[0] }"
            )
        )

    write(10)
    with serving(tmp_path / "runs") as url:
        tab.open(url, "tab=media&kind=images")
        tab.until(lambda: shade() == 10)
        write(200)
        tab.until(lambda: shade() == 200)
        tab.page.reload()
        tab.until(lambda: shade() == 200)
        tab.page.get_by_role("button", name="Texts").click()
        tab.page.get_by_text("shade-200").wait_for()
        write(77)
        tab.page.get_by_text("shade-77").wait_for()
        tab.page.get_by_role("button", name="Images").click()
        tab.until(lambda: shade() == 77)
        tab.page.reload()  # within the minute in which browsers kept it
        tab.until(lambda: shade() in (77, 200, 10))
        assert shade() == 77
        tab.keep("media-anew")
    assert not [each for each in tab.wrong if "ERR_" not in each]


def test_fifty_thousand_tags(tmp_path: Path, tab: Tab) -> None:
    folder = tmp_path / "log" / "run"
    folder.mkdir(parents=True)
    events = [ef.scalar(f"layer{number // 100}/weight_{number}", 1, 1.0) for number in range(50_000)]
    (folder / "events.out.tfevents.1.host").write_bytes(ef.event_file([ef.version(), *events]))
    with serving(tmp_path / "log") as url:
        tab.open(url)
        tab.page.locator(".card[data-tag]").first.wait_for(timeout=60_000)
        assert tab.page.locator(".card[data-tag]").count() < 1000
        tab.page.fill("#search", "layer499/weight_49999")
        tab.drawn("layer499/weight_49999")
        assert tab.page.locator(".card[data-tag]").count() == 1
