"""What `table.plot` draws: the natural picture for the kind of table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tbq.errors import UsageError
from tbq.plot.options import PlotOptions

if TYPE_CHECKING:
    from tbq.plot.options import Plotting
    from tbq.select import Names
    from tbq.table.table import Table


def picture(table: Table, tag: Names, run: Names, ax: Any, plotting: Plotting, vectors: bool = False) -> Any:
    """The figure of a table, or the result of drawing into `ax`."""
    options = PlotOptions.of(plotting)
    if {"run", "tag", "step", "value"} <= set(table.columns):
        from tbq.plot.figure import draw
        from tbq.plot.scalars import of_table

        chart = of_table(table, tag, run, options)
        if options.kind == "difference":
            from tbq.plot.difference import difference

            return difference(chart, vectors, ax)
        _only(options, ("curves",), table)
        return draw(chart, ax, vectors)
    if tag is not None or run is not None:
        table = table.filter(tag=tag, run=run)
    return of_kind(table, options, ax)


def write(
    table: Table, path: Any, tag: Names, run: Names, format: str | None, force: bool, plotting: Plotting
) -> str:
    """Write the figure of `picture`."""
    from tbq.plot import files

    return files.save(
        lambda vectors: picture(table, tag, run, None, plotting, vectors=vectors),
        path,
        format=format,
        force=force,
        title=plotting.get("title"),
    )


def of_kind(table: Table, options: PlotOptions, ax: Any = None) -> Any:
    """The picture of a table of anything but scalars."""
    from tbq.kinds.histograms import HistogramTable

    if table.kind == "histograms":
        from tbq.plot.distributions import distributions

        _only(options, ("ridge", "heatmap"), table)
        rows = HistogramTable(table.to_arrow(), "histograms")
        return distributions(rows, options, options.kind or "ridge", ax)
    if table.kind == "pr_curves":
        from tbq.plot.precision import precision_recall

        _only(options, ("pr",), table)
        return precision_recall(table, options, ax)
    if table.kind in ("images", "audio"):
        from tbq.plot import strips

        _only(options, (table.kind,), table)
        if ax is not None:
            raise UsageError(f"ax: a picture of {table.kind} needs its own Axes", hint="omit ax")
        return strips.images(table, options) if table.kind == "images" else strips.audio(table, options)
    if table.kind in ("confusion", "weights"):
        from tbq.plot import results

        _only(options, (table.kind,), table)
        return getattr(results, table.kind)(table, options, ax)
    raise UsageError(
        f"plot: tbq cannot draw a table of {table.kind}",
        hint="it draws scalars, histograms, pr_curves, images, audio, confusion and weights",
    )


def _only(options: PlotOptions, kinds: tuple[str, ...], table: Table) -> None:
    if options.kind is not None and options.kind not in kinds:
        raise UsageError(
            f"kind: got {options.kind}, want {' or '.join(kinds)} for a table of {table.kind}",
            hint="omit kind, --kind" if options.kind not in ("scatter", "parallel") else "log.plot(kind=…)",
        )
