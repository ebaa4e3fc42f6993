"""`tbq ls`: the runs of a logdir, with their size, duration and health."""

from __future__ import annotations

import time as clock
from typing import TYPE_CHECKING, Any

import click

from tbq.cli import options as shared

if TYPE_CHECKING:
    from tbq.cli.emit import Output
    from tbq.table.table import Table

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
    from rich.filesize import decimal

    from tbq.arrow import of_rows
    from tbq.states import GLYPHS
    from tbq.table.table import Table

    now = clock.time()
    rows = [
        {
            "run": f"{GLYPHS[row['state']]} {row['run']}" if row["state"] else row["run"],
            **({tag: curves.get(row["run"], "")} if tag else {}),
            "files": row["files"],
            "size": decimal(row["bytes"]),
            "events": row["events"],
            "step": row["last_step"],
            "duration": duration(_between(row["first_wall_time"], row["last_wall_time"])),
            "age": duration(_between(row["last_wall_time"], now)),
            "health": row["health"],
        }
        for row in table.to_dicts()
    ]
    return [Table(of_rows(rows), "runs")]


def _between(begin: float | None, end: float | None) -> float | None:
    return None if begin is None or end is None else end - begin


def duration(seconds: float | None) -> str | None:
    """Seconds as the two largest units; None if the duration is impossible.

    >>> duration(3725)
    '1h 2m'
    """
    if seconds is None or not 0 <= seconds < 100 * 365 * 86400:
        return None
    remaining = round(seconds)
    if remaining == 0:
        return "0s"
    parts: list[tuple[int, str]] = []
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, remaining = divmod(remaining, length)
        if count or parts:
            parts.append((count, unit))
    return " ".join(f"{count}{unit}" for count, unit in parts[:2] if count)
