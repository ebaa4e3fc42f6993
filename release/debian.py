"""Runs a command in another Debian, to test wheels on Pythons and machines that are not here.

    release/debian.py --suite forky --machine arm64 --package python3.14-venv -- python3.14 release/test_wheel.py

Packages are unpacked below build/debian, without their scripts, and the command runs there by chroot, with this
checkout at its own path. Needs root, dpkg-deb, and qemu-user-static with binfmt for other machines. It is for
tests of what comes from Debian's mirror over https, and checks no signatures.
"""

from __future__ import annotations

import argparse
import hashlib
import lzma
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
MIRROR = "https://deb.debian.org/debian"
#: What every command needs: links such as /bin, a shell, the tools of scripts, certificates.
BASE = ("base-files", "libc-bin", "dash", "bash", "coreutils", "grep", "sed", "git", "ca-certificates")
#: Folders of this machine that the command sees.
SHARED = ("/dev", "/proc")

Package = dict[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suite", default="trixie")
    parser.add_argument("--machine", default="amd64")
    parser.add_argument("--package", action="append", default=[], help="a package that the command needs")
    parser.add_argument("command", nargs="+")
    args = parser.parse_args()
    system = ROOT / "build" / "debian" / f"{args.suite}-{args.machine}"
    _unpack(system, args.suite, args.machine, [*BASE, *args.package])
    sys.exit(_run(system, args.command))


def _unpack(system: Path, suite: str, machine: str, names: list[str]) -> None:
    """Adds the packages that are not there yet, and what they depend on."""
    unpacked = system / "var" / "unpacked"
    unpacked.mkdir(parents=True, exist_ok=True)
    if all((unpacked / name).exists() for name in names):
        return
    index = lzma.decompress(_fetched(f"dists/{suite}/main/binary-{machine}/Packages.xz")).decode("utf-8")
    for package in _needed(_packages(index), names):
        mark = unpacked / package["Package"]
        if mark.exists():
            continue
        content = _fetched(package["Filename"])
        if hashlib.sha256(content).hexdigest() != package["SHA256"]:
            sys.exit(f"debian: {package['Filename']} is not what the index says; try again")
        archive = system / "var" / "package.deb"
        archive.write_bytes(content)
        subprocess.run(["dpkg-deb", "--extract", archive, system], check=True)
        mark.touch()
    for name in ("tmp", "root", "dev", "proc", "etc", "etc/ssl/certs"):
        (system / name).mkdir(parents=True, exist_ok=True)
    (system / "tmp").chmod(0o1777)


def _fetched(path: str) -> bytes:
    with urllib.request.urlopen(f"{MIRROR}/{path}") as response:
        return bytes(response.read())


def _packages(index: str) -> dict[str, Package]:
    """Each package by its name and by what it provides."""
    found: dict[str, Package] = {}
    provided: dict[str, Package] = {}
    for paragraph in index.split("\n\n"):
        package = dict(re.findall(r"^([A-Za-z0-9-]+): *(.*)$", paragraph, re.MULTILINE))
        if package:
            found[package["Package"]] = package
            for name in _names(package.get("Provides", "")):
                provided.setdefault(name, package)
    return provided | found


def _names(relations: str) -> Iterator[str]:
    """The first alternative of each relation, without versions and machines."""
    for relation in filter(None, relations.split(",")):
        yield re.split(r"[ (:|]", relation.strip(), maxsplit=1)[0]


def _needed(packages: dict[str, Package], names: Iterable[str]) -> list[Package]:
    """The packages and all that they depend on; those of BASE first, since they make the links of folders."""
    order: dict[str, Package] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop(0)
        package = packages.get(name)
        if package is None:
            sys.exit(f"debian: there is no package {name}")
        if package["Package"] not in order:
            order[package["Package"]] = package
            waiting += _names(package.get("Pre-Depends", ""))
            waiting += _names(package.get("Depends", ""))
    return list(order.values())


def _run(system: Path, command: list[str]) -> int:
    """The exit status of the command. The mounts are in a namespace of their own and end with it."""
    for name in (
        "etc/resolv.conf",
        "etc/hosts",
        "etc/passwd",
        "etc/group",
        "etc/ssl/certs/ca-certificates.crt",
    ):
        if (Path("/") / name).exists():
            shutil.copyfile(Path("/") / name, system / name)
    lines = ["set -e"]
    for folder in (*SHARED, str(ROOT)):
        if Path(folder).is_dir():
            (system / folder.lstrip("/")).mkdir(parents=True, exist_ok=True)
            lines.append(f'mount --rbind "{folder}" "{system}{folder}"')
    lines.append('exec chroot "$0" /bin/sh -c \'cd "$0" && exec "$@"\' "$@"')
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "PYENV", "TBQ_", "LD_"))
    }
    environment |= {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
        "TMPDIR": "/tmp",
        "LC_ALL": "C.UTF-8",
    }
    namespace = ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", "\n".join(lines)]
    return subprocess.run([*namespace, system, ROOT, *command], env=environment).returncode


if __name__ == "__main__":
    main()
