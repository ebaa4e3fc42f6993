"""`tbq predictions`: the outputs of a model beside their labels as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tbq.cli.options import Command, output_options, unpack_option

if TYPE_CHECKING:
    from tbq.cli.emit import Output

_EXAMPLES = """\b
Examples:
  tbq predictions preds.npy --labels y.npy -o predictions.csv
  tbq predictions out.npz:logits --labels out.npz:y --activation softmax --scores scores.csv
"""


@click.command(cls=Command, epilog=_EXAMPLES)
@click.argument("outputs")
@click.option("--labels", metavar="FILE[:KEY]", help="The true classes or values, one row per example.")
@click.option("--ids", metavar="FILE[:KEY]", help="Names of the examples.  [default: 0, 1, 2, …]")
@click.option("--classes", metavar="A,B,…", help="Names of the classes, or a text file with one per line.")
@click.option(
    "--task",
    type=click.Choice(["multiclass", "binary", "multilabel", "regression"]),
    help="The task, if the shape of the outputs is ambiguous.",
)
@click.option(
    "--activation", type=click.Choice(["softmax", "sigmoid"]), help="Turn logits into probabilities."
)
@click.option("--threshold", type=float, default=0.5, show_default=True, help="For binary and multilabel.")
@click.option("--confusion", metavar="OUT", help="Also write the confusion matrix to this file.")
@click.option(
    "--plot", metavar="OUT", help="Also draw the confusion matrix to this png, svg, pdf or html file."
)
@click.option("--scores", metavar="OUT", help="Also write precision and recall of each class to this file.")
@unpack_option
@output_options
def command(outputs: str, classes: str | None, out: Output, **options: Any) -> None:
    """Tabulate OUTPUTS of a model: id, label, predicted, confidence (score for logits), and one column per class.

    Files are .npy, .npz, .csv, .tsv, .parquet, .pt or .safetensors; FILE:KEY names one of several arrays or
    columns.
    """
    import tbq

    names = _classes(classes)
    tbq.results.write_predictions(outputs, out.path or "-", classes=names, **out.file_target, **options)


def _classes(text: str | None) -> list[str] | None:
    from pathlib import Path

    if text is None:
        return None
    if "," not in text and Path(text).is_file():
        with open(text, encoding="utf-8") as file:
            return [line.strip() for line in file if line.strip()]
    return [name.strip() for name in text.split(",")]
