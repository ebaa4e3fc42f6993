"""`tbq summary`: the leaderboard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tbq.cli.options import (
    STATS,
    logdir_argument,
    opened,
    output_options,
    read_options,
    select_options,
    spark_option,
    sparks,
    stat_option,
)
from tbq.errors import UsageError

if TYPE_CHECKING:
    from tbq.cli.emit import Output
    from tbq.table.table import Table

_EXAMPLES = """\b
Examples:
  tbq summary runs
  tbq summary runs --best val/loss:min --top 10 --spark val/loss
  tbq summary runs --best val/loss:min --sort hparam.lr --require val/accuracy -o best.csv
"""


@click.command(epilog=_EXAMPLES)
@logdir_argument
@click.option(
    "--best",
    multiple=True,
    metavar="TAG:min|max",
    help="Add a tag's best value and its step; put the best run first.",
)
@click.option("--sort", multiple=True, metavar="COLUMN[:desc]", help="Sort by this column. May be repeated.")
@click.option("--top", type=click.IntRange(1), metavar="N", help="Only the first N runs.")
@click.option(
    "--require", multiple=True, metavar="COLUMN", help="Leave out runs without a value in this column."
)
@stat_option("last", f"Statistics of each tag: {STATS}.")
@spark_option
@click.option("--media", is_flag=True, help="Add each run's last texts and images.")
@select_options
@read_options
@output_options
def command(
    logdir: tuple[str, ...],
    best: tuple[str, ...],
    sort: tuple[str, ...],
    top: int | None,
    require: tuple[str, ...],
    stats: str,
    spark: str | None,
    media: bool,
    selection: dict[str, Any],
    reading: dict[str, Any],
    out: Output,
) -> None:
    """One row per run: the last value of each scalar, and the hyperparameters as hparam.NAME."""

    out.check()
    best_of = _best(best)
    log = opened(logdir, reading)
    table = log.summary(
        stats=stats, best=best_of, sort=sort, top=top, require=require, media=media, **selection, **reading
    )
    ordering = [name for tag in best_of for name in table.best[tag]]
    ordering += [name.removesuffix(":desc").removesuffix(":asc") for name in sort]
    chosen = {name: selection[name] for name in ("run", "steps")}
    out.emit(table, lambda table: _draw(table, ordering, spark, sparks(log, spark, chosen, reading)))


def _best(values: tuple[str, ...]) -> dict[str, Any]:
    """`TAG:min` and `TAG:max`."""
    best = {}
    for text in values:
        tag, _, way = text.rpartition(":")
        if not tag or way not in ("min", "max"):
            raise UsageError(f"--best {text}: want TAG:min or TAG:max", hint="e.g. --best val/loss:min")
        best[tag] = way
    return best


def _draw(table: Table, ordering: list[str], tag: str | None, curves: dict[str, str]) -> None:
    """Draw the columns that define the order first, then hyperparameters, then the rest."""
    import pyarrow as pa

    from tbq.cli.emit import draw_table
    from tbq.table.table import Table

    arrow = table.to_arrow()
    first = [name for name in dict.fromkeys(["run", *ordering]) if name in arrow.column_names]
    settings = [name for name in arrow.column_names if name.startswith("hparam.") and name not in first]
    rest = [name for name in arrow.column_names if name not in (*first, *settings)]
    arrow = arrow.select([*first, *settings, *rest])
    if tag is not None:
        name = tag if tag not in arrow.column_names else f"{tag} over steps"
        cells = pa.array([curves.get(run, "") for run in table["run"].tolist()], pa.string())
        arrow = arrow.add_column(1, name, cells)
    draw_table(Table(arrow, table.kind))
