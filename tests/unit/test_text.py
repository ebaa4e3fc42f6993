"""Names from logs never reach a terminal unescaped."""

from __future__ import annotations

import doctest
import io
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import eventfile as ef
import pytest
from escapes import raw
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

import tbq
from tbq import text as module
from tbq.cli import main
from tbq.diagnosis.report import text
from tbq.text import Screen, escaped, page, paragraph, printable, shell_word, shortened

RED = "\x1b[31mred\n"


def test_examples() -> None:
    result = doctest.testmod(module)
    assert result.attempted and result.failed == 0


@given(st.text(), st.integers(1, 30))
def test_it_fits_on_a_line(name: str, room: int) -> None:
    assert printable(name).isprintable() and len(printable(name)) == len(name)
    assert len(shortened(name, room)) == min(len(name), room)


@given(st.text())
def test_escapes_are_the_same_json_and_harmless(text: str) -> None:
    made = escaped(json.dumps({text: [text]}, ensure_ascii=False))
    assert raw(made) == [] and json.loads(made) == {text: [text]}


@given(st.text())
def test_pages_and_messages_are_harmless(text: str) -> None:
    assert raw(page(text)) == []
    said = paragraph(text)
    assert raw(said, kept="\n") == []
    assert all(not line or line.startswith(" ") for line in said.split("\n")[1:])
    assert paragraph(said) == said and page(page(text)) == page(text)


@pytest.mark.skipif(shutil.which("bash") is None, reason="this system has no bash")
@given(st.lists(st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"])), min_size=1))
@examples(60)
def test_a_shell_reads_a_word_as_the_name_it_was(names: list[str]) -> None:
    words = [shell_word(name) for name in names]
    assert all(raw(word) == [] for word in words)
    script = "printf '%s\\0' " + " ".join(words)
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    assert done.stdout.decode().split("\0")[:-1] == names


def test_a_name_that_is_not_utf8_is_the_same_file_to_a_shell() -> None:
    assert shell_word(os.fsdecode(b"a\xff")) == "$'a\\xff'"


@given(st.lists(st.binary()), st.integers(1, 9))
def test_a_screen_gets_harmless_text_whatever_the_pieces(pieces: list[bytes], most: int) -> None:
    class Slow(io.RawIOBase):
        """Takes a few bytes at a time, as a terminal may."""

        def __init__(self) -> None:
            self.got = b""

        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            self.got += bytes(data[:most])
            return min(len(data), most)

    slow = Slow()
    with Screen(slow) as screen:
        assert [screen.write(piece) for piece in pieces] == [len(piece) for piece in pieces]
    assert slow.got.decode() == escaped(b"".join(pieces).decode("utf-8", "replace"))
    assert raw(slow.got.decode()) == []


def test_reports_and_errors_are_printable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "runs" / "a\x1b[2J"
    run.mkdir(parents=True)
    rows = [ef.scalar(RED, 0, step / 7) for step in range(20)]
    (run / "events.out.tfevents.1").write_bytes(ef.event_file([ef.version(), *rows]))
    report = text(tbq.doctor(tmp_path / "runs"), "runs", every=True)
    assert "run a\ufffd[2J\n" in report and "\ufffd[31mred⏎: " in report
    assert "\x1b" not in report
    with pytest.raises(SystemExit):
        main(["export", str(tmp_path / "runs"), "--tag", "red"])
    said = capsys.readouterr().err
    assert "no tag matches 'red'" in said and "\x1b" not in said
