"""No public name or command disappears without a deprecation (docs/stability.md)."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from docs.site import tables

from tbq.cli import COMMANDS
from tbq.cli.app import app
from tbq.diagnosis import codes
from tbq.schema import KINDS, schema

ROOT = Path(__file__).parents[2]
RECORD = Path(__file__).with_name("public_names.txt")
MODULES = ("tbq", "tbq.compat", "tbq.errors", "tbq.lake", "tbq.ray", "tbq.results")
#: The classes that people construct; functions return the others.
CONSTRUCTED = ("tbq.SummaryWriter", "tbq.results.MetricsTable")


def public_names() -> Iterator[str]:
    """Modules' names and members with their arguments, commands and options, columns, codes, extras."""
    for module in map(importlib.import_module, MODULES):
        for name in getattr(module, "__all__", ()) or own_classes(module):
            yield from names_of(f"{module.__name__}.{name}", getattr(module, name))
    yield from sorted(drop_ins())
    yield from sorted(integrations())
    context = click.Context(app)
    for name in COMMANDS:
        command = app.get_command(context, name)
        assert command is not None
        yield f"tbq {name}"
        for param in command.params:
            if isinstance(param, click.Option):
                yield from (f"tbq {name} {option}" for option in (*param.opts, *param.secondary_opts))
    for kind in KINDS:
        for number, field in enumerate(schema(kind), 1):
            yield f"table {kind}, column {number:02}: {field.name} {field.type}"
    yield from (f"finding {code}" for code in codes())
    raised, found = tables.codes()
    yield from (f"code {code}" for code in {*raised, *found})
    yield from (f"tbq[{extra}]" for extra in importlib.metadata.metadata("tbq").get_all("Provides-Extra"))


def names_of(name: str, value: Any) -> Iterator[str]:
    """A name, its members and their arguments."""
    yield name
    if inspect.isclass(value):
        if name in CONSTRUCTED:
            yield from (f"{name}({argument}=)" for argument in arguments(value))
        for member in dir(value):
            if not member.startswith("_"):
                yield f"{name}.{member}"
                yield from (f"{name}.{member}({argument}=)" for argument in arguments(getattr(value, member)))
    else:
        yield from (f"{name}({argument}=)" for argument in arguments(value))


def arguments(value: Any) -> list[str]:
    """The arguments of a function or class of tbq's own."""
    if (
        not callable(value)
        or not value.__doc__
        or not (getattr(value, "__module__", "") or "").startswith("tbq")
    ):
        return []
    try:
        parameters = inspect.signature(value).parameters.values()
    except ValueError:  # compiled
        return []
    return [
        each.name
        for each in parameters
        if each.name not in ("self", "cls") and each.kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]


def own_classes(module: Any) -> list[str]:
    return [
        name
        for name, value in vars(module).items()
        if inspect.isclass(value) and value.__module__ == module.__name__ and not name.startswith("_")
    ]


def drop_ins() -> set[str]:
    """What docs/compat.md tells people to import from `tbq.compat`."""
    page = (ROOT / "docs" / "compat.md").read_text("utf-8")
    found = {
        f"{module}.{name}"
        for module, names in re.findall(r"from (tbq\.compat\.\w+) import ([\w, ]+)", page)
        for name in names.split(", ")
    }
    for name in found:
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), name
    return found


def integrations() -> Iterator[str]:
    """The classes and functions for trainers, from their source: importing them needs the trainers."""
    for path in (ROOT / "src" / "tbq" / "integrations").glob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                yield f"tbq.integrations.{path.stem}.{node.name}"


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
    assert new == [], "if these names are to stay, run: python -m tests.packaging.test_stability"


if __name__ == "__main__":  # record new names, and forget those that were deprecated and are gone
    RECORD.write_text("".join(f"{name}\n" for name in sorted(set(public_names()))), encoding="utf-8")
