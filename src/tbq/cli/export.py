"""`tbq export`: scalars, or any kind of data, as a table in any layout and format."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

import click

from tbq.cli import options as shared
from tbq.errors import UsageError
from tbq.schema import KINDS as _TABLES
from tbq.schema import bytes_in
from tbq.select import steps as step_range

if TYPE_CHECKING:
    from tbq.cli.emit import Output
    from tbq.logdir import LogDir
    from tbq.schema import TableName
    from tbq.table.table import Table

KINDS = tuple(name for name in _TABLES if name != "media")

_EXAMPLES = """\b
Examples:
  tbq export runs -o scalars.csv
  tbq export runs --layout wide --tag 'val/*' -o wide.parquet
  tbq export runs --layout wide --tag lr --tag val/loss --asof val/loss -o joined.csv
  tbq export runs --layout summary --stat last,min -o best.xlsx
  tbq export runs -o out/{run}.csv
  tbq export runs --smooth 0.6 --max-points 500 -o curves.csv
  tbq export runs --run 'lr=*' --steps 100: | head
  tbq export runs --kind histograms -o histograms.parquet
  tbq export runs --kind tensors --elements --tag embedding -o embedding.csv
  tbq export runs --kind all -o everything.duckdb
"""


@click.command(cls=shared.Command, epilog=_EXAMPLES)
@shared.logdir_argument
@click.option(
    "--layout",
    type=click.Choice(("long", "wide", "summary")),
    default="long",
    show_default=True,
    help="One row per value; one row per step, one column per tag; or one row per run.",
)
@shared.stat_option("last", f"Statistics of --layout summary: {shared.STATS}.")
@click.option(
    "--kind",
    type=click.Choice(("all", *KINDS)),
    default="scalars",
    show_default=True,
    metavar="KIND",
    help=f"all, or one of: {', '.join(KINDS)}.",
)
@click.option("--wall-time", is_flag=True, help="With --layout wide, add the wall time of each row.")
@click.option(
    "--asof",
    metavar="TAG",
    help="With --layout wide, only the steps of this tag; other tags have their last value up to there.",
)
@click.option("--elements", is_flag=True, help="With --kind tensors, one row per element, with its index.")
@shared.select_options
@shared.smooth_option(None)
@click.option("--every", type=click.IntRange(1), metavar="N", help="Every Nth row of each run and tag.")
@click.option("--max-points", type=click.IntRange(1), metavar="N", help="At most N rows of each run and tag.")
@click.option(
    "--method",
    type=click.Choice(("triangle", "minmax")),
    default="triangle",
    show_default=True,
    help="How --max-points chooses rows: keep the shape, or keep every peak.",
)
@shared.read_options
@shared.timed_output_options
def command(
    logdir: tuple[str, ...],
    kind: TableName | Literal["all"],
    layout: str,
    stats: str,
    wall_time: bool,
    asof: str | None,
    elements: bool,
    selection: dict[str, Any],
    smooth: float | None,
    every: int | None,
    max_points: int | None,
    method: Literal["triangle", "minmax"],
    reading: dict[str, Any],
    out: Output,
) -> None:
    """Write every scalar of every run as a table, or the data of another kind.

    Without -o the table goes to stdout: drawn on a terminal, CSV in a pipe. OUT's extension chooses the format:
    csv tsv parquet arrow feather json jsonl xlsx sqlite duckdb md html npz; text also with .gz or .zst.
    {run} in OUT writes one file per run. --kind all writes every table into the directory OUT (as parquet, or
    --format), or into one xlsx, sqlite or duckdb file.
    """
    from tbq.cli.emit import say
    from tbq.progress import progress_bar
    from tbq.text import counted

    if kind != "scalars" and layout != "long" and not (kind == "hparams" and layout == "wide"):
        raise UsageError(f"--layout {layout} is for scalars, not for {kind}", hint="omit --layout")
    curve_values = {"--smooth": smooth, "--every": every, "--max-points": max_points}
    for option, value in curve_values.items():
        if value is not None and kind != "scalars":
            raise UsageError(f"{option} is for scalars, not for {kind}", hint=f"omit {option}")
    if wall_time and layout != "wide":
        raise UsageError(
            "--wall-time is for --layout wide only: other layouts have wall times already, or no place for them"
        )
    if asof is not None and (layout != "wide" or kind != "scalars"):
        raise UsageError("--asof is for scalars with --layout wide", hint="add --layout wide, or omit --asof")
    if asof is not None and selection["tag"] is not None:
        selection["tag"].append(asof)
    steps = selection["steps"]
    if asof is not None and steps is not None:  # other tags may have their last value before the first step
        selection["steps"] = (None, step_range(steps)[1])
    if stats != "last" and layout != "summary":
        raise UsageError("--stat is for --layout summary", hint="add --layout summary, or omit --stat")
    if method != "triangle" and max_points is None:
        raise UsageError("--method is for --max-points", hint="add --max-points, or omit --method")
    if elements and kind != "tensors":
        raise UsageError("--elements is for tensors", hint="add --kind tensors")
    if kind == "all" and (out.path is None or "{run}" in out.path):
        raise UsageError(
            "--kind all writes several tables",
            hint="name a directory or a file for them: -o out, -o out.duckdb",
        )
    if kind != "all":  # before the log is opened
        out.check(bytes_in(kind) if layout == "long" and not elements else ())
    log = shared.opened(logdir, reading)
    with progress_bar() as progress:
        options = {**selection, **reading, "progress": progress}
        if kind == "all":
            paths = log.write(str(out.path), **out.target, **options)
            say(f"{out.path}: {counted(len(paths), 'file')}")
            return
        unchanged = layout == "long" and all(value is None for value in curve_values.values())
        if kind == "scalars" and unchanged and out.is_file:
            rows = log.write(str(out.path), kind=kind, **out.target, **options).rows or 0
            _tell_nothing(rows, logdir, log, kind)
            say(f"{out.path}: {counted(rows, 'row')}")
            return
        table = log.tensors(**options).elements() if elements else _read(log, kind, options)
    _tell_nothing(len(table), logdir, log, kind)
    if smooth is not None:  # first, so that the points that remain lie on the smooth curve
        table = table.smooth(smooth)
    if every is not None:
        table = table.every(every)
    if max_points is not None:
        table = table.max_points(max_points, method=method)
    if layout == "wide":
        table = table.wide(wall_time=wall_time, asof=asof)
        table = table if asof is None else table.filter(steps=steps)
    elif layout == "summary":
        table = table.summary(stats=stats)
    out.emit(table)
    if out.path is not None and "{run}" in out.path:
        _tell_absent(log, selection["run"], table, kind)


def _tell_nothing(rows: int, logdir: tuple[str, ...], log: LogDir, kind: str) -> None:
    if rows:
        return
    from tbq.cli.emit import tell
    from tbq.text import shell_word

    path = shell_word(logdir[0])
    hint = f"`tbq tags {path}` lists what was logged, `tbq doctor {path}` finds what is wrong"
    tell(f"{log.path}: no {kind}\n  {hint}")


def _tell_absent(log: LogDir, run: list[str] | None, table: Table, kind: str) -> None:
    """Say which of the selected runs have no file because they have no rows."""
    from tbq.cli.emit import tell
    from tbq.select import Selection
    from tbq.text import some, some_have

    written = {re.sub(r"@\d+~*$", "", name) for name in set(table["run"].tolist())}  # sessions of a run
    written |= set(table["run"].tolist())
    absent = [name for name in Selection.of(run, "run").resolve(log.runs).names if name not in written]
    if absent:
        tell(f"{some_have(len(absent), len(log.runs))} no {kind} here, so no file: {some(absent)}")


def _read(log: LogDir, kind: TableName, options: dict[str, Any]) -> Table:
    """Read the table; an option that it cannot honour is an error only if the user set it."""
    if kind in ("runs", "tags", "files", "problems", "projector"):
        defaults = {"tag": None, "steps": None, "restarts": "resume", "threads": None, "on_error": "warn"}
        options = {name: value for name, value in options.items() if defaults.get(name, ...) != value}
        for name in ("tag", "steps"):
            if name in options and (kind, name) != ("tags", "tag"):
                raise UsageError(f"--{name} is not for {kind}", hint=f"omit --{name}")
        if kind == "projector":
            options.pop("progress")
    return log.table(kind, **options)
