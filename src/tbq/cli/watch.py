"""`tbq watch`: a log directory live in the terminal."""

from __future__ import annotations

from typing import Any

import click

from tbq.cli import options as shared

_EXAMPLES = """\b
Examples:
  tbq watch runs
  tbq watch runs --tag 'val/*' --smooth 0.6
"""


@click.command(cls=shared.Command, epilog=_EXAMPLES)
@shared.logdir_argument
@shared.select_options
@shared.smooth_option(more="; the key s changes it")
@shared.interval_option("1, or 30 for a URL")
@shared.stalled_option
@shared.live_options
def command(logdir: tuple[str, ...], selection: dict[str, Any], **options: Any) -> None:
    """Watch LOGDIR live: runs with their state, charts, images, texts, histograms.

    Keys: ? shows all of them, / filters, s smooths, q quits. Waits for LOGDIR to appear. Needs Textual,
    the extra "watch".
    """
    import tbq

    tbq.watch(shared.source(logdir), **selection, **options)
