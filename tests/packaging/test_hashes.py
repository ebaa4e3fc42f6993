"""Names and numbers from files are keys only of seeded hash tables."""

from __future__ import annotations

import re
from pathlib import Path

CORE = Path(__file__).parents[2] / "cpp"
OWNER = "seeded_hash.hpp"
# Keys that files cannot choose: addresses, and codes that the core assigns.
_OURS = re.compile(r"std::unordered_(?:map|set)<(?:const \w+\*|int32_t)[,>]")
_ANY = re.compile(r"std::unordered_(?:map|set)<|std::hash<")


def test_only_seeded_hashes_meet_what_files_hold() -> None:
    lines = [
        f"{path.relative_to(CORE)}: {line.strip()}"
        for path in sorted(CORE.rglob("*.?pp"))
        if path.name != OWNER and "tests" not in path.parts
        for line in path.read_text(encoding="utf-8").splitlines()
        if _ANY.search(line) and not _OURS.search(line)
    ]
    assert not lines
    assert _ANY.search((CORE / "bytes" / OWNER).read_text(encoding="utf-8"))
