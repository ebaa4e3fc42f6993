"""`tbq reduce`: statistics over runs that repeat each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tbq.cli.options import logdir_argument, names, output_options, read_options, select_options, source
from tbq.errors import UsageError

if TYPE_CHECKING:
    from tbq.cli.emit import Output

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
    selection: dict[str, Any],
    reading: dict[str, Any],
    out: Output,
) -> None:
    """Mean, std and more over seeds, step by step: columns group, tag, step, a column a statistic, and n.

    std has ddof=1; mean ± ci95 is the interval of 95 % by Student's t. n says how many runs have a value at a step.
    """
    import tbq
    from tbq.cli.emit import say

    if as_events and out.path is None:
        raise UsageError("--as-events needs a directory", hint="-o DIR")
    if not as_events:
        out.check()
    table = tbq.open(source(logdir)).reduce(
        group=names(group) or "*",
        stats=stat,
        **selection,
        as_events=out.path if as_events else None,
        **reading,
    )
    if as_events:
        say(f"{out.path}: {len(table):,} rows; tensorboard --logdir {out.path}")
    else:
        out.emit(table)
