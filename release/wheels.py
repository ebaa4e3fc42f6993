"""Builds the sdist and the Linux wheels into dist/: glibc and musl, x86_64 and aarch64, cp311 and cp312-abi3.

The compiler is zig (PyPI's `ziglang`), so the wheels need no container and run on any Linux, whatever this machine has.
"""

from __future__ import annotations

import argparse
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
    os.environ["SOURCE_DATE_EPOCH"] = os.environ.get("SOURCE_DATE_EPOCH") or _date_of_the_source()
    sdist = _sdist(args.out)
    built = [sdist]
    for platform in args.platform or PLATFORMS:
        for abi, python in builders.items():
            assert python is not None
            built.append(_wheel(sdist, abi, python, platform, args.out))
    for path in built:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        print(f"{digest}  {path.name}  {path.stat().st_size:,} bytes")


def _date_of_the_source() -> str:
    """The time of the last commit: every build of it writes the same bytes."""
    return _run("git", "log", "-1", "--format=%ct").strip()


def _run(*args: object, **settings: object) -> str:
    """The output of a command; if it fails, everything that it printed."""
    done = subprocess.run([str(arg) for arg in args], cwd=ROOT, capture_output=True, text=True, **settings)  # type: ignore[call-overload]
    if done.returncode != 0:
        sys.exit(
            f"wheels: {' '.join(map(str, args))} failed with {done.returncode}\n{done.stdout}{done.stderr}"
        )
    return str(done.stdout)


def _environment(python: Path) -> Path:
    """The interpreter of a venv with the pinned tools of the group `release`."""
    version = _run(python, "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])").strip()
    venv = WORK / f"venv-{version}"
    inside = venv / "bin" / "python"
    if not (venv / "complete").exists():
        _run(python, "-m", "venv", "--clear", venv)
        _run(inside, "-m", "pip", "install", "-q", "-U", "pip>=25.1")
    _run(inside, "-m", "pip", "install", "-q", "--group", "release")
    (venv / "complete").touch()
    return inside


def _zig() -> str:
    """One zig for all: it compiles the C++ library once for each place that it runs from."""
    code = "import ziglang, os; print(os.path.dirname(ziglang.__file__))"
    return _run(_environment(Path(sys.executable)), "-c", code).strip() + "/zig"


def _sdist(out: Path) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    code = f"import scikit_build_core.build as backend; print(backend.build_sdist({str(out.resolve())!r}))"
    return out / _run(_environment(Path(sys.executable)), "-c", code).splitlines()[-1]


def _wheel(sdist: Path, abi: str, python: Path, platform: str, out: Path) -> Path:
    """One wheel, built from the sdist as users would, and named by what auditwheel found in it."""
    folder = WORK / platform  # both ABIs in one place, so that a compiler cache knows the core of the other
    shutil.rmtree(folder, ignore_errors=True)
    source = folder / "source"
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (folder / sdist.name.removesuffix(".tar.gz")).rename(source)
    inside = _environment(python)
    target, host = PLATFORMS[platform]
    settings = {
        "CMAKE_TOOLCHAIN_FILE": ROOT / "release" / "zig.cmake",
        "TBQ_TARGET": target,
        "TBQ_ZIG": _zig(),
        "TBQ_STUB": _stub(out, abi, platform),
        # Python's own suffix names the machine that builds.
        "SKBUILD_SOABI": f"cpython-{abi[2:]}-{target.split('-')[0]}-linux-{'musl' if 'musl' in target else 'gnu'}",
    }
    environment = {
        **os.environ,
        "PATH": f"{inside.parent}{os.pathsep}{os.environ['PATH']}",
        "_PYTHON_HOST_PLATFORM": host,
        "SKBUILD_BUILD_DIR": str(folder / "build"),
        "SKBUILD_CMAKE_ARGS": ";".join(f"-D{name}={value}" for name, value in settings.items() if value),
    }
    environment.pop("PYTHONPATH", None)
    options = ("-q", "--no-deps", "--no-build-isolation", "--no-index", "-w", folder / "raw")
    _run(inside, "-m", "pip", "wheel", *options, source, env=environment)
    (raw,) = (folder / "raw").glob("*.whl")
    _run(inside, "-m", "auditwheel", "repair", "-w", folder / "tagged", raw, env=environment)
    (tagged,) = (folder / "tagged").glob("*.whl")
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
