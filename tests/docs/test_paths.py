"""Paths that the pages for contributors name exist; those of a stage exist in its folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOP = ("benchmarks", "cpp", "docs", "examples", "src", "tests")
PAGES = [ROOT / "ARCHITECTURE.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs" / "decisions").glob("*.md"))]
FILE = re.compile(r"(?<![\w/.:-])(?:[\w.-]+/)*[\w-]+\.(?:py|cpp|hpp|js|cu)\b")
FOLDER = re.compile(rf"(?<![\w/.:-])(?:{'|'.join(TOP)})/[\w./-]*[\w/]")


def named(text: str) -> set[str]:
    """The paths in a text, of files or folders, possibly without their first folders."""
    return {path.rstrip("/") for pattern in (FILE, FOLDER) for path in pattern.findall(text)}


def known() -> list[str]:
    paths = [path.relative_to(ROOT) for top in TOP for path in (ROOT / top).rglob("*")]
    return [f"/{path.as_posix()}" for path in paths if "__pycache__" not in path.parts]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_paths_exist(page: Path) -> None:
    every = known()
    absent = [
        path
        for path in named(page.read_text("utf-8"))
        if not any(each.endswith(f"/{path}") for each in every)
    ]
    assert not absent


def test_files_of_a_stage_are_in_its_folder() -> None:
    every = known()
    block = (ROOT / "ARCHITECTURE.md").read_text("utf-8").split("```")[1]
    rows = re.split(r"^.{29}(?=(?:src|cpp)/)", block, flags=re.MULTILINE)[1:]
    assert len(rows) > 25
    for row in rows:
        folder = row.split()[0].rstrip("/")
        assert f"/{folder}" in every
        for path in named(row):
            inside = [each for each in every if each.endswith(f"/{path}") and each.startswith(f"/{folder}/")]
            assert inside or f"/{path}" in every, f"{folder} has no {path}"
