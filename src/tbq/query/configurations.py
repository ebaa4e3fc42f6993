"""Configurations from the best to the worst: one row per group of runs, with the spread over its seeds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import pyarrow as pa

from tbq.arguments import choices, mapping, whole
from tbq.columns.codes import values_of
from tbq.columns.names import distinct
from tbq.columns.rows import take
from tbq.errors import UsageError, collected_warnings, warn
from tbq.kinds.hparams import HPARAM
from tbq.kinds.hparams import column as hparam_column
from tbq.query import student
from tbq.query.groups import Grouping
from tbq.query.over_runs import over_runs
from tbq.query.reduce import reduce
from tbq.summary.leaderboard import leaderboard, no_order, ranked
from tbq.summary.statistics import STATS
from tbq.summary.table import SummaryTable
from tbq.table.sort import sort_key, sorted_rows
from tbq.table.table import Table
from tbq.text import counted, natural, printable, some

if TYPE_CHECKING:
    from tbq.decode.options import Selected
    from tbq.decode.reader import Reader
    from tbq.select import Names

_CLOSE = (0.01, 0.1)  # with other seeds, a p between these is often on the other side of 0.05
_STATS = ("mean", "std", "ci95", "min", "max")


@dataclass(frozen=True)
class Configuration:
    """One group: over the best values of its runs, their number and statistics; `left_out` have no finite one."""

    name: str
    n: int
    left_out: int
    mean: float | None = None
    std: float | None = None
    ci95: float | None = None
    min: float | None = None
    max: float | None = None

    def p(self, first: Configuration) -> float | None:
        """Welch's p of the difference from the first configuration; None if it cannot be computed."""
        if self is first or self.n < 2 or first.n < 2:
            return None
        (a, a_std, b, b_std) = (first.mean, first.std, self.mean, self.std)
        assert a is not None and a_std is not None and b is not None and b_std is not None
        return student.welch((a, a_std, first.n), (b, b_std, self.n))


@dataclass(frozen=True)
class Ranking:
    """The configurations from the best to the worst, and what `tag` and `way` say which is better."""

    tag: str
    way: str
    rows: Sequence[Configuration]
    grouping: Grouping
    values: Mapping[str, float | None]  # by run; None or absent if the run lacks the tag
    states: Mapping[str, str | None]  # by run, as far as they are known

    @classmethod
    def of(
        cls,
        tag: str,
        way: str,
        values: Mapping[str, float | None],
        grouping: Grouping,
        states: Mapping[str, str | None] | None = None,
    ) -> Ranking:
        """Rank the groups of runs by the mean of the runs' values; groups without a finite value come last.

        >>> groups = Grouping.of_names({"a/0": "a", "a/1": "a", "b/0": "b"})
        >>> board = Ranking.of("loss", "min", {"a/0": 3.0, "a/1": 5.0, "b/0": 1.0}, groups)
        >>> [(row.name, row.n, row.mean) for row in board.rows]
        [('b', 1, 1.0), ('a', 2, 4.0)]
        """
        finite = {run: value for run, value in values.items() if value is not None and math.isfinite(value)}
        counted_runs = {run: group for run, group in grouping.of_run.items() if run in finite}
        table = pa.table(
            {
                "run": pa.array(list(counted_runs), pa.string()),
                "tag": pa.array([tag] * len(counted_runs), pa.string()),
                "step": pa.array([0] * len(counted_runs), pa.int64()),
                "value": pa.array([finite[run] for run in counted_runs], pa.float64()),
            }
        )
        statistics = {row["group"]: row for row in reduce(table, counted_runs, _STATS).to_pylist()}
        sizes = Counter(grouping.of_run.values())
        rows = []
        for name in grouping.names:
            known = statistics.get(name)
            if known is None:
                rows.append(Configuration(name, 0, sizes[name]))
            else:
                numbers = (known[stat] for stat in _STATS)
                rows.append(Configuration(name, known["n"], sizes[name] - known["n"], *numbers))
        sign = -1 if way == "max" else 1
        rows.sort(key=lambda row: (row.mean is None, sign * (row.mean or 0.0)))
        return cls(tag, way, rows, grouping, values, states or {})

    @property
    def verdict(self) -> str:
        """Whether the first two configurations differ beyond chance; then a line per state of runs that ended badly."""
        return self.verdict_with(printable)

    def verdict_with(self, name: Callable[[str], str]) -> str:
        """The verdict, with the names of configurations, runs and the tag as `name` writes them."""
        return "\n".join(map(printable, [self._comparison(name), *self._early(name)]))

    def _early(self, name: Callable[[str], str]) -> Iterator[str]:
        """One line each for the diverged and the crashed runs that count nevertheless."""
        for state, when in (("diverged", "from before"), ("crashed", "until then")):
            runs = [
                run
                for run in self.grouping.of_run
                if self.states.get(run) == state
                and (value := self.values.get(run)) is not None
                and math.isfinite(value)
            ]
            if runs:
                counts = "its best value" if len(runs) == 1 else "their best values"
                yield (
                    f"{counted(len(runs), 'run')} {state} ({some([name(run) for run in runs])}): {counts} {when} "
                    f"count{'s' * (len(runs) == 1)}"
                )

    def _comparison(self, name: Callable[[str], str]) -> str:
        known = [row for row in self.rows if row.n]
        if not known:
            return f"no configuration has a finite {name(self.tag)}"
        if len(known) == 1:
            return f"{name(known[0].name)} is the only configuration with a finite {name(self.tag)}"
        first, second = known[:2]
        a, b = (f"({name(row.name)})" if ", " in row.name else name(row.name) for row in (first, second))
        numbers = f"{first.n:,} and {counted(second.n, 'run')}"
        if min(first.n, second.n) < 2:
            return (
                f"whether {a} and {b} differ beyond chance cannot be said from {numbers}: "
                "each needs two or more, e.g. with other seeds"
            )
        p = second.p(first)
        if p is None:
            return (
                f"whether {a} and {b} differ beyond chance cannot be said: "
                f"neither has any spread ({numbers}); were the seeds different?"
            )
        differ = "differ" if p < student.BEYOND_CHANCE else "do not differ"
        of_all = f", the best 2 of {len(known):,} configurations" if len(known) > 2 else ""
        close = "; p is near 0.05: new seeds of both would settle it" if _CLOSE[0] < p < _CLOSE[1] else ""
        return f"{a} and {b} {differ} beyond chance: p = {p:.2g} (Welch's t-test, {numbers}{of_all}){close}"

    def arrow(self) -> pa.Table:
        """One row per configuration: what defines it, its statistics, and how many runs do not count."""
        if self.grouping.params:
            names = distinct([(f"{HPARAM}{name}", HPARAM) for name in self.grouping.params])
            of_rows = [self.grouping.values[row.name] for row in self.rows]
            table = pa.table(
                {name: hparam_column([row[i] for row in of_rows]) for i, name in enumerate(names)}
            )
        else:
            table = pa.table({"group": pa.array([row.name for row in self.rows], pa.string())})
        statistics = self.statistics()
        for name in statistics.column_names:
            table = table.append_column(name, statistics[name])
        return table.append_column("left_out", pa.array([row.left_out for row in self.rows], pa.int64()))

    def statistics(self) -> pa.Table:
        """One row per configuration: `n, mean, std, ci95, p, best, worst`."""
        rows, least = self.rows, self.way == "min"
        numbers = {
            "mean": [row.mean for row in rows],
            "std": [row.std for row in rows],
            "ci95": [row.ci95 for row in rows],
            "p": [row.p(rows[0]) for row in rows],
            "best": [row.min if least else row.max for row in rows],
            "worst": [row.max if least else row.min for row in rows],
        }
        columns = {"n": pa.array([row.n for row in rows], pa.int64())}
        return pa.table(columns | {name: pa.array(each, pa.float64()) for name, each in numbers.items()})

    def warn_of_left_out(self) -> None:
        """Warn about runs that have no finite value, and so do not count."""
        grouped = [self.values.get(run) for run in self.grouping.of_run]
        absent = sum(value is None for value in grouped)
        odd = sum(value is not None and not math.isfinite(value) for value in grouped)
        if not absent + odd:
            return
        why = [f"{odd:,} not finite"] * bool(odd) + [f"{absent:,} without a value"] * bool(absent)
        groups = [
            f"{row.left_out:,} of {row.n + row.left_out:,} in {row.name}" for row in self.rows if row.left_out
        ]
        more = f" and {len(groups) - 3:,} more groups" if len(groups) > 3 else ""
        warn(
            f"{absent + odd:,} of {counted(len(grouped), 'run')} left out, because {self.tag} has no finite best value "
            f"({', '.join(why)}): {'; '.join(groups[:3])}{more}"
        )


def single(best: Mapping[str, str] | None) -> tuple[str, str]:
    """The one metric that ranks configurations, and which of its values is better."""
    ways = mapping("best", best or {}, "{'val/loss': 'min'}")
    if len(ways) != 1:
        raise UsageError(
            f"by: want one metric that ranks the configurations, got {len(ways)}",
            hint="add best={'val/loss': 'min'} (--best val/loss:min)"
            if not ways
            else "name one of them as best",
        )
    return next(iter(ways.items()))


def board(reader: Reader, by: str | Sequence[str], best: Mapping[str, str] | None, **options: Any) -> Ranking:
    """Read the best value of each run, and rank the groups; options as in `log.summary`."""
    tag, way = single(best)
    table = leaderboard(reader, best={tag: way}, media=False, **options)
    arrow = table.to_arrow()
    values = dict(zip(values_of(arrow["run"]), values_of(arrow[table.best[tag][0]]), strict=True))
    states = dict(zip(values_of(arrow["run"]), values_of(arrow["state"]), strict=True))
    return Ranking.of(tag, way, values, Grouping.of(sorted(values, key=natural), by, reader), states)


def configurations(
    reader: Reader,
    by: str | Sequence[str],
    best: Mapping[str, str] | None,
    sort: Sequence[str] | str = (),
    top: int | None = None,
    tag: Names = None,
    stats: Sequence[str] | str = ("last",),
    media: bool = False,
    **options: Any,
) -> SummaryTable:
    """One row per configuration, the best first, then sorted by columns; see `log.summary`."""
    others = {
        "tag": tag is not None,
        "stats": choices("stats", stats, tuple(STATS)) != ["last"],
        "media": media,
    }
    for name in (name for name, chosen in others.items() if chosen):
        hint = f"omit {name}, --{name.rstrip('s')}"
        raise UsageError(f"{name}: with by, the columns are the statistics of one metric", hint=hint)
    result = board(reader, by, best, **options)
    result.warn_of_left_out()
    keys = [sort] if isinstance(sort, str) else sort
    table = SummaryTable(ranked(result.arrow(), keys, top=top), "configurations", logdir=reader.path)
    table.verdict = result.verdict
    return table


def reduced(
    reader: Reader,
    by: str | Sequence[str],
    stats: str | Sequence[str],
    tag: Names = None,
    best: Mapping[str, str] | None = None,
    sort: Sequence[str] | str = (),
    top: int | None = None,
    **selected: Unpack[Selected],
) -> Table:
    """The table of `log.reduce`: its groups from the best to the worst, and its rows sorted."""
    if top is not None and not best and not sort:
        raise no_order("groups")
    table = over_runs(reader, by, stats, tag, **selected)[0]
    order = None
    if best:
        with collected_warnings():  # `over_runs` has reported the runs without a group
            result = board(reader, by, best, **{**selected, "on_error": "ignore"})
        result.warn_of_left_out()
        order = [row.name for row in result.rows]
    arrow = ranked_groups(table.to_arrow(), order, [sort] if isinstance(sort, str) else sort, top)
    return Table(arrow, table.kind, logdir=table.logdir)


def ranked_groups(
    table: pa.Table, order: Sequence[str] | None, sort: Sequence[str] = (), top: int | None = None
) -> pa.Table:
    """The rows with the groups in this order, then sorted by columns; `top` limits the number of groups.

    >>> import pyarrow as pa
    >>> table = pa.table({"group": ["a", "a", "b", "c"], "step": [0, 1, 0, 0], "mean": [3.0, 2.0, 1.0, 5.0]})
    >>> ranked_groups(table, None, ["mean"], top=2)["group"].to_pylist()
    ['b', 'a', 'a']
    """
    if order is not None:
        place = {name: i for i, name in enumerate(order)}
        of_row = list(values_of(table["group"]))
        table = take(table, sorted(range(len(of_row)), key=lambda row: place[of_row[row]]))
    table = sorted_rows(table, [sort_key(each, table.column_names) for each in sort])
    if top is None:
        return table
    of_row = list(values_of(table["group"]))
    first = set(list(dict.fromkeys(of_row))[: whole("top", top, least=1)])
    return take(table, [row for row, name in enumerate(of_row) if name in first])
