"""`tbq board`: TensorBoard's program and page on this engine."""

from __future__ import annotations

import click

_EXAMPLES = """\b
Examples:
  tbq board runs
  tbq board runs --port 0 --samples_per_plugin scalars=0
  tbq board --logdir_spec 'slow:runs/lr=0.01,fast:runs/lr=0.1' --window_title 'two rates'
  tbq board runs --inspect --tag val/loss
"""


@click.command(
    epilog=_EXAMPLES,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    options_metavar="[LOGDIR] [FLAGS]...",
)
@click.option(
    "--print-binary",
    is_flag=True,
    help="Print a path for TENSORBOARD_BINARY: %tensorboard in notebooks then starts tbq board.",
)
@click.argument("flags", nargs=-1, type=click.UNPROCESSED, metavar="")
def command(print_binary: bool, flags: tuple[str, ...]) -> None:
    """Serve LOGDIR with TensorBoard's own program and page: every point, read fast.

    Accepts every flag of tensorboard: --port, --bind_all, --path_prefix, --window_title, --logdir_spec, --inspect and
    so on; tbq board --helpfull lists them. --reload_interval is 0.5 s by default, 30 s for a URL. --samples_per_plugin
    scalars=0 gives the page every point; otherwise it gets 1,000 points of each curve, including its peaks, and every
    image and audio clip.

    Needs TensorBoard, the extra "board".
    """
    if print_binary:
        from tbq.cli.emit import show
        from tbq.tensorboard import binary

        show(binary())
        return
    import tbq
    from tbq.termination import leave

    leave(tbq.board(flags=flags))
