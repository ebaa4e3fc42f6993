"""The reference of the data: tables and columns, errors and problems, and the HTTP API of `tbq serve`."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator

import pyarrow as pa
from docs.site.columns import meaning
from docs.site.pages import ROOT, table

import tbq
from tbq.schema import KINDS, schema
from tbq.server.http.routes import ROUTES

PACKAGE = ROOT / "src" / "tbq"


def pages() -> Iterator[tuple[str, str]]:
    """The pages of tables, errors and the HTTP API."""
    yield "reference/tables.md", columns_page()
    yield "reference/errors.md", errors_page()
    yield "reference/http.md", http_page()


def columns_page() -> str:
    """Every table with the type of each of its columns."""
    parts = [
        "# Tables and columns",
        "Each table is a method of [`LogDir`](python/tbq.LogDir.md) or `log.table(name)`, a `--kind` of "
        "[`tbq export`](commands/export.md), and a table in [SQL](../sql.md). "
        "[Every kind of data](../kinds.md) says more. "
        "`label` is a string from a dictionary, as runs and tags are; null is an absent value.",
    ]
    for kind in KINDS:
        method = getattr(tbq.LogDir, kind, None)
        about = [] if method is None else [(inspect.getdoc(method) or "").partition("\n")[0]]
        rows = [(f"`{field.name}`", shown(field.type), meaning(kind, field.name)) for field in schema(kind)]
        parts += [f"## {kind}", *about, table("column|type|what it is", rows)]
    return "\n\n".join(parts) + "\n"


def shown(kind: pa.DataType) -> str:
    """An Arrow type in a word."""
    if pa.types.is_dictionary(kind):
        return "label"
    if pa.types.is_list(kind):
        return f"list of {shown(kind.value_type)}"
    return {"large_binary": "bytes", "double": "float64"}.get(str(kind), str(kind))


def errors_page() -> str:
    """The error classes, the codes of errors, and the codes of problems."""
    errors = importlib.import_module("tbq.errors")
    tree = (inspect.getdoc(errors) or "").partition("\n\n")[2].rpartition("\n\n")[0]
    raised, found = codes()
    rows = [(f"`{code}`", plain(said)) for code, said in sorted(raised.items())]
    problems = [(f"`{code}`", plain(said)) for code, said in sorted(found.items())]
    return "\n\n".join([
        "# Errors and problems",
        "Every error that tbq raises on purpose is a `tbq.TbqError`. Its `code` is stable; `path` and `offset` say "
            "where, `hint` says what to do. [Exit codes](../environment.md#exit-codes) are those of the command line.",
        "```text\n" + tree + "\n```",
        "## Codes of errors",
        table("code|messages", rows),
        "## Codes of problems",
        "`log.problems` and the table `problems` list what was lost, dropped or changed while reading. The findings of "
        "[`tbq doctor`](findings/index.md) say more.",
        table("code|messages", problems),
    ]) + "\n"  # fmt: skip


def plain(messages: set[str]) -> str:
    """Messages as Markdown that changes nothing in them."""
    return re.sub(r"([_*<>\[\]\\$])", r"\\\1", "; ".join(sorted(messages)))


def codes() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """The codes of errors and of problems in the source, with the messages that have them."""
    raised: dict[str, set[str]] = {}
    for name, value in vars(importlib.import_module("tbq.errors")).items():
        if inspect.isclass(value) and issubclass(value, tbq.TbqError):
            raised[value.code] = {name}
    found: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                note(node, raised, found)
            elif (
                isinstance(node, ast.Assign)
                and isinstance(node.value, ast.Dict)
                and path.name == "problems.py"
            ):
                for key, value in zip(node.value.keys, node.value.values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(value, ast.Constant):
                        found.setdefault(str(key.value), set()).add(str(value.value))
    return raised, found


def note(call: ast.Call, raised: dict[str, set[str]], found: dict[str, set[str]]) -> None:
    """Add the code and the message of a call that makes an error or a problem."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    code = next((each.value for each in call.keywords if each.arg == "code"), None)
    if isinstance(code, ast.Constant) and isinstance(code.value, str) and name.lower().endswith("error"):
        raised.setdefault(code.value, set()).update(message(call.args[:1]))
    if name.lower() == "problem" and call.args and isinstance(call.args[0], ast.Constant):
        found.setdefault(str(call.args[0].value), set()).update(message(call.args[2:3]))


def message(arguments: list[ast.expr]) -> Iterator[str]:
    """The text of a message; `…` stands for what is filled in."""
    for each in arguments:
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value
        elif isinstance(each, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in each.values)


def http_page() -> str:
    """Every address of the API of `tbq serve`."""
    rows = [("`GET api/events`", "", "Server-sent events: one after each change of the log.")]
    for path, route in ROUTES.items():
        module, _, name = route.place.rpartition(".")
        function = getattr(importlib.import_module(f"tbq.server.{module}"), name)
        parameters = " ".join(f"`{each}`" for each in route.params)
        rows.append(
            (
                f"`GET api/{path}`",
                parameters,
                (inspect.getdoc(function) or "").partition("\n\n")[0].replace("\n", " "),
            )
        )
    rows.append(
        (
            "`POST api/sql`",
            "`query` `limit` `format`",
            "The rows of a query. The parameters are a JSON object.",
        )
    )
    return "\n\n".join([
        "# The HTTP API of tbq serve",
        "The page uses these addresses, and so can programs. [What answers look like](../serve.md) is explained with "
        "`tbq serve`. The API may change between versions.",
        table("address|parameters|answer", rows),
    ]) + "\n"  # fmt: skip
