"""`log.lazy(kind)`: a table as a polars LazyFrame; its filters, columns and limits reach the native reader."""

from __future__ import annotations

import operator
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, Unpack

from tbq.arguments import keywords
from tbq.decode.options import READING, Reading
from tbq.errors import missing
from tbq.kinds.overview import OVERVIEWS
from tbq.query.prune import Matching
from tbq.query.scanning import Question, Scan, Scanning, in_groups, relative
from tbq.select import MAX_STEP, MIN_STEP, Selection

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

    from tbq.decode.reader import Reader


def lazy(
    reader: Reader,
    kind: str = "scalars",
    relative_time: bool = False,
    on_scan: Callable[[Scan], object] | None = None,
    **reading: Unpack[Reading],
) -> pl.LazyFrame:
    """A frame that decodes a few runs at a time when collected, and only the rows that it needs."""
    try:
        from polars.io.plugins import register_io_source
    except ImportError:
        raise missing("polars", needed_for="log.lazy()", extra="polars") from None
    keywords("log.lazy", reading, ("kind", "relative_time", *READING))
    scanning = Scanning(on_scan=on_scan, warned=reader.warned, **reading)
    extra = relative(kind, relative_time)
    empty = _frame(Question(kind, [], extra=extra).schema.empty_table())

    def source(
        columns: list[str] | None, predicate: pl.Expr | None, limit: int | None, _size: int | None
    ) -> Iterator[pl.DataFrame]:
        remaining = limit
        with closing(_tables(reader, kind, columns, predicate, scanning, empty, extra)) as tables:
            for table in tables:
                if remaining is not None:
                    table = table.slice(0, remaining)
                    remaining -= table.num_rows
                frame = _frame(table)
                if predicate is not None:
                    frame = frame.filter(predicate)
                yield frame if columns is None else frame.select(columns)
                if remaining == 0:
                    return

    return register_io_source(source, schema=empty.schema)


def _frame(table: pa.Table) -> pl.DataFrame:
    import polars as pl

    frame = pl.from_arrow(table.unify_dictionaries())
    assert isinstance(frame, pl.DataFrame)
    return frame


def _tables(
    reader: Reader,
    kind: str,
    columns: list[str] | None,
    predicate: pl.Expr | None,
    scanning: Scanning,
    empty: pl.DataFrame,
    extra: dict[str, tuple[Any, ...]],
) -> Generator[pa.Table, None, None]:
    if kind in OVERVIEWS:
        yield scanning.overview(reader, kind)
        return
    parts = list(conjuncts(predicate)) if predicate is not None else []
    names = set(_passing(parts, "run", reader.names, empty))
    runs = [run for run in reader.runs if run.name in names]
    seen: dict[str, bool] = {}
    tags = Selection(None)
    if any(_only(part, "tag") for part in parts):

        def test(tag: str) -> bool:
            seen[tag] = bool(_passing(parts, "tag", [tag], empty))
            return seen[tag]

        tags = Matching((), test=test)
    steps = step_range(parts)
    if steps[0] > steps[1]:
        runs = []
    wanted = None
    if columns is not None:
        wanted = tuple({*columns, *(predicate.meta.root_names() if predicate is not None else ())})
    question = Question(kind, runs, tags, steps, wanted, extra, seen)
    with closing(in_groups(reader, question, scanning)) as tables:
        yield from tables


def conjuncts(predicate: pl.Expr) -> Iterator[pl.Expr]:
    """The parts that must all hold. A part counts only if rebuilding it gives the same expression."""
    inputs = predicate.meta.pop()
    if len(inputs) == 2:
        for left, right in (inputs, inputs[::-1]):
            if _same(left & right, predicate):
                yield from conjuncts(left)
                yield from conjuncts(right)
                return
    yield predicate


def _only(part: pl.Expr, column: str) -> bool:
    """Whether the part uses this column and no other."""
    return set(part.meta.root_names()) == {column}


def _same(first: pl.Expr, second: pl.Expr) -> bool:
    return bool(first.meta.eq(second))


def _passing(parts: Sequence[pl.Expr], column: str, names: Sequence[str], empty: pl.DataFrame) -> list[str]:
    """The names that pass each part that uses only this column."""
    import polars as pl

    of_column = [part for part in parts if _only(part, column)]
    if not of_column:
        return list(names)
    frame = pl.DataFrame({column: list(names)}, schema={column: empty.schema[column]})
    try:
        return [str(name) for name in frame.filter(*of_column)[column].to_list()]
    except pl.exceptions.PolarsError:
        return list(names)  # the frame's own filter will raise the error


def step_range(parts: Sequence[pl.Expr]) -> tuple[int, int]:
    """The range of steps that comparisons of `step` with numbers allow."""
    first, last = MIN_STEP, MAX_STEP
    for part in parts:
        if _only(part, "step"):
            low, high = _bounds(part)
            first, last = max(first, low), min(last, high)
    return first, last


def _bounds(part: pl.Expr) -> tuple[int, int]:
    inputs = part.meta.pop()[::-1]
    numbers = [_number(each) for each in inputs]
    if len(inputs) == 2:
        left, right = inputs
        for compare, turned in _TURNED.items():
            if not _same(compare(left, right), part):
                continue
            if _is_step(left) and numbers[1] is not None:
                return _BOUNDS[compare](numbers[1])
            if _is_step(right) and numbers[0] is not None:
                return _BOUNDS[turned](numbers[0])
    if len(inputs) == 3 and _is_step(inputs[0]):
        low, high = numbers[1:]
        if low is not None and high is not None and _same(inputs[0].is_between(inputs[1], inputs[2]), part):
            return low, high
    return MIN_STEP, MAX_STEP


def _is_step(part: pl.Expr) -> bool:
    import polars as pl

    return _same(part, pl.col("step"))


_BOUNDS: dict[Any, Callable[[int], tuple[int, int]]] = {
    operator.eq: lambda n: (n, n),
    operator.ge: lambda n: (n, MAX_STEP),
    operator.gt: lambda n: (min(n, MAX_STEP - 1) + 1, MAX_STEP),
    operator.le: lambda n: (MIN_STEP, n),
    operator.lt: lambda n: (MIN_STEP, max(n, MIN_STEP + 1) - 1),
}
# The operator after swapping the sides: 5 < step is step > 5.
_TURNED: dict[Any, Any] = {
    operator.eq: operator.eq, operator.ge: operator.le, operator.gt: operator.lt, operator.le: operator.ge,
    operator.lt: operator.gt,
}  # fmt: skip


def _number(part: pl.Expr) -> int | None:
    import polars as pl

    if part.meta.root_names() or not part.meta.is_literal():
        return None
    value = pl.select(part).item()
    return value if isinstance(value, int) and not isinstance(value, bool) else None
