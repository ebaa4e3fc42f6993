"""`tbq ls`: the runs of a logdir, how much each holds, how long it took and whether it is sound."""

from __future__ import annotations

import time as clock
from typing import TYPE_CHECKING

import click

from tbq.cli.options import logdir_argument, names, output_options, run_option, source, unpack_option

if TYPE_CHECKING:
    from tbq.cli.emit import Output
    from tbq.table import Table

_EXAMPLES = """\b
Examples:
  tbq ls runs
  tbq ls runs --run 'lr=*' -o runs.csv
"""


@click.command(epilog=_EXAMPLES)
@logdir_argument
@run_option
@unpack_option
@output_options
def command(logdir: tuple[str, ...], run: tuple[str, ...], out: Output) -> None:
    """List the runs: files, size, events, last step, duration, age, health."""
    import tbq

    out.check()
    log = tbq.open(source(logdir))
    table = log.table("runs")
    if run:
        table = _only(table, names(run))
    out.emit(table, _draw)


def _only(table: Table, run: list[str] | None) -> Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    from tbq.select import Selection
    from tbq.table import Table

    arrow = table.to_arrow()
    wanted = Selection.of(run, "run").require(arrow["run"].unique().to_pylist(), where=table.logdir)
    kept = arrow.filter(pc.is_in(arrow["run"].cast(pa.string()), pa.array(wanted, pa.string())))
    return Table(kept, table.kind, logdir=table.logdir, began=table.began)


def _draw(table: Table) -> None:
    """For people: sizes, durations and ages with their units."""
    import pyarrow as pa

    from tbq.cli.emit import draw_table
    from tbq.printable import sized
    from tbq.table import Table

    now = clock.time()
    rows = [
        {
            "run": row["run"],
            "files": row["files"],
            "size": sized(row["bytes"]),
            "events": row["events"],
            "last step": row["last_step"],
            "duration": duration(_between(row["first_wall_time"], row["last_wall_time"])),
            "age": duration(_between(row["last_wall_time"], now)),
            "health": row["health"],
        }
        for row in table.to_arrow().to_pylist()
    ]
    draw_table(Table(pa.Table.from_pylist(rows), "runs"))


def _between(begin: float | None, end: float | None) -> float | None:
    return None if begin is None or end is None else end - begin


def duration(seconds: float | None) -> str | None:
    """Seconds as the two largest units; nothing where no clock can have run that long.

    >>> duration(3725)
    '1h 2m'
    """
    if seconds is None or not 0 <= seconds < 100 * 365 * 86400:
        return None
    whole = round(seconds)
    if whole == 0:
        return "0s"
    parts: list[tuple[int, str]] = []
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, whole = divmod(whole, length)
        if count or parts:
            parts.append((count, unit))
    return " ".join(f"{count}{unit}" for count, unit in parts[:2] if count)
