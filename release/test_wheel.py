"""Installs each wheel of dist/ that runs here into a fresh venv of each Python, without a compiler, and tests it there.

A wheel must install, write and export the demo, import every extra, and pass the fast tests.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from pythons import interpreters

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "wheels"
#: Programs that compile or link; everything else of this machine stays on the PATH.
COMPILERS = (
    "cc",
    "c++",
    "c89",
    "c99",
    "gcc",
    "g++",
    "cpp",
    "clang",
    "ld",
    "lld",
    "as",
    "gold",
    "cmake",
    "ninja",
    "make",
    "zig",
    "ccache",
)
#: What the extras of tbq bring, by the name of the distribution, if the module has another name.
MODULES = {"pillow": "PIL", "ray[data]": "ray"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dist", type=Path, default=ROOT / "dist")
    parser.add_argument("--python", action="append", metavar="3.X", help="default: all that are here")
    parser.add_argument("--extra", action="append", help="default: all; 'none' installs none")
    parser.add_argument("--tests", action="append", metavar="PATH", help="default: all; 'none' runs none")
    args = parser.parse_args()
    tools = _without_compilers()
    tested = 0
    for version, python in interpreters().items():
        if args.python and version not in args.python:
            continue
        inside = _venv(python, version)
        wheel = _wheel_for(inside, args.dist)
        print(f"{version}: {wheel.name}", flush=True)
        _test(inside, wheel, tools, args.extra, args.tests or ["tests"])
        tested += 1
    if tested == 0:
        sys.exit("test-wheel: there is no Python to test with")


def _without_compilers() -> Path:
    """A folder of links to the programs of this machine that do not compile."""
    tools = WORK / "tools"
    shutil.rmtree(tools, ignore_errors=True)
    tools.mkdir(parents=True)
    for folder in (Path("/usr/local/bin"), Path("/usr/bin"), Path("/bin")):
        for program in folder.iterdir() if folder.is_dir() else ():
            words = program.name.split("-")
            names = {words[0], words[-1], words[-2] if len(words) > 1 else ""}
            link = tools / program.name
            if names.isdisjoint(COMPILERS) and not link.is_symlink():
                link.symlink_to(program)
    return tools


def _venv(python: Path, version: str) -> Path:
    venv = WORK / f"test-{version}"
    subprocess.run([python, "-m", "venv", "--clear", venv], check=True)
    inside = venv / "bin" / "python"
    subprocess.run([inside, "-m", "pip", "install", "-q", "-U", "pip>=25.1"], check=True)
    return inside


def _wheel_for(inside: Path, dist: Path) -> Path:
    """The wheel that pip chooses from dist/ for this Python."""
    code = "from pip._vendor.packaging.tags import sys_tags; print(*sys_tags(), sep='\\n')"
    tags = subprocess.run([inside, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    rank = {tag: i for i, tag in enumerate(tags)}
    best: list[tuple[int, Path]] = []
    for wheel in dist.glob("*.whl"):
        python, abi, platforms = wheel.stem.split("-")[-3:]
        found = [rank[tag] for each in platforms.split(".") if (tag := f"{python}-{abi}-{each}") in rank]
        best += [(min(found), wheel)] if found else []
    if not best:
        sys.exit(f"test-wheel: no wheel in {dist} fits {inside}; build it first: make wheels")
    return min(best)[1]


def _test(inside: Path, wheel: Path, tools: Path, wanted: list[str] | None, tests: list[str]) -> None:
    place = WORK / "outside"  # where no source of tbq lies
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    environment = {
        **{
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("CMAKE_", "CCACHE_", "SKBUILD_"))
        },
        "PATH": f"{inside.parent}:{tools}",
    }
    environment.pop("PYTHONPATH", None)
    for name in ("CC", "CXX"):
        environment.pop(name, None)

    def run(*args: object, cwd: Path = place) -> None:
        subprocess.run([str(arg) for arg in args], cwd=cwd, env=environment, check=True)

    pip = (inside, "-m", "pip", "install", "-q", "--no-compile")
    run(*pip, wheel)
    run("tbq", "demo", "runs")
    run("tbq", "export", "runs", "-o", "scalars.csv")
    run("tbq", "summary", "runs", "--best", "val/loss:min")
    run("tbq", "sql", "runs", "select count(*) as scalars from scalars")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = {name: needs for name, needs in project["optional-dependencies"].items() if name != "all"}
    if wanted is not None:
        extras = {name: needs for name, needs in extras.items() if name in wanted}
    for extra, needs in extras.items():
        if subprocess.run(
            [*map(str, pip), "--only-binary=:all:", f"{wheel}[{extra}]"], env=environment, cwd=place
        ).returncode:
            print(f"  the extra {extra} has no wheels for this Python", flush=True)
            continue
        for name in (need.split(">")[0] for need in needs if not need.startswith("tbq[")):
            run(inside, "-c", f"import tbq, {MODULES.get(name, name)}")
    if tests == ["none"]:
        return
    run(*pip, "--group", f"{ROOT / 'pyproject.toml'}:test")
    pytest = (inside, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    run(*pytest, "-m", "not long", *tests, cwd=ROOT)
    # A wheel has another C++ library than a build by GCC: threads that Python ends meet another unwinder.
    run(*pytest, "-m", "long", "tests/hostile/test_end_of_python.py", cwd=ROOT)


if __name__ == "__main__":
    main()
