"""The fast path of `reduce`: adds up runs with the same steps, such as seeds, directly in memory.

The result equals that of the general path in every bit except the sign of a zero; None if the fast path does not
apply. `reduce(general_only=True)` switches it off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tbq.arrays import without_overflow
from tbq.columns.codes import codes_of, numbers, starts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Aligned:
    """The steps that the runs of each group and tag share, and the values of each run; no value is NaN."""

    blocks: list[tuple[int, Ints, list[Floats]]]  # by key, in order
    groups: list[str]
    tags: list[str]

    @cached_property
    def key(self) -> Ints:
        return self._joined([np.full(len(steps), key, np.int64) for key, steps, _ in self.blocks])

    @cached_property
    def step(self) -> Ints:
        return self._joined([steps for _, steps, _ in self.blocks])

    @cached_property
    def count(self) -> Ints:
        return self._joined([np.full(len(steps), len(runs), np.int64) for _, steps, runs in self.blocks])

    @cached_property
    def mean(self) -> Floats:
        return self._joined([without_overflow(_mean, *runs) for _, _, runs in self.blocks])

    @cached_property
    def std(self) -> Floats:
        parts = []
        at = 0
        for _, steps, runs in self.blocks:
            parts.append(without_overflow(_std, self.mean[at : at + len(steps)], *runs))
            at += len(steps)
        return self._joined(parts)

    def min(self) -> Floats:
        return self._joined([np.fmin.reduce(runs) for _, _, runs in self.blocks])

    def max(self) -> Floats:
        return self._joined([np.fmax.reduce(runs) for _, _, runs in self.blocks])

    @cached_property
    def ordered(self) -> tuple[Floats, Ints]:
        """As in the general path: the sorted values of each cell, and the start of each cell."""
        values = [np.sort(np.stack(runs, axis=1), axis=1).ravel() for _, _, runs in self.blocks]
        return self._joined(values), (np.cumsum(self.count) - self.count).astype(np.int64)

    @staticmethod
    def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def aligned(table: pa.Table, groups: Mapping[str, str]) -> Aligned | None:
    """The rows of a table, if the runs of each group have the same ascending steps, and no value is NaN."""
    if not len(table):
        return None
    run, run_names = codes_of(table.column("run"))
    tag, tag_names = codes_of(table.column("tag"))
    starts = starts_of(run, tag)
    names, known = run_names.to_pylist(), tag_names.to_pylist()
    pairs = [(names[r], known[t]) for r, t in zip(run[starts].tolist(), tag[starts].tolist(), strict=True)]
    if len(set(pairs)) < len(pairs):
        return None
    value = np.asarray(numbers(table.column("value")), np.float64)
    if np.isnan(value.max()):
        return None
    step = np.asarray(numbers(table.column("step")), np.int64)
    group_names, tags = sorted(set(groups.values())), sorted(known)
    rank = {name: i for i, name in enumerate(group_names)}
    place = {name: i for i, name in enumerate(tags)}
    runs: dict[int, list[tuple[Ints, Floats]]] = {}
    ends = np.append(starts[1:], len(run))
    for (name, of_tag), start, end in zip(pairs, starts.tolist(), ends.tolist(), strict=True):
        if name in groups:
            key = rank[groups[name]] * max(len(tags), 1) + place[of_tag]
            runs.setdefault(key, []).append((step[start:end], value[start:end]))
    blocks = []
    for key in sorted(runs):
        steps = _shared_steps(runs[key])
        if steps is None:
            return None
        blocks.append((key, steps, [values for _, values in runs[key]]))
    return Aligned(blocks, group_names, tags) if blocks else None


def aligned_runs(runs: Sequence[tuple[Ints, Floats]]) -> Aligned | None:
    """The same for the steps and values of some runs, none of them empty: one group, one tag."""
    if any(np.isnan(values.max()) for _, values in runs):
        return None
    steps = _shared_steps(runs)
    return None if steps is None else Aligned([(0, steps, [values for _, values in runs])], [""], [""])


def _shared_steps(runs: Sequence[tuple[Ints, Floats]]) -> Ints | None:
    """The steps of these runs, if they are the same and ascending."""
    steps = runs[0][0]
    if (steps[1:] <= steps[:-1]).any():
        return None
    return steps if all(np.array_equal(steps, each) for each, _ in runs[1:]) else None


def _mean(*runs: Floats) -> Floats:
    """Added in the order of rows, from zero, as `bincount` adds."""
    total = np.zeros(len(runs[0]))
    for run in runs:
        total += run
    return total / len(runs)


def _std(mean: Floats, *runs: Floats) -> Floats:
    total = np.zeros(len(mean))
    for run in runs:
        off = run - mean
        off *= off
        total += off
    return np.asarray(np.sqrt(total / np.float64(len(runs) - 1)))
