"""Compiles the core and its C++ tests for other systems, without warnings, and runs the tests where an emulator is.

The compiler is zig, as for wheels. Windows' programs run under wine, those of aarch64 under qemu; nothing here runs
programs of macOS.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from wheels import ROOT, environment, run, zig

#: Zig's target -> the programs that may run its programs. musl links all of a program, so that it needs no library.
TARGETS = {
    "x86_64-windows-gnu": ("wine64", "/usr/lib/wine/wine64"),
    "aarch64-linux-musl": ("qemu-aarch64-static", "qemu-aarch64"),
    "aarch64-macos": (),
    "x86_64-macos": (),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", choices=TARGETS, action="append", help="default: all")
    args = parser.parse_args()
    failed = [target for target in args.target or TARGETS if not _check(target)]
    if failed:
        sys.exit(f"cross: the tests fail on {', '.join(failed)}")


def _check(target: str) -> bool:
    """Whether the tests of this target pass, or cannot run here."""
    folder = ROOT / "build" / "cross" / target
    tools = environment(Path(sys.executable)).parent
    settings = {
        "CMAKE_TOOLCHAIN_FILE": ROOT / "release" / "zig.cmake",
        "CMAKE_MAKE_PROGRAM": tools / "ninja",
        "TBQ_TARGET": target,
        "TBQ_ZIG": zig(),
        "TBQ_PYTHON": "OFF",
        "TBQ_TESTS": "ON",
        "TBQ_SANITIZE": "",
        "TBQ_WERROR": "ON",
    }
    options = [f"-D{name}={value}" for name, value in settings.items()]
    run(tools / "cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", *options)
    run(tools / "cmake", "--build", folder, "--target", "tbq_tests")
    emulator = next(filter(None, map(shutil.which, TARGETS[target])), None)
    if emulator is None:
        print(f"{target}: compiles without warnings; its tests cannot run here", flush=True)
        return True
    (program,) = (path for path in folder.glob("tbq_tests*") if path.suffix in ("", ".exe"))
    print(f"{target}: compiles without warnings; its tests under {Path(emulator).name}:", flush=True)
    return subprocess.run([emulator, program], cwd=folder).returncode == 0


if __name__ == "__main__":
    main()
