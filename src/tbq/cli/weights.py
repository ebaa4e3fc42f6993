"""`tbq weights`: the parameters of a checkpoint as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tbq.cli.options import Command, names, output_options, unpack_option

if TYPE_CHECKING:
    from tbq.cli.emit import Output

_EXAMPLES = """\b
Examples:
  tbq weights model.safetensors -o weights.csv
  tbq weights model.safetensors --plot weights.png
  tbq weights model.keras --elements --layer 'dense*' -o dense.parquet
  tbq weights epoch1.safetensors epoch2.safetensors --diff
"""


@click.command(cls=Command, epilog=_EXAMPLES)
@click.argument("model")
@click.argument("other", required=False)
@click.option("--elements", is_flag=True, help="One row per element: layer, parameter, index, value.")
@click.option("--layer", multiple=True, metavar="NAME", help="Only this layer: a name, a glob or re:EXPR.")
@click.option("--diff", is_flag=True, help="Compare MODEL with OTHER, one row per parameter.")
@click.option(
    "--plot", metavar="OUT", help="Draw the statistics to this png, svg, pdf, pgf or html file instead."
)
@unpack_option
@output_options
def command(
    model: str,
    other: str | None,
    elements: bool,
    layer: tuple[str, ...],
    diff: bool,
    plot: str | None,
    out: Output,
) -> None:
    """Weights and biases of MODEL: one row per parameter with its statistics, or every element.

    MODEL is a .safetensors, .npz, .h5, .keras, .pt, .pth or .ckpt file. Files are read in blocks and never
    run: a pickle that would need code is refused.
    """
    from tbq.results import weight_elements, weights, weights_diff

    if diff != (other is not None):
        raise click.UsageError("--diff takes two checkpoints: tbq weights A B --diff")
    if diff and elements:
        raise click.UsageError("--diff compares parameters; omit --elements")
    if plot is not None:
        if diff or elements:
            raise click.UsageError("--plot draws statistics; omit --diff and --elements")
        weights(model, layer=names(layer)).write_plot(plot, force=out.force)
        return
    out.check()
    if elements:
        rows = weight_elements(model, layer=names(layer))
        rows.write(out.path or "-", **out.file_target)
    elif diff:
        out.emit(weights_diff(model, other, layer=names(layer)))
    else:
        out.emit(weights(model, layer=names(layer)))
