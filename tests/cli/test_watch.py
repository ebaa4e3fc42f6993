"""`tbq watch` as a user runs it: in a terminal, with keys typed and the screen read."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tbq

if os.name == "nt":
    pytest.skip(
        "terminals of Windows are not ptys; tests/unit/test_watch_app.py runs there", allow_module_level=True
    )

import escapes
from terminal import Terminal, Tmux

pytestmark = pytest.mark.long

BRAILLE = re.compile("[\u2801-\u28ff]")


def charts(text: str) -> bool:
    return len(BRAILLE.findall(text)) > 40


def test_in_a_terminal_of_80_by_24(runs: Path) -> None:
    terminal = Terminal("watch", runs)
    terminal.until(charts)
    screen = terminal.shows("runs (9)", "≁ diverged", "○ lr=0.01/seed=0", "? help", "q quit")
    assert all(len(line) <= 80 for line in screen.splitlines())
    terminal.type("/")
    terminal.shows("Esc drops it")
    terminal.type("val/l*")
    terminal.shows("1 tags", "val/loss")
    terminal.type("\r")
    screen = terminal.until(lambda text: "train/loss" not in text and "Esc drops" not in text)
    terminal.type("s")
    terminal.shows("smooth 0.3")
    terminal.type("l")
    terminal.shows("log")
    terminal.type("x")
    terminal.shows("x: relative", "5m")
    terminal.type("jjj")
    terminal.shows("○ lr=0.03/seed=0  step 200")
    terminal.type("\r")
    terminal.until(lambda text: "runs (9)" not in text)
    terminal.type("+")
    terminal.shows("zoom")
    terminal.type("?")
    terminal.shows("filter tags", "compare", "◐ stalled")
    terminal.type("q")
    terminal.until(lambda text: "filter tags" not in text)
    terminal.type("0")
    terminal.resize(20, 60)
    terminal.until(lambda text: len(text.splitlines()) == 20 and charts(text))
    terminal.type("q")
    assert terminal.end() == 0
    assert b"Traceback" not in terminal.raw


def test_without_colour(runs: Path) -> None:
    terminal = Terminal("watch", runs, "--tag", "train/*", NO_COLOR="1")
    terminal.until(charts)
    screen = terminal.shows("≁ diverged", "○ lr=0.01/seed=0")
    assert re.search(r"^a≁ diverged", screen, re.MULTILINE)  # letters where others have colours
    assert re.search(r"[a-z]$", screen, re.MULTILINE)
    terminal.type("q")
    assert terminal.end() == 0
    assert not re.search(rb"\x1b\[[0-9;]*(?:3[0-7]|38|4[0-7]|48|9[0-7])[;m]", terminal.raw)


def test_a_directory_that_comes_and_goes(tmp_path: Path, runs: Path) -> None:
    terminal = Terminal("watch", "runs", "--interval", "0.1", "--tag", "train/loss", cwd=tmp_path)
    terminal.shows("does not exist", "Waiting")
    (tmp_path / "runs").mkdir()
    terminal.shows("No event files yet")
    shutil.copytree(runs / "resumed", tmp_path / "runs" / "first")
    terminal.shows("runs (1)", "first")
    terminal.until(charts)
    with tbq.SummaryWriter(tmp_path / "runs" / "second") as writer:
        for step in range(20):
            writer.add_scalar("train/loss", 0.25 + step / 64, step)
    terminal.shows("runs (2)", "○ second", "0.5469")
    shutil.rmtree(tmp_path / "runs")
    terminal.shows("does not exist")
    terminal.type("q")
    assert terminal.end() == 0


def test_names_cannot_take_over_the_terminal(tmp_path: Path) -> None:
    escapes.write(tmp_path / "runs")
    terminal = Terminal("watch", tmp_path / "runs", rows=40, columns=140)
    terminal.shows("run-", "tag-")
    for key in "234w?j!":
        terminal.type(key)
        terminal.until(lambda text: "tbq watch" in text)
    terminal.type("jq")
    assert terminal.end() == 0
    for attack in (b"owned", b"evil.example", b"cm0gLXJm"):
        assert not re.search(rb"[\x1b\x9b\x9d][^\x1b]{0,6}" + attack, terminal.raw)
    assert "\u202e".encode() not in terminal.raw


def test_a_terminal_is_left_as_it_was(runs: Path) -> None:
    terminal = Terminal("watch", runs)
    terminal.until(charts)
    terminal.terminate()
    assert terminal.end() == 143
    for opened, closed in ((b"\x1b[?1049h", b"\x1b[?1049l"), (b"\x1b[?1000h", b"\x1b[?1000l")):
        assert opened in terminal.raw
        assert terminal.raw.rindex(closed) > terminal.raw.rindex(opened)
    terminal = Terminal("watch", runs)
    terminal.until(charts)
    terminal.type("\x03")
    assert terminal.end() == 0


@pytest.mark.skipif(shutil.which("tmux") is None, reason="the same is tested in a pty; tmux is not installed")
def test_in_tmux(runs: Path, tmp_path: Path) -> None:
    terminal = Tmux(tmp_path, "watch", runs)
    try:
        screen = terminal.shows("runs (9)", "⣀", "q quit")
        assert charts(screen)
        terminal.type("p", "j", "s", "s")
        terminal.shows("◆ val/accuracy", "smooth 0.6", "○ lr=0.01/seed=0  step 200")
        terminal.type("4")
        terminal.shows("weights/layer1", "█", "median")
        terminal.type("q")
        terminal.shows("exit code 0")
    finally:
        terminal.close()


def watch(*args: object, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tbq", "watch", *map(str, args)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, **options
    )  # type: ignore[call-overload, no-any-return]


def test_without_a_terminal(runs: Path) -> None:
    done = watch(runs)
    assert done.returncode == 2
    assert "needs a terminal" in done.stderr


def test_without_textual(runs: Path, tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['textual'] = None\nfrom tbq.cli import main\nmain(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", hidden, "watch", str(runs)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "[watch]'" in done.stderr.partition("pip install ")[2]
    assert "Traceback" not in done.stderr


GRAPHICS = {
    "kitty": (
        b"\x1b_Gi=31;OK\x1b\\\x1bP>|kitty(0.42.1)\x1b\\\x1b[6;20;10t\x1b[?62;52c",
        b"\x1b_Ga=T,U=1,q=2,f=100,",
    ),
    "ghostty": (b"\x1b_Gi=31;OK\x1b\\\x1bP>|ghostty 1.2\x1b\\\x1b[?62;22c", b"\x1b_Ga=T,U=1,q=2,f=100,"),
    "iterm2": (b"\x1bP>|iTerm2 3.5.4\x1b\\\x1b[6;18;9t\x1b[?64;4c", b"\x1b]1337;File=inline=1;"),
    "wezterm": (b"\x1b_Gi=31;OK\x1b\\\x1bP>|WezTerm 2025\x1b\\\x1b[?65;4;6c", b"\x1b]1337;File=inline=1;"),
    "xterm": (b"\x1bP>|XTerm(390)\x1b\\\x1b[6;18;9t\x1b[?64;1;4;22c", b'\x1bP0;1q"1;1;'),
}
BEGINNINGS = (b"\x1b_Ga=T", b"\x1b]1337;File", b"\x1bP0;1q")


@pytest.mark.parametrize("name", GRAPHICS)
def test_images_are_drawn_by_a_terminal_that_can(runs: Path, name: str) -> None:
    answers, begins = GRAPHICS[name]
    terminal = Terminal("watch", runs, rows=34, columns=120, answers=answers)
    terminal.until(charts)
    assert not any(beginning in terminal.raw for beginning in BEGINNINGS)
    terminal.type("2")
    terminal.until(lambda _text: begins in terminal.raw)
    drawn = terminal.raw.count(begins)
    terminal.type("?")
    terminal.shows("filter tags")
    terminal.type("j")  # closes it, and the image is there again
    terminal.until(lambda text: "filter tags" not in text)
    if begins != BEGINNINGS[0]:  # kitty knows the image
        terminal.until(lambda _text: terminal.raw.count(begins) > drawn)
    terminal.type("1")
    terminal.until(charts)
    terminal.type("q")
    assert terminal.end() == 0
    others = [beginning for beginning in BEGINNINGS if not begins.startswith(beginning)]
    assert not any(beginning in terminal.raw for beginning in others)
    assert "▀▀▀".encode() not in terminal.raw
    if begins.startswith(BEGINNINGS[0]):
        numbers = set(re.findall(rb"a=T,[^;]*i=(\d+)", terminal.raw))
        assert numbers == set(re.findall(rb"a=d,d=I,i=(\d+)", terminal.raw)), "what it keeps is deleted"
        # A frame that was sent just before the next key need not have been shown.
        assert any(b"\x1b[38;5;%sm\xf4\x8e\xbb\xae" % number in terminal.raw for number in numbers)


@pytest.mark.parametrize(
    ("answers", "environ"),
    [
        (b"\x1bP>|some terminal\x1b\\\x1b[?62;22c", {}),
        (b"", {}),  # answers nothing
        (GRAPHICS["kitty"][0], {"NO_COLOR": "1"}),
        (GRAPHICS["kitty"][0], {"TMUX": "/tmp/tmux-0/default,1,0"}),
        (GRAPHICS["xterm"][0], {"TERM": "linux"}),
    ],
)
def test_images_are_half_blocks_elsewhere(runs: Path, answers: bytes, environ: dict[str, str]) -> None:
    terminal = Terminal("watch", runs, answers=answers, **environ)
    terminal.until(charts)
    terminal.type("2")
    terminal.shows("▀▀▀")
    terminal.type("q")
    assert terminal.end() == 0
    assert not any(beginning in terminal.raw for beginning in BEGINNINGS)
    assert (b"\x1b_G" in terminal.raw) == (not environ), "who must not draw is not asked"


def test_a_terminal_without_utf8_gets_ascii(runs: Path) -> None:
    terminal = Terminal("watch", runs, "--tag", "train/*", LC_ALL="C")
    screen = terminal.shows("runs (9)", "~ diverged", "o lr=0.01/seed=0", "train/loss")
    terminal.until(lambda text: len(re.findall(r"[':.#]{2}", text)) > 20)  # curves
    assert screen.isascii()
    terminal.type("q")
    assert terminal.end() == 0
    assert terminal.raw.isascii()
    plotted = Terminal("plot", runs, "--tag", "val/loss", LC_ALL="C")
    plotted.until(lambda text: "val/loss" in text and "lr=0.1/seed=0" in text)
    assert plotted.end() == 0 and plotted.raw.isascii()
    for words, shown in ((["ls", runs], "o 8 finished, ~ 1 diverged"), (["reduce", "--help"], "mean + ci95")):
        listed = Terminal(*words, LC_ALL="C", columns=120)  # click.echo would write UTF-8
        assert listed.end() in (0, 1) and listed.raw.isascii()
        assert shown.encode() in listed.raw


def test_a_filter_stays_visible_and_is_of_its_kind(runs: Path) -> None:
    terminal = Terminal("watch", runs, columns=120)
    terminal.until(charts)
    terminal.type("/")
    terminal.shows("Esc drops it")
    terminal.type("val/l*\r")
    terminal.shows("/val/l* (1 of 6)")
    terminal.type("2")  # images have a filter of their own
    terminal.until(lambda text: "samples" in text and "/val/l*" not in text)
    terminal.type("1")
    terminal.shows("/val/l* (1 of 6)")
    terminal.type("q")
    assert terminal.end() == 0
