"""Which picture a tag gets: curves for scalars, and the natural picture for every other kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tbq.errors import SelectionError, UsageError

if TYPE_CHECKING:
    from tbq.decode.reader import Reader
    from tbq.plot.options import PlotOptions
    from tbq.plot.scalars import ScalarPanels
    from tbq.select import Names

_TABLES = {
    "ridge": "histograms",
    "heatmap": "histograms",
    "pr": "pr_curves",
    "images": "images",
    "audio": "audio",
}
_NATURAL = ("histograms", "pr_curves", "images", "audio")


def picture(
    reader: Reader,
    tag: Names,
    run: Names,
    options: PlotOptions,
    reading: dict[str, Any],
    ax: Any = None,
    vectors: bool = False,
) -> Any:
    """The figure of a log, or the result of drawing into `ax`."""
    from tbq.plot.backend import matplotlib

    matplotlib()
    reading = dict(reading)
    steps = reading.pop("steps", None)
    if options.kind in ("scatter", "parallel"):
        from tbq.plot.hyper import hyperparameters

        return hyperparameters(reader, tag, run, steps, options, reading, options.kind, ax)
    drawn = chart_or_table(reader, tag, run, steps, options, reading)
    if isinstance(drawn, tuple):
        return _of_table(reader, drawn[0], tag, run, steps, options, reading, ax)
    if options.kind == "difference":
        from tbq.plot.difference import difference

        return difference(drawn, vectors, ax)
    from tbq.plot.figure import draw

    return draw(drawn, ax, vectors)


def chart_or_table(
    reader: Reader, tag: Names, run: Names, steps: Any, options: PlotOptions, reading: dict[str, Any]
) -> ScalarPanels | tuple[str]:
    """The chart of scalars, or the name of the table that holds the tag's data."""
    from tbq.plot.scalars import of_log

    if options.kind in ("confusion", "weights"):
        raise UsageError(
            f"kind {options.kind} is for results, not for a log", hint=f"tbq.results.{options.kind}(…).plot()"
        )
    if options.kind in _TABLES:
        return (_TABLES[options.kind],)
    try:
        return of_log(reader, tag, run, steps, options, reading)
    except SelectionError:
        if options.kind is not None or tag is None:
            raise
        kinds = _kinds_of(reader, tag, run)
        if "scalars" in kinds or not kinds:
            raise
        table = next((kind for kind in _NATURAL if kind in kinds), None)
        if table is None:
            kind = min(kinds)
            raise SelectionError(
                f"tbq cannot draw tags of kind {kind}",
                path=reader.path,
                hint=f"tbq show prints it, tbq export --kind {kind} writes all values",
            ) from None
        return (table,)


def _kinds_of(reader: Reader, tag: Names, run: Names) -> set[str]:
    """The kinds of values of these tags."""
    from tbq.kinds.overview import overview
    from tbq.kinds.values import kinds_of
    from tbq.select import Selection

    kinds = kinds_of(overview(reader, "tags", run=run))
    return {kind for name in Selection.of(tag).resolve(kinds).names for kind in kinds[name]}


def _of_table(
    reader: Reader,
    name: str,
    tag: Names,
    run: Names,
    steps: Any,
    options: PlotOptions,
    reading: dict[str, Any],
    ax: Any,
) -> Any:
    from tbq.kinds.tables import table
    from tbq.plot.tables import of_kind

    return of_kind(table(reader, name, tag, run=run, steps=steps, **reading), options, ax)
