"""`Index`: the series of each run, as columns, so that 1,500 runs with 300 tags each take a few megabytes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tbq.text import natural

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tbq.following.view import LatestOfRun

    Joined = tuple[NDArray[np.int32], NDArray[np.int16], NDArray[np.int32], NDArray[np.int32]]


class RunSeries(NamedTuple):
    """The series of one run: codes of tags and kinds, number of rows, last step and last value."""

    tag: NDArray[np.int32]
    kind: NDArray[np.int16]
    rows: NDArray[np.int64]
    step: NDArray[np.int64]
    value: NDArray[np.float64]  # NaN unless it is a scalar
    takeovers: dict[int, list[tuple[int, float]]]  # of scalars, by the code of the tag


class Index:
    """The series of all runs. Each name of a tag or kind is stored once."""

    def __init__(self) -> None:
        self.tags: list[str] = []
        self.kinds: list[str] = []
        self._tag_codes: dict[str, int] = {}
        self._kind_codes: dict[str, int] = {}
        self.of_run: dict[str, RunSeries] = {}
        self._all: Any = None  # see _joined
        self._order: list[str] = []
        self.first_seen: dict[int, str] = {}  # code of a new tag → the first run that has it

    def update(self, run: str, latest: LatestOfRun) -> None:
        """Apply a poll's result for one run."""
        self._all = None
        series = latest.series
        tags = np.fromiter((self._code_of_tag(each.tag, run) for each in series), np.int32, len(series))
        kinds = np.fromiter((self._code_of_kind(each.kind) for each in series), np.int16, len(series))
        scalars = self._kind_codes.get("scalars", -1)
        values = np.fromiter((each.value for each in series), np.float64, len(series))
        values[kinds != scalars] = np.nan
        self.of_run[run] = RunSeries(
            tags,
            kinds,
            np.fromiter((each.rows for each in series), np.int64, len(series)),
            np.fromiter((each.step for each in series), np.int64, len(series)),
            values,
            {
                int(tag): each.takeovers
                for tag, each in zip(tags.tolist(), series, strict=True)
                if each.takeovers and each.kind == "scalars"
            },
        )

    def forget(self, runs: Iterable[str]) -> None:
        """Remove these runs."""
        self._all = None
        for run in runs:
            self.of_run.pop(run, None)

    def code(self, tag: str) -> int:
        """The code of a tag; -1 if no run ever had it."""
        return self._tag_codes.get(tag, -1)

    def kind_code(self, kind: str) -> int:
        return self._kind_codes.get(kind, -1)

    def having(self, kind: str, tag: str, runs: Iterable[str]) -> list[str]:
        """The runs that have a series of this kind and tag."""
        having = self._of_tag(kind, tag)
        return [run for run in runs if run in having]

    def last(self, tag: str) -> dict[str, float]:
        """The last value of a scalar tag in each run that has it."""
        places = self._of_tag("scalars", tag)
        return {run: float(self.of_run[run].value[place]) for run, place in places.items()}

    def _of_tag(self, kind: str, tag: str) -> dict[str, int]:
        """The runs that have this series, and its position among the series of the run."""
        of_tag, of_kind = self.code(tag), self.kind_code(kind)
        if of_tag < 0 or of_kind < 0:
            return {}
        tags, kinds, runs, places = self._joined()
        begin, end = np.searchsorted(tags, [of_tag, of_tag + 1])
        rows = begin + np.flatnonzero(kinds[begin:end] == of_kind)
        return dict(
            zip((self._order[run] for run in runs[rows].tolist()), places[rows].tolist(), strict=True)
        )

    def _joined(self) -> Joined:
        """All series, sorted by tag: codes of tag and kind, number of the run, position in the run."""
        if self._all is None:
            self._order = list(self.of_run)
            sizes = [len(series.tag) for series in self.of_run.values()]
            tags = np.concatenate([np.zeros(0, np.int32), *(series.tag for series in self.of_run.values())])
            kinds = np.concatenate([np.zeros(0, np.int16), *(series.kind for series in self.of_run.values())])
            runs = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
            places = np.concatenate([np.zeros(0, np.int32), *(np.arange(n, dtype=np.int32) for n in sizes)])
            order = np.argsort(tags, kind="stable")
            self._all = tags[order], kinds[order], runs[order], places[order]
        joined: Joined = self._all
        return joined

    def takeovers(self, run: str, tag: str) -> list[tuple[int, float]]:
        """Step and wall time of the first row of each later session of a scalar."""
        series = self.of_run.get(run)
        return [] if series is None else series.takeovers.get(self.code(tag), [])

    def rows_of(self, run: str, tag: str | None = None) -> int:
        """How many values a run has, of all tags or of one scalar tag."""
        series = self.of_run.get(run)
        if series is None:
            return 0
        if tag is None:
            return int(series.rows.sum())
        wanted = (series.tag == self.code(tag)) & (series.kind == self.kind_code("scalars"))
        return int(series.rows[wanted].sum())

    def count_tags(self) -> int:
        """The number of tags."""
        tags = self._joined()[0]
        return int(np.count_nonzero(np.diff(tags))) + bool(len(tags))

    def totals(self, of_runs: Iterable[str] | None = None) -> list[tuple[str, dict[str, int], int]]:
        """Each tag of these runs (default: all), with the number of runs by kind and of rows; in natural order."""
        chosen: Collection[RunSeries] = self.of_run.values()
        if of_runs is not None:
            chosen = [self.of_run[run] for run in of_runs if run in self.of_run]
        if not chosen:
            return []
        tags = np.concatenate([series.tag for series in chosen])
        kinds = np.concatenate([series.kind for series in chosen])
        rows = np.concatenate([series.rows for series in chosen])
        count = max(len(self.kinds), 1)
        runs = np.bincount(tags.astype(np.int64) * count + kinds, minlength=len(self.tags) * count)
        total = np.bincount(tags, rows.astype(np.float64), minlength=len(self.tags))
        totals = []
        for tag in np.unique(tags).tolist():
            of_tag = runs[tag * count : (tag + 1) * count].tolist()
            by_kind = {kind: n for kind, n in zip(self.kinds, of_tag, strict=True) if n}
            totals.append((self.tags[tag], by_kind, int(total[tag])))
        return sorted(totals, key=lambda each: (natural(each[0]), each[0]))

    def _code_of_tag(self, tag: str, run: str) -> int:
        code = self._tag_codes.get(tag)
        if code is None:
            code = self._tag_codes[tag] = len(self.tags)
            self.tags.append(tag)
            self.first_seen[code] = run
        return code

    def _code_of_kind(self, kind: str) -> int:
        code = self._kind_codes.get(kind)
        if code is None:
            code = self._kind_codes[kind] = len(self.kinds)
            self.kinds.append(kind)
        return code
