"""The examples in the docstrings of the queries, and those of docs/sql.md and docs/statistics.md, run."""

from __future__ import annotations

import doctest
import importlib
import re
import shlex
from pathlib import Path

import pytest

import tbq
from tbq.cli import app

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    "name", ["downsample", "events", "groups", "leaderboard", "reduce", "smooth", "student"]
)
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"tbq.query.{name}"))
    assert result.attempted > 0
    assert result.failed == 0


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tbq.demo(tmp_path_factory.mktemp("docs") / "demo")


def commands(page: str) -> list[str]:
    blocks = re.findall(r"```console\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    found = [line for block in blocks for line in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    return [line for line in found if "valu " not in line]  # the mistake that the page shows


@pytest.mark.filterwarnings("ignore::tbq.TbqWarning")
@pytest.mark.parametrize("command", [*commands("sql.md"), *commands("statistics.md")])
def test_commands_of_the_docs(
    demo: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], command: str
) -> None:
    monkeypatch.chdir(demo.parent)
    program, *arguments = shlex.split(command)
    assert program == "tbq"
    app.main(arguments, prog_name="tbq", standalone_mode=False)
    written = (
        Path(arguments[arguments.index("-o") + 1]).read_text()
        if "-o" in arguments
        else capfd.readouterr().out
    )
    assert len(written.splitlines()) > 1


@pytest.mark.filterwarnings("ignore::tbq.TbqWarning")
@pytest.mark.parametrize("page", ["sql.md", "statistics.md"])
def test_python_of_the_docs(demo: Path, monkeypatch: pytest.MonkeyPatch, page: str) -> None:
    monkeypatch.chdir(demo.parent)
    code = "\n".join(re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL))
    assert code
    exec(compile(code, page, "exec"), {"log": tbq.open("demo")})
