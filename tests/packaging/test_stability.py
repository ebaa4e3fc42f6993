"""No public name or command disappears without a deprecation (docs/stability.md)."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import click

import tbq
from tbq.cli import COMMANDS
from tbq.cli.app import app

ROOT = Path(__file__).parents[2]
RECORD = Path(__file__).with_name("public_names.txt")
MODULES = ("tbq", "tbq.compat", "tbq.errors", "tbq.integrations", "tbq.lake", "tbq.ray", "tbq.results")


def public_names() -> Iterator[str]:
    """Modules' names, members of the exported classes, commands and their options, and extras."""
    for module in map(importlib.import_module, MODULES):
        for name in getattr(module, "__all__", ()):
            yield f"{module.__name__}.{name}"
    for name in tbq.__all__:
        kind = getattr(tbq, name)
        if isinstance(kind, type):
            yield from (f"tbq.{name}.{member}" for member in dir(kind) if not member.startswith("_"))
    context = click.Context(app)
    for name in COMMANDS:
        command = app.get_command(context, name)
        assert command is not None
        yield f"tbq {name}"
        for param in command.params:
            if isinstance(param, click.Option):
                yield from (f"tbq {name} {option}" for option in (*param.opts, *param.secondary_opts))


def deprecated() -> str:
    """The "Deprecated" entries of released versions."""
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.split(r"^## (?!Unreleased)", log, flags=re.MULTILINE)[1:]
    return "\n".join(
        re.findall(r"^### Deprecated\n(.*?)(?=^##|\Z)", "\n".join(released), re.MULTILINE | re.DOTALL)
    )


def test_no_public_name_disappears() -> None:
    recorded = set(RECORD.read_text(encoding="utf-8").splitlines())
    entries = deprecated()
    gone = [name for name in sorted(recorded - set(public_names())) if f"`{name}`" not in entries]
    assert gone == [], "deprecate these names first, or restore them (docs/stability.md)"


def test_new_public_names_are_recorded() -> None:
    new = sorted(set(public_names()) - set(RECORD.read_text(encoding="utf-8").splitlines()))
    assert new == [], "if these names are to stay, run: python tests/packaging/test_stability.py"


if __name__ == "__main__":  # record new names, and forget those that were deprecated and are gone
    RECORD.write_text("".join(f"{name}\n" for name in sorted(set(public_names()))), encoding="utf-8")
