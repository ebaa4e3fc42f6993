"""Curves as text: golden drawings in several widths, with and without colours, and names of any width."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import logs
import pyte
import pytest

import tbq
from tbq.errors import UsageError
from tbq.plot.cells import cell_len

GOLDEN = Path(__file__).parents[1] / "fixtures" / "golden"
CASES: dict[str, dict[str, Any]] = {
    "narrow": {"tag": "loss", "width": 40, "height": 12},
    "usual": {"tag": "loss", "width": 80, "height": 16, "smooth": 0.6},
    "band": {"tag": "loss", "width": 72, "height": 14, "by": "re:(.*)/.*", "band": "minmax", "log_y": True},
    "each": {"tag": "loss", "width": 72, "height": 14, "by": "re:(.*)/.*", "band": "std", "each": True},
    "difference": {
        "tag": "loss",
        "width": 72,
        "height": 20,
        "run": ["a/0", "c/0"],
        "kind": "difference",
        "log_y": True,
    },
    "panels": {"tag": ["loss", "acc"], "width": 120, "height": 15, "x": "relative"},
}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> tbq.LogDir:
    def curve(seed: int, rate: float) -> list[tuple[int, float]]:
        return [(step, 4.0 * rate ** (step / 10) + 0.25 * ((step * 7 + seed * 3) % 5)) for step in range(64)]

    runs = {
        f"{name}/{seed}": {
            "loss": [(s, float("nan") if name == "c" and 30 <= s < 40 else v) for s, v in curve(seed, rate)],
            "acc": [(s, 1 / (1 + v)) for s, v in curve(seed, rate)],
        }
        for name, rate in (("a", 0.5), ("b", 0.8), ("c", 0.95))
        for seed in (0, 1)
    }
    return tbq.open(logs.write(tmp_path_factory.mktemp("golden"), runs))


@pytest.mark.parametrize("name", CASES)
def test_drawings_are_as_they_were(log: tbq.LogDir, name: str) -> None:
    drawn = log.plot_text(**CASES[name])
    golden = GOLDEN / f"plot_{name}.txt"
    if not golden.exists():  # a new case: look at what was drawn, then commit it
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(drawn + "\n", encoding="utf-8")
        pytest.fail(f"{golden.name} was not there; look at it")
    assert drawn + "\n" == golden.read_text(encoding="utf-8")
    assert all(cell_len(line) <= CASES[name]["width"] for line in drawn.split("\n"))


def test_colours_change_no_letter(log: tbq.LogDir) -> None:
    screen = pyte.Screen(100, 40)
    coloured = log.plot_text("loss", width=100, height=20, by="*", band="std", colour=True)
    pyte.Stream(screen).feed(coloured.replace("\n", "\r\n"))
    plain = log.plot_text("loss", width=100, height=20, by="*", band="std")
    assert [line.rstrip() for line in screen.display if line.strip()] == [
        line for line in plain.split("\n") if line.strip()
    ]
    assert "\x1b[" not in plain and {cell.fg for row in screen.buffer.values() for cell in row.values()} != {
        "default"
    }


def test_wide_letters_keep_the_columns(tmp_path: Path) -> None:
    runs = {name: {"損失/訓練": logs.line(range(9))} for name in ("実験一", "b" * 90, "مرحبا")}
    drawn = tbq.open(logs.write(tmp_path / "wide", runs)).plot_text(width=60, height=14)
    lines = drawn.split("\n")
    assert lines[0].startswith("損失/訓練") and "実験一" in drawn
    assert all(cell_len(line) <= 60 for line in lines)


def test_gaps_show(log: tbq.LogDir) -> None:
    line = log.plot_text("loss", run="c/0", width=60, height=12).split("\n")
    assert any("✕" in each for each in line)


def test_other_kinds(tmp_path: Path) -> None:
    demo = tbq.open(tbq.demo(tmp_path / "runs"))
    assert "█" in demo.plot_text("weights/layer1", width=60)
    assert "classifier  media  step 100" in demo.plot_text("classifier", width=60)
    assert "▀" in demo.plot_text("samples", width=60, colour=True)
    with pytest.raises(UsageError, match="a terminal without colours cannot show images"):
        demo.plot_text("samples")
    with pytest.raises(UsageError, match="kind confusion is for results, not for a log"):
        demo.plot_text("val/loss", kind="confusion")
    with pytest.raises(UsageError, match="width: got 3"):
        demo.plot_text("val/loss", width=3)
    assert demo.image_text("samples", protocol="kitty").startswith("\x1b_Gf=100,a=T,c=32,")
    assert demo.image_text("samples", protocol="iterm").startswith("\x1b]1337;File=inline=1;width=32;")


def test_small_differences_are_noise_only_in_32_bits(tmp_path: Path) -> None:
    rows = [
        {"step": i, "clock": 1.7e9 + i / 4, "loss": round(0.6931472 + i % 3 * 6e-8, 8)} for i in range(200)
    ]
    (tmp_path / "metrics.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    log = tbq.open(tmp_path)
    filled = {
        tag: sum(any("\u2800" < each <= "\u28ff" for each in line) for line in drawn.split("\n"))
        for tag in ("clock", "loss")
        for drawn in [log.plot_text(tag, width=60, height=12)]
    }
    assert filled["clock"] > 6 and filled["loss"] == 1
