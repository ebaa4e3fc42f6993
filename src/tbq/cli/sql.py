"""`tbq sql`: a query over the tables of a logdir."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from tbq.cli.options import output_options, read_options
from tbq.errors import UsageError

if TYPE_CHECKING:
    from tbq.cli.emit import Output

_EXAMPLES = """\b
Examples:
  tbq sql runs "select run, min(value) from scalars where tag = 'val/loss' group by run"
  tbq sql runs 'select run, step, ema(value, 0.6) from scalars where tag = $tag' --param tag=val/loss -o smooth.csv
  tbq sql --logdir a=runs --logdir b=demo "select * from summary"
  tbq sql runs "show tables"
"""


@click.command(epilog=_EXAMPLES)
@click.argument("arguments", nargs=-1, required=True, metavar="[LOGDIR]... QUERY")
@click.option(
    "--logdir",
    "named",
    multiple=True,
    metavar="NAME=PATH",
    help="A logdir whose runs are NAME/…. May be repeated.",
)
@click.option(
    "--param",
    multiple=True,
    metavar="NAME=VALUE",
    help="A value for $NAME: a number, true, false, null, or text; in double quotes always text.",
)
@click.option(
    "--unsafe", is_flag=True, help="Let the query read and write files, set options, load extensions."
)
@read_options
@output_options
def command(
    arguments: tuple[str, ...],
    named: tuple[str, ...],
    param: tuple[str, ...],
    unsafe: bool,
    reading: dict[str, Any],
    out: Output,
) -> None:
    """Ask the tables of a logdir in SQL (DuckDB's); QUERY may be - for stdin.

    Tables: scalars, wide (a column a tag), summary (a row a run), runs, tags, files, problems, and one for each other
    kind: tensors, histograms, images, audio, texts, hparams, …. Only what the query needs is read.
    """
    import tbq

    *paths, query = arguments
    out.check()
    log = tbq.open(_source(paths, named))
    table = log.sql(
        sys.stdin.read() if query == "-" else query,
        params=dict(_parameter(one) for one in param),
        unsafe=unsafe,
        **reading,
    )
    out.emit(table)


def _source(paths: list[str], named: tuple[str, ...]) -> Any:
    pairs = dict(_pair(one, "--logdir", "a=runs") for one in named)
    if pairs and paths:
        raise UsageError("give LOGDIR or --logdir, not both", hint=f"e.g. --logdir all={paths[0]}")
    if len(pairs) < len(named):
        raise UsageError("two --logdir have the same name", hint="name them apart: --logdir a=… --logdir b=…")
    if not pairs and not paths:
        raise UsageError("no logdir was given", hint='tbq sql LOGDIR "select …"')
    return pairs or (paths[0] if len(paths) == 1 else paths)


def _pair(given: str, option: str, example: str) -> tuple[str, str]:
    name, equals, value = given.partition("=")
    if not name or not equals:
        raise UsageError(f"{option} {given}: want NAME=VALUE", hint=f"e.g. {option} {example}")
    return name, value


def _parameter(given: str) -> tuple[str, Any]:
    """Numbers, true, false, null and "text" as JSON has them; anything else is text as it stands."""
    name, text = _pair(given, "--param", "tag=loss")
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    return name, text if isinstance(value, list | dict) else value
