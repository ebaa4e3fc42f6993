"""`log.compare`: what differs between two runs: their hyperparameters, and the statistics of their scalars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tbq.arguments import choices, keywords
from tbq.decode.options import READING
from tbq.errors import UsageError
from tbq.query.groups import value_text
from tbq.select import Names, Steps, several
from tbq.summary.per_run import hyperparameters
from tbq.summary.statistics import STATS, statistics
from tbq.table.scalars import scalars as read_scalars
from tbq.table.table import Table

if TYPE_CHECKING:
    from tbq.decode.options import Reading
    from tbq.decode.reader import Reader

SCHEMA = pa.schema(
    [
        ("what", pa.string()),
        ("name", pa.string()),
        ("stat", pa.string()),
        ("a", pa.float64()),
        ("b", pa.float64()),
        ("difference", pa.float64()),
        ("relative", pa.float64()),
        ("a_text", pa.string()),
        ("b_text", pa.string()),
    ]
)


def compare(
    reader: Reader,
    a: str,
    b: str,
    stats: Sequence[str] | str = ("last", "min", "max"),
    tag: Names = None,
    steps: Steps = None,
    **reading: Unpack[Reading],
) -> Table:
    """Hyperparameters that differ, then the statistics of each scalar: `a`, `b`, b - a, and (b - a) / |a|."""
    keywords("log.compare", reading, ("stats", "tag", "steps", *READING))
    first, second = (_single(reader, name) for name in (a, b))
    if first == second:
        raise UsageError(f"both runs are {first!r}", hint="name two runs; tbq ls lists them")
    stats = choices("stats", stats, tuple(STATS))
    scalars = read_scalars(reader, tag, [first, second], steps, **reading).to_arrow()
    rows = _of_hparams(reader, first, second)
    for name in sorted(scalars["tag"].unique().to_pylist()):
        rows += _of_scalar(scalars, name, first, second, stats)
    return Table(pa.Table.from_pylist(rows, schema=SCHEMA), "comparison", logdir=reader.path)


def _single(reader: Reader, name: str) -> str:
    names = [run.name for run in reader.choose(name)]
    if len(names) > 1:
        raise several("run", names)
    return names[0]


def _of_scalar(table: pa.Table, tag: str, a: str, b: str, stats: Sequence[str]) -> list[dict[str, Any]]:
    runs, of_tag = statistics(table.filter(pc.equal(table["tag"], tag)), stats, [tag])
    place = {run: i for i, run in enumerate(runs.to_pylist())}
    rows = []
    for statistic in of_tag:
        left, right = (statistic.values[place[run]].as_py() if run in place else None for run in (a, b))
        rows.append(
            _row("scalar", tag, statistic.stat, *(None if v is None else float(v) for v in (left, right)))
        )
    return rows


def _row(what: str, name: str, stat: str | None, a: float | None, b: float | None) -> dict[str, Any]:
    difference = relative = None
    if a is not None and b is not None:
        with np.errstate(all="ignore"):
            difference = float(np.float64(b) - np.float64(a))
            relative = float(np.float64(difference) / abs(np.float64(a))) if a != 0 else None
    return {
        "what": what, "name": name, "stat": stat, "a": a, "b": b, "difference": difference, "relative": relative,
    }  # fmt: skip


def _of_hparams(reader: Reader, a: str, b: str) -> list[dict[str, Any]]:
    """The hyperparameters with different values, or that only one run has."""
    hparams = hyperparameters(reader, [a, b])
    rows = []
    for name in sorted(set(hparams[a]) | set(hparams[b])):
        left, right = hparams[a].get(name), hparams[b].get(name)
        if left == right or (left != left and right != right):  # NaN in both runs is not a difference
            continue
        row = _row("hparam", name, None, _number(left), _number(right))
        row["a_text"], row["b_text"] = _text(left), _text(right)
        rows.append(row)
    return rows


def _text(value: Any) -> str | None:
    return None if value is None else value_text(value)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
