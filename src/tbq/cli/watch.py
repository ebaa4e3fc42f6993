"""`tbq watch`: a log directory live in the terminal."""

from __future__ import annotations

from typing import Any

import click

from tbq.cli.options import (
    Command,
    interval_option,
    live_restarts_option,
    logdir_argument,
    select_options,
    source_options,
    sub_runs_option,
    threads_option,
)

_EXAMPLES = """\b
Examples:
  tbq watch runs
  tbq watch runs --tag 'val/*' --smooth 0.6
"""


@click.command(cls=Command, epilog=_EXAMPLES)
@logdir_argument
@select_options
@click.option(
    "--smooth",
    type=click.FloatRange(0, 1),
    default=0.0,
    metavar="W",
    help="Smooth as TensorBoard does with this weight; the key s changes it.",
)
@interval_option("1, or 30 for a URL")
@click.option(
    "--stalled-after",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Call a run stalled after this time without new data.  [default: 120, or 20 times its usual pause]",
)
@live_restarts_option
@threads_option
@sub_runs_option
@source_options
def command(
    logdir: tuple[str, ...],
    selection: dict[str, Any],
    smooth: float,
    interval: float | None,
    stalled_after: float | None,
    restarts: Any,
    threads: int | None,
    sub_runs: Any,
) -> None:
    """Watch LOGDIR live: runs with their state, charts, images, texts, histograms.

    Keys: ? shows all of them, / filters, s smooths, q quits. Waits for LOGDIR to appear. Needs Textual,
    the extra "watch".
    """
    import tbq

    tbq.watch(
        logdir if len(logdir) > 1 else logdir[0],
        **selection,
        smooth=smooth,
        interval=interval,
        stalled_after=stalled_after,
        restarts=restarts,
        threads=threads,
        sub_runs=sub_runs,
    )
