"""Names that must be guessed do not come back: a variable says what it holds."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import tbq

ROOT = Path(tbq.__file__).parent
#: `found` is the name of a `Found`, the runs of a search; for anything else it explains nothing.
VAGUE = {"made", "mine", "one", "whole"}


def stored(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VAGUE:
            yield f"{path.relative_to(ROOT).as_posix()}:{node.lineno}: {node.id}"
        elif isinstance(node, ast.arg) and node.arg in VAGUE:
            yield f"{path.relative_to(ROOT).as_posix()}:{node.lineno}: {node.arg}"


def test_no_variable_has_a_name_that_says_nothing() -> None:
    assert [place for path in sorted(ROOT.rglob("*.py")) for place in stored(path)] == []


#: Names that other projects chose: one callback per trainer.
NAMED_BY_OTHERS = {"TbqCallback"}


def test_one_class_has_one_name() -> None:
    modules: dict[str, list[str]] = defaultdict(list)
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                modules[node.name].append(path.relative_to(ROOT).as_posix())
    assert {name: places for name, places in modules.items() if len(places) > 1}.keys() == NAMED_BY_OTHERS
