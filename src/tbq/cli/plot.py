"""`tbq plot`: pictures of a log, in the terminal or as a file."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

import click

from tbq.cli.options import (
    Command,
    force_option,
    logdir_argument,
    opened,
    read_options,
    select_options,
    smooth_option,
)
from tbq.cli.ranking import BY_HELP

_EXAMPLES = """\b
Examples:
  tbq plot runs --tag val/loss
  tbq plot runs --tag 'train/*' --smooth 0.6 -o curves.png
  tbq plot runs --tag train/loss --run 'lr=*' --by 're:(.*)/seed.*' --band ci95 --log-y --style paper -o loss.pdf
  tbq plot runs --tag val/loss --kind parallel -o hparams.svg
  tbq plot runs --tag weights/layer1 -o weights.svg
"""


class _Plot(Command):
    """The command, with an optional value of --log-y."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """In `tbq plot --log-y runs`, take `runs` as the log directory, because no other word can be."""
        if "--log-y" in args:
            with contextlib.suppress(click.UsageError):  # raised again below, with its hint
                values, _, _ = self.make_parser(ctx).parse_args(list(args))
                logdir = values.get("logdir")
                if not (isinstance(logdir, tuple) and logdir):
                    args[args.index("--log-y")] = "--log-y=*"
        return super().parse_args(ctx, args)


@click.command(cls=_Plot, epilog=_EXAMPLES)
@logdir_argument
@click.option(
    "-o",
    "--output",
    "path",
    metavar="OUT",
    help="A png, svg, pdf, pgf or html file.  [default: the terminal]",
)
@click.option("--format", metavar="FORMAT", help="The format, if OUT's extension does not name it.")
@force_option
@select_options
@click.option(
    "--kind",
    metavar="KIND",
    help="curves, difference (of two runs), ridge or heatmap (of histograms), pr, scatter or parallel "
    "(hyperparameters against the tag), images, audio.  [default: what suits the tag]",
)
@click.option(
    "--x",
    default="step",
    show_default=True,
    metavar="AXIS",
    help="step, relative, wall, or a tag of scalars.",
)
@smooth_option()
@click.option("--log-x", is_flag=True, help="A logarithmic x axis.")
@click.option(
    "--log-y",
    is_flag=False,
    flag_value="*",
    multiple=True,
    metavar="[TAG]",
    help="A logarithmic y axis, for this tag if one is named. May be repeated.",
)
@click.option("--ylim", metavar="A:B", help="Limits of the y axis; either may be omitted.")
@click.option(
    "--outliers",
    type=float,
    metavar="Q",
    help="Limit the y axis to the quantiles Q to 1 - Q, e.g. 0.05; 0 shows all values.  [default: leave out "
    "diverged runs and spikes]",
)
@click.option(
    "--by",
    multiple=True,
    default=("run",),
    metavar="EXPR",
    help=f"One colour per group. {BY_HELP} May be repeated.  [default: run, each run by itself]",
)
@click.option(
    "--band",
    default="none",
    show_default=True,
    metavar="BAND",
    help="Draw each group's mean with a band: std, sem, ci95, minmax or quantiles (25 % to 75 %).",
)
@click.option("--center", metavar="C", help="mean or median.  [default: mean; median for quantiles]")
@click.option("--each", is_flag=True, help="Also draw each run as a thin line behind the band.")
@click.option("--legend", metavar="WHERE", help="inside, outside, direct (at the lines' ends) or none.")
@click.option("--order", metavar="ORDER", help="The order of groups: name, or best:TAG:min, best:TAG:max.")
@click.option(
    "--max-runs",
    type=int,
    default=100,
    show_default=True,
    metavar="N",
    help="Draw at most N runs individually.",
)
@click.option("--title", metavar="TEXT", help="A title.")
@click.option("--x-label", metavar="TEXT", help="The name of the x axis.")
@click.option("--y-label", metavar="TEXT", help="The name of the y axis.")
@click.option(
    "--relabel",
    nargs=2,
    multiple=True,
    metavar="REGEX WORDS",
    help=r"Show WORDS instead of what matches, in all names: --relabel 'lr=(.*)' 'η = \1'. May be repeated.",
)
@click.option("--no-n", is_flag=True, help="Omit the number of runs of each group.")
@click.option(
    "--size",
    metavar="WxH",
    help="Inches, or a width by name: single, double, neurips, icml, icml-double, cvpr, acl, ieee, nature, …",
)
@click.option(
    "--panels",
    type=int,
    metavar="N",
    help="Panels side by side; the groups of a single tag are divided among them.",
)
@click.option("--dpi", type=float, metavar="N", help="Pixels per inch of a png.")
@click.option(
    "--style",
    default="screen",
    show_default=True,
    metavar="STYLE",
    help="screen, paper, talk or dark; or talk,dark.",
)
@click.option("--font", metavar="NAME", help="serif, sans, mono, or an installed font.")
@click.option("--width", type=int, metavar="N", help="Cells across, in the terminal.")
@click.option("--height", type=int, metavar="N", help="Lines, in the terminal.")
@read_options
def command(
    logdir: tuple[str, ...],
    path: str | None,
    format: str | None,
    force: bool,
    width: int | None,
    height: int | None,
    by: tuple[str, ...],
    selection: dict[str, Any],
    reading: dict[str, Any],
    **plotting: Any,
) -> None:
    """Draw curves, with runs in colours, mean and band over seeds, and every other kind of data.

    Without -o the plot appears in the terminal. Files need matplotlib, the extra "plot".
    """
    from tbq.cli.emit import draw_lines, has_colours, say

    log = opened(logdir, reading)
    plotting["by"] = by if len(by) > 1 else by[0]
    plotting["log_y"] = "*" in plotting["log_y"] or plotting["log_y"]
    if path is not None:
        log.write_plot(path, format=format, force=force, **selection, **plotting, **reading)
        say(path)
        return
    columns, lines = _terminal()
    text = log.plot_text(
        width=width or columns,
        height=height or (max(min(lines - 1, 40), 8) if len(selection["tag"] or ()) == 1 else None),
        colour=has_colours(),
        **selection,
        **plotting,
        **reading,
    )
    draw_lines(text.split("\n"))


def _terminal() -> tuple[int, int]:
    """The size of the terminal; 80 × 24 without a terminal."""
    import shutil

    size = shutil.get_terminal_size((80, 24)) if sys.stdout.isatty() else os.terminal_size((80, 24))
    return max(size.columns, 20), size.lines
