"""The data of a summary, read a few runs at a time: statistics of scalars, hyperparameters, tags, and states."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tbq.arrow import to_pyarrow
from tbq.columns.codes import values_of
from tbq.decode.options import DecodeOptions, Reading
from tbq.kinds.run_states import RunFacts, facts_of, states_now, totals_of
from tbq.kinds.values import Values, kinds_of
from tbq.summary.statistics import Statistic, statistics

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq._core import Result
    from tbq.decode.reader import Reader
    from tbq.source import Run
    from tbq.states import State

_SERIES = ("run", "tag", "kind", "count")


class Digest:
    """Statistics of every scalar tag of each run, the rows of hyperparameters, and every tag with its kind.

    `scalars` holds the rows themselves as long as they are few; then None.
    """

    def __init__(self, stats: Sequence[str], keep: int) -> None:
        self._stats = list(stats)
        self._keep = keep
        self._parts: list[tuple[pa.Array, dict[tuple[str, str], pa.Array]]] = []
        self._scalars: list[pa.Table] | None = []
        self._rows = 0
        self._hparams: list[pa.Table] = []
        self._series: list[pa.Table] = []
        self._stored: pa.Table | None = None  # the `runs` table of a lake, which has the states
        self._facts: dict[str, RunFacts] = {}
        self._resumed: list[Run] = []
        self.states: dict[str, State | None] = {}

    @classmethod
    def read(
        cls,
        reader: Reader,
        runs: Sequence[Run],
        stats: Sequence[str],
        steps: tuple[int, int] | None,
        keep: int,
        reading: Reading,
    ) -> Digest:
        """Read these runs; twice if `steps` selects a range, because hyperparameters and states ignore it."""
        digest = cls(stats, keep)
        digest._stored = reader.stored_overview("runs")
        digest._read(reader, runs, steps, reading)
        digest.states = digest._states(reader, runs, reading)
        return digest

    def _read(
        self, reader: Reader, runs: Sequence[Run], steps: tuple[int, int] | None, reading: Reading
    ) -> None:
        on_error = reading.get("on_error", "warn")
        columns = ("run", "tag", "step", "value")
        if steps is None:
            options = DecodeOptions.of(reading, columns=columns)
            for part, result in reader.in_groups(runs, ["scalars", "hparams"], options, on_error):
                self._add_scalars(to_pyarrow(reader.scalars(result, part)))
                self._add_others(reader, part, result)
            return
        options = DecodeOptions.of(reading, columns=columns, steps=steps)
        for part, result in reader.in_groups(runs, ["scalars"], options, on_error):
            self._add_scalars(to_pyarrow(reader.scalars(result, part)))
        for part, result in reader.in_groups(runs, ["hparams"], DecodeOptions.of(reading), "ignore"):
            self._add_others(reader, part, result)

    def _add_scalars(self, scalars: pa.Table) -> None:
        runs, of_tags = statistics(scalars, self._stats)
        self._parts.append((runs, {(each.tag, each.stat): each.values for each in of_tags}))
        self._rows += len(scalars)
        if self._rows > self._keep:
            self._scalars = None
        elif self._scalars is not None:
            self._scalars.append(scalars)

    def _add_others(self, reader: Reader, part: Sequence[Run], result: Result) -> None:
        hparams = Values(reader, "hparams", result, part, None, "ignore")
        self._hparams.append(hparams.arrow())
        series = hparams.series()
        self._series.append(series.select(_SERIES))
        if self._stored is None:
            self._facts |= facts_of([run.name for run in part], result, totals_of(series, len(part)))
            several = {report.run for report in result.files if report.sessions > 1}
            self._resumed += [
                run
                for index, run in enumerate(part)
                if index in several or len(run.files) - len(run.below) > 1
            ]

    def _states(self, reader: Reader, runs: Sequence[Run], reading: Reading) -> dict[str, State | None]:
        """The states of these runs. Siblings are looked for among these runs only."""
        if self._stored is not None:
            known = dict(zip(values_of(self._stored["run"]), values_of(self._stored["state"]), strict=True))
            return {run.name: known[run.name] for run in runs}
        states: dict[str, State | None] = {**states_now(self._facts)}
        # Without the times of values, pauses are only upper bounds, so an active run may have ended. The last step of a
        # resumed run may belong to a row that the restart removed, which matters if the run has no end mark. Such runs
        # are read again.
        least = states_now(
            {
                name: facts._replace(pause=0.0)
                for name, facts in self._facts.items()
                if states[name] in ("running", "stalled")
            }
        )
        resumed = {run.name for run in self._resumed}
        unsure = [
            run
            for run in runs
            if least.get(run.name, states[run.name]) != states[run.name]
            or (
                run.name in resumed
                and states[run.name] in ("finished", "crashed")
                and not self._facts[run.name].ends.end
            )
        ]
        if unsure:
            options = DecodeOptions.of(reading)
            for part, result in reader.in_groups(unsure, [], options, "ignore", count=True):
                names = [run.name for run in part]
                self._facts |= facts_of(names, result, totals_of(result.series(names), len(names)))
            states |= states_now(self._facts)
        return states

    @property
    def scalars(self) -> pa.Table | None:
        return None if self._scalars is None else _joined(self._scalars)

    @property
    def hparams(self) -> pa.Table:
        return _joined(self._hparams)

    @property
    def series(self) -> pa.Table:
        """`run, tag, kind, count` of everything in the log."""
        return _joined(self._series)

    @property
    def tags(self) -> set[str]:
        """The tags of scalars."""
        return {tag for _, columns in self._parts for tag, _ in columns}

    def kinds(self) -> dict[str, set[str]]:
        """The kinds of each tag."""
        return kinds_of(self.series)

    def runs(self) -> list[str]:
        """The runs with scalars, in order."""
        return [name for runs, _ in self._parts for name in runs.to_pylist()]

    def statistics(self, stats: Iterable[str], tags: Sequence[str] | None = None) -> list[Statistic]:
        """The statistics of these tags in their order, or of all by name: one value per run of `runs()`."""
        names = sorted(self.tags) if tags is None else dict.fromkeys(tags)
        return [Statistic(tag, stat, self._column(tag, stat)) for tag in names for stat in stats]

    def _column(self, tag: str, stat: str) -> pa.Array:
        import pyarrow as pa

        of_parts = [columns.get((tag, stat)) for _, columns in self._parts]
        kind = next((each.type for each in of_parts if each is not None), None) or _type_of(stat)
        arrays = [
            pa.nulls(len(runs), kind) if each is None else each
            for (runs, _), each in zip(self._parts, of_parts, strict=True)
        ]
        return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)


def _type_of(stat: str) -> pa.DataType:
    from tbq.schema import schema

    _, (nothing,) = statistics(schema("scalars").empty_table(), [stat], ["none"])
    return nothing.values.type


def _joined(tables: Sequence[pa.Table]) -> pa.Table:
    import pyarrow as pa

    return tables[0] if len(tables) == 1 else pa.concat_tables(tables).unify_dictionaries().combine_chunks()
