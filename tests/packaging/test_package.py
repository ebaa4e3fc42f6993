"""What is packaged: one version, typed, a console script, all that a build needs, and nothing from this machine."""

from __future__ import annotations

import email
import importlib.resources
import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

import tbq

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def tracked() -> list[str]:
    """The files of the repository."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    return done.stdout.decode().rstrip("\0").split("\0")


def build(hook: str, folder: Path) -> Path:
    """Run a hook of the build backend; returns what it created in `folder`."""
    code = f"import scikit_build_core.build as backend; print(backend.{hook}({str(folder)!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return folder / done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def metadata(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("prepare_metadata_for_build_wheel", tmp_path_factory.mktemp("metadata"))


def test_version_is_written_once(metadata: Path) -> None:
    assert email.message_from_string((metadata / "METADATA").read_text())["Version"] == tbq.__version__
    written = re.compile(rf"version\w* *= *[\"']{re.escape(tbq.__version__)}[\"']")
    holders = [name for name in tracked() if written.search((ROOT / name).read_text("utf-8", "ignore"))]
    assert holders == ["src/tbq/__init__.py"]


def test_changelog_begins_with_this_version_or_what_is_to_come() -> None:
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0] in ("Unreleased", tbq.__version__)
    released = [heading for heading in headings if heading != "Unreleased"]
    assert released[:1] in ([], [tbq.__version__])


def test_console_script(metadata: Path) -> None:
    assert "[console_scripts]\ntbq=tbq.cli:main" in (metadata / "entry_points.txt").read_text().replace(
        " ", ""
    )


def test_every_extra_that_is_named_exists() -> None:
    extras = set(PROJECT["project"]["optional-dependencies"])
    named = {
        extra
        for name in tracked()
        if name.endswith((".md", ".py"))
        for found in re.findall(r"pip install '(?:tbq|\.)\[([\w,]+)\]'", (ROOT / name).read_text("utf-8"))
        for extra in found.split(",")
    }
    assert named and named <= extras
    hinted = {
        extra
        for path in (ROOT / "src").rglob("*.py")
        for extra in re.findall(r'\bextra="(\w+)"', path.read_text("utf-8"))
    }
    assert hinted and hinted <= extras


def test_package_is_typed() -> None:
    package = importlib.resources.files(tbq)
    assert (package / "py.typed").is_file()
    assert "def decode(" in (package / "_core.pyi").read_text(encoding="utf-8")


def test_public_names_are_those_that_are_exported() -> None:
    assert sorted(tbq.__all__) == tbq.__all__
    assert set(tbq.__all__) == {"__version__", *tbq._LAZY, *tbq._MODULES} <= set(dir(tbq))
    assert all(getattr(tbq, name) is not None for name in tbq.__all__)
    checked = set(re.findall(r"^    from .* as (\w+)", Path(tbq.__file__).read_text("utf-8"), re.MULTILINE))
    assert checked == set(tbq.__all__) - {"__version__"}
    with pytest.raises(AttributeError, match="no attribute 'opne'"):
        _ = tbq.opne


@pytest.mark.long
def test_sdist_has_what_a_build_needs_and_no_more(tmp_path: Path) -> None:
    with tarfile.open(build("build_sdist", tmp_path)) as archive:
        files = {name.partition("/")[2] for name in archive.getnames()}
    source = {name for name in tracked() if name.startswith(("cpp/", "src/")) and (ROOT / name).exists()}
    assert source <= files
    assert {"CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE"} <= files
    assert not [name for name in files if name.endswith((".so", ".pyd", "_core.pyi"))]
    assert not [name for name in files if name.startswith(("tests/", "benchmarks/", "docs/", "build/"))]


def test_nothing_of_a_machine_is_in_the_repository() -> None:
    """No local paths, package indexes or network addresses."""
    machine = re.compile(
        r"(?<![\w.~])/(?:home|root|Users|mnt|opt|work)/\w"  # e.g. a venv
        r"|--(?:extra-)?index-url|--find-links|\b(?:10\.\d+|192\.168|172\.16)\.\d+\.\d+\b"
    )
    found = [
        f"{name}: {line.strip()[:80]}"
        for name in tracked()
        if (ROOT / name).is_file() and name not in ("LICENSE", "tests/packaging/test_package.py")
        for line in (ROOT / name).read_text("utf-8", "ignore").splitlines()
        if machine.search(line)
    ]
    assert found == []
