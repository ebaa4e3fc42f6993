"""`tbq report`: the page with its data in one HTML file."""

from __future__ import annotations

from typing import Any

import click

from tbq.cli import options as shared
from tbq.cli.ranking import BY_HELP

_EXAMPLES = """\b
Examples:
  tbq report runs -o report.html
  tbq report runs -o rates.html --title 'Learning rates' --tag 'val/*' --by hparam.lr --band ci95
"""


@click.command(cls=shared.Command, epilog=_EXAMPLES)
@shared.logdir_argument
@click.option("-o", "--output", "path", required=True, metavar="OUT", help="The HTML file to write.")
@shared.force_option
@click.option("--title", metavar="TEXT", help="The title.  [default: the name of LOGDIR]")
@click.option(
    "--text",
    type=click.File("r", encoding="utf-8"),
    metavar="FILE",
    help="A Markdown file shown at the top; - is stdin.",
)
@shared.select_options
@click.option("--by", metavar="EXPR", help=f"One curve per group. {BY_HELP}")
@click.option(
    "--band", default="std", show_default=True, metavar="BAND",
    help="The band around the mean of a group: std, sem, ci95, minmax, quantiles (of the median) or none.",
)  # fmt: skip
@shared.smooth_option()
@shared.merge_option
@shared.strict_option
@shared.live_options
def command(logdir: tuple[str, ...], path: str, text: Any, selection: dict[str, Any], **options: Any) -> None:
    """Write one HTML file with the runs, curves, images, texts and findings of LOGDIR, to send to someone.

    It opens without a server and without a network, and prints well.
    """
    from tbq.cli.emit import say

    log = shared.opened(logdir, options)
    words = "" if text is None else text.read()
    say(log.report(path, text=words, progress=True, **selection, **options))
