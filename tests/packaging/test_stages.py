"""The order of stages: a module imports only its own stage, earlier ones, and the ground floor.

Imports inside functions and those for type checking count too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import tbq

ROOT = Path(tbq.__file__).parent

#: Modules that everything may use.
GROUND = (
    "errors", "arguments", "schema", "select", "text", "labels", "roles", "limits", "arrays", "progress", "scratch",
    "problems", "renaming", "storage", "termination", "numbers", "memory", "states", "arrow", "wire", "writers",
)  # fmt: skip
#: The path of data; this list is its only definition. Formats come before tables, because every table can be written.
STAGES = (
    "source", "decode", "columns", "export", "table", "kinds", "summary", "query", "following", "plot", "dashboard",
    "diagnosis", "rewriting", "write", "integrations", "results", "server", "assistant", "compat", "tensorboard", "run",
    "logdir", "lake", "opening", "ray", "cli", "notebook",
)  # fmt: skip

#: A table has layouts and pictures; their modules come later, because they need more than tables.
FACADES = {"table/table.py": ("tbq.summary.statistics", "tbq.plot.tables", "tbq.plot.options")}

MODULES = sorted(
    path
    for path in ROOT.rglob("*.py")
    if path.relative_to(ROOT).as_posix() not in ("__init__.py", "__main__.py")
)


def stage_of(module: str) -> str:
    """The stage of `tbq.table.wide` is `table`; the core and the package itself are of none."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """The modules of tbq that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, name.name) for name in node.names if name.name.split(".")[0] == "tbq")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            if node.module == "tbq":
                yield from ((node.lineno, f"tbq.{name.name}") for name in node.names)
            elif node.module is not None and node.module.startswith("tbq."):
                yield node.lineno, node.module


def test_every_module_belongs_to_a_stage() -> None:
    names = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in MODULES}
    assert names <= {*GROUND, *STAGES}


def test_a_stage_imports_only_earlier_stages() -> None:
    wrong = []
    for path in MODULES:
        name = path.relative_to(ROOT).as_posix()
        own = path.relative_to(ROOT).parts[0].removesuffix(".py")
        allowed = set(GROUND) if own in GROUND else {*GROUND, *STAGES[: STAGES.index(own) + 1]}
        wrong += [
            f"{name}, line {line}: {module}"
            for line, module in imports(path)
            if stage_of(module) not in (*allowed, "", "_core", "__version__")
            and module not in FACADES.get(name, ())
            and not (own == "cli" and module.split(".")[1] in tbq.__all__)
        ]
    assert not wrong, "imports of a later stage"


#: What commands import besides `tbq` itself, the ground floor and each other: how to draw, where output goes, the
#: words that options take, the columns of tables, and the names that Tab completes.
OF_COMMANDS = (
    "tbq.export", "tbq.table", "tbq.logdir", "tbq.results", "tbq.tensorboard", "tbq.columns.times",
    "tbq.decode.options", "tbq.decode.glance", "tbq.plot.options", "tbq.rewriting.options",
)  # fmt: skip


def test_commands_call_what_users_can() -> None:
    """`tbq.open(…)` and its methods, but not the stages below them."""
    wrong = [
        f"{path.name}, line {line}: {module}"
        for path in MODULES
        if path.relative_to(ROOT).parts[0] == "cli"
        for line, module in imports(path)
        if not module.startswith(OF_COMMANDS) and stage_of(module) not in (*GROUND, "cli", "", "__version__")
    ]
    assert not wrong
