"""Property tests try the same examples each time in CI, and new ones elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

#: What each of these tests draws, line by line, after the profile was loaded as conftest.py loads it.
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import profiles
profiles.load()
from hypothesis import HealthCheck, given, settings, strategies as st
drawn = st.lists(st.integers() | st.text(), max_size=5)
@given(drawn)
def plain(each): print(ascii(each))
@profiles.examples(30, HealthCheck.function_scoped_fixture)
@given(drawn)
def counted(each): print(ascii(each))
plain()
counted()
assert HealthCheck.too_slow in settings.default.suppress_health_check
assert settings.default.deadline is None
"""


def drawn(folder: Path, **environment: str) -> list[str]:
    clean = {name: value for name, value in os.environ.items() if name not in ("CI", "TBQ_EXAMPLES")}
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(ROOT / "tests" / "fixtures")],
        cwd=folder, env={**clean, **environment}, capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    return ended.stdout.splitlines()


def test_examples_are_the_same_in_ci_and_new_elsewhere(tmp_path: Path) -> None:
    first = drawn(tmp_path, CI="true")
    assert len(set(first)) > 60
    assert drawn(tmp_path, CI="true") == first
    assert drawn(tmp_path) != first


def test_no_test_has_settings_of_its_own() -> None:
    """Other settings may forget what the profile says; `examples` of fixtures/profiles.py keeps it."""
    files = (ROOT / "tests").rglob("test_*.py")
    own = [path.name for path in files if re.search(r"^@settings\(", path.read_text("utf-8"), re.MULTILINE)]
    assert not own, "use profiles.examples(60)"
