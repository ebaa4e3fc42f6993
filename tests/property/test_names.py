"""Whatever runs and tags are called: no two become one, every path agrees, and shown names can be used to select."""

from __future__ import annotations

import csv
import json
import math
import os
import shutil
import sqlite3
import warnings
from contextlib import closing
from pathlib import Path

import duckdb
import eventfile as ef
import numpy as np
import oddnames
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

import tbq
from tbq import _core
from tbq.columns.names import column_names, distinct, ignoring_case

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such directories")

Rows = dict[tuple[str, str, int], float]


@given(st.lists(st.binary(max_size=20) | oddnames.tags, max_size=30))
def test_names_are_shown_by_the_rule_and_never_alike(names: list[bytes]) -> None:
    shown = {name: _core.display_name(name) for name in names}
    assert all(text == oddnames.shown(name) for name, text in shown.items())
    assert len(set(shown.values())) == len(set(names))
    assert all(_core.raw_name(text) == name for name, text in shown.items())


@examples(200)
@given(
    st.lists(st.binary(max_size=40) | st.text(max_size=20).map(lambda text: text.encode()[1:]), max_size=40)
)
def test_texts_are_replaced_as_python_does(folder: Path, texts: list[bytes]) -> None:
    path = folder / "events.out.tfevents.1"
    path.write_bytes(
        ef.event_file([ef.version(), *(ef.text("notes", step, text) for step, text in enumerate(texts))])
    )
    table = tbq.open(path).texts(on_error="ignore")
    assert table.to_arrow()["text"].to_pylist() == [text.decode("utf-8", "replace") for text in texts]


@given(st.lists(oddnames.tags | st.text(max_size=5).map(str.encode), max_size=12))
def test_columns_are_distinct_and_tell_their_tag(names: list[bytes]) -> None:
    tags = list(dict.fromkeys(oddnames.shown(name) for name in names))
    columns = column_names(tags)
    assert len({*columns, "run", "step"}) == len(columns) + 2 and "" not in columns
    assert not any("\0" in name for name in columns)
    for tag, name in zip(tags, columns, strict=True):
        if tag not in ("run", "step", "") and "\0" not in tag:
            assert name == tag
    apart = ignoring_case(["run", "step", *columns], "wide")
    assert apart[:2] == ["run", "step"]
    assert len({name.lower() for name in apart if name.isascii()}) == len(
        [1 for name in apart if name.isascii()]
    )
    for old, new in zip(columns, apart[2:], strict=True):
        assert new == old or new.startswith(f"{old}_")


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["tag.", ".text", "hparam."])), max_size=20)
)
def test_qualified_names_never_collide(wanted: list[tuple[str, str]]) -> None:
    names = distinct(wanted, reserved=("a",))
    assert len({*names, "a"}) == len(names) + 1


@st.composite
def logs(draw: st.DrawFn) -> dict[bytes, dict[bytes, dict[int, float]]]:
    """Runs by the bytes of their path, tags by theirs, and the points of each."""
    paths = st.lists(oddnames.folders, min_size=1, max_size=2).map(b"/".join)
    curve = st.dictionaries(
        st.integers(0, 3), st.sampled_from([0.5, -2.0, math.nan, math.inf]), min_size=1, max_size=3
    )
    return draw(
        st.dictionaries(
            paths, st.dictionaries(oddnames.tags, curve, min_size=1, max_size=6), min_size=1, max_size=3
        )
    )


def write(root: Path, log: dict[bytes, dict[bytes, dict[int, float]]]) -> Rows:
    """The log as event files; gives what the tables must say."""
    rows: Rows = {}
    shutil.rmtree(root, ignore_errors=True)
    for run, tags in log.items():
        folder = os.fsencode(root) + b"/" + run
        os.makedirs(folder, exist_ok=True)
        events = [ef.scalar(tag, step, value) for tag, curve in tags.items() for step, value in curve.items()]
        with open(folder + b"/events.out.tfevents.1", "wb") as file:
            file.write(ef.event_file([ef.version(), *events]))
        rows |= {
            (oddnames.shown(run), oddnames.shown(tag), step): value
            for tag, curve in tags.items()
            for step, value in curve.items()
        }
    return rows


def same(got: object, want: float) -> bool:
    return got == want or (isinstance(got, float) and math.isnan(got) and math.isnan(want))


def agree(found: Rows, rows: Rows, nan: object = math.nan) -> None:
    assert found.keys() == rows.keys()
    for key, value in rows.items():
        want = nan if math.isnan(value) else value
        assert found[key] == want or same(found[key], value), key


def long(table: tbq.Table | object) -> Rows:
    arrow = table.to_arrow().select(["run", "tag", "step", "value"])  # type: ignore[attr-defined]
    return {(row["run"], row["tag"], row["step"]): row["value"] for row in arrow.to_pylist()}


@pytest.mark.long
@examples(25)
@given(log=logs())
def test_every_path_tells_the_same(folder: Path, log: dict[bytes, dict[bytes, dict[int, float]]]) -> None:
    rows = write(folder / "logs", log)
    opened = tbq.open(folder / "logs")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # columns that are renamed, names that look like patterns
        check_tables(opened, rows)
        check_layouts(opened, rows)
        check_selections(opened, rows)
        check_files(opened, rows, folder)
        check_rewrite(folder, log)


def check_tables(log: tbq.LogDir, rows: Rows) -> None:
    agree(long(log.scalars()), rows)
    assert log.runs == sorted({run for run, _, _ in rows})
    keys = {(run, tag) for run, tag, _ in rows}
    tags = log.tags().to_arrow()
    assert set(zip(tags["run"].to_pylist(), tags["tag"].to_pylist(), strict=True)) == keys
    agree(long(log.sql("select run, tag, step, value from scalars")), rows)
    agree(
        {(r, t, s): v for r, t, s, v in log.lazy().select("run", "tag", "step", "value").collect().rows()},
        rows,
    )
    agree(_of_arrow(log.dataset().to_table()), rows)
    agree(_of_arrow(log.scan().read_all()), rows)
    agree(_of_arrow(pl.DataFrame(log.scalars()).to_arrow()), rows)
    assert len(log.table("files")) == len(log.runs) == len(log.table("runs"))


def _of_arrow(table: object) -> Rows:
    names = ("run", "tag", "step", "value")
    columns = (table[name].to_pylist() for name in names)  # type: ignore[index]
    return {(run, tag, step): value for run, tag, step, value in zip(*columns, strict=True)}


def check_layouts(log: tbq.LogDir, rows: Rows) -> None:
    tags = sorted({tag for _, tag, _ in rows})
    wide = log.scalars().wide()
    steps = [(row["run"], row["step"]) for row in wide.to_arrow().select(["run", "step"]).to_pylist()]
    assert wide.columns[2:] == column_names(tags)
    in_sql = log.sql("select * from wide").to_arrow()
    assert in_sql.column_names == ignoring_case(wide.columns, "wide")
    for table in (wide.to_arrow(), in_sql):
        assert table.num_columns == 2 + len(tags)
        for i, tag in enumerate(tags, 2):
            for (run, step), got in zip(steps, table.column(i).to_pylist(), strict=True):
                want = rows.get((run, tag, step))
                assert got is want is None or (want is not None and same(got, want)), (run, tag, step)
    summary = log.summary(stats="last,count").to_arrow()
    assert len(set(summary.column_names)) == summary.num_columns == 2 + 2 * len(tags)
    assert summary["run"].to_pylist() == log.runs
    for tag in tags:
        one = log.summary(stats="last", tag=[tag], media=False).to_arrow()
        name = one.column_names[2]
        assert name == tag or tag in ("", "run", "state") or "\0" in tag
        for run, got in zip(one["run"].to_pylist(), one[name].to_pylist(), strict=True):
            values = [value for (r, t, _), value in rows.items() if (r, t) == (run, tag)]
            assert (got is None and not values) or same(got, values[-1])


def check_selections(log: tbq.LogDir, rows: Rows) -> None:
    for run, tag in {(run, tag) for run, tag, _ in rows}:
        ours = {key: value for key, value in rows.items() if key[:2] == (run, tag)}
        agree(long(log.scalars(run=run, tag=tag)), ours)
        query = "select run, tag, step, value from scalars where run = $run and tag = $tag"
        agree(long(log.sql(query, params={"run": run, "tag": tag})), ours)
        lazy = log.lazy().filter(pl.col("run") == run, pl.col("tag") == tag)
        assert lazy.collect().height == len(ours)
        series = log.series(tag, run=run)
        assert np.array_equal(series.values, list(ours.values()), equal_nan=True)


def check_files(log: tbq.LogDir, rows: Rows, folder: Path) -> None:
    """Each format that can be read back, by a reader that is not ours."""
    table, wide = log.scalars(), log.scalars().wide()

    def target(ending: str) -> Path:
        path = folder / f"out.{ending}"
        path.unlink(missing_ok=True)
        return path

    for ending in ("parquet", "arrow", "feather"):
        table.write(target(ending))
        agree(long(tbq.read(folder / f"out.{ending}")), rows)
    wide.write(target("parquet"))
    assert pq.read_table(folder / "out.parquet").column_names == wide.columns
    table.write(target("csv"))
    with open(folder / "out.csv", encoding="utf-8", newline="") as file:
        found = {
            (row["run"], row["tag"], int(row["step"])): float(row["value"]) for row in csv.DictReader(file)
        }
    agree(found, rows)
    wide.write(target("csv"))
    with open(folder / "out.csv", encoding="utf-8", newline="") as file:
        assert next(csv.reader(file)) == wide.columns
    table.write(target("jsonl"), json_nan="string")
    lines = [json.loads(line) for line in (folder / "out.jsonl").read_text("utf-8").split("\n")[:-1]]
    agree({(row["run"], row["tag"], row["step"]): float(row["value"]) for row in lines}, rows)
    table.write(target("npz"))
    with np.load(folder / "out.npz") as held:
        # NumPy drops zeros at the end of strings.
        found = dict(
            zip(zip(held["run"], held["tag"], held["step"], strict=True), held["value"], strict=True)
        )
    if not any(tag.endswith("\0") for _, tag, _ in rows):
        agree(
            {(str(run), str(tag), int(step)): float(value) for (run, tag, step), value in found.items()}, rows
        )
    wide.write(target("npz"))
    with np.load(folder / "out.npz") as held:
        assert len(held.files) == len(wide.columns)
    for name, each in (("long", table), ("wide", wide)):
        each.write(target("sqlite"))
        with closing(sqlite3.connect(folder / "out.sqlite")) as base:
            cursor = base.execute(f'select * from "{each.kind}"')
            check_database(
                name, [each[0] for each in cursor.description], cursor.fetchall(), each, rows, nan=None
            )
        each.write(target("duckdb"))
        with closing(duckdb.connect(str(folder / "out.duckdb"), read_only=True)) as base:
            cursor = base.execute(f'select * from "{each.kind}"')
            check_database(
                name, [each[0] for each in cursor.description], cursor.fetchall(), each, rows, nan=math.nan
            )


def check_database(
    layout: str, names: list[str], found: list[tuple[object, ...]], made: tbq.Table, rows: Rows, nan: object
) -> None:
    assert names == ignoring_case(made.columns, made.kind)
    if layout == "long":
        agree({(row[0], row[1], row[2]): row[4] for row in found}, rows, nan)  # type: ignore[misc]
        return
    for row, want in zip(found, made.to_arrow().to_pylist(), strict=True):
        for got, value in zip(row, want.values(), strict=True):
            if isinstance(value, float) and math.isnan(value):
                assert got is nan or same(got, value)
            else:
                assert got == value


def check_rewrite(folder: Path, log: dict[bytes, dict[bytes, dict[int, float]]]) -> None:
    """Byte for byte, into directories and under tags of the same names."""
    if not all(tag for tags in log.values() for tag in tags):
        return
    shutil.rmtree(folder / "new", ignore_errors=True)
    tbq.rewrite(folder / "logs", folder / "new")
    for run in log:
        old, new = (os.fsencode(folder / place) + b"/" + run for place in ("logs", "new"))
        with (
            open(old + b"/events.out.tfevents.1", "rb") as one,
            open(new + b"/events.out.tfevents.1", "rb") as two,
        ):
            assert one.read() == two.read()
