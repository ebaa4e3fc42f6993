"""Where a command's table goes: a file, a file a run, a drawing on a terminal, CSV in a pipe."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tbq.errors import UsageError
from tbq.printable import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from tbq.table import Table

_TEXT_FORMATS = ("csv", "tsv", "json", "jsonl", "md", "html")


def emit(
    table: Table,
    *,
    output: str | None,
    format: str | None = None,
    force: bool = False,
    draw: Callable[[Table], None] | None = None,
    **options: Any,
) -> None:
    """Write the table as the output options say; `draw` is how it looks on a terminal, if not as any table."""
    from tbq.export import format_of, write, write_runs

    format = _format(output, format)
    if output is not None and "{run}" in output:
        format_of(output, format)  # a wrong ending is told before anything is written
        paths = write_runs(table, output, force=force, format=format, **options)
        say(f"{counted(len(paths), 'file')}, {counted(len(table), 'row')}")
    elif output is not None:
        write(table, output, force=force, format=format, **options)
        if output != "-":
            say(f"{output}: {counted(len(table), 'row')}")
    elif format is None and sys.stdout.isatty():
        (draw or draw_table)(table)
    else:
        name, _ = format_of("-", format or "csv")
        if sys.stdout.isatty() and name not in _TEXT_FORMATS:
            raise UsageError(f"{name} is not for terminals", hint=f"name a file: -o out.{name}")
        sys.stdout.flush()
        write(table, "-", format=format or "csv", **options)


def check_output(output: str | None, format: str | None, force: bool) -> None:
    """Tell of a wrong or taken target before time is spent on reading."""
    from tbq.export import format_of
    from tbq.export.target import check_folder, check_free

    format = _format(output, format)
    if output is None:
        if format is not None:
            format_of("-", format)
        return
    if "{run}" not in output:
        check_free(output, force)
    format_of(output, format)
    if "{run}" not in output:
        check_folder(output)


def _format(output: str | None, format: str | None) -> str | None:
    """Standard output has no ending: it is CSV where nothing else is asked for."""
    return "csv" if output == "-" and format is None else format


def draw_table(table: Table) -> None:
    """Draw a table on the terminal."""
    from rich.console import Console

    from tbq.table.draw import print_table

    print_table(table.to_arrow(), table.kind, Console(), Console(stderr=True))


def say(text: str) -> None:
    """A word for the person at the terminal; scripts that read stderr get warnings alone."""
    import click

    if sys.stderr.isatty():
        click.echo(text, err=True)
