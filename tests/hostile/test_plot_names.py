"""Names that are mathematics, markup, LaTeX or escapes are drawn literally, in every format."""

from __future__ import annotations

import re
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path

import escapes
import logs
import pytest

import tbq
from tbq.errors import TbqWarning
from tbq.plot.pgf import escaped

NAMES = [
    r"$\frac{1}{", "$x$_y^z", r"a_b%c#d&e~f", "<script>alert(1)</script>", '"onload="x', r"\input{/etc/passwd}",
    "_hidden", "", "損失 é", "a" * 300, "x\ny\tz", "{0}{name}", "50%", "-->", "]]>",
]  # fmt: skip


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> tbq.LogDir:
    root = tmp_path_factory.mktemp("hostile")
    runs = {f"run{i}": {name: logs.line(range(3), i) for name in NAMES[:8]} for i in range(2)}
    odd = [name.replace("/", "∕")[:200] or "empty" for name in NAMES if "\n" not in name]
    runs |= {name: {"loss": logs.line(range(3))} for name in odd}
    return tbq.open(logs.write(root, runs))


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::tbq.TbqWarning")
@pytest.mark.parametrize("ending", ["png", "svg", "pdf", "pgf", "html"])
def test_every_name_is_drawn_as_it_stands(log: tbq.LogDir, tmp_path: Path, ending: str) -> None:
    for number, options in enumerate(
        [
            {"tag": "loss", "legend": "inside"},
            {"tag": "loss", "legend": "direct"},
            {"tag": NAMES[:7], "run": "run*"},
        ]
    ):
        target = tmp_path / f"{number}.{ending}"
        log.write_plot(target, title=r"$\alpha_{ 50% <b>", **options)  # type: ignore[arg-type]
        data = target.read_bytes()
        assert b"<script>alert" not in data and b'"onload=' not in data
        if ending == "svg":
            ET.fromstring(data)
        if ending == "pgf":
            text = data.decode()
            assert r"\input{/etc" not in text and r"\textbackslash{}frac" in text
            for drawn in re.findall(r"\\pgftext\[[^]]*\]\{(.*)\}$", text, re.MULTILINE):
                assert drawn.count("{") - drawn.count(r"\{") == drawn.count("}") - drawn.count(r"\}")


def test_latex_is_escaped() -> None:
    assert escaped(r"\a{b}$_#%&~^") == (
        r"\textbackslash{}a\{b\}\$\_\#\%\&\textasciitilde{}\textasciicircum{}"
    )


@pytest.mark.filterwarnings("ignore::tbq.TbqWarning")
def test_names_that_no_font_has_are_said_once(tmp_path: Path) -> None:
    runs = {"\U0001f9ec\U00012000": {"loss": logs.line(range(3))}, "b": {"loss": logs.line(range(3))}}
    log = tbq.open(logs.write(tmp_path / "runs", runs))
    with warnings.catch_warnings(record=True) as reported:
        warnings.simplefilter("always")
        figure = log.plot("loss")
        figure.savefig(tmp_path / "a.png")  # type: ignore[union-attr]
    assert all(issubclass(each.category, TbqWarning) for each in reported)
    assert len(reported) <= 1


@pytest.mark.filterwarnings("ignore::tbq.TbqWarning")
def test_nothing_of_a_name_reaches_the_terminal(tmp_path: Path) -> None:
    safe = {f"run{i}": {attack: logs.line(range(3))} for i, attack in enumerate(escapes.ATTACKS.values())}
    log = tbq.open(logs.write(tmp_path / "runs", safe))
    assert escapes.raw(log.plot_text(width=100)) == []
    coloured = log.plot_text(width=100, colour=True)
    assert escapes.raw(re.sub(r"\x1b\[[0-9;]*m", "", coloured)) == []
    assert escapes.raw("".join(log.sparklines(next(iter(escapes.ATTACKS.values()))).values())) == []
