"""`tbq show`: one value, for the eye."""

from __future__ import annotations

from typing import Any

import click

from tbq.cli.options import opened, read_options

_EXAMPLES = """\b
Examples:
  tbq show runs notes
  tbq show runs weights/layer1 --run media --step 100
"""


@click.command(epilog=_EXAMPLES)
@click.argument("logdir")
@click.argument("tag")
@click.option("--step", type=int, metavar="N", help="The value of this step.  [default: the last]")
@click.option("--run", metavar="NAME", help="The run, if several have the tag.")
@read_options
def command(logdir: str, tag: str, step: int | None, run: str | None, reading: dict[str, Any]) -> None:
    """Print one value of TAG.

    A text (of its control characters, only line breaks and tabs are kept), a tensor's statistics and first elements,
    a histogram as bars, the size and format of an image or an audio clip and how to extract it.
    """
    from tbq.cli.emit import show

    show(opened(logdir, reading).show(tag, step=step, run=run, **reading))
