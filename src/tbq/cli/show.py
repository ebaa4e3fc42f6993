"""`tbq show`: one value, for the eye."""

from __future__ import annotations

import os
import shutil
from typing import Any, Literal

import click

from tbq.cli.options import opened, read_options

_EXAMPLES = """\b
Examples:
  tbq show runs notes
  tbq show runs samples --step 50
  tbq show runs weights/layer1 --run media --step 100
"""


@click.command(epilog=_EXAMPLES)
@click.argument("logdir")
@click.argument("tag")
@click.option("--step", type=int, metavar="N", help="The value of this step.  [default: the last]")
@click.option("--run", metavar="NAME", help="The run, if several have the tag.")
@click.option(
    "--index",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Which image, if several were logged at once.",
)
@read_options
def command(
    logdir: str, tag: str, step: int | None, run: str | None, index: int, reading: dict[str, Any]
) -> None:
    """Print one value of TAG.

    A text (of its control characters, only line breaks and tabs are kept), a tensor's statistics and first elements,
    a histogram as bars, the size and format of an image or an audio clip and how to extract it. A terminal with
    colours shows the image itself, if Pillow is installed (the extra "media").
    """
    from tbq.cli.emit import draw_lines, has_colours, show
    from tbq.errors import DamageError, DependencyError

    log = opened(logdir, reading)
    text = log.show(tag, step=step, run=run, **reading)
    show(text)
    if text.startswith("images · ") and has_colours():
        size = shutil.get_terminal_size((80, 24))
        room, height = min(size.columns, 120), max(min(size.lines - 6, 60), 8)
        try:
            drawn = log.image_text(
                tag, index=index, step=step, run=run, width=room, height=height, protocol=_protocol(),
                **{**reading, "on_error": "ignore"},
            )  # fmt: skip
        except (DamageError, DependencyError):  # its size and format are shown
            return
        draw_lines(drawn.split("\n"))


def _protocol() -> Literal["blocks", "kitty", "iterm"]:
    """What the terminal says that it understands; inside a multiplexer only text passes."""
    given = os.environ
    if given.get("TMUX") or given.get("STY") or given.get("TERM", "").startswith(("screen", "tmux")):
        return "blocks"
    if (
        given.get("KITTY_WINDOW_ID")
        or given.get("TERM_PROGRAM") == "ghostty"
        or "kitty" in given.get("TERM", "")
    ):
        return "kitty"
    return "iterm" if given.get("TERM_PROGRAM") in ("iTerm.app", "WezTerm") else "blocks"
