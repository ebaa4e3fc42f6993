"""The tree of the core: stages that include only earlier ones, headers beside their sources, short files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CORE = Path(__file__).parents[2] / "cpp"
STAGES = [
    "bytes",
    "io",
    "record",
    "event",
    "decode",
    "text",
    "tables",
    "live",
    "write",
    "formats",
    "rewrite",
    "compat",
    "bind",
]


def sources() -> list[Path]:
    return sorted(path for path in CORE.rglob("*") if path.suffix in (".cpp", ".hpp"))


def included(path: Path) -> list[str]:
    return re.findall(r'^#include "([^"]+)"', path.read_text("utf-8"), re.MULTILINE)


def test_every_folder_is_a_stage() -> None:
    assert {path.relative_to(CORE).parts[0] for path in sources()} == {*STAGES, "tests", "fuzz"}


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_includes_only_earlier_ones(stage: str) -> None:
    allowed = STAGES[: STAGES.index(stage) + 1]
    later = [
        f"{path.name}: {header}"
        for path in sources()
        if path.parent.name == stage
        for header in included(path)
        if header.split("/")[0] not in allowed
    ]
    assert not later


def test_headers_are_included_by_their_path() -> None:
    missing = [
        f"{path}: {header}"
        for path in sources()
        for header in included(path)
        if not (CORE / header).is_file()
    ]
    assert not missing


def test_a_source_includes_its_header_first() -> None:
    wrong = [
        path.name
        for path in sources()
        if path.suffix == ".cpp" and path.with_suffix(".hpp").is_file() and path.parent.name != "fuzz"
        if included(path)[:1] != [path.with_suffix(".hpp").relative_to(CORE).as_posix()]
    ]
    assert not wrong


def test_files_are_short() -> None:
    long = {
        path.name: lines for path in sources() if (lines := len(path.read_text("utf-8").splitlines())) > 500
    }
    assert not long
