"""The reference of the library: each public class, method and function, from its signature and docstring."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import tbq

#: Public names that `tbq.__all__` does not lead to: the types that its functions return, and writers of tables.
MODULES = {
    "tbq.export": ("write", "write_many"),
    "tbq.query.dataset": ("LogDataset",),
    "tbq.rewriting": ("RunReport",),
}
PROPERTIES = (property, cached_property)


class Entry(NamedTuple):
    """A public object, and the name by which people reach it."""

    name: str
    value: Any


def pages() -> Iterator[tuple[str, str]]:
    """A page for the functions, one per class, and one per module."""
    entries = public()
    functions = [each for each in entries if not inspect.isclass(each.value)]
    classes = [each for each in entries if inspect.isclass(each.value)]
    by_module: dict[str, list[Entry]] = {}
    for each in functions:
        by_module.setdefault(each.name.rpartition(".")[0], []).append(each)
    listed = []
    for module, group in by_module.items():
        intro = "" if module == "tbq" else prose(inspect.getdoc(importlib.import_module(module)) or "")
        parts = [f"# Functions of {module}", intro, *(entry(each, 2) for each in group)]
        yield f"reference/python/{module}.md", "\n\n".join(parts) + "\n"
        names = ", ".join(f"[`{each.name}`]({module}.md#{anchor(each.name)})" for each in group)
        listed.append(f"- Functions of `{module}`: {names}")
    for each in classes:
        yield f"reference/python/{each.name}.md", class_page(each)
        listed.append(f"- [`{each.name}`]({each.name}.md): {first_line(each.value)}")
    yield "reference/python/tbq.integrations.md", trainers_page()
    listed.append("- Callbacks and loggers for trainers: [`tbq.integrations`](tbq.integrations.md)")
    intro = "`import tbq` gives what begins with `tbq.`; the rest is imported from its module."
    yield "reference/python/index.md", "\n\n".join(["# Python", intro, "\n".join(listed)]) + "\n"


def public() -> list[Entry]:
    """Every public class and function."""
    found = [Entry(f"tbq.{name}", getattr(tbq, name)) for name in tbq.__all__ if name != "__version__"]
    entries = [each for each in found if not inspect.ismodule(each.value)]
    modules = {
        each.name: getattr(each.value, "__all__", ()) for each in found if inspect.ismodule(each.value)
    }
    for module, names in {**modules, **MODULES}.items():
        loaded = importlib.import_module(module)
        entries += [Entry(f"{module}.{name}", getattr(loaded, name)) for name in names]
    errors = importlib.import_module("tbq.errors")
    known = {each.value for each in entries if inspect.isclass(each.value)}
    entries += [
        Entry(f"tbq.errors.{name}", value)
        for name, value in vars(errors).items()
        if inspect.isclass(value)
        and value.__module__ == "tbq.errors"
        and not name.startswith("_")
        and value not in known
    ]
    return entries


def trainers_page() -> str:
    """The classes and functions of `tbq.integrations`, from their source: importing them needs the trainers."""
    folder = importlib.import_module("tbq.integrations")
    parts = [
        "# tbq.integrations",
        prose(inspect.getdoc(folder) or ""),
        "[Training](../../training.md) shows each.",
    ]
    for path in sorted(Path(folder.__path__[0]).glob("*.py")):
        if path.stem == "__init__":
            continue
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                body = node.body if isinstance(node, ast.ClassDef) else [node]
                made = [
                    each
                    for each in body
                    if isinstance(each, ast.FunctionDef) and each.name in ("__init__", node.name)
                ]
                arguments = ast.unparse(made[0].args).removeprefix("self, ") if made else ""
                parts += [
                    f"## tbq.integrations.{path.stem}.{node.name}",
                    f"```python\n{node.name}({arguments})\n```",
                    prose(inspect.cleandoc(ast.get_docstring(node) or "")),
                ]
    return "\n\n".join(parts) + "\n"


def members(owner: type) -> list[Entry]:
    """The public methods and properties of a class, in the order of the source, without those of `parent(owner)`."""
    names: dict[str, Any] = {}
    inherited = parent(owner)
    for base in owner.__mro__:
        if base.__module__.startswith("tbq") and (inherited is None or not issubclass(inherited, base)):
            for name, value in vars(base).items():
                if not name.startswith("_") and (inspect.isroutine(value) or isinstance(value, PROPERTIES)):
                    names.setdefault(name, value)
    return [Entry(name, value) for name, value in names.items()]


def parent(owner: type) -> type | None:
    """The public class whose methods the page of a class does not repeat."""
    bases = (tbq.Table, tbq.TbqError, tbq.SummaryWriter)
    return next((each for each in bases if issubclass(owner, each) and owner is not each), None)


def class_page(each: Entry) -> str:
    """The page of a class."""
    owner, short = each.value, each.name.rpartition(".")[2]
    parts = [f"# {each.name}", prose(own_doc(owner))]
    by_hand = "__init__" in vars(owner) and not dataclass_like(owner) and "Made by" not in own_doc(owner)
    if by_hand and not issubclass(owner, BaseException):
        parts.insert(1, f"```python\n{signature(short, owner)}\n```")
    if fields := attributes(owner):
        comments = dict(re.findall(r"^ +#: (.+)\n +(\w+)\b", inspect.getsource(owner), re.MULTILINE))
        explained = {name: comment for comment, name in comments.items()}
        lines = [
            f"- `{name}`: `{shown(kind)}`" + (f": {explained[name]}" if name in explained else "")
            for name, kind in fields.items()
        ]
        parts += ["## Fields", "\n".join(lines)]
    parts += [entry(Entry(f"{short}.{name}", value), 2) for name, value in members(owner)]
    inherited = parent(owner)
    if inherited is not None:
        name = f"tbq.{inherited.__name__}"
        parts.insert(2, f"It has everything that [`{name}`]({name}.md) has.")
    return "\n\n".join(part for part in parts if part) + "\n"


def attributes(owner: type) -> dict[str, Any]:
    """The public values that each object of a class has, with their types, as the class annotates them."""
    annotated = vars(owner).get("__annotations__", {})
    return {name: kind for name, kind in annotated.items() if name[0] != "_"}


def dataclass_like(owner: type) -> bool:
    """Whether the annotations of a class are its fields."""
    return hasattr(owner, "__dataclass_fields__") or hasattr(owner, "_fields")


def own_doc(owner: type) -> str:
    """The docstring of a class, unless Python made it from the fields."""
    doc = inspect.getdoc(owner) or ""
    return "" if doc.startswith(f"{owner.__name__}(") else doc


def entry(each: Entry, level: int) -> str:
    """A function, method or property: its name as a heading, its signature, its docstring."""
    value = getattr(each.value, "__func__", each.value)  # of a class method
    doc = inspect.cleandoc(value.__doc__ or "As in the class that it overrides.")
    shown_as = each.name if isinstance(value, PROPERTIES) else signature(each.name, value)
    return "\n\n".join([f"{'#' * level} {each.name}", f"```python\n{shown_as}\n```", prose(doc)])


def signature(name: str, value: Any) -> str:
    """`name(…) -> type`, on one line or with one argument per line."""
    try:
        found = inspect.signature(value)
    except ValueError:  # of the C++ core: nanobind writes it into the docstring
        return (inspect.getdoc(value) or name).splitlines()[0]
    arguments, keyword_only = [], False
    for param in found.parameters.values():
        if param.name in ("self", "cls"):
            continue
        prefix = "*" * (param.kind == param.VAR_POSITIONAL) + "**" * (param.kind == param.VAR_KEYWORD)
        if param.kind == param.KEYWORD_ONLY and not keyword_only:
            arguments.append("*")
        keyword_only = keyword_only or param.kind in (param.KEYWORD_ONLY, param.VAR_POSITIONAL)
        typed = "" if param.annotation is param.empty else f": {shown(param.annotation)}"
        default = "" if param.default is param.empty else f"{' = ' if typed else '='}{param.default!r}"
        arguments.append(f"{prefix}{param.name}{typed}{default}")
    returns = (
        ""
        if found.return_annotation in (found.empty, "None", None)
        else f" -> {shown(found.return_annotation)}"
    )
    line = f"{name}({', '.join(arguments)}){returns}"
    return line if len(line) <= 88 else f"{name}(\n    " + ",\n    ".join(arguments) + f",\n){returns}"


def shown(annotation: Any) -> str:
    """A type as the source spells it."""
    text = getattr(annotation, "__forward_arg__", None) or annotation
    return text if isinstance(text, str) else inspect.formatannotation(text)


def prose(doc: str) -> str:
    """A docstring as Markdown: its examples become blocks of code."""
    lines: list[str] = []
    inside = False
    for line in doc.splitlines():
        if line.lstrip().startswith(">>> ") and not inside:
            lines += ["```pycon"]
            inside = True
        elif inside and not line.strip():
            lines += ["```"]
            inside = False
        lines.append(line)
    text = "\n".join([*lines, *(["```"] if inside else [])])
    return re.sub(r"```\n\n```pycon\n", "\n", text)


def first_line(value: Any) -> str:
    """The first sentence of a docstring."""
    return (own_doc(value) if inspect.isclass(value) else inspect.getdoc(value) or "").partition("\n")[0]


def anchor(name: str) -> str:
    """The address of a heading on its page."""
    return re.sub(r"[^\w\s-]", "", name).strip().lower()
