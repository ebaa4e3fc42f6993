"""An empty figure in a style: the start of every picture except curves."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tbq.errors import UsageError
from tbq.plot.backend import fonts_for, literal, name_text, new_figure, styled
from tbq.plot.style import settings

if TYPE_CHECKING:
    from tbq.plot.options import PlotOptions


@contextlib.contextmanager
def sheet(
    options: PlotOptions,
    rows: int,
    columns: int,
    texts: Iterable[str],
    size: tuple[float, float],
    ax: Any = None,
    **grid: Any,
) -> Iterator[tuple[Any, list[Any]]]:
    """A figure with these panels, and its Axes row by row, while the block draws; `size` is for the screen.

    With `ax`, uses the user's Axes, if the picture has one panel. The caller passes names from a log
    in the user's words (`options.relabelled`).
    """
    if ax is not None:
        if rows * columns > 1:
            raise UsageError(f"ax: this picture has {rows * columns} panels", hint="omit ax")
        yield ax.figure, [ax]
        _in_users_words(ax.figure, [ax], options)
        return
    words = [options.title, options.x_label, options.y_label]
    style = fonts_for(map(name_text, [*texts, *(each or "" for each in words)]), settings(options))
    width, height = options.size
    if options.paper:
        scale = (3.25 if columns == 1 else 6.75) / size[0]
        size = size[0] * scale, size[1] * scale
    elif "talk" in options.style:
        size = size[0] * 1.5, size[1] * 1.5
    wanted = width or size[0]
    with styled(style):
        figure = new_figure(style, (wanted, height or size[1] * wanted / size[0]))
        axes = figure.subplots(rows, columns, squeeze=False, **grid).ravel().tolist()
        if options.title:
            literal(figure.suptitle(name_text(options.title, 200), x=0.01, ha="left"))
        yield figure, axes
        _in_users_words(figure, axes, options)


def _in_users_words(figure: Any, axes: list[Any], options: PlotOptions) -> None:
    """Apply the user's axis labels to what was drawn."""
    drawn = [ax for ax in axes if ax in figure.axes]  # panels without content were removed
    for label, of in ((options.x_label, "x"), (options.y_label, "y")):
        texts = [getattr(ax, f"{of}axis").label for ax in drawn]
        texts = [each for each in texts if each.get_text()] or texts[:1]
        if (
            label is not None and len({text.get_text() for text in texts}) > 1
        ):  # the panels keep their own labels; the user's label stands beside them
            literal(getattr(figure, f"sup{of}label")(name_text(label), fontsize=texts[0].get_fontsize()))
        elif label is not None:
            for text in texts:
                literal(text).set_text(name_text(label))


def side_by_side(options: PlotOptions, count: int, natural: int) -> int:
    """How many of `count` panels fit side by side: the option's number, otherwise `natural`; at most `count`."""
    return min(options.panels or natural, count)


def named(ax: Any, *, title: str | None = None, x: str | None = None, y: str | None = None) -> None:
    """Set the title and labels of an Axes as literal text."""
    if title is not None:
        literal(ax.set_title(name_text(title)))
    if x is not None:
        literal(ax.xaxis.label)
        ax.set_xlabel(name_text(x))
    if y is not None:
        literal(ax.yaxis.label)
        ax.set_ylabel(name_text(y))


def tick_names(axis: Any, names: Iterable[str], longest: int = 24, **options: Any) -> None:
    """Use a log's names as the labels of ticks."""
    shown = [name_text(name, longest) for name in names]
    axis.set_ticks(range(len(shown)))
    for text in axis.set_ticklabels(shown, **options):
        literal(text)
