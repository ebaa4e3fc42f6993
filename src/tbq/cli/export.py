"""`tbq export`: scalars, or any kind of data, as a table in any layout and format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tbq.cli.options import (
    LAYOUTS,
    curve_options,
    curves,
    logdir_argument,
    output_options,
    read_options,
    select_options,
    source,
)
from tbq.errors import UsageError
from tbq.schema import KINDS as _TABLES
from tbq.schema import schema

if TYPE_CHECKING:
    from tbq.cli.emit import Output
    from tbq.table import Table

KINDS = tuple(name for name in _TABLES if name != "media")

_EXAMPLES = """\b
Examples:
  tbq export runs -o scalars.csv
  tbq export runs --layout wide --tag 'val/*' -o wide.parquet
  tbq export runs --layout summary --stat last,min -o best.xlsx
  tbq export runs -o out/{run}.csv
  tbq export runs --smooth 0.6 --max-points 500 -o curves.csv
  tbq export runs --run 'lr=*' --steps 100: | head
  tbq export runs --kind histograms -o histograms.parquet
  tbq export runs --kind all -o everything.duckdb
"""


@click.command(epilog=_EXAMPLES)
@logdir_argument
@click.option(
    "--layout",
    type=click.Choice(LAYOUTS),
    default="long",
    show_default=True,
    help="A row a value; a row a step with a column a tag; or a row a run.",
)
@click.option(
    "--stat",
    default="last",
    show_default=True,
    metavar="LIST",
    help="Statistics of --layout summary: first,last,min,max,mean,std,count,min_step,max_step.",
)
@click.option(
    "--kind",
    type=click.Choice(("all", *KINDS)),
    default="scalars",
    show_default=True,
    metavar="KIND",
    help=f"all, or one of: {', '.join(KINDS)}.",
)
@select_options
@curve_options
@read_options
@output_options
def command(
    logdir: tuple[str, ...],
    kind: str,
    layout: str,
    stat: str,
    selection: dict[str, Any],
    smooth: float | None,
    every: int | None,
    max_points: int | None,
    method: str,
    reading: dict[str, Any],
    out: Output,
) -> None:
    """Write every scalar of every run as a table, or the data of another kind.

    Without -o the table goes to stdout: drawn on a terminal, CSV in a pipe. The ending of OUT chooses the format:
    csv tsv parquet arrow feather json jsonl xlsx sqlite duckdb md html npz; text also with .gz or .zst.
    {run} in OUT writes a file a run. --kind all writes every table into the folder OUT (as parquet, or --format), or
    into one xlsx, sqlite or duckdb file.
    """
    import tbq
    from tbq.cli.emit import tell
    from tbq.printable import shell_word
    from tbq.progress import progress_bar

    if kind != "scalars" and layout != "long" and not (kind == "hparams" and layout == "wide"):
        raise UsageError(f"--layout {layout} is for scalars, not for {kind}", hint="leave --layout away")
    if kind == "all":
        _check_all(out)
    else:
        out.check()
        out.check_holds(schema(kind))
    log = tbq.open(source(logdir))
    with progress_bar() as progress:
        what = {**selection, **reading, "progress": progress}
        if kind == "all":
            _write_all(log.tables(**what), out)
            return
        table = log.table(kind, **what)
    if not len(table):
        path = shell_word(logdir[0])
        hint = f"`tbq tags {path}` lists what there is, `tbq doctor {path}` says what is wrong"
        tell(f"{log.path}: no {kind}\n  {hint}")
    if kind == "scalars":
        table = curves(table, smooth, every, max_points, method)
    out.emit(_laid_out(table, layout, stat))


def _check_all(out: Output) -> None:
    from tbq.export.everything import check_holder

    if out.path is None or "{run}" in out.path:
        raise UsageError(
            "--kind all writes several tables", hint="name a folder or a file for them: -o out, -o out.duckdb"
        )
    check_holder(out.path, out.format)


def _write_all(tables: dict[str, Table], out: Output) -> None:
    from tbq.cli.emit import say
    from tbq.export.everything import write_all
    from tbq.printable import counted

    paths = write_all(tables, out.path or "", format=out.format, force=out.force, **out.options)
    say(f"{out.path}: {counted(len(tables), 'table')} in {counted(len(paths), 'file')}")


def _laid_out(table: Table, layout: str, stat: str) -> Table:
    if layout == "wide":
        return table.wide()
    if layout == "summary":
        return table.summary(stat)
    return table
