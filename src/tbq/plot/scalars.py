"""From a log or a table of scalars to the panels of a chart: which tags, which runs, in which order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tbq.columns.codes import codes_of, names_in, numbers
from tbq.columns.grouped import GroupedRows, complete
from tbq.columns.rows import having
from tbq.decode.takeovers import takeovers_of
from tbq.errors import SelectionError, UsageError, warn
from tbq.following.view import AXES
from tbq.kinds.hparams import HPARAM
from tbq.plot.groups import Groups
from tbq.plot.line_styles import MOST, LineStyle, line_styles
from tbq.plot.lines import Line, Panel, panels
from tbq.plot.options import order_of
from tbq.plot.ranges import Leaving, leaving, leaving_words, y_range
from tbq.query.groups import Grouping, value_text
from tbq.query.reduce import tell_uneven
from tbq.roles import tells_repeats
from tbq.select import Selection, closest_tip
from tbq.summary.per_run import hyperparameters
from tbq.table.scalars import read_scalars
from tbq.table.table import Table
from tbq.text import counted, natural, shell_word, some, some_have

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.decode.reader import Reader
    from tbq.plot.options import PlotOptions
    from tbq.select import Names, Steps

MOST_PANELS = 12  # the limit unless the user chooses tags
_MOST_PARAMS = 4  # of a suggested configuration
_VARIED = 5  # lines, from which on dashes differ too on paper, and after which on a scale of colours


@dataclass(frozen=True)
class ScalarPanels:
    """Panels, and what they share: the name of the x axis, the labels and the line styles of groups."""

    panels: list[Panel]
    options: PlotOptions
    ordinal: bool = False  # colours are a scale

    @property
    def x_name(self) -> str:
        if self.options.x_label is not None:
            return self.options.x_label
        names = {"step": "step", "relative": "time since start", "wall": "time"}
        return names.get(self.options.x) or self.options.relabelled(self.options.x)

    def y_name(self, panel: Panel) -> str:
        """The name of a panel's values."""
        if self.options.y_label is not None and len({each.tag for each in self.panels}) == 1:
            return self.options.y_label
        return self.options.relabelled(panel.tag)

    @cached_property
    def lines(self) -> dict[str, Line]:
        """The first line of each group, with the most runs that its means leave out, in the order of the legend."""
        first: dict[str, Line] = {}
        for panel in self.panels:
            for line in panel.lines:
                lost = max(line.lost, first[line.group].lost if line.group in first else 0)
                first[line.group] = replace(first.get(line.group, line), lost=lost)
        return first

    @cached_property
    def line_styles(self) -> dict[str, LineStyle]:
        """How the lines of each group look."""
        colours = {group: line.colour for group, line in self.lines.items()}
        varied = len(colours) >= _VARIED if self.options.paper else self.ordinal and len(colours) > _VARIED
        return line_styles(colours, varied)

    def labels(self, room: int | None = None, size: Callable[[str], int] = len) -> dict[str, str]:
        """The label of each group: its name in the user's words, or what tells it apart, with its number of runs."""
        groups = list(self.lines)
        words = {group: _count_words(line, self.options.no_n) for group, line in self.lines.items()}
        if room is not None:
            room = max(room - max(map(size, words.values()), default=0), 8)
        short = self.options.labels(groups, room, size)
        return {group: label + words[group] for group, label in zip(groups, short, strict=True)}

    @cached_property
    def leaving(self) -> list[Leaving]:
        """Where lines leave the ranges of their panels."""
        pairs = [(panel, self.options.of_tag(panel.tag)) for panel in self.panels]
        return [each for panel, options in pairs for each in leaving(panel, y_range(panel, options), options)]


def _count_words(line: Line, no_n: bool) -> str:
    """The number of runs of a mean, and of those that it leaves out."""
    if line.count is None:
        return ""
    few, many = line.count
    words = [] if no_n else [f"n={many}" if few == many else f"n={few}–{many}"]
    words += [f"{line.lost} not finite"] * (line.lost > 0)
    return f" ({', '.join(words)})" if words else ""


def of_log(
    reader: Reader, tag: Names, run: Names, steps: Steps, options: PlotOptions, reading: Mapping[str, Any]
) -> ScalarPanels:
    """The chart of a log's scalars."""
    wanted = Selection.of(tag)
    order = order_of(options.order)
    also = [*([] if options.x in AXES else [options.x]), *([order[0]] if order else [])]
    runs = [each.name for each in reader.choose(run)]
    if options.kind == "difference" and run is not None:  # keep the order in which the user named the runs
        runs = Selection.of(run, "run").require(reader.names, where=reader.path)
    groups = Groups.of(runs, options.by, reader=reader, known=reader.names, dark=options.dark)
    chosen = list(groups.of_run) if len(groups.of_run) < len(reader.runs) else None
    table, result = read_scalars(reader, tag, chosen, steps, session_tables=True, also=also, **reading)
    _check_tags(options, result.tags("scalars"), reader.path)
    arrow = table.to_arrow()
    takeovers = takeovers_of(result, chosen or reader.names)
    chart = _chart(arrow, wanted, groups, options, reader.began, takeovers, reader.path)
    if groups.by_run and options.kind != "difference" and len(chart.lines) > MOST:
        _suggest_groups(list(chart.lines), hyperparameters(reader, list(chart.lines)))
    return chart


def _suggest_groups(runs: Sequence[str], hparams: Mapping[str, Mapping[str, Any]]) -> None:
    """Suggest one line per configuration if runs repeat configurations; a few runs may lack hyperparameters."""
    known = [run for run in runs if hparams.get(run)]
    values: dict[str, list[str]] = {}
    for run in known:
        for name, value in hparams[run].items():
            values.setdefault(name, []).append(value_text(value))
    names = [
        name
        for name, texts in values.items()
        if len(texts) == len(known) and 1 < len(set(texts)) < len(known) and not tells_repeats(name)
    ][:_MOST_PARAMS]
    if (
        names
        and 2 * len(known) > len(runs)
        and len(Grouping.of_values(known, names, hparams).names) < len(known)
    ):
        by = shell_word(",".join(HPARAM + name for name in names))
        warn(f"{counted(len(runs), 'run')}: --by {by} --band std draws one line per configuration")


def of_table(table: Table, tag: Names, run: Names, options: PlotOptions) -> ScalarPanels:
    """The chart of a table of scalars."""
    arrow = table.to_arrow()
    if not {"run", "tag", "step", "value"} <= set(arrow.column_names):
        raise UsageError(f"plot: a table of {table.kind} has no scalars", hint="use log.scalars().plot(...)")
    if options.x in ("relative", "wall") and "wall_time" not in arrow.column_names:
        raise UsageError(f"x: {options.x!r} needs wall_time, which the table lacks", hint="x='step'")
    known = names_in(arrow["run"])
    runs = Selection.of(run, "run").require(known)
    groups = Groups.of(runs, options.by, known=known, dark=options.dark)
    if len(arrow):
        _check_tags(options, names_in(arrow["tag"]), None)
    return _chart(arrow, Selection.of(tag), groups, options, table.began, {}, None)


def _check_tags(options: PlotOptions, known: Sequence[str], where: str | None) -> None:
    """Raise if no run has the tag on the x axis, or the tag that defines the order."""
    order = order_of(options.order)
    wanted = {"x": None if options.x in AXES else options.x, "order": order[0] if order else None}
    hints = {
        "x": "x takes step, relative, wall, or a tag of scalars",
        "order": "order takes name, best:TAG:min or best:TAG:max",
    }
    for what, tag in wanted.items():
        if tag is not None and tag not in known:
            tip = closest_tip(tag, list(known))
            raise SelectionError(f"{what}: no run has the tag {tag!r}{tip}", path=where, hint=hints[what])


def _chart(
    arrow: pa.Table,
    wanted: Selection,
    groups: Groups,
    options: PlotOptions,
    began: Mapping[str, float] | None,
    takeovers: Mapping[tuple[str, str], Sequence[tuple[int, float]]],
    where: str | None,
) -> ScalarPanels:
    arrow = complete(arrow)
    if not len(arrow):
        raise SelectionError(
            "nothing to draw: no scalars",
            path=where,
            hint="tbq tags lists all tags with their steps",
        )
    # Combine once, instead of for each use.
    needed = ["run", "tag", "step", *(["wall_time"] if options.x in ("relative", "wall") else []), "value"]
    arrow = arrow.select(needed).combine_chunks()
    groups = _ordered(arrow, groups, options)
    tags = _tags(arrow, wanted, options, where)
    if options.log_tags:
        Selection.of(options.log_tags).require(tags, where=where)
    rest = [*tags, *([] if options.x in AXES else [options.x])]
    arrow = _of_tags(arrow, rest)
    _tell_missing(arrow, tags, groups)
    if options.band == "none":
        groups = _thinned(_having(arrow, tags, groups), options)
    drawn = panels(arrow, tags, groups, options, began, takeovers)
    if not drawn:
        raise SelectionError("nothing to draw", path=where, hint="tbq tags lists all tags")
    chart = ScalarPanels(_split(drawn, options), options, groups.ordinal)
    most = max(len({line.group for line in panel.lines}) for panel in chart.panels)
    if most > MOST and not groups.by_run:
        warn(
            f"{most:,} groups in one panel are hard to tell apart: panels={-(-most // MOST)} (--panels) divides them "
            "into panels"
        )
    means = [each for each in chart.leaving if each.line.count is not None and each.line.count[1] > 2]
    if means and options.center == "mean":
        warn(
            f"{leaving_words(means)}: a single run can move a mean that far; band='quantiles' (--band quantiles) "
            "draws medians, which it does not move"
        )
    return chart


def _having(arrow: pa.Table, tags: Sequence[str], groups: Groups) -> Groups:
    """The groups without runs that have none of the tags: nothing of these is drawn."""
    drawn = {run for run, tag in _counts(arrow) if tag in tags}
    return replace(groups, of_run={run: group for run, group in groups.of_run.items() if run in drawn})


def _split(drawn: list[Panel], options: PlotOptions) -> list[Panel]:
    """The panel of one tag, with its groups divided into the panels that the user asks for, all with one range."""
    groups = list(dict.fromkeys(line.group for line in drawn[0].lines))
    count = min(options.panels or 1, len(groups))
    if len(drawn) > 1 or count == 1 or options.kind == "difference":
        return drawn
    undivided = drawn[0]
    parts = [{groups[i] for i in part.tolist()} for part in np.array_split(np.arange(len(groups)), count)]
    return [
        replace(
            undivided,
            lines=[line for line in undivided.lines if line.group in part],
            members=[line for line in undivided.members if line.group in part],
            broken=[line for line in undivided.broken if line.group in part],
            undivided=undivided,
        )
        for part in parts
    ]


def _tags(arrow: pa.Table, wanted: Selection, options: PlotOptions, where: str | None) -> list[str]:
    """The tags to draw, in the selection's order."""
    known = names_in(arrow["tag"])
    if not wanted.everything:
        tags = wanted.require(known, where=where)
        return [tag for tag in tags if tag != options.x] or tags
    tags = [tag for tag in known if tag != options.x] or known
    most: dict[str, int] = {}
    for (_, tag), count in _counts(arrow).items():
        most[tag] = max(most.get(tag, 0), count)
    tags = [tag for tag in tags if most[tag] > 1] or tags  # a single point is not a curve
    if len(tags) > MOST_PANELS:
        warn(f"{len(tags):,} tags: drawing the first {MOST_PANELS}; choose with tag=, --tag")
    return tags[:MOST_PANELS]


def _of_tags(arrow: pa.Table, tags: Sequence[str]) -> pa.Table:
    """The rows of these tags; the table itself if it has no other tags."""
    return arrow if set(names_in(arrow["tag"])) <= set(tags) else having(arrow, "tag", tags)


def _counts(arrow: pa.Table) -> dict[tuple[str, str], int]:
    """The number of rows of each (run, tag)."""
    return {key: part.stop - part.start for key, part in GroupedRows.of(arrow).parts().items()}


def _tell_missing(arrow: pa.Table, tags: Sequence[str], groups: Groups) -> None:
    if not groups.by_run:
        tell_uneven(_of_tags(arrow, tags), groups.of_run)
        return
    runs_of_tag: dict[str, set[str]] = {tag: set() for tag in tags}
    for run, tag in _counts(arrow):
        if tag in runs_of_tag:
            runs_of_tag[tag].add(run)
    having_any = set().union(*runs_of_tag.values())
    without = [run for run in groups.of_run if run not in having_any] if len(tags) > 1 else []
    if having_any:
        tell_runs(without, len(groups.of_run), f"none of the {len(tags)} tags")
    for tag in tags:
        absent = [run for run in groups.of_run if run not in runs_of_tag[tag] and run not in without]
        if runs_of_tag[tag]:
            tell_runs(absent, len(groups.of_run), f"no {tag}")


def tell_runs(absent: Sequence[str], count: int, what: str) -> None:
    """Warn that these runs, out of `count`, have or lack something."""
    if absent:
        warn(f"{some_have(len(absent), count)} {what}: {some(absent)}")


def _ordered(arrow: pa.Table, groups: Groups, options: PlotOptions) -> Groups:
    """Order the groups by name, or best first."""
    order = order_of(options.order)
    if order is None:
        names = groups.names
        if groups.by_run and options.kind != "difference":
            names = sorted(names, key=natural)
        return replace(groups, names=names)
    tag, way = order
    rows = having(arrow, "tag", [tag])
    if not len(rows):
        raise SelectionError(f"order: no run has the tag {tag!r}", hint="tbq tags lists all tags")
    runs, run_names = codes_of(rows["run"])
    value = numbers(rows["value"]).astype(np.float64) * (1 if way == "min" else -1)
    best = np.full(len(run_names) + 1, np.inf)
    np.fmin.at(best, runs, np.where(np.isnan(value), np.inf, value))
    of_run = dict(zip(run_names.to_pylist(), best.tolist(), strict=False))
    members: dict[str, list[float]] = {name: [] for name in groups.names}
    for run, group in groups.of_run.items():
        if np.isfinite(of_run.get(run, np.inf)):
            members[group].append(of_run[run])
    score = {name: float(np.mean(values)) if values else np.inf for name, values in members.items()}
    return replace(groups, names=sorted(groups.names, key=lambda name: (score[name], natural(name))))


def _thinned(groups: Groups, options: PlotOptions) -> Groups:
    """Keep at most `max_runs` runs: the best if the order is by a best value, otherwise evenly chosen."""
    count = len(groups.of_run)
    if count <= options.max_runs:
        return groups
    place = {name: i for i, name in enumerate(groups.names)}
    runs = sorted(groups.of_run, key=lambda run: (place[groups.of_run[run]], natural(run)))
    best = order_of(options.order) is not None
    if best:
        kept = runs[: options.max_runs]
    else:
        kept = [runs[i] for i in np.linspace(0, count - 1, options.max_runs).round().astype(int).tolist()]
    how = "the best" if best else "evenly chosen"
    warn(
        f"{count:,} runs: drawing {len(kept):,}, {how}; by= and band= (--by, --band) draw all as groups, "
        f"max_runs={count} (--max-runs) draws each"
    )
    of_run = {run: groups.of_run[run] for run in kept}
    used = set(of_run.values())
    return replace(groups, of_run=of_run, names=[name for name in groups.names if name in used])
