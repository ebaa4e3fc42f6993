"""Whatever the filter: what reaches the reader must never change the answer."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import duckdb
import logs
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

import tbq
from tbq.query import scanning as reading
from tbq.query.dataset import LogDataset
from tbq.query.scanning import Scan, Scanning
from tbq.schema import schema

RUNS = ["a", "b/1", "b/2"]
TAGS = ["loss", "lr", "val/loss"]
STEPS = range(-3, 6)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> tbq.LogDir:
    curves = {
        run: {tag: logs.line(STEPS[: 9 - i - j], 0.5, i - j) for j, tag in enumerate(TAGS)}
        for i, run in enumerate(RUNS)
    }
    return tbq.open(logs.write(tmp_path_factory.mktemp("pushdown"), curves))


@pytest.fixture(scope="module")
def everything(log: tbq.LogDir) -> pa.Table:
    return log.scalars().to_arrow()


names = {"run": st.sampled_from([*RUNS, "c"]), "tag": st.sampled_from([*TAGS, "nowhere", ""])}
numbers = {"step": st.integers(-5, 8), "value": st.sampled_from([-2.0, 0.0, 0.5, 1.0, 9.0])}
columns = st.sampled_from(["run", "tag", "step", "value"])


@st.composite
def leaf(draw: Any) -> tuple[str, str, Any]:
    column = draw(columns)
    value = names.get(column, numbers.get(column))
    how = draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "in", "between", "is not null"]))
    if how == "in":
        return column, how, draw(st.lists(value, min_size=1, max_size=3, unique=True))
    if how == "between":
        return column, how, sorted([draw(value), draw(value)])
    return column, how, draw(value)


trees = st.recursive(
    leaf(),
    lambda inner: (
        st.tuples(st.sampled_from(["and", "or"]), inner, inner) | st.tuples(st.just("not"), inner, st.none())
    ),
    max_leaves=6,
)


def as_sql(tree: Any) -> str:
    if tree[0] in ("and", "or"):
        return f"({as_sql(tree[1])} {tree[0]} {as_sql(tree[2])})"
    if tree[0] == "not":
        return f"(not {as_sql(tree[1])})"
    column, how, value = tree
    if how == "in":
        return f"{column} in ({', '.join(map(quoted, value))})"
    if how == "between":
        return f"{column} between {quoted(value[0])} and {quoted(value[1])}"
    return f"{column} is not null" if how == "is not null" else f"{column} {how} {quoted(value)}"


def quoted(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else repr(value)


def as_arrow(tree: Any) -> pc.Expression:
    if tree[0] == "and":
        return as_arrow(tree[1]) & as_arrow(tree[2])
    if tree[0] == "or":
        return as_arrow(tree[1]) | as_arrow(tree[2])
    if tree[0] == "not":
        return ~as_arrow(tree[1])
    return compared(
        pc.field(tree[0]), tree[1], tree[2], lambda it, many: it.isin(many), lambda it: it.is_valid()
    )


def as_polars(tree: Any) -> pl.Expr:
    if tree[0] == "and":
        return as_polars(tree[1]) & as_polars(tree[2])
    if tree[0] == "or":
        return as_polars(tree[1]) | as_polars(tree[2])
    if tree[0] == "not":
        return ~as_polars(tree[1])
    # An order of categories is not an order of letters in every polars.
    it = (
        pl.col(tree[0]).cast(pl.String)
        if tree[0] in names and tree[1] not in ("=", "<>", "in")
        else pl.col(tree[0])
    )
    if tree[1] == "between":
        return it.is_between(*map(pl.lit, tree[2]))
    return compared(it, tree[1], tree[2], lambda it, many: it.is_in(many), lambda it: it.is_not_null())


def compared(it: Any, how: str, value: Any, inside: Any, there: Any) -> Any:
    if how == "in":
        return inside(it, value)
    if how == "between":
        return (it >= value[0]) & (it <= value[1])
    if how == "is not null":
        return there(it)
    return {
        "=": it == value, "<>": it != value, "<": it < value, "<=": it <= value, ">": it > value, ">=": it >= value,
    }[how]  # fmt: skip


def plain(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in table.select(["run", "tag", "step", "value"]).to_pylist())


@examples(40)
@given(trees)
def test_sql(log: tbq.LogDir, everything: pa.Table, tree: Any) -> None:
    where = as_sql(tree)
    got = (
        log.sql(f"select * from scalars where {where}", on_error="raise").to_arrow() if _quiet(tree) else None
    )
    with duckdb.connect() as straight:
        straight.register("everything", everything)
        want = straight.sql(f"select * from everything where {where}").to_arrow_table()
    assert got is None or plain(got) == plain(want)


@examples(30)
@given(trees, st.integers(0, 40), st.sampled_from([1, 10**9]))
def test_limits(log: tbq.LogDir, everything: pa.Table, tree: Any, count: int, size: int) -> None:
    """Runs are decoded as they are needed: the rows are as many, and some of those that pass."""
    if not _quiet(tree):
        return
    passing = plain(everything.filter(as_arrow(tree)))
    with patch.object(reading, "FIRST_BYTES", size), patch.object(reading, "GROUP_BYTES", size):
        got = plain(log.sql(f"select * from scalars where {as_sql(tree)} limit {count}").to_arrow())
        frame = log.lazy().filter(as_polars(tree)).head(count).collect()
    assert len(got) == frame.height == min(count, len(passing))
    assert set(got) <= set(passing)


def _quiet(tree: Any) -> bool:
    """Ignore warnings about names that do not exist: warnings are errors here, and tested elsewhere."""
    if tree[0] in ("and", "or", "not"):
        return all(_quiet(each) for each in tree[1:] if each is not None)
    texts = [tree[2]] if isinstance(tree[2], str) else tree[2] if isinstance(tree[2], list) else []
    return not any(isinstance(text, str) and text not in RUNS + TAGS for text in texts)


@examples(100)
@given(trees)
def test_dataset(log: tbq.LogDir, everything: pa.Table, tree: Any) -> None:
    scans: list[Scan] = []
    where = as_arrow(tree)
    got = LogDataset(log._reader, "scalars", Scanning(on_scan=scans.append)).to_table(filter=where)
    want = everything.filter(where)
    assert plain(got) == plain(want)
    (scan,) = scans
    assert want.num_rows <= scan.rows <= everything.num_rows
    low, high = scan.steps
    assert all(low <= step <= high for step in want["step"].to_pylist())


@examples(60)
@given(trees, st.sampled_from([None, ["value"], ["tag", "run"]]))
def test_lazy_frame(log: tbq.LogDir, everything: pa.Table, tree: Any, wanted: list[str] | None) -> None:
    where = as_polars(tree)
    frame = log.lazy().filter(where)
    straight = pl.from_arrow(everything).filter(where)  # type: ignore[union-attr]
    if wanted is not None:
        frame, straight = frame.select(wanted), straight.select(wanted)
    assert frame.collect().rows() == straight.rows()


@examples(40)
@given(st.lists(st.text(max_size=4), unique=True, max_size=60), st.text(max_size=4), st.text(max_size=4))
def test_names_that_may_pass(given_names: list[str], one: str, other: str) -> None:
    from tbq.query.prune import Filter

    known = sorted(given_names)
    run = pc.field("run")
    for where, holds in (
        (run == one, lambda name: name == one),
        (run.isin([one, other]), lambda name: name in (one, other)),
        ((run >= one) & (run < other), lambda name: one <= name < other),
        (run != one, lambda name: name != one),
        ((run == one) | (pc.field("step") > 3), lambda _: True),
    ):
        assert Filter(where, schema("scalars")).names("run", known) == [name for name in known if holds(name)]


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
@examples(30)
def test_step_ranges(low: int, high: int) -> None:
    from tbq.query.prune import Filter
    from tbq.select import MAX_STEP, MIN_STEP

    step = pc.field("step")
    low, high = min(low, high), max(low, high)
    scalars = schema("scalars")
    assert Filter((step >= low) & (step <= high), scalars).steps() == (low, high)
    assert Filter(step == low, scalars).steps() == (low, low)
    assert Filter(step <= high, scalars).steps() == (MIN_STEP, high)
    assert Filter(step >= low, scalars).steps() == (low, MAX_STEP)
    assert Filter((step >= low) | (pc.field("tag") == "x"), scalars).steps() == (MIN_STEP, MAX_STEP)
