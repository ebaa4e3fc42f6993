"""`tbq compare`: what differs between two runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tbq.cli import options as shared

if TYPE_CHECKING:
    from tbq.cli.emit import Output
    from tbq.table.table import Table

_EXAMPLES = """\b
Examples:
  tbq compare runs lr=0.1/seed=0 lr=0.03/seed=0
  tbq compare runs lr=0.1/seed=0 lr=0.03/seed=0 --tag 'val/*' --stat last,mean -o differences.csv
"""


@click.command(cls=shared.Command, epilog=_EXAMPLES)
@click.argument("logdir")
@click.argument("a", metavar="RUN_A")
@click.argument("b", metavar="RUN_B")
@shared.stat_option("last,min,max", f"Statistics of each scalar: {shared.STATS}.")
@shared.tag_option
@shared.steps_option
@shared.read_options
@shared.output_options
def command(logdir: str, tag: tuple[str, ...], reading: dict[str, Any], out: Output, **options: Any) -> None:
    """Compare two runs: hyperparameters that differ, then statistics of each scalar."""
    out.check()
    out.emit(shared.opened(logdir, reading).compare(tag=shared.names(tag), **options, **reading), _readable)


def _readable(table: Table) -> list[Table]:
    """Hyperparameters, which may be words, apart from numbers."""
    import pyarrow.compute as pc

    from tbq.table.table import Table

    arrow = table.to_arrow()
    settings = arrow.filter(pc.equal(arrow["what"], "hparam")).select(["name", "a_text", "b_text"])
    numbers = arrow.filter(pc.equal(arrow["what"], "scalar"))
    columns = ["name", "stat", "a", "b", "difference", "relative"]
    tables = [
        Table(settings.rename_columns(["hparam", "a", "b"]), "hyperparameters that differ"),
        Table(numbers.select(columns).rename_columns(["scalar", *columns[1:]]), "scalars of a and b"),
    ]
    return [each for each in tables if len(each)]
