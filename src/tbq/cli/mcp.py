"""`tbq mcp`: an assistant's questions about a log."""

from __future__ import annotations

from typing import Any

import click

from tbq.cli import options as shared

_EXAMPLES = """\b
Examples:
  tbq mcp runs
  tbq mcp runs --port 6010
  claude mcp add tbq -- tbq mcp runs
"""


@click.command(cls=shared.Command, epilog=_EXAMPLES)
@shared.logdir_argument
@click.option(
    "--port", type=click.IntRange(0, 65535), metavar="N",
    help="Answer over HTTP on this port of this machine, or the next free one; 0 for any.  [default: stdin and stdout]",
)  # fmt: skip
@click.option(
    "--token",
    envvar="TBQ_TOKEN",
    metavar="TEXT",
    help="The token to ask for over HTTP.  [default: a new one]",
)
@shared.select_options
@shared.interval_option("0.25, or 30 for a URL")
@shared.stalled_option
@shared.live_options
def command(logdir: tuple[str, ...], selection: dict[str, Any], **options: Any) -> None:
    """Answer the questions of AI assistants about LOGDIR, by the Model Context Protocol.

    Add it to an assistant, which starts it and asks. It has seven tools that only read: overview, leaderboard, curve,
    compare, diagnose, sql, look. Each answer is short, and says what it leaves out. Waits for LOGDIR to appear. Needs
    the extra "mcp".
    """
    import tbq
    from tbq.cli.emit import tell
    from tbq.termination import leave

    def started(address: str, token: str) -> None:
        tell(f"{address}\nAuthorization: Bearer {token}", name="")

    if near := shared.closest(logdir):
        tell(f"{logdir[0]} does not exist yet{near}")
    tbq.mcp(shared.source(logdir), **selection, on_start=started, **options)
    leave(0)
