"""`tbq tags`: what was logged, by run and tag."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tbq.cli import options as shared

if TYPE_CHECKING:
    from tbq.cli.emit import Output
    from tbq.table.table import Table

_EXAMPLES = """\b
Examples:
  tbq tags runs
  tbq tags runs --tag 'val/*' -o tags.csv
"""

_FIRST = ("run", "tag", "kind", "count", "first_step", "last_step")


@click.command(cls=shared.Command, epilog=_EXAMPLES)
@shared.logdir_argument
@shared.run_option
@shared.tag_option
@shared.read_options
@shared.output_options
def command(
    logdir: tuple[str, ...], run: tuple[str, ...], tag: tuple[str, ...], reading: dict[str, Any], out: Output
) -> None:
    """List the tags of each run: kind, plugin, dtype, count, first and last step."""

    out.check()
    table = shared.opened(logdir, reading).tags(
        shared.names(tag), run=shared.names(run), **shared.quiet(reading)
    )
    out.emit(table, _readable)


def _readable(table: Table) -> list[Table]:
    """The columns that hold information, the most important first."""
    rows = table.to_dicts()
    telling = [name for name in table.columns if any(row[name] not in (None, "") for row in rows)]
    first = [name for name in _FIRST if name in telling]
    return [table.select([*first, *(name for name in telling if name not in first)])]
