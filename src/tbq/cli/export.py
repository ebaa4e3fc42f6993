"""`tbq export`: the scalars of all runs as a table, in any layout and format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tbq.cli.options import (
    LAYOUTS,
    logdir_argument,
    names,
    output_options,
    read_options,
    select_options,
    source,
)

if TYPE_CHECKING:
    from tbq.table import Table

_EXAMPLES = """\b
Examples:
  tbq export runs -o scalars.csv
  tbq export runs --layout wide --tag 'loss/*' -o wide.parquet
  tbq export runs --layout summary --stat last,min -o best.xlsx
  tbq export runs -o out/{run}.csv
  tbq export runs --run 'exp*' --steps 100: | head
"""


@click.command(epilog=_EXAMPLES)
@logdir_argument
@click.option(
    "--layout",
    type=click.Choice(LAYOUTS),
    default="long",
    show_default=True,
    help="A row a value; a row a step with a column a tag; or a row a run.",
)
@click.option(
    "--stat",
    default="last",
    show_default=True,
    metavar="LIST",
    help="Statistics of --layout summary: first,last,min,max,mean,std,count,min_step,max_step.",
)
@select_options
@read_options
@output_options
def command(
    logdir: tuple[str, ...],
    layout: str,
    stat: str,
    run: tuple[str, ...],
    tag: tuple[str, ...],
    steps: str | None,
    restarts: str,
    strict: bool,
    threads: int | None,
    output: str | None,
    format: str | None,
    force: bool,
    **options: Any,
) -> None:
    """Write every scalar of every run as a table.

    Without -o the table goes to stdout: drawn on a terminal, CSV in a pipe. The ending of OUT chooses the format:
    csv tsv parquet arrow feather json jsonl xlsx sqlite duckdb md html npz; text also with .gz or .zst.
    {run} in OUT writes a file a run.
    """
    import tbq
    from tbq.cli.emit import check_output, emit
    from tbq.cli.progress import progress_bar

    check_output(output, format, force)
    log = tbq.open(source(logdir))
    with progress_bar() as progress:
        table = log.scalars(
            run=names(run),
            tag=names(tag),
            steps=steps,
            restarts=restarts,
            threads=threads,
            progress=progress,
            on_error="raise" if strict else "warn",
        )
    emit(_laid_out(table, layout, stat), output=output, format=format, force=force, **options)


def _laid_out(table: Table, layout: str, stat: str) -> Table:
    if layout == "wide":
        return table.wide()
    if layout == "summary":
        return table.summary([part.strip() for part in stat.split(",")])
    return table
