"""`tbq diagnose`: what happened to one run, and why."""

from __future__ import annotations

from typing import Any

import click

from tbq.cli import options as shared

_EXAMPLES = """\b
Examples:
  tbq diagnose runs diverged
  tbq diagnose runs resumed --json
"""


@click.command(cls=shared.Command, epilog=_EXAMPLES)
@click.argument("logdir")
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="Print everything as a JSON object.")
@shared.read_options
def command(logdir: str, run: str, as_json: bool, reading: dict[str, Any]) -> None:
    """Say what happened to one run, and why.

    Its state; where a loss left its course; pauses, restarts and what they cost; what changed before it, such as the
    learning rate, gradient norms and the speed; how runs with nearly the same hyperparameters fared; and the
    findings of the doctor.
    """
    from tbq.cli.emit import show, show_json

    diagnosis = shared.opened(logdir, reading).diagnose(run, **shared.quiet(reading))
    if as_json:
        show_json(diagnosis.to_dict())
    else:
        show(diagnosis.report())
