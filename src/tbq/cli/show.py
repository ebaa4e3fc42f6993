"""`tbq show`: one value, for the eye."""

from __future__ import annotations

import os
import shutil
from typing import Any, Literal

import click

from tbq.cli.options import Command, opened, read_options

_EXAMPLES = """\b
Examples:
  tbq show runs notes
  tbq show runs samples --step 50
  tbq show runs weights/layer1 --run media --step 100
"""


@click.command(cls=Command, epilog=_EXAMPLES)
@click.argument("logdir")
@click.argument("tag")
@click.option("--step", type=int, metavar="N", help="The value of this step.  [default: the last]")
@click.option("--run", metavar="NAME", help="The run, if several have the tag.")
@click.option(
    "--index",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="The image's index, if several were logged at once.",
)
@read_options
def command(
    logdir: str, tag: str, step: int | None, run: str | None, index: int, reading: dict[str, Any]
) -> None:
    """Print one value of TAG.

    Shows a text (only its line breaks and tabs remain of its control characters), a tensor's statistics and first
    elements, a histogram as bars, the size and format of an image or an audio clip and how to extract it. A colour
    terminal shows the image itself, if Pillow is installed (the extra "media").
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
        except (DamageError, DependencyError):  # fall back to its size and format
            return
        draw_lines(drawn.split("\n"))


def _protocol() -> Literal["blocks", "kitty", "iterm"]:
    """The image protocol that the terminal announces; inside a multiplexer only text passes."""
    environment = os.environ
    if (
        environment.get("TMUX")
        or environment.get("STY")
        or environment.get("TERM", "").startswith(("screen", "tmux"))
    ):
        return "blocks"
    if (
        environment.get("KITTY_WINDOW_ID")
        or environment.get("TERM_PROGRAM") == "ghostty"
        or "kitty" in environment.get("TERM", "")
    ):
        return "kitty"
    return "iterm" if environment.get("TERM_PROGRAM") in ("iTerm.app", "WezTerm") else "blocks"
