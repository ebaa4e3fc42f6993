"""Where a command's table and words go: a file, a file per run, a drawing on a terminal, CSV in a pipe.

Commands print by these functions alone, so that nothing of a log reaches a terminal raw.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tbq.errors import UsageError
from tbq.printable import counted, escaped, page, paragraph, printable

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from tbq.table import Table

_WITHOUT_BYTES = ("csv", "tsv", "json", "jsonl")
_TEXT_FORMATS = ("csv", "tsv", "json", "jsonl", "md", "html")


@dataclass(frozen=True)
class Output:
    """What the output options say of a table."""

    path: str | None
    format: str | None
    force: bool
    time: str
    csv_safe: bool
    json_nan: str

    @property
    def options(self) -> dict[str, Any]:
        """How values are written, as keywords of the library."""
        return {"time": self.time, "csv_safe": self.csv_safe, "json_nan": self.json_nan}

    def check(self) -> None:
        """Tell of a wrong or taken target before time is spent on reading."""
        from tbq.export import format_of
        from tbq.export.target import check_folder, check_free

        if self.path is None:
            format_of("-", self.format or "csv")
            return
        one = "{run}" not in self.path
        if one:
            check_free(self.path, self.force)
        format_of(self.path, self.format)
        if one:
            check_folder(self.path)

    def check_holds(self, schema: pa.Schema) -> None:
        """Tell that the format that was asked for cannot hold these columns, before time is spent on reading."""
        from tbq.export import format_of
        from tbq.export.rows import refuse_bytes

        if not self._chosen:
            return
        name, _ = format_of(self.path or "-", self.format)
        if name in _WITHOUT_BYTES:
            refuse_bytes(schema, name)

    def emit(self, table: Table, draw: Callable[[Table], None] | None = None) -> None:
        """Write the table; `draw` is how it looks on a terminal, if not as any table."""
        from tbq.export import format_of, write, write_runs
        from tbq.export.everything import that_fit

        options = {"format": self.format, "force": self.force, **self.options}
        if not self._chosen and not (self.path is None and sys.stdout.isatty()):
            table = that_fit({table.kind: table}, "csv")[table.kind]
        if self.path is not None and "{run}" in self.path:
            format_of(self.path, self.format)  # a wrong ending is told before anything is written
            paths = write_runs(table, self.path, **options)
            say(f"{counted(len(paths), 'file')}, {counted(len(table), 'row')}")
        elif self.path is not None:
            write(table, self.path, **options)
            if self.path != "-":
                say(f"{self.path}: {counted(len(table), 'row')}")
        elif self.format is None and sys.stdout.isatty():
            (draw or draw_table)(table)
        else:
            name, _ = format_of("-", self.format or "csv")
            if sys.stdout.isatty() and name not in _TEXT_FORMATS:
                raise UsageError(f"{name} is not for terminals", hint=f"name a file: -o out.{name}")
            sys.stdout.flush()
            write(table, "-", format=self.format or "csv", **self.options)

    @property
    def _chosen(self) -> bool:
        """Whether somebody asked for a format: a pipe gets CSV if nobody did, and then what CSV holds."""
        from tbq.export.target import is_direct

        if self.format is not None:
            return True
        return self.path is not None and not (is_direct(self.path) and not Path(self.path).suffix)


def draw_table(table: Table) -> None:
    """Draw a table on the terminal."""
    from rich.console import Console

    from tbq.table.draw import print_table

    print_table(table.to_arrow(), table.kind, Console(), Console(stderr=True))


def show(text: str) -> None:
    """Text for people on stdout, line by line."""
    import click

    click.echo(page(text))


def show_json(value: object) -> None:
    """A value as JSON on stdout: exact, with control characters and what stdout cannot show as escapes."""
    import json

    import click

    unicode = (getattr(sys.stdout, "encoding", None) or "").lower().startswith("utf")
    click.echo(escaped(json.dumps(value, indent=1, ensure_ascii=not unicode)))


def tell(words: object, name: str = "tbq: ") -> None:
    """Words on stderr, for people and for scripts that keep what is said there; a message begins with `name`."""
    import click

    click.echo(f"{name}{paragraph(str(words))}", err=True)


def say(text: str) -> None:
    """A word for the person at the terminal; scripts that read stderr get warnings alone."""
    if sys.stderr.isatty():
        tell(printable(text), name="")
