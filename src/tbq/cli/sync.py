"""`tbq sync`: a growing log directory as Delta tables."""

from __future__ import annotations

from typing import Any

import click

from tbq.cli import options as shared
from tbq.schema import SERIES

_EXAMPLES = """\b
Examples:
  tbq sync runs lake
  tbq sync runs lake --compact
  tbq sync runs lake-val --tag 'val/*' --kind scalars
  tbq sql lake "select run, min(value) from scalars where tag = 'val/loss' group by run"
"""


@click.command(cls=shared.Command, epilog=_EXAMPLES)
@click.argument("paths", nargs=-1, required=True, metavar="LOGDIR... LAKE")
@click.option(
    "--run", multiple=True, metavar="NAME", help="Only this run: a name, a glob or re:EXPR. May be repeated."
)
@shared.tag_option
@click.option(
    "--kind",
    multiple=True,
    type=click.Choice(SERIES),
    metavar="KIND",
    help=f"Only this table; may be repeated.  [default: all]  One of: {', '.join(SERIES)}.",
)
@click.option("--watch", is_flag=True, help="Keep syncing until Ctrl-C.")
@shared.interval_option("30; only with --watch")
@click.option("--keep-gone", is_flag=True, help="Keep the rows of runs that are gone from LOGDIR.")
@click.option(
    "--compact/--no-compact",
    default=None,
    help="Join small data files now, or never.  [default: if there are many]",
)
@click.option(
    "--retention",
    type=float,
    default=168.0,
    show_default=True,
    metavar="HOURS",
    help="How long to keep data files that are no longer needed.",
)
@click.option(
    "--engine",
    type=click.Choice(("local", "ray")),
    default="local",
    show_default=True,
    help="Where runs are decoded: here, or on a Ray cluster.",
)
@shared.threads_option
@shared.sub_runs_option
@shared.source_options
def command(
    paths: tuple[str, ...],
    run: tuple[str, ...],
    tag: tuple[str, ...],
    kind: tuple[str, ...],
    watch: bool,
    interval: float | None,
    **options: Any,
) -> None:
    """Keep a lake up to date: one Delta table per kind below LAKE, with the rows of every run of LOGDIR.

    Reads only what is new. A killed sync leaves a valid lake, and the next sync continues. DuckDB, polars, Spark and
    other programs read a lake as Delta tables; every command of tbq accepts a lake in place of LOGDIR.
    """
    import time

    import tbq
    from tbq.cli.emit import say, tell
    from tbq.errors import TbqError, UsageError
    from tbq.memory import keep_little
    from tbq.progress import progress_bar

    if len(paths) < 2:
        raise UsageError("want LOGDIR and LAKE", hint="tbq sync runs lake")
    pause = 30.0 if interval is None else interval
    *logdirs, lake = paths
    options |= {
        "run": shared.names(run),
        "tag": shared.names(tag),
        "kinds": list(dict.fromkeys(kind)) or None,
    }
    first = True
    if watch:
        keep_little()
    while True:
        began = time.monotonic()
        try:
            with progress_bar() as progress:
                done = tbq.lake.sync(shared.source(tuple(logdirs)), lake, progress=progress, **options)
        except TbqError as failure:
            if first or isinstance(failure, UsageError):
                raise
            tell(failure)  # the lake is valid but old; a full disk or a lost connection may pass
            done = None
        if done or (first and done is not None):
            problems = f"; {done.problems:,} in its problems table" if done.problems else ""
            line = f"{lake}: {done}, {time.monotonic() - began:.1f} s{problems}"
            if watch:
                tell(line, name="")  # with --watch, stderr is usually a log file
            else:
                say(line)
        selected = bool(run or tag or kind)
        if first and selected and done is not None and not (done.rows or len(tbq.lake.open(lake).tags())):
            tell(f"{lake}: no rows: nothing matches these runs, tags and kinds so far")
        if not watch:
            return
        first = False
        time.sleep(max(0.0, began + pause - time.monotonic()))
