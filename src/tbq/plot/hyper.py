"""Hyperparameters against a metric: scatter plots, one per hyperparameter, or parallel coordinates."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tbq.columns.codes import values_of
from tbq.errors import SelectionError, UsageError, warn
from tbq.kinds.hparams import HPARAM
from tbq.numbers import number
from tbq.plot import ticks
from tbq.plot.backend import literal, name_text
from tbq.plot.options import order_of
from tbq.plot.ranges import left_words, spaced, usual_range
from tbq.plot.scalars import tell_runs
from tbq.plot.scales import dress
from tbq.plot.sheet import named, sheet, side_by_side, tick_names
from tbq.roles import best_of, better
from tbq.summary.per_run import summary

if TYPE_CHECKING:
    from tbq.decode.reader import Reader
    from tbq.plot.options import PlotOptions
    from tbq.select import Names

_MOST = 12  # hyperparameters
_FEW_VALUES = 8
_FINE = 40  # runs; if there are more, their lines are thinner
_SPREAD = 0.035  # of the height, on either side of a value that several runs share


class Trials:
    """The runs that have the metric, with its value and the hyperparameters that differ."""

    def __init__(
        self, reader: Reader, metric: str, run: Names, steps: Any, options: PlotOptions, reading: Any
    ) -> None:
        self.tag = metric
        self.everything = options.outliers == 0  # outliers too
        self.log = options.of_tag(metric).log_y
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
        known = [name for name in arrow.column_names if name.startswith(HPARAM) and name != f"{HPARAM}status"]
        settings = {name.removeprefix(HPARAM): arrow[name].to_pylist() for name in known}
        runs, finite = values_of(arrow["run"]), np.isfinite(values)
        bare = finite & ~np.array([any(cells[i] is not None for cells in settings.values())
                                   for i in range(len(runs))], bool)  # fmt: skip
        low = finite & (values <= 0) & self.log
        keep = np.flatnonzero(finite & ~bare & ~low).tolist()
        if not keep and low.any():
            raise SelectionError(
                f"nothing to draw of {metric}: a log axis needs values above 0", hint="omit log_y, --log-y"
            )
        self.metric, self.runs = values[keep], [runs[i] for i in keep]
        shown = {name: [cells[i] for i in keep] for name, cells in settings.items()}
        self.settings = {
            name: cells
            for name, cells in shown.items()
            if len({str(each) for each in cells if each is not None}) > 1
        }
        if not self.settings:
            raise SelectionError(
                f"nothing to draw: no hyperparameter differs between runs that have {metric!r}",
                path=reader.path,
            )
        for left_out, what in (
            (~finite, f"no finite {metric}"),
            (bare, "no hyperparameters"),
            (low, f"{metric} ≤ 0, which a log axis cannot show"),
        ):
            tell_runs([runs[i] for i in np.flatnonzero(left_out).tolist()], len(runs), what)
        if len(self.settings) > _MOST:
            warn(f"{len(self.settings):,} hyperparameters differ: drawing the first {_MOST}")
            self.settings = dict(list(self.settings.items())[:_MOST])

    @property
    def limits(self) -> tuple[float, float]:
        """The range of the metric without outliers."""
        if self.everything:
            return float(self.metric.min()), float(self.metric.max())
        return usual_range(list(self.metric.reshape(-1, 1)), self.log, better(self.tag)) or (0.0, 1.0)

    @property
    def leaving(self) -> Any:
        """Whether each run's metric is outside the range."""
        low, high = self.limits
        slack = 1e-9 * max(abs(low), abs(high))  # the limits of a log axis were rounded
        return (self.metric < low - min(slack, low / 2 if self.log else slack)) | (self.metric > high + slack)

    @property
    def shade(self) -> Any:
        """Each run's position on the viridis scale."""
        metric, (low, high) = self.metric, self.limits
        if self.log:
            metric, low, high = np.log10(metric), math.log10(low), math.log10(high)
        return np.clip((metric - low) / (high - low), 0, 1) if high > low else np.full(len(metric), 0.5)


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
    options = options.of_tag(shown.tag)
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
    """Whether a log axis suits the values: all positive, over more than a decade or in equal ratios (16, 32, 64).

    >>> _is_log(np.array([16.0, 32.0, 64.0, 32.0])), _is_log(np.array([1.0, 2.0, 3.0])), _is_log(np.array([1.0, 30.0]))
    (True, False, True)
    """
    if not len(values) or values.min() <= 0:
        return False
    ratios = np.diff(np.log(np.unique(values)))
    return bool(values.max() / values.min() >= 10 or (len(ratios) > 1 and np.ptp(ratios) < 1e-6))


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
    names_of = {name: options.relabelled(name) for name in trials.settings}
    label = options.relabelled(trials.label)
    with sheet(options, rows, columns, [*names_of.values(), label], size, ax, sharey=count > 1) as (
        figure,
        axes,
    ):
        for each in axes[count:]:
            each.remove()
        for i, (each, (name, cells)) in enumerate(zip(axes, trials.settings.items(), strict=False)):
            places, names = _places(cells)
            each.scatter(
                places,
                trials.metric,
                c=trials.shade,
                cmap=_shades(options.dark),
                vmin=0,
                vmax=1,
                s=22,
                lw=0,
                alpha=0.8,
                zorder=3,
            )
            if trials.log:
                each.set_yscale("log")
            each.set_ylim(*spaced(*trials.limits, trials.log, 0.08))
            _tell_leaving(each, trials, places)
            if names is not None:
                tick_names(each.xaxis, map(options.relabelled, names), 14)
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
                _ticks_at_values(each, finite)
            dress(each.yaxis, "value", trials.log)
            named(each, x=names_of[name], y=label if i % columns == 0 else None)
    return ax or figure


def _ticks_at_values(ax: Any, values: Any) -> None:
    """Put the ticks of the x axis at the values that occur, if they are few and not too close."""
    from matplotlib import ticker

    known = np.unique(values)
    if len(known) <= _FEW_VALUES:
        scaled = np.log(known) if ax.get_xscale() == "log" else known
        if len(known) == 1 or np.diff(scaled).min() > 0.1 * (scaled[-1] - scaled[0]):
            ax.xaxis.set_major_locator(ticker.FixedLocator(known.tolist()))
            ax.xaxis.set_major_formatter(ticker.FixedFormatter([number(value) for value in known.tolist()]))
            ax.xaxis.set_minor_locator(ticker.NullLocator())


def _tell_leaving(ax: Any, trials: Trials, places: Any) -> None:
    """Mark the runs outside the range at the edge, and say how many there are."""
    gone = trials.leaving
    if gone.any():
        above = trials.metric[gone] > trials.limits[1]
        for up, marker in ((True, "^"), (False, "v")):
            x = places[gone][above == up]
            ax.plot(x, [float(up)] * len(x), transform=ax.get_xaxis_transform(), color=ax.xaxis.label.get_color(),
                    ls="none", marker=marker, ms=4, mew=0, clip_on=False)  # fmt: skip
        ax.set_title(left_words(int(gone.sum()), "run"), loc="right", fontsize="small", alpha=0.75)


def _parallel(trials: Trials, options: PlotOptions, ax: Any) -> Any:
    columns: list[tuple[str, Any, list[str] | None, bool]] = []
    for name, cells in trials.settings.items():
        places, names = _places(cells)
        columns.append((name, places, names, names is None and _is_log(places[np.isfinite(places)])))
    metric = np.clip(trials.metric, *trials.limits)
    log = trials.log and _is_log(metric)
    heights = np.array([_apart(_heights(places, log), trials.metric) for _, places, _, log in columns]
                       + [_heights(metric, log)])  # fmt: skip
    label = options.relabelled(trials.label) if options.y_label is None else options.y_label
    columns = [(options.relabelled(name), places, names and [*map(options.relabelled, names)], log)
               for name, places, names, log in columns]  # fmt: skip
    columns.append((label, metric, None, log))
    # Runs outside the range end beyond the last tick.
    heights[-1] += np.where(
        trials.metric > trials.limits[1], 0.04, np.where(trials.metric < trials.limits[0], -0.04, 0)
    )
    unnamed = replace(options, x_label=None, y_label=None)
    with sheet(unnamed, 1, 1, [name for name, *_ in columns], (1.35 * len(columns) + 1.2, 3.4), ax) as (
        figure,
        axes,
    ):
        each = axes[0]
        shades = _shades(options.dark)
        fine = 0.6 if options.paper or len(trials.runs) > _FINE else 1.0
        for row, share in sorted(enumerate(trials.shade.tolist()), key=lambda pair: -pair[1]):
            each.plot(
                range(len(columns)),
                heights[:, row],
                color=shades(share),
                lw=1.1 * fine,
                alpha=0.9,
                marker="o",
                ms=2.5 * fine,
                mew=0,
            )
        for at, (name, places, names, log) in enumerate(columns):
            each.axvline(at, color=each.spines["left"].get_edgecolor(), lw=0.8, zorder=1)
            _scale(each, at, places, names, log)
            literal(each.text(at, 1.12, name_text(name, 20), ha="center", va="bottom", clip_on=False))
        each.set_xlim(-0.12, len(columns) - 0.7)
        each.set_ylim(-0.08, 1.08)
        each.axis("off")
        if options.x_label is not None:
            literal(each.text(0.5, -0.04, name_text(options.x_label), transform=each.transAxes, ha="center", va="top",
                              clip_on=False))  # fmt: skip
        _colour_bar(figure, each, trials, shades, label)
    return ax or figure


def _shades(dark: bool) -> Any:
    """viridis as a scale of matplotlib, without the end that the background hides."""
    from matplotlib.colors import ListedColormap

    from tbq.plot.colours import viridis

    shares = np.linspace(0.15, 1.0, 256) if dark else np.linspace(0.0, 0.88, 256)
    return ListedColormap([viridis(share) for share in shares.tolist()])


def _colour_bar(figure: Any, ax: Any, trials: Trials, shades: Any, label: str) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LogNorm, Normalize

    low, high = trials.limits
    scale = LogNorm(low, high) if trials.log else Normalize(low, high)
    bar = figure.colorbar(ScalarMappable(scale, shades), ax=ax, aspect=30, pad=0.02, fraction=0.05)
    bar.outline.set_visible(False)
    dress(bar.ax.yaxis, "value", trials.log)
    literal(bar.ax.yaxis.label).set_text(name_text(label))
    count = int(trials.leaving.sum())
    if count:
        far = trials.metric[trials.leaving]
        words = f"{left_words(count, 'run')}: {number(float(far[np.argmax(np.abs(far))]))}"
        literal(ax.text(1.0, -0.02, words, transform=ax.transAxes, ha="right", va="top", fontsize="small", alpha=0.75,
                        clip_on=False))  # fmt: skip


def _apart(heights: Any, metric: Any) -> Any:
    """Heights with the runs of one value spread around it in the order of the metric, so that no two lines coincide."""
    known = np.unique(heights[np.isfinite(heights)])
    if len(known) == np.isfinite(heights).sum():
        return heights
    gap = float(np.diff(known).min()) if len(known) > 1 else 1.0
    reach = min(_SPREAD, gap * 0.35)
    out = heights.copy()
    for value in known.tolist():
        same = np.flatnonzero(heights == value)
        order = same[np.argsort(metric[same], kind="stable")]
        if len(order) > 1:
            out[order] = value + np.linspace(-reach, reach, len(order))
    return out


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
