"""The pairs of docs/coming-from.md: every new line runs, and gives what the old one gives if its library is here."""

from __future__ import annotations

import ast
import re
import shlex
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tbparse import SummaryReader
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util import tensor_util

import tbq
from tbq.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "coming-from.md"
#: The libraries that the tests have; the old lines of the others are not run.
HERE: dict[str, dict[str, Any]] = {
    "EventAccumulator": {"EventAccumulator": EventAccumulator, "tensor_util": tensor_util},
    "tbparse": {"SummaryReader": SummaryReader},
}
ROW = re.compile(r"^\| (.+) \| (`.+`) \|$", re.MULTILINE)


def sections() -> dict[str, list[tuple[str, str]]]:
    """The pairs of each library, without the marks of code."""
    parts = PAGE.read_text("utf-8").split("\n## ")[1:]
    return {
        part.partition("\n")[0]: [(old.strip("`"), new.strip("`")) for old, new in ROW.findall(part)]
        for part in parts
    }


def run(line: str, names: dict[str, Any]) -> Any:
    """The value of a line, or what it assigns."""
    statement = ast.parse(line).body[0]
    if isinstance(statement, ast.Expr):
        return eval(line, names)
    exec(line, names)
    return None


def command(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch, pytest.raises(SystemExit) as ended:
        patch.setattr(sys, "stdout", StringIO())
        main(shlex.split(line)[1:])
    assert not ended.value.code, line


def same(old: Any, new: Any) -> bool:
    if isinstance(old, bytes | str):
        return bool(old == new)
    return np.array_equal(np.asarray(old), np.asarray(new))


def test_the_page_covers_six() -> None:
    found = sections()
    assert len(found) == 6 and all(len(pairs) >= 4 for pairs in found.values())
    assert HERE.keys() <= found.keys()


@pytest.mark.filterwarnings("ignore::tbq.TbqWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("library", sections())
def test_pairs(library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tbq.demo("runs")
    new_names: dict[str, Any] = {"tbq": tbq, "log": tbq.open("runs")}
    old_names = HERE.get(library)
    for old, new in sections()[library]:
        if new.startswith("tbq "):
            command(new, monkeypatch)
            continue
        got = run(new, new_names)
        if old_names is not None:
            want = run(old, old_names)
            assert want is None or same(want, got), f"{old}\n{new}\n{want}\n{got}"
