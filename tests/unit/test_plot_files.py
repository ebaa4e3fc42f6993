"""Pictures as files: the same bytes each time, small, with fonts that printers take; existing files are kept."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tbq
from tbq.errors import OutputError, UsageError
from tbq.plot.files import FORMATS, shorter
from tbq.table.table import Table

pytestmark = pytest.mark.filterwarnings(
    "ignore:run resumed:tbq.TbqWarning", "ignore:.* runs? ha:tbq.TbqWarning"
)
PAPER: Any = {"tag": "train/loss", "run": "lr=*", "by": "re:(.*)/seed=.*", "band": "ci95", "style": "paper"}


@pytest.mark.long
def test_the_same_picture_has_the_same_bytes(runs: Path, tmp_path: Path) -> None:
    """Also in another process, whose hashes and clock differ."""
    log = tbq.open(runs)
    endings = ("svg", "pdf", "pgf", "html")
    for ending in endings:
        log.write_plot(tmp_path / f"a.{ending}", **PAPER)
    code = (
        f"import tbq; log = tbq.open({str(runs)!r})\n"
        f"for ending in {endings}: log.write_plot({str(tmp_path)!r} + '/b.' + ending, **{PAPER!r})"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    for ending in endings:
        assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes(), ending


def test_a_figure_saves_the_same_bytes_as_the_file(runs: Path, tmp_path: Path) -> None:
    figure: Any = tbq.open(runs).plot(**PAPER)
    for name in ("a.pdf", "b.pdf"):
        figure.savefig(tmp_path / name)
    data = (tmp_path / "a.pdf").read_bytes()
    assert data == (tmp_path / "b.pdf").read_bytes() and b"CreationDate" not in data
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_fonts_of_a_pdf_are_embedded_truetype(runs: Path, tmp_path: Path) -> None:
    tbq.open(runs).write_plot(tmp_path / "a.pdf", log_y=True, **PAPER)
    data = (tmp_path / "a.pdf").read_bytes()
    streams = b"".join(_inflated(part) for part in re.findall(rb"stream\r?\n(.*?)endstream", data, re.DOTALL))
    everything = data + streams
    assert (
        b"/FontFile2" in everything and b"/Subtype /CIDFontType2" in everything
    ) or b"/TrueType" in everything
    assert b"/Type3" not in everything and b"STIXGeneral" in everything


def _inflated(data: bytes) -> bytes:
    try:
        return zlib.decompress(data)
    except zlib.error:
        return b""


@pytest.mark.long
def test_ten_runs_of_a_million_points_are_a_small_svg(tmp_path: Path) -> None:
    count = 1_000_000
    rng = np.random.default_rng(1)
    values = np.concatenate([np.exp(-np.arange(count) / 3e5) + rng.normal(0, 0.1, count) for _ in range(10)])
    runs = pa.DictionaryArray.from_arrays(
        pa.array(np.repeat(np.arange(10, dtype=np.int32), count)), pa.array([f"seed={i}" for i in range(10)])
    )
    tags = pa.DictionaryArray.from_arrays(pa.array(np.zeros(10 * count, np.int32)), pa.array(["loss"]))
    steps = np.tile(np.arange(count), 10)
    table = Table(pa.table({"run": runs, "tag": tags, "step": steps, "value": values}))
    table.write_plot(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").stat().st_size < 100_000


def test_shorter_paths_are_the_same_to_a_hundredth() -> None:
    rng = np.random.default_rng(0)
    points = rng.uniform(-500, 500, (50, 2)).round(6)
    data = "M " + " L ".join(f"{x:g} {y:g}" for x, y in points) + " z"
    short = shorter(f' d="{data}"')[4:-1]
    numbers = [float(n) for n in re.findall(r"-?(?:\d+\.?\d*|\.\d+)", short)]
    steps = np.array(numbers).reshape(-1, 2)
    np.testing.assert_allclose(np.cumsum(steps, axis=0), points, atol=0.006)
    assert len(short) < 0.8 * len(data)
    assert shorter(f' d="M 1 2 C {"3 4 " * 90}"') == f' d="M 1 2 C {"3 4 " * 90}"'


def test_files_are_written_as_every_output_is(runs: Path, tmp_path: Path) -> None:
    log = tbq.open(runs)
    target = tmp_path / "new" / "a.png"
    assert log.write_plot(target, tag="lr", run="lr=*") == str(target) and target.stat().st_size > 1000
    with pytest.raises(OutputError, match="already exists"):
        log.write_plot(target, tag="lr")
    log.write_plot(target, tag="lr", force=True, run="lr=*")
    with pytest.raises(UsageError, match=r"tbq cannot draw \.tiff files"):
        log.write_plot(tmp_path / "a.tiff", tag="lr")
    with pytest.raises(UsageError, match="format: got"):
        log.write_plot(tmp_path / "a", tag="lr")
    log.write_plot(tmp_path / "a", tag="lr", format="svg", run="lr=*")
    assert (tmp_path / "a").read_bytes().startswith(b"<?xml") and sorted(FORMATS) == sorted(
        ["png", "svg", "pdf", "pgf", "html"]
    )


def test_a_page_needs_nothing_else(runs: Path, tmp_path: Path) -> None:
    tbq.open(runs).write_plot(
        tmp_path / "a.html", title="<b>50% & more</b>", style="dark", tag="lr", run="lr=*"
    )
    page = (tmp_path / "a.html").read_text("utf-8")
    assert "<title>&lt;b&gt;50% &amp; more&lt;/b&gt;</title>" in page and "background: #16181d" in page
    assert not re.findall(r'(?:src|href)="http', page) and page.count("<svg") == 1


def test_pgf_needs_no_latex_and_holds_no_pixels(runs: Path, tmp_path: Path) -> None:
    log = tbq.open(runs)
    log.write_plot(tmp_path / "a.pgf", **PAPER)
    text = (tmp_path / "a.pgf").read_text("utf-8")
    assert text.count(r"\begin{pgfpicture}") == 1 and r"\pgftext" in text and "lr=0.1 (n=2)" in text
    assert (
        r"\pgfusepath{use as bounding box}" in text
    )  # without a clip, which cut labels that LaTeX sets wider
    with pytest.raises(UsageError, match="a pgf file cannot hold images"):
        log.write_plot(tmp_path / "b.pgf", tag="samples")
    assert not (tmp_path / "b.pgf").exists()
