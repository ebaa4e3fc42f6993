"""Hyperparameters against a metric: scatter plots, one per hyperparameter, or parallel coordinates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tbq.columns.codes import values_of
from tbq.errors import SelectionError, UsageError, warn
from tbq.kinds.hparams import HPARAM
from tbq.numbers import number
from tbq.plot import ticks
from tbq.plot.backend import literal, name_text
from tbq.plot.options import order_of
from tbq.plot.scales import dress
from tbq.plot.sheet import named, sheet, side_by_side, tick_names
from tbq.roles import best_of
from tbq.summary.per_run import summary

if TYPE_CHECKING:
    from tbq.decode.reader import Reader
    from tbq.plot.options import PlotOptions
    from tbq.select import Names

_MOST = 12  # hyperparameters


class Trials:
    """The runs that have the metric, with its value and the hyperparameters that differ."""

    def __init__(
        self, reader: Reader, metric: str, run: Names, steps: Any, options: PlotOptions, reading: Any
    ) -> None:
        best = order_of(options.order)
        ways = {metric: best[1]} if best is not None and best[0] == metric else None
        table = summary(reader, run=run, tag=metric, steps=steps, best=ways, media=False, **reading)
        arrow = table.to_arrow()
        column = table.best[metric][0] if ways else metric
        self.label = f"best {metric}" if ways else metric
        if column not in arrow.column_names:
            raise SelectionError(f"no run has {metric!r}", path=reader.path)
        self.ascending = (best_of(metric) if best is None else best[1]) == "min"
        values = np.array([math.nan if v is None else v for v in arrow[column].to_pylist()], float)
        keep = np.flatnonzero(np.isfinite(values))
        without_metric = [
            name for i, name in enumerate(values_of(arrow["run"])) if not np.isfinite(values[i])
        ]
        self.metric = values[keep]
        self.runs = [values_of(arrow["run"])[i] for i in keep.tolist()]
        self.settings: dict[str, list[Any]] = {}
        for name in arrow.column_names:
            if name.startswith(HPARAM) and name != f"{HPARAM}status":
                cells = arrow[name].to_pylist()
                shown = [cells[i] for i in keep.tolist()]
                if len({str(each) for each in shown if each is not None}) > 1:
                    self.settings[name.removeprefix(HPARAM)] = shown
        if not len(keep) or not self.settings:
            raise SelectionError(
                f"nothing to draw: no hyperparameter differs between runs that have {metric!r}",
                path=reader.path,
            )
        if without_metric:
            examples = ", ".join(without_metric[:3]) + (
                f" and {len(without_metric) - 3:,} more" if len(without_metric) > 3 else ""
            )
            warn(f"{len(without_metric):,} of {len(values):,} runs have no finite {metric}: {examples}")
        if len(self.settings) > _MOST:
            warn(f"{len(self.settings):,} hyperparameters differ: drawing the first {_MOST}")
            self.settings = dict(list(self.settings.items())[:_MOST])

    @property
    def shade(self) -> Any:
        """Each run's position on the viridis scale."""
        low, high = float(self.metric.min()), float(self.metric.max())
        return (self.metric - low) / (high - low) if high > low else np.full(len(self.metric), 0.5)


def hyperparameters(
    reader: Reader,
    tag: Names,
    run: Names,
    steps: Any,
    options: PlotOptions,
    reading: Any,
    kind: str,
    ax: Any = None,
) -> Any:
    """The scatter plots or parallel coordinates of a log."""
    shown = trials(reader, tag, run, steps, options, reading)
    return (_parallel if kind == "parallel" else _scatter)(shown, options, ax)


def trials(reader: Reader, tag: Names, run: Names, steps: Any, options: PlotOptions, reading: Any) -> Trials:
    """The runs and their metric: the tag's last value, or its best if the order names it."""
    metric = tag if isinstance(tag, str) else tag[0] if tag and len(tag) == 1 else None
    if metric is None:
        raise UsageError(f"kind {options.kind}: name the metric", hint="one tag, e.g. --tag val/loss")
    return Trials(reader, metric, run, steps, options, reading)


def _is_numeric(cells: list[Any]) -> bool:
    """Whether cells fit on an axis of numbers: all are numbers, and some are finite."""
    present = [each for each in cells if each is not None]
    numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in present)
    return numbers and any(math.isfinite(each) for each in present)


def _is_log(values: Any) -> bool:
    """Whether a log axis suits the values: all positive, over more than a decade."""
    return bool(len(values) and values.min() > 0 and values.max() / values.min() >= 10)


def _places(cells: list[Any]) -> tuple[Any, list[str] | None]:
    """Numbers unchanged; other values as 0, 1, 2, … with their names."""
    if _is_numeric(cells):
        return np.array([math.nan if each is None else each for each in cells], float), None
    texts = [
        None if each is None else str(each).lower() if isinstance(each, bool) else str(each) for each in cells
    ]
    names = sorted({text for text in texts if text is not None})
    return np.array([math.nan if text is None else names.index(text) for text in texts], float), names


def _scatter(trials: Trials, options: PlotOptions, ax: Any) -> Any:
    count = len(trials.settings)
    columns = side_by_side(options, count, 2 if count == 4 else 3)
    rows = -(-count // columns)
    size = (4.4, 3.2) if count == 1 else (3.1 * columns, 2.7 * rows)
    with sheet(options, rows, columns, [*trials.settings, trials.label], size, ax, sharey=count > 1) as (
        figure,
        axes,
    ):
        for each in axes[count:]:
            each.remove()
        for i, (each, (name, cells)) in enumerate(zip(axes, trials.settings.items(), strict=False)):
            places, names = _places(cells)
            each.scatter(
                places, trials.metric, c=trials.shade, cmap="viridis", vmin=0, vmax=1.1, s=22, lw=0, zorder=3
            )
            if options.log_y:
                each.set_yscale("log")
            if names is not None:
                tick_names(each.xaxis, names, 14)
                each.set_xlim(-0.5, len(names) - 0.5)
            else:
                finite = places[np.isfinite(places)]
                if _is_log(finite):
                    each.set_xscale("log")
                    each.set_xlim(finite.min() / 1.6, finite.max() * 1.6)
                    dress(each.xaxis, "value", True)
                else:
                    each.margins(x=0.12)
                    dress(each.xaxis, "step" if (finite == finite.round()).all() else "value")
            dress(each.yaxis, "value", options.log_y)
            named(each, x=name, y=trials.label if i % columns == 0 else None)
    return ax or figure


def _parallel(trials: Trials, options: PlotOptions, ax: Any) -> Any:
    columns: list[tuple[str, Any, list[str] | None, bool]] = []
    for name, cells in trials.settings.items():
        places, names = _places(cells)
        columns.append((name, places, names, names is None and _is_log(places[np.isfinite(places)])))
    columns.append((trials.label, trials.metric, None, options.log_y and _is_log(trials.metric)))
    heights = np.array([_heights(places, log) for _, places, _, log in columns])
    with sheet(options, 1, 1, [name for name, *_ in columns], (1.35 * len(columns) + 0.8, 3.4), ax) as (
        figure,
        axes,
    ):
        each = axes[0]
        from tbq.plot.colours import viridis

        for row, share in sorted(enumerate(trials.shade.tolist()), key=lambda pair: -pair[1]):
            colour = viridis(0.15 + 0.85 * share if options.dark else 0.88 * share)
            each.plot(
                range(len(columns)),
                heights[:, row],
                color=colour,
                lw=1.1,
                alpha=0.9,
                marker="o",
                ms=2.5,
                mew=0,
            )
        for at, (name, places, names, log) in enumerate(columns):
            each.axvline(at, color=each.spines["left"].get_edgecolor(), lw=0.8, zorder=1)
            _scale(each, at, places, names, log)
            literal(each.text(at, 1.09, name_text(name, 20), ha="center", va="bottom", clip_on=False))
        each.set_xlim(-0.12, len(columns) - 0.7)
        each.set_ylim(-0.06, 1.06)
        each.axis("off")
    return ax or figure


def _heights(places: Any, log: bool) -> Any:
    """Positions from 0 to 1 on a column's own scale; absent values lie below all."""
    values = np.log10(places) if log else places
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    heights = (values - low) / (high - low) if high > low else np.where(np.isfinite(values), 0.5, np.nan)
    return np.where(np.isfinite(heights), heights, np.nan)


def _scale(ax: Any, at: int, places: Any, names: list[str] | None, log: bool) -> None:
    """Draw the ticks of one column beside it."""
    finite = places[np.isfinite(places)]
    if names is not None:
        marks, texts = np.arange(len(names), dtype=float), [name_text(name, 12) for name in names]
    else:
        known = np.unique(finite)
        low, high = float(known.min()), float(known.max())
        some = (
            known.tolist()
            if len(known) <= 5
            else ticks.logarithmic(low, high, 5)
            if log
            else ticks.linear(low, high, 5)
        )
        marks, texts = np.array(some), [number(value) for value in some]
    heights = _heights(np.concatenate([marks, finite]), log)[: len(marks)]
    for height, text in zip(heights.tolist(), texts, strict=True):
        if not 0 <= height <= 1:
            continue
        ax.plot([at, at + 0.02], [height, height], color=ax.spines["left"].get_edgecolor(), lw=0.8)
        label = ax.text(
            at + 0.04, height, text, fontsize="small", va="center", ha="left", clip_on=False, zorder=5
        )
        literal(label)
        label.set_bbox({"facecolor": ax.get_facecolor(), "alpha": 0.75, "lw": 0, "pad": 0.6})
