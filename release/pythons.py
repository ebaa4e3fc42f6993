"""Finds the Pythons of this machine that tbq supports: on the PATH, and those of pyenv."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

#: Minor versions of Python 3, the oldest first.
SUPPORTED = range(11, 15)


def interpreters() -> dict[str, Path]:
    """Version ("3.11") to interpreter. TBQ_PYTHONS, paths separated as in PATH, adds others and wins."""
    found: dict[str, Path] = {}
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for minor in SUPPORTED:
        version = f"3.{minor}"
        candidates = [
            *(Path(entry) for entry in os.environ.get("TBQ_PYTHONS", "").split(os.pathsep) if entry),
            Path(sys.executable),
            *sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"), reverse=True),
            Path(shutil.which(f"python{version}") or ""),
        ]
        python = next((each for each in candidates if _version(each) == version), None)
        if python is not None:
            found[version] = python
    return found


def _version(python: Path) -> str | None:
    """The version of an interpreter that runs and can make a venv."""
    if not python.is_file():
        return None
    code = "import sys, ensurepip, sysconfig; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None
