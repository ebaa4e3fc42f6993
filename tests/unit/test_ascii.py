"""Drawings for terminals without UTF-8."""

from __future__ import annotations

import io

import pytest

from tbq.cli.ascii import draw_in_ascii, drawing, has_utf8, in_ascii


class _Terminal(io.TextIOWrapper):
    def __init__(self, tty: bool = True, encoding: str = "utf-8") -> None:
        self.bytes = io.BytesIO()
        self.tty = tty
        super().__init__(self.bytes, encoding=encoding, write_through=True)

    def isatty(self) -> bool:
        return self.tty


@pytest.mark.parametrize(
    ("settings", "utf8"),
    [
        ({}, True),
        ({"LC_ALL": "C"}, False),
        ({"LC_ALL": "POSIX", "LANG": "en_US.UTF-8"}, False),
        ({"LC_ALL": "C.UTF-8"}, True),
        ({"LANG": "de_DE.ISO-8859-1"}, False),
        ({"LC_CTYPE": "C.UTF-8", "LANG": "C"}, True),
    ],
)
def test_the_locale_decides(monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], utf8: bool) -> None:
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert has_utf8(_Terminal()) is utf8
    assert not has_utf8(_Terminal(encoding="latin-1"))
    terminal = _Terminal()
    draw_in_ascii(terminal)
    terminal.write("│⣿─ é…")
    assert terminal.bytes.getvalue() == ("│⣿─ é…".encode() if utf8 else b"|#- \\xe9~")
    pipe = _Terminal(tty=False)
    draw_in_ascii(pipe)
    pipe.write("│é")
    assert pipe.bytes.getvalue() == "│é".encode()  # data stays exact
    assert drawing("│⣿─ é…", pipe) == ("│⣿─ é…" if utf8 else "|#- é~")


def test_every_braille_sign_is_one_character() -> None:
    assert all(len(in_ascii(chr(0x2800 + dots)) or "") == 1 for dots in range(256))
