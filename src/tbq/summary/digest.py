"""The data of a summary, read a few runs at a time: statistics of scalars, hyperparameters, and the tags."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tbq.columns.codes import values_of
from tbq.decode.options import DecodeOptions, Reading
from tbq.kinds.values import Values
from tbq.summary.statistics import Statistic, statistics

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.decode.reader import Reader
    from tbq.source import Run

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
        """Read these runs. With a range of steps, read twice: the range does not apply to hyperparameters."""
        digest = cls(stats, keep)
        on_error = reading.get("on_error", "warn")
        columns = ("run", "tag", "step", "value")
        if steps is None:
            options = DecodeOptions.of(reading, columns=columns)
            for part, result in reader.in_groups(runs, ["scalars", "hparams"], options, on_error):
                digest._add_scalars(reader.scalars(result, part))
                digest._add_others(Values(reader, "hparams", result, part, None, "ignore"))
            return digest
        options = DecodeOptions.of(reading, columns=columns, steps=steps)
        for part, result in reader.in_groups(runs, ["scalars"], options, on_error):
            digest._add_scalars(reader.scalars(result, part))
        for part, result in reader.in_groups(runs, ["hparams"], DecodeOptions.of(reading), "ignore"):
            digest._add_others(Values(reader, "hparams", result, part, None, "ignore"))
        return digest

    def _add_scalars(self, scalars: pa.Table) -> None:
        runs, of_tags = statistics(scalars, self._stats)
        self._parts.append((runs, {(each.tag, each.stat): each.values for each in of_tags}))
        self._rows += len(scalars)
        if self._rows > self._keep:
            self._scalars = None
        elif self._scalars is not None:
            self._scalars.append(scalars)

    def _add_others(self, hparams: Values) -> None:
        self._hparams.append(hparams.arrow())
        self._series.append(hparams.series().select(_SERIES))

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
        kinds: dict[str, set[str]] = {}
        for series in self._series:
            for tag, kind in zip(values_of(series["tag"]), values_of(series["kind"]), strict=True):
                kinds.setdefault(tag, set()).add(kind)
        return kinds

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
