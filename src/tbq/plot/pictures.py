"""Which picture a tag gets: curves of scalars, and what is natural for every other kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tbq.decode.reader import Reader
    from tbq.plot.options import Options
    from tbq.select import Names


def picture(
    reader: Reader,
    tag: Names,
    run: Names,
    options: Options,
    reading: dict[str, Any],
    ax: Axes | None = None,
    vectors: bool = False,
) -> Figure | Axes:
    """The figure of a log."""
    from tbq.plot.figure import draw
    from tbq.plot.scalars import of_log

    reading = dict(reading)
    steps = reading.pop("steps", None)
    return draw(of_log(reader, tag, run, steps, options, reading), ax, vectors)
