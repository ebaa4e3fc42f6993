"""`tbq show`: one value, for the eye."""

from __future__ import annotations

import click

from tbq.cli.options import RESTARTS, unpack_option

_EXAMPLES = """\b
Examples:
  tbq show runs notes
  tbq show runs weights/layer1 --run media --step 100
"""


@click.command(epilog=_EXAMPLES)
@click.argument("logdir")
@click.argument("tag")
@click.option("--step", type=int, metavar="N", help="The value of this step; else the last.")
@click.option("--run", metavar="NAME", help="The run, where several have the tag.")
@click.option("--restarts", type=click.Choice(RESTARTS), default="resume", show_default=True,
              help="Which rows of a run that was resumed count.")  # fmt: skip
@unpack_option
def command(logdir: str, tag: str, step: int | None, run: str | None, restarts: str) -> None:
    """Print one value of TAG.

    A text (of its control characters, only line breaks and tabs are kept), a tensor's statistics and first elements,
    a histogram as bars, the size and format of an image or an audio clip and how to extract it.
    """
    import tbq
    from tbq.cli import emit
    from tbq.show import show

    emit.show(show(tbq.open(logdir), tag, step=step, run=run, restarts=restarts))
