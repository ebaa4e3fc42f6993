"""The options that rank runs or groups of runs: `--best`, `--sort` and `--top`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from tbq.errors import UsageError

BY_HELP = (
    "Which runs belong together: hparam.NAME or hparam.A,hparam.B, a glob, or re:EXPR with brackets around the "
    "group's name."
)


def ranking_options(best: str, rows: str) -> Callable[[Any], Any]:
    """`--best`, `--sort` and `--top` of a command; `best` is the help of the first, `rows` what the last limits."""

    def decorate(function: Any) -> Any:
        options = (
            click.option("--best", multiple=True, metavar="TAG:min|max", callback=_best, help=best),
            click.option(
                "--sort", multiple=True, metavar="COLUMN[:desc]", help="Sort by this column. May be repeated."
            ),
            click.option(
                "--top",
                type=click.IntRange(1),
                metavar="N",
                help=f"Only the first N {rows}, after --best or --sort.",
            ),
        )
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def _best(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
    """`TAG:min` and `TAG:max`."""
    best = {}
    for text in values:
        tag, _, way = text.rpartition(":")
        if not tag or way not in ("min", "max"):
            raise UsageError(f"--best {text}: want TAG:min or TAG:max", hint="e.g. --best val/loss:min")
        best[tag] = way
    return best
