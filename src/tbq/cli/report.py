"""`tbq report`: the page with its data in one file."""

from __future__ import annotations

from typing import Any

import click

from tbq.cli.options import (
    LIVE_RESTARTS,
    logdir_argument,
    select_options,
    source,
    threads_option,
    unpack_option,
)

_EXAMPLES = """\b
Examples:
  tbq report runs -o report.html
  tbq report runs -o rates.html --title 'Learning rates' --tag 'val/*' --by hparam.lr --band ci95
"""


@click.command(epilog=_EXAMPLES)
@logdir_argument
@click.option("-o", "--output", "path", required=True, metavar="OUT", help="The HTML file to write.")
@click.option("--force", is_flag=True, help="Replace OUT if it exists.")
@click.option("--title", metavar="TEXT", help="The title.  [default: the name of LOGDIR]")
@click.option(
    "--text",
    type=click.File("r", encoding="utf-8"),
    metavar="FILE",
    help="Text in Markdown to begin with; - is stdin.",
)
@select_options
@click.option("--by", metavar="GROUP", help="Group runs by hparam.NAME, a glob, or re:EXPR with brackets.")
@click.option(
    "--band", default="std", show_default=True, metavar="BAND",
    help="The band around the mean of a group: std, sem, ci95, minmax or none.",
)  # fmt: skip
@click.option(
    "--smooth", type=float, default=0.0, metavar="W", help="Smooth as TensorBoard does with this weight."
)
@click.option(
    "--restarts", type=click.Choice(LIVE_RESTARTS), default="resume", show_default=True,
    help="Which rows of a resumed run count.",
)  # fmt: skip
@threads_option
@unpack_option
def command(logdir: tuple[str, ...], path: str, text: Any, selection: dict[str, Any], **options: Any) -> None:
    """Write one HTML file with the runs, curves, images, texts and findings of LOGDIR, to send to someone.

    It opens without a server and without a network, and prints well.
    """
    import tbq
    from tbq.cli.emit import say

    written = tbq.open(source(logdir)).report(
        path, text=text.read() if text is not None else "", progress=True, **selection, **options
    )
    say(written)
