"""`tbq tags`: what was logged, by run and tag."""

from __future__ import annotations

from typing import Any

import click

from tbq.cli.options import logdir_argument, names, output_options, run_option, source, tag_option

_EXAMPLES = """\b
Examples:
  tbq tags runs
  tbq tags runs --tag 'val/*' -o tags.csv
"""


@click.command(epilog=_EXAMPLES)
@logdir_argument
@run_option
@tag_option
@output_options
def command(
    logdir: tuple[str, ...], run: tuple[str, ...], tag: tuple[str, ...], output: str | None, **options: Any
) -> None:
    """List the tags of each run: kind, plugin, dtype, count, first and last step."""
    import tbq
    from tbq.cli.emit import check_output, emit

    check_output(output, options["format"], options["force"])
    emit(tbq.open(source(logdir)).tags(run=names(run), tag=names(tag)), output=output, **options)
