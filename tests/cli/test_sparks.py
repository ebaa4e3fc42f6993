"""Sparklines in tables, and images, on a terminal."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

import tbq
from tbq.cli import main


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, *args: object) -> str:
    out = Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with pytest.raises(SystemExit) as ended:
        main([str(arg) for arg in args])
    assert not ended.value.code
    return out.getvalue()


@pytest.mark.parametrize("command", ["ls", "summary"])
def test_tables_show_curves(runs: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("TERM", "dumb")
    lines = {
        line.lstrip("○≁● ").split()[0]: line
        for line in shown(monkeypatch, command, runs, "--spark", "val/loss").splitlines()
    }
    curves = tbq.open(runs).sparklines("val/loss", on_error="ignore")
    assert curves["lr=0.1/seed=0"] in lines["lr=0.1/seed=0"] and "█" in curves["lr=0.1/seed=0"]
    assert "✕" in lines["diverged"] and not set("▁█") & set(lines["media"])


@pytest.mark.filterwarnings("ignore::tbq.TbqWarning")
def test_a_summary_in_a_notebook_shows_curves(runs: Path) -> None:
    page = tbq.open(runs).summary(tag=["val/loss", "lr"])._repr_html_()
    assert page.count("<svg") == 16 and "nan" not in "".join(page.split("<svg")[1:]).split("</table>")[
        0
    ].replace("nan<", "")
    assert "<svg" not in tbq.open(runs).summary(stats="max", tag="lr")._repr_html_()


def test_show_draws_an_image_where_there_are_colours(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TMUX", "STY", "NO_COLOR", "KITTY_WINDOW_ID", "TERM_PROGRAM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "▀" in shown(monkeypatch, "show", runs, "samples")
    monkeypatch.setenv("TERM", "xterm-kitty")
    assert "\x1b_Gf=100" in shown(monkeypatch, "show", runs, "samples", "--step", 50)
    monkeypatch.setenv("TMUX", "1")
    assert "\x1b_G" not in shown(monkeypatch, "show", runs, "samples")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in shown(monkeypatch, "show", runs, "samples")
