"""Builds the sdist and the Linux wheels into dist/: glibc and musl, x86_64 and aarch64, cp311 and cp312-abi3.

The compiler is zig (PyPI's `ziglang`), so the wheels need no container and run on any Linux, whatever this machine has.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from pythons import interpreters

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "wheels"
#: The largest wheel that people should have to download, in bytes.
LARGEST = 2_000_000
#: Platform -> (zig target, Python's name of the platform). glibc 2.17 is of 2012.
PLATFORMS = {
    "manylinux_x86_64": ("x86_64-linux-gnu.2.17", "linux-x86_64"),
    "musllinux_x86_64": ("x86_64-linux-musl", "linux-x86_64"),
    "manylinux_aarch64": ("aarch64-linux-gnu.2.17", "linux-aarch64"),
    "musllinux_aarch64": ("aarch64-linux-musl", "linux-aarch64"),
}
#: The Python that a kind of wheel is built with: from 3.15 on, the file of the stable ABI has another name.
BUILT_WITH = {"cp311": ("3.11",), "cp312": ("3.12", "3.13", "3.14")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--platform", choices=PLATFORMS, action="append", help="default: all")
    parser.add_argument("--abi", choices=BUILT_WITH, action="append", help="default: all")
    parser.add_argument("--again", action="store_true", help="build twice and compare the bytes")
    args = parser.parse_args()
    pythons = interpreters()
    builders = {
        abi: next((pythons[each] for each in versions if each in pythons), None)
        for abi, versions in BUILT_WITH.items()
        if not args.abi or abi in args.abi
    }
    for abi in [abi for abi, python in builders.items() if python is None]:
        sys.exit(
            f"wheels: {abi} needs Python {' or '.join(BUILT_WITH[abi])}: install it, or name it in TBQ_PYTHONS"
        )
    os.environ["SOURCE_DATE_EPOCH"] = os.environ.get("SOURCE_DATE_EPOCH") or date_of_the_source()
    platforms = args.platform or list(PLATFORMS)
    built = _build(builders, platforms, WORK, args.out)
    for path in built:
        print(f"{_digest(path)}  {path.name}  {path.stat().st_size:,} bytes", flush=True)
    if args.again:
        again = _build(builders, platforms, WORK / "again", WORK / "again" / "dist")
        others = [
            path.name for path, other in zip(built, again, strict=True) if _digest(path) != _digest(other)
        ]
        if others:
            sys.exit(f"wheels: a second build has other bytes: {', '.join(others)}")
        print(f"a second build in another folder has the same bytes, all {len(built)} files")


def _build(builders: dict[str, Path | None], platforms: list[str], work: Path, out: Path) -> list[Path]:
    """The sdist and its wheels."""
    sdist = _sdist(out)
    built = [sdist]
    for platform in platforms:
        for abi, python in builders.items():
            assert python is not None
            built.append(_wheel(sdist, abi, python, platform, work, out))
    return built


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def date_of_the_source() -> str:
    """The time of the last commit: every build of it writes the same bytes."""
    return run("git", "log", "-1", "--format=%ct").strip()


def run(*args: object, **settings: object) -> str:
    """The output of a command; if it fails, everything that it printed."""
    done = subprocess.run([str(arg) for arg in args], cwd=ROOT, capture_output=True, text=True, **settings)  # type: ignore[call-overload]
    if done.returncode != 0:
        sys.exit(
            f"wheels: {' '.join(map(str, args))} failed with {done.returncode}\n{done.stdout}{done.stderr}"
        )
    return str(done.stdout)


@functools.cache
def environment(python: Path) -> Path:
    """The interpreter of a venv with the pinned tools of the group `release`."""
    version = run(python, "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])").strip()
    venv = WORK / f"venv-{version}"
    inside = venv / "bin" / "python"
    if not (venv / "complete").exists():
        run(python, "-m", "venv", "--clear", venv)
        run(inside, "-m", "pip", "install", "-q", "-U", "pip>=25.1")
    run(inside, "-m", "pip", "install", "-q", "--group", "release")
    (venv / "complete").touch()
    return inside


def zig() -> str:
    """One zig for all: it compiles the C++ library once for each place that it runs from."""
    code = "import ziglang, os; print(os.path.dirname(ziglang.__file__))"
    return run(environment(Path(sys.executable)), "-c", code).strip() + "/zig"


def _sdist(out: Path) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    code = f"import scikit_build_core.build as backend; print(backend.build_sdist({str(out.resolve())!r}))"
    return out / run(environment(Path(sys.executable)), "-c", code).splitlines()[-1]


def _wheel(sdist: Path, abi: str, python: Path, platform: str, work: Path, out: Path) -> Path:
    """One wheel, built from the sdist as users would, and named by what auditwheel found in it."""
    folder = work / platform  # both ABIs in one place, so that a compiler cache knows the core of the other
    shutil.rmtree(folder, ignore_errors=True)
    source = folder / "source"
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (folder / sdist.name.removesuffix(".tar.gz")).rename(source)
    inside = environment(python)
    target, host = PLATFORMS[platform]
    settings = {
        "CMAKE_TOOLCHAIN_FILE": ROOT / "release" / "zig.cmake",
        "TBQ_TARGET": target,
        "TBQ_ZIG": zig(),
        "TBQ_STUB": _stub(out, abi, platform),
        # Python's own suffix names the machine that builds.
        "SKBUILD_SOABI": f"cpython-{abi[2:]}-{target.split('-')[0]}-linux-{'musl' if 'musl' in target else 'gnu'}",
    }
    variables = {
        **os.environ,
        "PATH": f"{inside.parent}{os.pathsep}{os.environ['PATH']}",
        "_PYTHON_HOST_PLATFORM": host,
        "SKBUILD_BUILD_DIR": str(folder / "build"),
        "SKBUILD_CMAKE_ARGS": ";".join(f"-D{name}={value}" for name, value in settings.items() if value),
    }
    variables.pop("PYTHONPATH", None)
    options = ("-q", "--no-deps", "--no-build-isolation", "--no-index", "-w", folder / "raw")
    run(inside, "-m", "pip", "wheel", *options, source, env=variables)
    (raw,) = (folder / "raw").glob("*.whl")
    run(inside, "-m", "auditwheel", "repair", "-w", folder / "tagged", raw, env=variables)
    (tagged,) = (folder / "tagged").glob("*.whl")
    run(inside, ROOT / "release" / "pack.py", tagged)
    libc, machine = platform.split("_", 1)
    if f"-{libc}" not in tagged.name or not tagged.name.endswith(f"{machine}.whl"):
        sys.exit(f"wheels: auditwheel made {tagged.name} for {platform}")
    if tagged.stat().st_size > LARGEST:
        sys.exit(f"wheels: {tagged.name} has {tagged.stat().st_size:,} bytes, want at most {LARGEST:,}")
    return Path(shutil.move(tagged, out / tagged.name))


def _stub(out: Path, abi: str, platform: str) -> Path | None:
    """The type stub of the core, from the wheel of this machine's platform, which is built first."""
    if platform == "manylinux_x86_64":
        return None
    wheels = sorted(out.glob(f"tbq-*-{abi}-*manylinux*x86_64.whl"))
    if not wheels:
        sys.exit(f"wheels: build manylinux_x86_64 before {platform}: its stub of the core is needed")
    stub = WORK / f"_core-{abi}.pyi"
    with zipfile.ZipFile(wheels[-1]) as wheel:
        stub.write_bytes(wheel.read("tbq/_core.pyi"))
    return stub


if __name__ == "__main__":
    main()
