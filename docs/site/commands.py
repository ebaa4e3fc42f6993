"""The reference of the commands: one page per command, from click."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click
from docs.site.pages import table

from tbq.cli import COMMANDS
from tbq.cli.app import app
from tbq.cli.options import RARE


def pages() -> Iterator[tuple[str, str]]:
    """The page that lists the commands, and one page per command."""
    listed = [(f"[`tbq {name}`]({name}.md)", purpose) for name, (_, purpose) in COMMANDS.items()]
    yield (
        "reference/commands/index.md",
        "# Commands\n\n`tbq COMMAND --help` prints the same.\n\n"
        + table("command|what it does", listed)
        + "\n",
    )
    for name, (_, purpose) in COMMANDS.items():
        yield f"reference/commands/{name}.md", page(name, purpose)


def command(name: str) -> tuple[click.Command, click.Context]:
    """A command of `tbq`, and a context to ask it for its help."""
    group = click.Context(app, info_name="tbq")
    found = app.get_command(group, name)
    assert found is not None
    return found, click.Context(found, info_name=name, parent=group)


def page(name: str, purpose: str) -> str:
    """The page of a command: what it does, its options, examples."""
    found, context = command(name)
    usage = " ".join(found.collect_usage_pieces(context))
    text = inspect.cleandoc(found.help or "").replace("\b\n", "")
    lines = [f"# tbq {name}", purpose, f"```text\n$ tbq {name} {usage}\n```", marked(text)]
    for title, records in options(found, context).items():
        rows = [(f"`{names}`", marked(said)) for names, said in records]
        if rows:
            lines += [f"## {title}", table("option|", rows)]
    examples = [line.strip() for line in (found.epilog or "").splitlines() if line.startswith("  tbq ")]
    return "\n\n".join([*lines, "## Examples", "```sh\n" + "\n".join(examples) + "\n```"]) + "\n"


def options(found: click.Command, context: click.Context) -> dict[str, list[tuple[str, str]]]:
    """The names of each option, and its help, in the sections of `--help`."""
    sections: dict[str, list[tuple[str, str]]] = {"Options": [], RARE: []}
    for param in found.get_params(context):
        record = param.get_help_record(context)
        if record is not None:
            sections[RARE if type(param).__name__ == "_Rare" else "Options"].append(record)
    return sections


def marked(text: str) -> str:
    """Help as Markdown: braces, globs and names with underscores stay what they are."""
    return re.sub(r"(?<![`\w<])([\w./-]*[*_{][^\s,;:()\[\]]*[^\s,;:.()\[\]])", r"`\1`", text).replace(
        "<", "&lt;"
    )
