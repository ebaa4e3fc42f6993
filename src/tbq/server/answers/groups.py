"""Groups of runs, and the mean and band of each group over all points of its runs, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tbq.plot.groups import Groups
from tbq.query.groups import Grouping, group_runs, hparam_names
from tbq.query.moments import BANDS as MOMENT_BANDS
from tbq.query.moments import Moments, merged, quartiles
from tbq.server.answers.points import points_along, smooth_values
from tbq.server.http.encoding import Answer, json_answer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tbq.server.http.params import Params
    from tbq.server.live_log import LiveLog

    Floats = NDArray[np.float64]

#: What is drawn around a group: `quantiles` is the median from the lower to the upper quartile.
BANDS = (*MOMENT_BANDS, "quantiles")
_BATCH = 200_000  # points that are reduced at once
_KEPT = 400_000  # steps of all kept statistics, 56 bytes each


class GroupLine(NamedTuple):
    """The statistics of a group along an axis, sorted by x."""

    x: Floats
    moments: Moments
    quartiles: Floats | None = None  # 3 × steps, if the band needs them

    def drawn(self, band: str) -> tuple[Floats, Floats, Floats]:
        """The line, and the lower and the upper end of its band."""
        if band == "quantiles" and self.quartiles is not None:
            lower, middle, upper = self.quartiles
            return middle, lower, upper
        return self.moments.mean, *self.moments.ends(band)


def groups(log: LiveLog, params: Params) -> Answer:
    """The groups of all runs, with their colours."""
    by = params.text("by")
    runs = log.shown()
    dark, light = grouped(log, runs, by, dark=True), grouped(log, runs, by, dark=False)
    members: dict[str, list[int]] = {name: [] for name in dark.names}
    for run, name in dark.of_run.items():
        members[name].append(log.id_of(run))
    return json_answer(
        {
            "version": log.version,
            "by": by,
            "groups": [
                {"name": name, "ids": ids, "colours": [dark.colours[name], light.colours[name]]}
                for name, ids in members.items()
            ],
        }
    )


def grouped(log: LiveLog, runs: Sequence[str], by: str, *, dark: bool = False) -> Groups:
    """The groups with their colours, as `tbq plot --by` makes them."""
    return Groups.coloured(grouping(log, runs, by), dark=dark)


def grouping(log: LiveLog, runs: Sequence[str], by: str) -> Grouping:
    """The groups by hyperparameters (`hparam.lr,hparam.batch_size`), or by a pattern of the name.

    Returns only the groups of `runs`, but all runs define them: `by` may be valid although none of `runs` has a group.
    """
    names, every = hparam_names(by), log.shown()
    if names is None:
        groups = Grouping.of_names(group_runs(every, by, foreign=True))
    else:
        with log.lock:
            known = {run: log.hparams.get(run) for run in every}
        hparams = {run: each.values for run, each in known.items() if each}
        groups = Grouping.of_values(every, names, hparams)
    of_run = {run: groups.of_run[run] for run in runs if run in groups.of_run}
    present = set(of_run.values())
    return replace(groups, of_run=of_run, names=[name for name in groups.names if name in present])


def lines(
    log: LiveLog, tag: str, of_group: Mapping[str, Sequence[str]], x: str, by: float, band: str
) -> Iterator[tuple[str, GroupLine]]:
    """The statistics of each group, one after another; cached until one of its runs changes."""
    ranked = band == "quantiles"
    for name, runs in of_group.items():
        key = (tag, x, by, ranked, log.version_of(runs))
        make = partial(_line, log, tag, runs, x, by, ranked)
        yield name, log.cache.of("groups", key, make, weight=lambda line: len(line.x), limit=_KEPT)


def _line(log: LiveLog, tag: str, runs: Sequence[str], x: str, by: float, ranked: bool) -> GroupLine:
    """As in `tbq plot`: points with equal steps are averaged; along another axis, so are their x."""
    moments, places = merged([]), merged([])
    every: list[tuple[NDArray[np.int64], Floats]] = []
    for batch in _batches(log, tag, runs, x, by):
        moments = merged([moments, Moments.of_runs([(steps, values) for steps, _, values in batch])])
        if x != "step":
            places = merged([places, Moments.of_runs([(steps, xs) for steps, xs, _ in batch])])
        if ranked:
            every += [(steps, values) for steps, _, values in batch]
    at = moments.step.astype(np.float64) if x == "step" else places.mean
    of_ranks = quartiles(every) if ranked else None
    if len(at) and (np.diff(at) < 0).any():
        order = np.argsort(at, kind="stable")
        at, moments = at[order], moments.reordered(order)
        of_ranks = None if of_ranks is None else of_ranks[:, order]
    return GroupLine(at, moments, of_ranks)


def _batches(
    log: LiveLog, tag: str, runs: Sequence[str], x: str, by: float
) -> Iterator[list[tuple[NDArray[np.int64], Floats, Floats]]]:
    """Steps, x and values of each run, a few runs at a time."""
    held: list[tuple[Any, Any, Any]] = []
    for place, run in enumerate(runs):
        series = points_along(log, run, tag, x)
        value = smooth_values(series.values, by) if by else series.values
        steps, at = series.steps, series.x
        if x != "step":
            known = ~np.isnan(at)
            steps, at, value = steps[known], at[known], value[known]
        held.append((steps, at, value))
        if sum(len(each[0]) for each in held) >= _BATCH or place == len(runs) - 1:
            yield held
            held = []
