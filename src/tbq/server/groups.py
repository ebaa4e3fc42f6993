"""Groups of runs, and the mean and the band of each: over every point of every run, step by step."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from tbq.kinds.hparams import HPARAM
from tbq.plot.groups import Groups
from tbq.query.groups import Grouping, group_runs
from tbq.query.moments import Moments, merged
from tbq.server.points import placed, smooth_values
from tbq.server.wire import Answer, json_answer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tbq.server.params import Params
    from tbq.server.state import LiveLog

    Floats = NDArray[np.float64]

_BATCH = 200_000  # points that are reduced at once
_KEPT = 400_000  # steps of groups whose statistics are kept, 56 bytes each


class GroupLine(NamedTuple):
    """The statistics of a group along an axis, in the order of x."""

    x: Floats
    moments: Moments


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
    """The groups by `hparam.NAME`, or by a pattern of the name, as `tbq plot --by` makes them."""
    if not by.startswith(HPARAM):
        return Groups.coloured(Grouping.of_names(group_runs(runs, by, foreign=True)), dark=dark)
    with log.lock:
        known = {run: log.hparams.get(run) for run in runs}
    hparams = {run: each.values for run, each in known.items() if each}
    names = [by.removeprefix(HPARAM)]
    return Groups.coloured(Grouping.of_values(runs, names, hparams, foreign=True), dark=dark)


def lines(
    log: LiveLog, tag: str, of_group: Mapping[str, Sequence[str]], x: str, by: float
) -> Iterator[tuple[str, GroupLine]]:
    """The statistics of each group, one after another; kept until one of its runs changes, if they are not too many."""
    for name, runs in of_group.items():
        key = (tag, x, by, log.version_of(runs))
        with log.lock:
            cache: OrderedDict[Any, GroupLine] = log.caches.setdefault("groups", OrderedDict())
            line = cache.get(key)
        if line is None:
            line = _line(log, tag, runs, x, by)
            with log.lock:
                cache[key] = line
                while len(cache) > 1 and sum(len(each.x) for each in cache.values()) > _KEPT:
                    cache.popitem(last=False)
        yield name, line


def _line(log: LiveLog, tag: str, runs: Sequence[str], x: str, by: float) -> GroupLine:
    """As `tbq plot` has it: runs meet at equal steps; along another axis a step is at the mean of the runs' x there."""
    moments, places = merged([]), merged([])
    for codes, steps, xs, batch in _batches(log, tag, runs, x, by):
        moments = merged([moments, Moments.of(_table(codes, steps, batch))])
        if x != "step":
            places = merged([places, Moments.of(_table(codes, steps, xs))])
    at = moments.step.astype(np.float64) if x == "step" else places.mean
    if len(at) and (np.diff(at) < 0).any():
        order = np.argsort(at, kind="stable")
        at, moments = at[order], moments.taken(order)
    return GroupLine(at, moments)


def _batches(
    log: LiveLog, tag: str, runs: Sequence[str], x: str, by: float
) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Codes of runs, steps, x and values of some runs at a time."""
    held: list[tuple[Any, Any, Any]] = []
    for place, run in enumerate(runs):
        series = placed(log, run, tag, x)
        value = smooth_values(series.values, by) if by else series.values
        steps, at = series.steps, series.x
        if x != "step":
            there = ~np.isnan(at)
            steps, at, value = steps[there], at[there], value[there]
        held.append((steps, at, value))
        if sum(len(each[0]) for each in held) >= _BATCH or place == len(runs) - 1:
            codes = np.repeat(np.arange(len(held), dtype=np.int32), [len(each[0]) for each in held])
            steps, at, value = (np.concatenate([each[i] for each in held]) for i in range(3))
            yield codes, steps, at, value
            held = []


def _table(codes: NDArray[np.int32], steps: NDArray[np.int64], values: Floats) -> pa.Table:
    names = pa.array([str(i) for i in range(int(codes.max(initial=-1)) + 1)], pa.string())
    tag = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(len(codes), np.int32)), pa.array([""], pa.string())
    )
    return pa.table(
        {
            "run": pa.DictionaryArray.from_arrays(pa.array(codes), names),
            "tag": tag,
            "step": pa.array(steps),
            "value": pa.array(values, from_pandas=False),
        }
    )
