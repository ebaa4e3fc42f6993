"""Where a command's table and messages go: a file, a file per run, a drawing on a terminal, CSV in a pipe.

Commands print only by these functions, so that no text of a log reaches a terminal unescaped.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from tbq.cli.ascii import drawing
from tbq.errors import UsageError
from tbq.text import counted, escaped, page, paragraph, printable, without_secrets

if TYPE_CHECKING:
    from tbq.arrow import Arrow
    from tbq.table.table import Table

_TEXT_FORMATS = ("csv", "tsv", "json", "jsonl", "md", "html")


class Output(NamedTuple):
    """The output options of a table."""

    path: str | None
    format: str | None
    force: bool
    csv_safe: bool
    json_nan: str
    columns: str | None
    drop_bytes: bool
    digits: int | None = None
    time: str = "unix"

    @property
    def target(self) -> dict[str, Any]:
        """How to write a file, as keywords of the library."""
        return {name: value for name, value in self._asdict().items() if name != "path"}

    @property
    def file_target(self) -> dict[str, Any]:
        """The same for data that has no terminal view: CSV, in a pipe and on a terminal."""
        return {**self.target, "format": self.format or (None if self.path else "csv")}

    @property
    def is_file(self) -> bool:
        """Whether the table goes to one file, in a format that the user chose."""
        from tbq.export.target import is_direct

        return self.path is not None and "{run}" not in self.path and not is_direct(self.path)

    @property
    def draws(self) -> bool:
        """Whether a person reads the table in a terminal."""
        return self.path is None and self.format is None and sys.stdout.isatty()

    def check(self, binary: Sequence[str] = ()) -> None:
        """Raise before reading if the target is invalid or exists, or if its format cannot hold the columns."""
        from tbq.export import check

        fewer = self.columns is not None or self.drop_bytes or not self._chosen
        check(self.path, format=self.format, force=self.force, binary=() if fewer else binary)

    def emit(self, table: Table, readable: Callable[[Table], list[Table]] | None = None) -> None:
        """Write the table; `readable` returns what a terminal shows instead, unless the columns were chosen."""
        from tbq.arrow import arrow_of
        from tbq.export import format_of
        from tbq.export.fit import chosen

        if self.draws:
            if self.columns is not None:
                draw(chosen(arrow_of(table), self.columns), table.kind, self.digits)
                return
            for each in [table] if readable is None else readable(table):
                draw_table(each, self.digits)
            return
        if self.path is None:
            name, _ = format_of("-", self.format or "csv")
            if sys.stdout.isatty() and name not in _TEXT_FORMATS:
                raise UsageError(f"{name} is not for terminals", hint=f"name a file: -o out.{name}")
            sys.stdout.flush()
        options = self.target
        if not self._chosen:
            options |= {"format": "csv", "drop_bytes": self._drops_bytes(table)}
        paths = table.write(self.path or "-", **options)
        if self.path is not None and "{run}" in self.path:
            say(f"{counted(len(paths), 'file')}, {counted(len(table), 'row')}")
        elif self.path not in (None, "-"):
            say(f"{self.path}: {counted(len(table), 'row')}")

    def _drops_bytes(self, table: Table) -> bool:
        """Always drop bytes from the default CSV of a pipe; first warn about the columns that CSV cannot hold."""
        from tbq.arrow import arrow_of
        from tbq.export.fit import that_fit

        if not self.drop_bytes and self.columns is None:
            that_fit({table.kind: arrow_of(table)}, "csv")
        return True

    @property
    def _chosen(self) -> bool:
        """Whether the user chose a format."""
        if self.format is not None or self.path is None:
            return self.format is not None
        from tbq.export.target import is_direct

        return not is_direct(self.path) or bool(os.path.splitext(self.path)[1])


def draw_table(table: Table, digits: int | None = None) -> None:
    """Draw a table on the terminal, with this many digits of numbers."""
    from tbq.arrow import arrow_of

    draw(arrow_of(table), table.kind, digits)


def draw(table: Arrow, kind: str, digits: int | None = None) -> None:
    """Draw the rows of a table of this kind on the terminal, and on stderr a caption with what does not fit."""
    from shutil import get_terminal_size

    from tbq.table.draw import TERMINAL_ROWS, caption, drawn

    (heads, *lines), omitted, example = drawn(
        table, TERMINAL_ROWS, get_terminal_size((80, 24)).columns, digits
    )
    draw_lines([f"\x1b[1m{heads}\x1b[0m" if has_colours() else heads, *lines])
    words = caption(table, kind, omitted, example)
    print(f"\x1b[2m{words}\x1b[0m" if has_colours(sys.stderr) else words, file=sys.stderr, flush=True)


def has_colours(stream: TextIO | None = None) -> bool:
    """Whether a stream, by default stdout, is a terminal that shows colours."""
    return (
        (stream or sys.stdout).isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM", "") != "dumb"
    )


def draw_lines(lines: list[str]) -> None:
    """Print a drawing, in ASCII without UTF-8, in one write. Its text must be escaped already; colours pass."""
    sys.stdout.write(drawing("".join(f"{line}\n" for line in lines), sys.stdout))
    sys.stdout.flush()


def show(text: str) -> None:
    """Print text for people on stdout, line by line."""
    print(drawing(page(text), sys.stdout), flush=True)  # click.echo would write UTF-8 to an ASCII terminal


def show_json(value: object) -> None:
    """Print a value as exact JSON on stdout; control characters and what stdout cannot encode become escapes."""
    import json

    unicode = (getattr(sys.stdout, "encoding", None) or "").lower().startswith("utf")
    print(escaped(json.dumps(value, indent=1, ensure_ascii=not unicode)), flush=True)


def tell(words: object, name: str = "tbq: ") -> None:
    """Print a message on stderr, for people and for scripts that log stderr; it begins with `name`."""
    print(f"{name}{paragraph(without_secrets(str(words)))}", file=sys.stderr, flush=True)


def say(text: str) -> None:
    """Print a message for the person at the terminal; scripts that read stderr get only warnings."""
    if sys.stderr.isatty():
        tell(printable(text), name="")
