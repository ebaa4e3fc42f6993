"""`tbq ls`: the runs of a logdir, with their size, duration and health."""

from __future__ import annotations

import time as clock
from typing import TYPE_CHECKING, Any

import click

from tbq.cli import options as shared
from tbq.numbers import duration, sized

if TYPE_CHECKING:
    from tbq.cli.emit import Output
    from tbq.table.table import Table

_CENTURY = 100 * 365 * 86400
_EXAMPLES = """\b
Examples:
  tbq ls runs
  tbq ls runs --spark val/loss
  tbq ls runs --run 'lr=*' -o runs.csv
"""


@click.command(cls=shared.Command, epilog=_EXAMPLES)
@shared.logdir_argument
@shared.run_option
@shared.spark_option
@shared.read_options
@shared.timed_output_options
def command(
    logdir: tuple[str, ...], run: tuple[str, ...], spark: str | None, reading: dict[str, Any], out: Output
) -> None:
    """List the runs: files, size, events, last step, duration, age, state, health."""
    from tbq.cli.emit import tell
    from tbq.states import GLYPHS, STATES
    from tbq.text import counted

    out.check()
    log = shared.opened(logdir, reading)
    table = log.table("runs", run=shared.names(run), **shared.quiet(reading))
    out.emit(
        table,
        lambda table: _readable(
            table, spark, shared.sparks(log, spark, {"run": shared.names(run)}, shared.quiet(reading))
        ),
    )
    if out.draws:
        states = [row["state"] for row in table.to_dicts()]
        counts = [f"{GLYPHS[state]} {states.count(state):,} {state}" for state in STATES if state in states]
        if len(counts) > 1:
            tell(", ".join(counts))
    if log.sub_runs:
        what = counted(len(log.sub_runs), "sub-run")
        tell(f"{what} of add_hparams counted as part of the runs above; --sub-runs keep lists them")


def _readable(table: Table, tag: str | None, curves: dict[str, str]) -> list[Table]:
    """Sizes, durations and ages with their units."""
    from tbq.arrow import of_rows
    from tbq.states import GLYPHS
    from tbq.table.table import Table

    now = clock.time()
    rows = [
        {
            "run": f"{GLYPHS[row['state']]} {row['run']}" if row["state"] else row["run"],
            **({tag: curves.get(row["run"], "")} if tag else {}),
            "files": row["files"],
            "size": sized(row["bytes"]),
            "events": row["events"],
            "step": row["last_step"],
            "duration": _duration(row["first_wall_time"], row["last_wall_time"]),
            "age": _duration(row["last_wall_time"], now),
            "health": row["health"],
        }
        for row in table.to_dicts()
    ]
    return [Table(of_rows(rows), "runs")]


def _duration(begin: float | None, end: float | None) -> str | None:
    """The time between two wall times; None if it is unknown or impossible."""
    if begin is None or end is None or not 0 <= end - begin < _CENTURY:
        return None
    return duration(round(end - begin))
