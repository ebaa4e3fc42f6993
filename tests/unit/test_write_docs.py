"""The writer's page names every method, and each difference has its test."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_names_every_method():
    from tbq import SummaryWriter

    page = (ROOT / "docs" / "writer.md").read_text(encoding="utf-8")
    methods = {name for name in dir(SummaryWriter) if name.startswith("add_")} - {"add_event", "add_summary"}
    assert {name for name in methods if not re.search(rf"\b{name}\b", page)} == set()


def test_every_difference_has_its_test():
    page = (ROOT / "docs" / "differences.md").read_text(encoding="utf-8")
    named = re.findall(r"`(test_\w+)…?`", page)
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert len(named) > 15
    assert [name for name in named if f"def {name}" not in tests] == []
