"""The report: one file with the same answers as the server's, which no name or text of a log can break out of."""

from __future__ import annotations

import base64
import csv
import gzip
import hashlib
import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from served import Asked, strict, unframed

import tbq
from tbq.errors import OutputError, SelectionError, UsageError
from tbq.server.live_log import LiveLog
from tbq.server.report.embedded import Embedded, address

pytestmark = pytest.mark.filterwarnings("ignore::tbq.errors.TbqWarning")


class Page(HTMLParser):
    """The scripts of a page as a browser sees them, and every element and attribute that it has."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self._inside: dict[str, str | None] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self._inside = dict(attrs)
            self.scripts.append((self._inside, ""))

    def handle_endtag(self, tag: str) -> None:
        self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside is not None:
            attributes, text = self.scripts[-1]
            self.scripts[-1] = attributes, text + data

    def answer(self, url: str) -> Any:
        for attributes, text in self.scripts:
            if attributes.get("data-url") == url:
                if attributes["type"] == "application/json":
                    return strict(text.encode())
                body = base64.b64decode(text)
                return unframed(gzip.decompress(body)) if attributes.get("data-gzip") else body
        raise KeyError(url)


def test_a_report_answers_as_the_server(demo: Path, tmp_path: Path) -> None:
    log = tbq.open(demo)
    path = tmp_path / "report.html"
    text = "# Notes\n</script><script>alert(1)</script>"
    assert log.report(path, title="A <b>title</b>", text=text, tag="val/*", by="hparam.lr") == str(path)
    page = Page(path.read_text())
    assert [run["name"] for run in page.answer("api/runs")["runs"]] == log.runs
    header, columns = page.answer("api/curves?tag=val%2Floss&width=600&x=step")
    assert len(header["series"]) == 8
    assert np.nanmin(columns["min"]) == np.float32(np.nanmin(log.scalars(tag="val/loss")["value"]))
    header, columns = page.answer("api/curves?band=std&group=hparam.lr&tag=val%2Floss&width=600&x=step")
    assert [each["group"] for each in header["series"]] == ["lr=0.01", "lr=0.03", "lr=0.1", "lr=1"]
    assert {"lower", "upper"} <= set(columns)
    facts = page.answer("api/report")
    assert (facts["title"], facts["text"]) == ("A <b>title</b>", text)
    assert facts["tags"] == ["val/accuracy", "val/loss"]
    assert facts["commands"][0]["command"].startswith(
        "tbq report runs --tag val/accuracy --tag val/loss --by"
    )
    assert len(page.answer("api/health")["findings"]) == len(tbq.doctor(demo))
    run = page.answer("api/series?kind=images&tag=samples")["runs"][0]
    image = page.answer(f"api/image?index=0&run={run['id']}&step={run['steps'][0]}&tag=samples")
    assert image[:4] in (b"\x89PNG", b"\xff\xd8\xff\xe0")
    verdict = page.answer("api/configurations?by=hparam.lr&runs=*&stat=last&tag=val%2Floss")["verdict"]
    assert verdict.startswith("lr=0.1 and lr=0.03 ") and "Welch's t-test, 2 and 2 runs" in verdict
    header, _ = page.answer("api/metrics")
    assert {(each["tag"], each["stat"]) for each in header["metrics"]} >= {
        ("val/loss", "last"),
        ("val/loss", "best"),
    }
    assert str(demo.parent) not in path.read_text()


def test_only_our_own_code_runs(demo: Path, tmp_path: Path) -> None:
    text = Path(tbq.open(demo).report(tmp_path / "report.html", tag="val/loss")).read_text()
    page = Page(text)
    policy = next(
        attributes["content"] or "" for tag, attributes in page.elements if attributes.get("http-equiv")
    )
    run = [body for attributes, body in page.scripts if "data-url" not in attributes]
    for body in run:
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "unsafe" not in policy and "http" not in policy
    assert not any(
        name in attributes for _, attributes in page.elements for name in ("src", "href", "onerror", "onload")
    )
    modules = json.loads(
        next(body for attributes, body in page.scripts if attributes.get("type") == "importmap")
    )
    for url in modules["imports"].values():
        source = base64.b64decode(url.partition("base64,")[2]).decode()
        for name in re.findall(r"""(?:\bfrom\s*|\bimport\s*)["']([^"']+)["']""", source):
            assert name in modules["imports"], name


def test_hostile_names_stay_data(tmp_path: Path) -> None:
    names = [
        "</script><script>alert(1)</script>",
        "<!--<script>",
        "]]>",
        "a\u2028b",
        "&lt;b&gt;",
        "'\"><img src=x onerror=x>",
    ]
    for place, name in enumerate(names):
        with tbq.SummaryWriter(tmp_path / "runs" / name.replace("/", "_")) as writer:
            writer.add_scalar(name, math.nan if place % 2 else 1.0, 0)
            writer.add_text(name, name, 0)
            writer.add_hparams({name: name}, {}, run_name=".")
    path = tmp_path / "report.html"
    tbq.open(tmp_path / "runs").report(path, title=names[0], text=names[1])
    page = Page(path.read_text())
    clean = {"html", "head", "meta", "title", "style", "script", "body", "div", "noscript"}
    assert {tag for tag, _ in page.elements} == clean
    assert {entry["tag"] for entry in page.answer("api/tags")["tags"]} >= set(names)
    assert page.elements[0][1]["data-report"] == names[0]
    assert page.answer("api/report")["text"] == names[1]


def test_a_report_replaces_nothing_unasked(demo: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("mine")
    with pytest.raises(OutputError):
        tbq.open(demo).report(path)
    assert path.read_text() == "mine"
    tbq.open(demo).report(path, force=True, tag="lr")
    assert path.read_text() != "mine"
    with pytest.raises(UsageError):
        tbq.open(demo).report(tmp_path / "other.html", band="wide")  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        tbq.open(demo).report(tmp_path / "other.html", tag="nowhere")
    assert not (tmp_path / "other.html").exists()


@pytest.mark.long
def test_a_large_report_is_small(tmp_path: Path) -> None:
    """Fewer columns for many curves, which the report says."""
    for run in range(300):
        with tbq.SummaryWriter(tmp_path / "runs" / f"run{run:03}") as writer:
            for step in range(40):
                for tag in range(12):
                    writer.add_scalar(f"tag{tag:02}", math.sin(run + step * tag), step)
    path = tmp_path / "report.html"
    with pytest.warns(tbq.TbqWarning, match="columns instead of 600"):
        tbq.open(tmp_path / "runs").report(path)
    assert path.stat().st_size < 5_000_000
    header, _ = Page(path.read_text()).answer("api/curves?tag=tag03&width=600&x=step")
    assert header["width"] < 600 and len(header["series"]) == 300


def test_a_tag_of_no_group_has_no_curve_and_the_report_is_made(tmp_path: Path) -> None:
    """Whichever way groups are made; the page, which asks the same, says nothing false either."""
    for place in range(3):
        with tbq.SummaryWriter(tmp_path / "runs" / f"g{place}") as writer:
            writer.add_scalar("loss", 1.0, 0)
            writer.add_hparams({"lr": 0.1 * place}, {"score": 1.0}, run_name=".")
    with tbq.SummaryWriter(tmp_path / "runs" / "other") as writer:
        writer.add_scalar("only/here", 2.0, 0)
    for number, by in enumerate(("hparam.lr", "g*", "re:(g).")):
        for band in ("std", "none"):
            path = tmp_path / f"{number}-{band}.html"
            tbq.open(tmp_path / "runs").report(path, by=by, band=band)
            page = Page(path.read_text("utf-8"))
            params = {"tag": "only/here", "width": 600, "x": "step"}
            assert len(page.answer(address("curves", params))[0]["series"]) == 1
            grouped = {"group": by, "band": band}
            assert page.answer(address("curves", {**params, **grouped}))[0]["series"] == []
            of_loss = page.answer(address("curves", {**params, **grouped, "tag": "loss"}))[0]["series"]
            assert {name for each in of_loss for name in (each["group"],)} == {
                group["name"] for group in page.answer(address("groups", {"by": by}))["groups"]
            }
    with pytest.raises(SelectionError, match="no run has the hyperparameter"):
        tbq.open(tmp_path / "runs").report(tmp_path / "no.html", by="hparam.nothing")


@pytest.mark.parametrize("by", ["hparam.lr", "hparam.lr,hparam.bn", "g*", "re:(g)."])
def test_runs_of_no_group_are_no_error(tmp_path: Path, by: str) -> None:
    """The groups exist even if none of the runs that a page shows has one."""
    for place in range(2):
        with tbq.SummaryWriter(tmp_path / f"g{place}") as writer:
            writer.add_scalar("loss", 1.0, 0)
            writer.add_hparams({"lr": 0.1 * place, "bn": True}, {"score": 1.0}, run_name=".")
    with tbq.SummaryWriter(tmp_path / "other") as writer:
        writer.add_scalar("loss", 2.0, 0)
    asked = Asked(tmp_path)
    try:
        every = [each["name"] for each in asked.json("groups", by=by)["groups"]]
        for runs, want in ((asked.id("other"), []), ("-", []), (asked.id("g1"), every[-1:]), ("*", every)):
            chosen = {"tag": "loss", "runs": runs}
            rows = asked.json("configurations", by=by, **chosen)["groups"]
            assert sorted(row["name"] for row in rows) == want
            for band in ("std", "none"):
                header, _ = asked.frame("curves", group=by, band=band, **chosen)
                assert sorted({each["group"] for each in header["series"]}) == want
            text = asked.answer("summary.csv", columns='[["loss","last"]]', group=by, runs=runs).body.decode()
            named = {row["group"] for row in csv.DictReader(text.splitlines()) if row["group"]}
            assert sorted(named) == want
    finally:
        asked.log.close()


def test_a_text_that_cannot_be_read_any_more_is_left_out(tmp_path: Path) -> None:
    for name in "ab":
        with tbq.SummaryWriter(tmp_path / "runs" / name) as writer:
            writer.add_text("notes", name * 100_000, 0)
    log = LiveLog(tmp_path / "runs")
    log.read_everything()
    for file in (tmp_path / "runs" / "a").iterdir():
        file.write_bytes(file.read_bytes()[:500])
    embedded = Embedded(log)
    embedded.texts()
    log.close()
    assert embedded.left_out == ["1 texts, because they are unreadable or to keep the file small"]
    assert any("b" * 1000 in block for block in embedded.blocks)
