"""`tbq summary`: the leaderboard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tbq.cli import options as shared
from tbq.cli.ranking import BY_HELP, ranking_options
from tbq.errors import UsageError

if TYPE_CHECKING:
    from tbq.cli.emit import Output
    from tbq.table.table import Table

_EXAMPLES = """\b
Examples:
  tbq summary runs
  tbq summary runs --best val/loss:min --top 10 --spark val/loss
  tbq summary runs --best val/loss:min --sort hparam.lr --require val/accuracy -o best.csv
  tbq summary runs --by hparam.lr,hparam.optimizer --best val/loss:min
  tbq summary runs --importance --best val/loss:min
"""


@click.command(cls=shared.Command, epilog=_EXAMPLES)
@shared.logdir_argument
@click.option(
    "--by", multiple=True, metavar="EXPR", help=f"One row per configuration. {BY_HELP} May be repeated."
)
@ranking_options("Add a tag's best value and its step; put the best run first.", "rows")
@click.option(
    "--importance", is_flag=True, help="One row per hyperparameter: how much of the --best metric it decides."
)
@click.option(
    "--require", multiple=True, metavar="COLUMN", help="Leave out runs without a value in this column."
)
@shared.stat_option("last", f"Statistics of each tag: {shared.STATS}.")
@shared.spark_option
@click.option("--media", is_flag=True, help="Add each run's last texts and images.")
@shared.select_options
@shared.read_options
@shared.output_options
def command(
    logdir: tuple[str, ...],
    by: tuple[str, ...],
    best: dict[str, Any],
    sort: tuple[str, ...],
    top: int | None,
    importance: bool,
    require: tuple[str, ...],
    stats: str,
    spark: str | None,
    media: bool,
    selection: dict[str, Any],
    reading: dict[str, Any],
    out: Output,
) -> None:
    """One row per run: its state, the last value of each scalar, and the hyperparameters as hparam.NAME.

    With --by, one row per configuration: n, mean, std, ci95, best and worst of the best values of its runs. p, by
    Welch's t-test, is how often chance alone makes the difference from the best configuration this large, in a
    single comparison. A sentence below the table compares the best two.
    With --importance, one row per hyperparameter, numeric or not: the share of the variance of the runs' ranks that it
    predicts, its rank correlation if the metric rises or falls with it beyond chance, and its best value.
    """
    from tbq.cli.emit import tell

    out.check()
    if importance:
        others = {
            "--by": by,
            "--sort": sort,
            "--top": top,
            "--require": require,
            "--spark": spark,
            "--media": media,
        }
        others |= {"--tag": selection.pop("tag"), "--stat": None if stats == "last" else stats}
        _refuse("--importance", others)
        if len(best) != 1:
            hint = "e.g. --importance --best val/loss:min"
            raise UsageError(f"--importance: want one metric, got {len(best)}", hint=hint)
        ((tag, way),) = best.items()
        out.emit(shared.opened(logdir, reading).importance(tag, best=way, **selection, **reading))
        return
    if by:
        _refuse("--by", {"--spark": spark})
    log = shared.opened(logdir, reading)
    ranking: dict[str, Any] = {"best": best, "sort": sort, "top": top, "require": require}
    table = log.summary(stats=stats, by=shared.names(by), media=media, **ranking, **selection, **reading)
    if by:
        out.emit(table, lambda table: [_how_sure_first(table)])
        for line in table.verdict.splitlines():
            tell(line, name="")
        return
    ordering = [name for tag in best for name in table.best[tag]]
    ordering += [name.removesuffix(":desc").removesuffix(":asc") for name in sort]
    chosen = {name: selection[name] for name in ("run", "steps")}
    out.emit(
        table, lambda table: _readable(table, ordering, spark, shared.sparks(log, spark, chosen, reading))
    )


def _refuse(option: str, others: dict[str, Any]) -> None:
    """Raise for an option that has no meaning beside `option`."""
    for other, value in others.items():
        if value:
            raise UsageError(f"{other} is not for {option}", hint=f"omit {other} or {option}")


def _how_sure_first(table: Table) -> Table:
    """Move p beside the mean, so that a narrow terminal does not hide it."""
    names = table.columns
    names.insert(names.index("mean") + 1, names.pop(names.index("p")))
    return table.select(names)


def _readable(table: Table, ordering: list[str], tag: str | None, curves: dict[str, str]) -> list[Table]:
    """The columns that define the order first, then the metrics, then the hyperparameters."""
    import pyarrow as pa

    from tbq.table.table import Table

    arrow = table.to_arrow()
    first = [name for name in dict.fromkeys(["run", *ordering]) if name in arrow.column_names]
    settings = [name for name in arrow.column_names if name.startswith("hparam.") and name not in first]
    rest = [name for name in arrow.column_names if name not in (*first, *settings)]
    arrow = arrow.select([*first, *rest, *settings])
    if tag is not None:
        name = tag if tag not in arrow.column_names else f"{tag} over steps"
        cells = pa.array([curves.get(run, "") for run in table["run"].tolist()], pa.string())
        arrow = arrow.add_column(1, name, cells)
    return [Table(arrow, table.kind)]
