"""`tbq media`: images, audio, texts, tensors, meshes and graphs as files."""

from __future__ import annotations

from typing import Any

import click

from tbq.cli.options import Command, logdir_argument, names, opened, read_options, select_options

_KINDS = ("images", "audio", "texts", "tensors", "meshes", "graphs")
_EXAMPLES = """\b
Examples:
  tbq media runs -o media
  tbq media runs --kind images --tag 'samples*' --every 10 -o images
"""


@click.command(cls=Command, epilog=_EXAMPLES)
@logdir_argument
@click.option("-o", "--output", required=True, metavar="DIR", help="The directory to write to.")
@click.option("--kind", multiple=True, type=click.Choice(_KINDS), help="Only this kind; may be repeated.")
@select_options
@click.option(
    "--every", type=click.IntRange(1), default=1, metavar="N", help="Every Nth value of each run and tag."
)
@click.option("--force", is_flag=True, help="Replace files that exist.")
@read_options
def command(
    logdir: tuple[str, ...],
    output: str,
    kind: tuple[str, ...],
    selection: dict[str, Any],
    reading: dict[str, Any],
    **options: Any,
) -> None:
    """Write images, audio, texts, tensors (NPY), meshes (PLY) and graphs as files in a tree run/tag/step.

    manifest.csv in DIR lists every file with its run, tag, step and time. Names are made safe for every file system.
    """
    from tbq.cli.emit import say
    from tbq.progress import progress_bar

    log = opened(logdir, reading)
    with progress_bar() as progress:
        written = log.write_media(
            output, kinds=names(kind), progress=progress, **selection, **reading, **options
        )
    say(f"{output}: {len(written):,} files")
