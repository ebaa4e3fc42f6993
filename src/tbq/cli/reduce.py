"""`tbq reduce`: statistics over runs that repeat each other."""

from __future__ import annotations

from typing import Any

import click

from tbq.cli.options import logdir_argument, names, output_options, read_options, select_options, source
from tbq.errors import UsageError

_EXAMPLES = """\b
Examples:
  tbq reduce runs --group '(.*)/seed' -o curves.csv
  tbq reduce runs --group 'lr=0.1/*' --group 'lr=0.03/*' --stat mean,ci95 --tag val/loss
  tbq reduce runs --group '(.*)/seed' -o reduced --as-events
"""


@click.command(epilog=_EXAMPLES)
@logdir_argument
@click.option(
    "--group",
    multiple=True,
    metavar="EXPR",
    help="Which runs belong together: a glob, or a regular expression with brackets around the group's name. "
    "May be repeated. Without it, all runs.",
)
@click.option(
    "--stat",
    default="mean,std,min,max",
    show_default=True,
    metavar="LIST",
    help="Of mean,std,min,max,median,ci95,n.",
)
@click.option(
    "--as-events", is_flag=True, help="Write event files that TensorBoard shows to the directory -o."
)
@select_options
@read_options
@output_options
def command(
    logdir: tuple[str, ...],
    group: tuple[str, ...],
    stat: str,
    as_events: bool,
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
    """Mean, std and more over seeds, step by step: columns group, tag, step, a column a statistic, and n.

    std has ddof=1; mean ± ci95 is the interval of 95 % by Student's t. n says how many runs have a value at a step.
    """
    import tbq
    from tbq.cli.emit import check_output, emit, say

    if as_events and output is None:
        raise UsageError("--as-events needs a directory", hint="-o DIR")
    if not as_events:
        check_output(output, format, force)
    table = tbq.open(source(logdir)).reduce(
        group=names(group) or "*",
        stats=stat,
        run=names(run),
        tag=names(tag),
        steps=steps,
        as_events=output if as_events else None,
        restarts=restarts,
        threads=threads,
        on_error="raise" if strict else "warn",
    )
    if as_events:
        say(f"{output}: {len(table):,} rows; tensorboard --logdir {output}")
    else:
        emit(table, output=output, format=format, force=force, **options)
