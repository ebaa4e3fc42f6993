"""The magics of `%load_ext tbq`: `%tbq COMMAND`, and `%%tbqsql LOGDIR` with a query in the cell."""

from __future__ import annotations

import contextlib
import secrets
import shlex
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click
from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
from IPython.display import display

import tbq
from tbq.cli import options as shared
from tbq.errors import TbqError, collected_warnings
from tbq.notebook.page import frame, serve
from tbq.text import printable

if TYPE_CHECKING:
    from tbq.notebook.widget import LiveChart
    from tbq.table.table import Table


@click.command()
@shared.logdir_argument
@shared.select_options
@click.option("--smooth", type=click.FloatRange(0, 1), default=0.0, metavar="W", help="TensorBoard's weight.")
def _watch(logdir: tuple[str, ...], selection: dict[str, Any], smooth: float) -> LiveChart:
    """Show a live chart, as tbq.live does."""
    return tbq.live(shared.source(logdir), smooth=smooth, **selection)


@click.command()
@shared.logdir_argument
@click.option(
    "-o", "--output", "name", metavar="NAME", help="Assign the table to this variable; do not show it."
)
def _query(logdir: tuple[str, ...], name: str | None) -> tuple[Any, str | None]:
    """Query a log; the cell is the query."""
    if name is not None and not name.isidentifier():
        raise click.BadParameter(f"{name!r} is not the name of a variable", param_hint="-o")
    return shared.source(logdir), name


@magics_class
class TbqMagics(Magics):
    """`%tbq` and `%%tbqsql`."""

    shell: Any

    @line_magic
    def tbq(self, line: str) -> None:
        """Run a command of tbq: `%tbq summary runs`. `serve` shows the page in the cell, `watch` a live chart."""
        with _usage():
            command, *arguments = _words(line) or ["--help"]
            if {"--help", "-h"} & {*arguments} or command not in ("serve", "watch"):
                self.shell.system(shlex.join([sys.executable, "-m", "tbq", command, *arguments]))
            elif command == "watch":
                display(_watch.main(arguments, "%tbq watch", standalone_mode=False))  # type: ignore[no-untyped-call]
            else:
                what = f"tbq serve {printable(shlex.join(arguments))}"
                page = frame(serve(arguments), f"tbq-{secrets.token_hex(6)}", what)
                display({"text/html": page, "text/plain": what}, raw=True)  # type: ignore[no-untyped-call]

    @cell_magic
    def tbqsql(self, line: str, cell: str) -> Table | None:
        """Query a log in SQL: `%%tbqsql runs`, and the query below. `-o NAME` assigns the table to a variable."""
        with _usage():
            asked = _query.main(_words(line), "%%tbqsql", standalone_mode=False)
            if not isinstance(asked, tuple):  # --help has printed
                return None
            path, name = asked
            with collected_warnings() as remarks:
                table = tbq.open(path).sql(cell)
            for remark in remarks:
                print(f"tbq: {printable(remark)}", file=sys.stderr)
            if name is None:
                return table
            self.shell.user_ns[name] = table
        return None


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as wrong:  # a quote without its other end
        raise UsageError(str(wrong)) from None


@contextlib.contextmanager
def _usage() -> Iterator[None]:
    """Show errors as one message, without a traceback of tbq's own code."""
    try:
        yield
    except click.ClickException as wrong:
        raise UsageError(wrong.format_message()) from None
    except TbqError as wrong:
        raise UsageError(str(wrong)) from None
