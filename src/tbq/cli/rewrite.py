"""`tbq rewrite`: new event files from old ones, merged, repaired, pruned or renamed."""

from __future__ import annotations

from typing import Any

import click

from tbq.cli import options as shared
from tbq.rewriting.options import RESTARTS

_EXAMPLES = """\b
Examples:
  tbq rewrite runs -o merged
  tbq rewrite runs -o sound --repair
  tbq rewrite runs -o small --drop-kind images --drop-tag 'weights/*'
  tbq rewrite jobs -o joined --merge-runs job1,job2=job --restarts resume
  tbq rewrite runs -o renamed --rename 're:(.*)/loss=loss/\\1' --dry-run
"""


def _pairs(_ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for value in values:
        old, equals, new = value.rpartition("=")
        if not equals or not old or not new:
            raise click.BadParameter(f"{value!r} is not OLD=NEW", param=param)
        pairs[old] = new
    return pairs


@click.command(cls=shared.Command, epilog=_EXAMPLES)
@shared.logdir_argument
@click.option(
    "-o", "--output", required=True, metavar="NEW", help="The directory to write, which must not exist yet."
)
@click.option("--repair", is_flag=True, help="Leave out damaged parts, and report what is lost.")
@click.option("--drop-tag", multiple=True, metavar="NAME", help="Drop this tag: a name, a glob or re:EXPR.")
@click.option(
    "--keep-tag", multiple=True, metavar="NAME", help="Keep only this tag: a name, a glob or re:EXPR."
)
@click.option("--drop-kind", multiple=True, metavar="KIND", help="Drop values of this kind, e.g. images.")
@click.option(
    "--rename", multiple=True, metavar="OLD=NEW", callback=_pairs, help="Rename a tag; OLD may be re:EXPR."
)
@click.option(
    "--rename-run",
    multiple=True,
    metavar="OLD=NEW",
    callback=_pairs,
    help="Rename a run; OLD may be re:EXPR.",
)
@shared.steps_option
@click.option(
    "--every", type=click.IntRange(1), default=1, metavar="N", help="Every Nth value of each run and tag."
)
@click.option(
    "--max-points",
    type=click.IntRange(1),
    metavar="N",
    help="Keep at most N values of each run and tag, extremes included.",
)
@click.option(
    "--restarts",
    type=click.Choice(RESTARTS),
    default="keep",
    show_default=True,
    help="resume leaves out values that a restart overtook.",
)
@click.option("--offset-steps", type=int, default=0, metavar="N", help="Add N to each step.")
@shared.merge_option
@click.option("--flatten-hparams", is_flag=True, help="Fold the sub-runs of add_hparams into the runs above.")
@shared.threads_option
@shared.source_options
@click.option("--dry-run", is_flag=True, help="Write nothing; report what would change.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def command(
    logdir: tuple[str, ...],
    output: str,
    drop_tag: tuple[str, ...],
    keep_tag: tuple[str, ...],
    merge_runs: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> None:
    """Write event files anew, one per run: byte for byte, except for what the options change."""
    import tbq
    from tbq.cli.emit import show, show_json
    from tbq.progress import progress_bar

    with progress_bar("rewriting") as progress:
        report = tbq.rewrite(
            shared.source(logdir),
            output,
            drop_tag=shared.names(drop_tag),
            keep_tag=shared.names(keep_tag),
            merge_runs=merge_runs or None,
            progress=progress,
            **options,
        )
    if as_json:
        show_json(report.to_dict())
    else:
        show(str(report))
