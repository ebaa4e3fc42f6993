"""`tbq doctor`: why nothing shows up, what was lost, and what to do."""

from __future__ import annotations

import click

from tbq.cli.options import Command, source, source_options, threads_option

_EXAMPLES = """\b
Examples:
  tbq doctor runs
  tbq doctor runs --json --ignore TBQ4
  tbq doctor --explain TBQ104
"""


@click.command(cls=Command, epilog=_EXAMPLES)
@click.argument("logdir", nargs=-1, metavar="LOGDIR...")
@click.option("--json", "as_json", is_flag=True, help="Print every finding as a JSON array.")
@click.option("--all", "every", is_flag=True, help="Show the full report, however long.")
@click.option("--explain", metavar="CODE", help="Explain a code: what it means, why it matters, what to do.")
@click.option(
    "--select",
    multiple=True,
    metavar="CODES",
    help="Only these codes or prefixes of codes, e.g. TBQ2,TBQ401.",
)
@click.option("--ignore", multiple=True, metavar="CODES", help="Leave out these codes or prefixes of codes.")
@source_options
@threads_option
def command(
    logdir: tuple[str, ...],
    as_json: bool,
    every: bool,
    explain: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    threads: int | None,
) -> int:
    """Examine a log, or a path that should have one: what is missing, damaged, doubled or odd, and the remedy.

    Changes nothing. The exit code is 1 if there is an error or a warning, and 0 otherwise.
    """
    import tbq
    from tbq.cli.emit import show, show_json
    from tbq.progress import progress_bar

    if explain is not None:
        show(tbq.explain(explain))
        return 0
    if not logdir:
        raise click.UsageError("Missing argument 'LOGDIR...'.")
    with progress_bar("examining") as progress:
        findings = tbq.doctor(
            source(logdir),
            select=list(select) or None,
            ignore=list(ignore),
            threads=threads,
            progress=progress,
        )
    if as_json:
        show_json([finding.to_dict() for finding in findings])
    else:
        show(findings.report(", ".join(logdir), every=every))
    return int(any(finding.severity != "info" for finding in findings))
