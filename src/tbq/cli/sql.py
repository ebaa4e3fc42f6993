"""`tbq sql`: a query over the tables of a logdir."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tbq.cli.options import Command, opened, read_options, timed_output_options
from tbq.errors import UsageError
from tbq.text import shell_word

if TYPE_CHECKING:
    from tbq.cli.emit import Output

_EXAMPLES = """\b
Examples:
  tbq sql runs "select run, min(value) from scalars where tag = 'val/loss' group by run"
  tbq sql runs 'select run, step, ema(value, 0.6) from scalars where tag = $tag' --param tag=val/loss -o smooth.csv
  tbq sql a:runs b:demo "select * from summary"
  tbq sql runs "show tables"
"""

_EXAMPLE = "e.g. tbq sql runs 'select * from scalars limit 10'"


@click.command(cls=Command, epilog=_EXAMPLES)
@click.argument("logdir", nargs=-1, metavar="LOGDIR...")
@click.argument("query", required=False, metavar="QUERY")
@click.option(
    "--param",
    multiple=True,
    metavar="NAME=VALUE",
    help="A value for $NAME: a number, true, false, null, or text; double quotes force text.",
)
@click.option(
    "--unsafe", is_flag=True, help="Let the query read and write files, set options and load extensions."
)
@read_options
@timed_output_options
def command(
    logdir: tuple[str, ...],
    query: str | None,
    param: tuple[str, ...],
    unsafe: bool,
    reading: dict[str, Any],
    out: Output,
) -> None:
    """Query the tables of a log in DuckDB's SQL; QUERY may be - for stdin.

    Tables: scalars, wide (one column per tag), summary (one row per run), runs, tags, files, problems, and one for
    each other kind: tensors, histograms, images, audio, texts, hparams, …. Reads only what the query needs.
    """

    out.check()
    if query is None:
        raise UsageError("want a log directory and a query", hint=_EXAMPLE)
    if not logdir:
        if Path(query).exists() or " " not in query.strip():
            raise UsageError(
                f"the query is missing after {shell_word(query)}",
                hint=f"e.g. tbq sql {shell_word(query)} 'select * from scalars limit 10'",
            )
        raise UsageError("the log directory is missing before the query", hint=_EXAMPLE)
    if Path(query).is_dir() and not any(Path(path).exists() for path in logdir):
        raise UsageError("the query comes last", hint=f"tbq sql {shell_word(query)} {shell_word(logdir[0])}")
    text = sys.stdin.read() if query == "-" else query
    params = dict(_parameter(each) for each in param)
    out.emit(opened(logdir, reading).sql(text, params=params, unsafe=unsafe, **reading))


def _parameter(argument: str) -> tuple[str, Any]:
    """Parse NAME=VALUE: numbers, true, false, null and "text" as in JSON; anything else is plain text."""
    name, equals, text = argument.partition("=")
    if not name or not equals:
        raise UsageError(f"--param {argument}: want NAME=VALUE", hint="e.g. --param tag=loss")
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    return name, text if isinstance(value, list | dict) else value
