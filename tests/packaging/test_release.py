"""What `make release` checks, and the list of components that it writes."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import tbq

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def release() -> ModuleType:
    """release/release.py, whose neighbours it imports by their names."""
    sys.path.insert(0, str(ROOT / "release"))
    try:
        spec = importlib.util.spec_from_file_location("release", ROOT / "release" / "release.py")
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(ROOT / "release"))


@pytest.fixture
def checkout(tmp_path: Path, release: ModuleType) -> Path:
    """What the checks read, as it would be for a release."""
    for name in ("pyproject.toml", "LICENCES-core.md", "src/tbq/__init__.py", str(release.VENDOR)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, tmp_path / name)
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n## {tbq.__version__} (2026-01-31)\n\n- A.\n")
    return tmp_path


def test_this_checkout_lists_all_licences(release: ModuleType) -> None:
    assert list(release.licence_problems(ROOT)) == []
    assert release.version(ROOT) == tbq.__version__


def test_a_release_needs_its_section_of_the_changelog(release: ModuleType, checkout: Path) -> None:
    assert release.problems_of(checkout) == []
    for heading in ("Unreleased", "0.0.1 (2026-01-31)", tbq.__version__, f"{tbq.__version__}0 (2026-01-31)"):
        (checkout / "CHANGELOG.md").write_text(f"## {heading}\n\n## {tbq.__version__} (2026-01-31)\n")
        (problem,) = release.problems_of(checkout)
        assert f"'{heading}'" in problem


def test_files_and_versions_without_a_licence_are_found(release: ModuleType, checkout: Path) -> None:
    (checkout / release.VENDOR / "lodash.js").touch()
    (checkout / release.VENDOR / "htm.js").unlink()
    page = checkout / "LICENCES-core.md"
    page.write_text(page.read_text("utf-8").replace("| 3.", "| 2."), "utf-8")
    found = release.problems_of(checkout)
    assert len(found) == 3
    assert "nanobind of '2." in found[0]
    assert found[1].endswith("lodash.js is not listed")
    assert found[2].endswith("htm.js does not exist")


def test_each_component_is_listed_once(release: ModuleType) -> None:
    parts = release.components(ROOT)
    names = [part["name"] for part in parts]
    assert len(set(names)) == len(names)
    by_name = {part["name"]: part for part in parts}
    assert by_name["preact"]["purl"].startswith("pkg:npm/preact@")
    assert by_name["@preact/signals"]["purl"].startswith("pkg:npm/%40preact/signals@")
    assert by_name["nanobind"]["licenses"] == [{"expression": "BSD-3-Clause"}]
    llvm = by_name["LLVM's libc++, libc++abi and libunwind"]
    assert llvm["licenses"] == [{"expression": "Apache-2.0 WITH LLVM-exception"}]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for need in project["dependencies"]:
        assert by_name[need.partition(">")[0]]["scope"] == "required"
    assert by_name["matplotlib"]["scope"] == "optional"
    assert "tbq" not in by_name


def test_the_list_depends_on_the_files_only(release: ModuleType, tmp_path: Path) -> None:
    wheel = tmp_path / "tbq-1-py3-none-any.whl"
    wheel.write_bytes(b"one")
    first = release.bill_of_materials(ROOT, [wheel], 0)
    assert first == release.bill_of_materials(ROOT, [wheel], 0)
    wheel.write_bytes(b"two")
    second = release.bill_of_materials(ROOT, [wheel], 0)
    assert first["serialNumber"] != second["serialNumber"]
    (file,) = second["metadata"]["component"]["components"]
    assert file == {
        "type": "file",
        "name": wheel.name,
        "hashes": [
            {
                "alg": "SHA-256",
                "content": "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3",
            }
        ],
    }
    refs = [part["bom-ref"] for part in second["components"]]
    assert second["dependencies"] == [{"ref": "tbq", "dependsOn": refs}]
    assert json.dumps(second)
