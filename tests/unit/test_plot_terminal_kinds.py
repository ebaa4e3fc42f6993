"""What a terminal shows of histograms, audio and hyperparameters, against what NumPy says of the same values."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tbq
from tbq.plot.cells import cell_len
from tbq.write import SummaryWriter

pytestmark = pytest.mark.filterwarnings("ignore::tbq.TbqWarning")
KINDS: list[tuple[str, dict[str, Any]]] = [
    ("weights/layer1", {"kind": "ridge"}),
    ("weights/layer1", {"kind": "heatmap"}),
    ("weights/layer1", {}),
    ("tone", {}),
    ("classifier", {}),
    ("val/loss", {"kind": "scatter"}),
    ("val/loss", {"kind": "parallel", "order": "best:val/loss:min"}),
    ("train/loss", {"kind": "difference", "run": ["lr=0.1/seed=0", "lr=0.03/seed=0"]}),
]


@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("width", [20, 21, 33, 80, 240])
def test_every_kind_fits_every_width(log: tbq.LogDir, width: int, colour: bool) -> None:
    import re

    for tag, options in KINDS:
        drawn = log.plot_text(tag, width=width, colour=colour, **options)
        plain = re.sub(r"\x1b\[[0-9;]*m", "", drawn)
        assert all(cell_len(line) <= width for line in plain.split("\n")), (tag, options)
        assert plain.strip() and "\x1b" not in plain


def test_bars_of_a_histogram_are_its_shares(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path / "runs/a")) as writer:
        for step in range(3):
            writer.add_histogram(
                "h", np.repeat(np.arange(8.0) + 0.5, np.arange(8) + 1), step, bins=np.arange(9.0)
            )
    log = tbq.open(tmp_path / "runs")
    lines = log.plot_text("h", kind="ridge", width=42).split("\n")
    assert [line.split("│")[0].strip() for line in lines[1:4]] == ["0", "1", "2"]
    ends = np.array([0.5, 1, 2, 3, 4, 5, 6, 7, 7.5])  # TensorBoard's buckets end where the values end
    below = np.concatenate([[0.0], np.cumsum(np.arange(8) + 1.0)])
    shares = np.diff(np.interp(np.linspace(0.5, 7.5, 41), ends, below))
    shares /= shares.max()
    for kind, letters in (("ridge", " ▁▂▃▄▅▆▇█"), ("heatmap", " ░▒▓█")):
        for line in log.plot_text("h", kind=kind, width=42).split("\n")[1:4]:  # type: ignore[arg-type]
            made = [letters.index(letter) for letter in line.split("│")[1]]
            want = shares * (len(letters) - 1)
            assert len(made) == 40
            assert all(
                math.ceil(w - 1e-9) <= m <= math.ceil(w + 1e-9) for m, w in zip(made, want, strict=True)
            )


def test_hyperparameters_are_listed_from_the_best_on(log: tbq.LogDir) -> None:
    lines = log.plot_text("val/loss", kind="parallel", width=90).split("\n")
    assert lines[0].split() == ["val/loss", "augment", "lr", "optimizer", "seed", "run"]
    values = [float(line.split()[0]) for line in lines[1:]]
    last = {run: log.series("val/loss", run=run).values[-1] for run in log.runs if "lr=" in run}
    assert values == sorted(values)
    for run, value in last.items():
        (line,) = (line for line in lines if line.endswith(run))
        assert float(line.split()[0]) == pytest.approx(value, rel=1e-3)
        assert f"{run.split('/')[0].removeprefix('lr=')} " in line
    bars = [line.count("█") for line in lines[1:]]
    assert bars == sorted(bars) and bars[-1] == 16
    for order in ("name", "best:val/accuracy:max"):
        best = log.plot_text("val/accuracy", kind="scatter", order=order).split("\n")[1:]
        numbers = [float(line.split()[0]) for line in best]
        assert numbers == sorted(numbers, reverse=True)
    few = log.plot_text("val/loss", kind="scatter", height=6).split("\n")
    assert few[-1] == "… and 3 more runs" and len(few) == 5


def test_a_waveform_is_where_the_sound_is(tmp_path: Path) -> None:
    quiet, loud = np.zeros(4000), np.sin(np.arange(4000) / 3)
    with SummaryWriter(str(tmp_path / "runs/a")) as writer:
        writer.add_audio("clip", np.concatenate([quiet, loud])[None], 7, sample_rate=8000)
    lines = tbq.open(tmp_path / "runs").plot_text("clip", width=87, height=12).split("\n")
    assert lines[0] == "a · clip · step 7 · 8,000 Hz"
    top = lines[1].split("│")[1]
    assert top[:39].strip() == "" and len(top[41:].strip()) > 35


def test_a_difference_is_drawn_below(tmp_path: Path) -> None:
    for run, offset in (("a", 0.0), ("b", 2.0)):
        with SummaryWriter(str(tmp_path / "runs" / run)) as writer:
            for step in range(50):
                writer.add_scalar("loss", step / 10 + offset, step)
    drawn = tbq.open(tmp_path / "runs").plot_text("loss", kind="difference", width=60, height=24)
    upper, lower = drawn.split("loss: b − a\n")
    assert "A a" in upper and "B b" in upper
    # 2.1 − 0.1 in 32 bits is not always 2.0: noise does not fill the axis.
    assert [line.split("┤")[0].strip() for line in lower.split("\n") if "┤" in line] == ["3", "2", "1"]
    assert "2┤⠉⠉" in lower
