"""`tbq tags`: what was logged, by run and tag."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tbq.cli.options import (
    logdir_argument,
    names,
    opened,
    output_options,
    quiet,
    read_options,
    run_option,
    tag_option,
)

if TYPE_CHECKING:
    from tbq.cli.emit import Output
    from tbq.table.table import Table

_EXAMPLES = """\b
Examples:
  tbq tags runs
  tbq tags runs --tag 'val/*' -o tags.csv
"""


@click.command(epilog=_EXAMPLES)
@logdir_argument
@run_option
@tag_option
@read_options
@output_options
def command(
    logdir: tuple[str, ...], run: tuple[str, ...], tag: tuple[str, ...], reading: dict[str, Any], out: Output
) -> None:
    """List the tags of each run: kind, plugin, dtype, count, first and last step."""

    out.check()
    table = opened(logdir, reading).tags(names(tag), run=names(run), **quiet(reading))
    out.emit(table, _draw)


def _draw(table: Table) -> None:
    """Draw only the columns that hold information."""
    from tbq.cli.emit import draw_table
    from tbq.table.table import Table

    arrow = table.to_arrow()
    telling = [name for name in arrow.column_names if set(arrow[name].unique().to_pylist()) - {None, ""}]
    draw_table(Table(arrow.select(telling), table.kind))
