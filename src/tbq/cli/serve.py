"""`tbq serve`: a log directory as a page in the browser."""

from __future__ import annotations

from typing import Any

import click

from tbq.cli import options as shared

_EXAMPLES = """\b
Examples:
  tbq serve runs
  tbq serve runs --tag 'val/*' --title 'learning rates' --port 0
  tbq serve runs --host 0.0.0.0 --port 0
  tbq serve runs --base-path /user/ada/tbq --allow-host hub.example.org
"""


@click.command(cls=shared.Command, epilog=_EXAMPLES)
@shared.logdir_argument
@click.option(
    "--port", type=click.IntRange(0, 65535), default=6007, show_default=True, metavar="N",
    help="The port, or the next free one if it is in use; 0 for any.",
)  # fmt: skip
@click.option(
    "--host", default="127.0.0.1", show_default=True, metavar="HOST",
    help="The address to listen on. An address that other machines can reach needs a token, part of the URL.",
)  # fmt: skip
@click.option(
    "--token", envvar="TBQ_TOKEN", metavar="TEXT",
    help="The token to ask for.  [default: a new one if other machines can reach the page]",
)  # fmt: skip
@click.option(
    "--allow-host", multiple=True, metavar="NAME",
    help="Also accept requests for this host name, e.g. a proxy's. May be repeated.",
)  # fmt: skip
@click.option(
    "--base-path", metavar="PATH",
    help="The path below which a proxy shows the page, e.g. /user/ada/tbq on a JupyterHub.",
)  # fmt: skip
@click.option(
    "--embed", is_flag=True,
    help="Let other pages show this one in a frame, as notebooks do. The token is then part of its path.",
)  # fmt: skip
@click.option("--open", "open_page", is_flag=True, help="Open the page in the browser.")
@click.option("--title", metavar="TEXT", help="The page's title.  [default: the name of LOGDIR]")
@click.option(
    "--views", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
    help="A JSON file of views that all users of the page see, as its menu Views copies it.",
)  # fmt: skip
@shared.select_options
@shared.interval_option("0.25, or 30 for a URL")
@shared.stalled_option
@shared.live_options
def command(logdir: tuple[str, ...], selection: dict[str, Any], open_page: bool, **options: Any) -> None:
    """Show LOGDIR in the browser: runs, curves, media, hyperparameters, SQL, health; live, with every point.

    Prints the address of the page and serves it until Ctrl-C. Waits for LOGDIR to appear. Needs
    Starlette, the extra "serve".
    """
    import tbq
    from tbq.cli.emit import show, tell
    from tbq.termination import leave

    def started(address: str, remark: str | None) -> None:
        if remark is not None:
            tell(remark)
        show(address)

    if near := shared.closest(logdir):
        tell(f"{logdir[0]} does not exist yet{near}")
    tbq.serve(shared.source(logdir), **selection, open=open_page, on_start=started, **options)
    leave(0)
