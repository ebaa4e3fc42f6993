"""`tbq reduce`: statistics over runs that repeat each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tbq.cli import options as shared
from tbq.cli.ranking import BY_HELP, ranking_options
from tbq.errors import UsageError

if TYPE_CHECKING:
    from tbq.cli.emit import Output

_EXAMPLES = """\b
Examples:
  tbq reduce runs --by 're:(.*)/seed=.*' -o curves.csv
  tbq reduce runs --by 'lr=0.1/*' --by 'lr=0.03/*' --stat mean,ci95 --tag val/loss
  tbq reduce runs --by hparam.lr --tag val/loss --best val/loss:min --top 2 -o best.csv
  tbq reduce runs --by 're:(.*)/seed=.*' -o reduced --as-events
"""


@click.command(cls=shared.Command, epilog=_EXAMPLES)
@shared.logdir_argument
@click.option(
    "--by",
    multiple=True,
    metavar="EXPR",
    help=f"{BY_HELP} May be repeated.  [default: all runs]",
)
@ranking_options("Put the group with the best mean of this tag first.", "groups")
@shared.stat_option("mean,std,min,max", "Some of mean, std, min, max, median, ci95, sem, q25, q75, n.")
@click.option(
    "--as-events", is_flag=True, help="Write event files that TensorBoard shows to the directory -o."
)
@shared.select_options
@shared.read_options
@shared.output_options
def command(
    logdir: tuple[str, ...],
    by: tuple[str, ...],
    best: dict[str, Any],
    sort: tuple[str, ...],
    top: int | None,
    stats: str,
    as_events: bool,
    selection: dict[str, Any],
    reading: dict[str, Any],
    out: Output,
) -> None:
    """Mean, std and more over seeds, step by step: columns group, tag, step, one per statistic, and n.

    std has ddof=1; mean ± ci95 is the interval of 95 % by Student's t; sem is the standard error of the mean; q25 and
    q75 are quartiles. n says how many runs have a value at a step.
    """
    from tbq.cli.emit import say
    from tbq.text import counted

    log = shared.opened(logdir, reading)
    options = {"by": shared.names(by) or "*", "stats": stats, **selection, **reading}
    if not as_events:
        out.check()
        out.emit(log.reduce(best=best or None, sort=sort, top=top, **options))
        return
    if best or sort or top is not None:
        raise UsageError("--best, --sort and --top are for tables, not for --as-events", hint="omit them")
    if out.path is None:
        raise UsageError("--as-events needs a directory", hint="-o DIR")
    runs = log.write_reduced(out.path, **options)
    say(f"{out.path}: {counted(len(runs), 'run')}; tensorboard --logdir {out.path}")
