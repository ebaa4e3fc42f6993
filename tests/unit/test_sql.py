"""`log.sql`: tables by name, parameters, what is read for a query, its error messages, what it cannot do."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import logs
import pytest

import tbq
from tbq.errors import DamageError, QueryError, TbqError, TbqWarning, UsageError
from tbq.query.scanning import Scan
from tbq.query.sql import sql
from tbq.query.sqltext import prepare, words


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs of two tags at ten steps, and a third tag in one of them."""
    curves = {
        f"lr{i}/seed{j}": {"loss": logs.line(range(10), 0.5, i), "val/acc": logs.line(range(10), 0.25, j)}
        for i, j in ((0, 0), (0, 1), (1, 0))
    }
    curves["lr1/seed0"]["only here"] = logs.line(range(3))
    return logs.write(tmp_path_factory.mktemp("sql"), curves)


@pytest.fixture
def log(root: Path) -> tbq.LogDir:
    return tbq.open(root)


def rows(table: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.to_arrow().to_pylist()]


def scanned(log: tbq.LogDir, query: str, **params: Any) -> tuple[list[tuple[Any, ...]], list[Scan]]:
    scans: list[Scan] = []
    return rows(sql(log._reader, query, params, on_scan=scans.append)), scans


def test_group_by(log: tbq.LogDir) -> None:
    query = "select run, min(value) as least, max(step) as final from scalars where tag = 'loss' group by run"
    table = log.sql(f"{query} order by run")
    assert table.columns == ["run", "least", "final"]
    assert rows(table) == [("lr0/seed0", 0.0, 9), ("lr0/seed1", 0.0, 9), ("lr1/seed0", 1.0, 9)]


@pytest.mark.parametrize(
    ("query", "want"),
    [
        ("select count(*) from scalars", [(63,)]),
        ("from runs select run, last_step order by 1 limit 1", [("lr0/seed0", 9)]),
        ("select count(*) from tags where kind = 'scalars'", [(7,)]),
        ("select count(*), min(health) from files", [(3, "ok")]),
        ("select count(*) from problems", [(0,)]),
        ('select step, loss from wide where run = \'lr1/seed0\' and "only here" = 2', [(2, 2.0)]),
        ('select run, loss, "loss.min", "val/acc.max" from summary order by run desc limit 1',
         [("lr1/seed0", 5.5, 1.0, 2.25)]),
        ("select count(*) from scalars a join scalars b using (run, step) where a.tag = 'loss' and b.tag = 'val/acc'",
         [(30,)]),
        ("with l as (select * from scalars where tag = 'loss') select max(value) from l", [(5.5,)]),
        ("select sum(step) from scalars where tag = 'loss'", [(135,)]),
        ("select strftime(to_timestamp(wall_time) at time zone 'UTC', '%S') from scalars where step = 2 limit 1",
         [("22",)]),
        ("SELECT Count(*) FROM \"Scalars\"", [(63,)]),
        ("describe scalars", None),
        ("explain select * from scalars", None),
        ("summarize scalars", None),
        ("pivot scalars on tag using last(value) group by run, step", None),
    ],
)  # fmt: skip
def test_answers(log: tbq.LogDir, query: str, want: list[tuple[Any, ...]] | None) -> None:
    got = rows(log.sql(query))
    assert got if want is None else got == want


def test_show_tables_lists_every_kind(log: tbq.LogDir) -> None:
    from tbq.schema import KINDS

    listed = {name for (name,) in rows(log.sql("show tables"))}
    assert listed | {"media"} >= {*KINDS, "wide", "summary"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("interval 36 hours", "36:00:00"),
        ("'101'::bit", "101"),
        ("union_value(a := 1)", "1"),
        ("'2024-01-01 00:00:00.123456789'::timestamp_ns", "2024-01-01 00:00:00.123456789"),
        ("[interval 1 day]", "[1 day]"),
    ],
)
def test_types_that_only_duckdb_has_are_text(log: tbq.LogDir, value: str, text: str) -> None:
    got = log.sql(f'select {value} as "a ""b""", 2 as two').to_arrow()
    assert got.to_pylist() == [{'a "b"': text, "two": 2}]


def test_one_tag_stores_no_row_of_others(log: tbq.LogDir) -> None:
    got, (scan,) = scanned(log, "select count(*) from scalars where tag = 'loss'")
    assert (got, scan.rows, scan.tags) == ([(30,)], 30, {"loss": True, "val/acc": False, "only here": False})


@pytest.mark.parametrize(
    ("where", "stored"),
    [
        ("tag = 'loss' and step between 3 and 5", 9),
        ("tag in ('loss', 'only here')", 33),
        ("tag = 'loss' or tag = 'only here'", 33),
        ("run = 'lr1/seed0'", 23),
        ("run in ('lr0/seed0', 'lr0/seed1') and tag = 'val/acc'", 20),
        ("step >= 8", 12),
        ("step > 2 and step < 4 and run <> 'lr1/seed0'", 4),
        ("step in (3, 5) and tag = 'loss'", 9),  # a range: the filter takes step 4 out
        ("tag >= 'm'", 33),
        ("tag = 'loss' or step = 2", 63),  # nothing can be left out
        ("step > 5 and step < 3", 0),
    ],
)
def test_filters_reach_the_reader(log: tbq.LogDir, where: str, stored: int) -> None:
    got, scans = scanned(log, f"select run, tag, step from scalars where {where}")
    assert sum(scan.rows for scan in scans) == stored
    every = log.sql("select run, tag, step from scalars").to_arrow()
    import duckdb

    with duckdb.connect() as plain:
        plain.register("everything", every)
        want = plain.execute(f"select run, tag, step from everything where {where}").fetchall()
    assert sorted(got) == sorted(want)


def test_a_table_that_is_not_named_is_not_read(log: tbq.LogDir) -> None:
    assert scanned(log, "select count(*) from runs") == ([(3,)], [])
    assert scanned(log, "select 'wide' as word")[0] == [("wide",)]


def test_the_same_scan_twice_is_one(log: tbq.LogDir) -> None:
    _, scans = scanned(
        log, "select count(*) from scalars a, scalars b where a.tag = 'loss' and b.tag = 'loss'"
    )
    assert len(scans) == 1


def test_parameters(log: tbq.LogDir) -> None:
    query = "select count(*) from scalars where tag = $tag and step < $last"
    assert rows(log.sql(query, params={"tag": "loss", "last": 2})) == [(6,)]
    assert rows(log.sql(query, params={"tag": "loss", "last": 3})) == [(9,)]
    assert scanned(log, query, tag="loss", last=2)[1][0].rows == 6
    assert rows(log.sql("select $text", params={"text": "it's; drop table scalars --"})) == [
        ("it's; drop table scalars --",)
    ]
    assert rows(log.sql("select $threads_", params={"threads_": None})) == [(None,)]


@pytest.mark.parametrize(
    ("query", "params", "says"),
    [
        ("select * from scalars where tag = $tag", {}, "$tag was not given"),
        ("select $a, $b", {"a": 1}, "$b was not given"),
        ("select 1", {"lr": 1}, "the query has no $lr"),
        ("select ?", {}, "$name"),
        ("select ema(value, $w) from scalars", {}, "$w was not given"),
    ],
)
def test_wrong_parameters(log: tbq.LogDir, query: str, params: dict[str, Any], says: str) -> None:
    with pytest.raises(QueryError) as reported:
        log.sql(query, params=params)
    assert says in str(reported.value)
    assert reported.value.code == "parameter"


@pytest.mark.parametrize(
    ("query", "line", "mark", "hint"),
    [
        (
            "select valu from scalars",
            "LINE 1: select valu from scalars",
            "valu",
            "did you mean the column value?",
        ),
        ("select *\nfrom scalars\nwhere tagg = 'x'", "LINE 3: where tagg = 'x'", "tagg", "the column tag"),
        (
            "select s.vale from scalars s",
            "LINE 1: select s.vale from scalars s",
            "s.vale",
            "the column value",
        ),
        ("select * from scalrs", "LINE 1: select * from scalrs", "scalrs", "the table scalars"),
        (
            "select * from no_such_thing",
            "LINE 1: select * from no_such_thing",
            "no_such_thing",
            "tables: scalars",
        ),
        (
            "select loss from scalars",
            "LINE 1: select loss from scalars",
            "loss",
            "loss is a tag: where tag = 'loss'",
        ),
        ("select los from scalars", "LINE 1: select los from scalars", "los", "similar tags: loss"),
        ("selec 1", "LINE 1: selec 1", "selec", ""),
        (
            "select val/acc from wide",
            "LINE 1: select val/acc from wide",
            "val",
            'write "val/acc", in double quotes; columns: run, step, ',
        ),
        (
            "select w.VAL/ACC from wide w where step > 1",
            "LINE 1: select w.VAL/ACC from wide w where step > 1",
            "w.VAL",
            'write "val/acc", in double quotes',
        ),
        (
            "select val/acc.min from summary",
            "LINE 1: select val/acc.min from summary",
            "val",
            'write "val/acc.min", in double quotes; columns: run, ',
        ),
        ("select acc from wide", "LINE 1: select acc from wide", "acc", 'did you mean the column "val/acc"?'),
        (
            "select val/acc from scalars",
            "LINE 1: select val/acc from scalars",
            "val",
            "val/acc is a tag: where tag = 'val/acc'",
        ),
        (
            "select nothing_like_it from wide",
            "LINE 1: select nothing_like_it from wide",
            "nothing",
            "columns: run",
        ),
        (
            "select ema(step, 0.6) from scalars",
            "LINE 1: select ema(step, 0.6) from scalars",
            "ema",
            "ema(value, 0.6)",
        ),
        ("select 'é', ema(value) from scalars", "LINE 1: select 'é', ema(value) from scalars", "ema", ""),
    ],
)
def test_errors_point_at_the_place(log: tbq.LogDir, query: str, line: str, mark: str, hint: str) -> None:
    with pytest.raises(QueryError) as reported:
        log.sql(query)
    lines = str(reported.value).splitlines()
    at = lines.index(f"  {line}")
    carets = lines[at + 1]
    assert lines[at][carets.index("^") : carets.index("^") + len(mark)] == mark
    assert hint in (reported.value.hint or "")


@pytest.mark.parametrize(
    "query", ["", "  ", "-- nothing", "select", "select ema(", "select ema(value, 'x') from scalars"]
)
def test_no_query_is_an_error_of_ours(log: tbq.LogDir, query: str) -> None:
    with pytest.raises(QueryError):
        log.sql(query)


def test_a_tag_that_is_nowhere_is_told_of(log: tbq.LogDir) -> None:
    with pytest.warns(TbqWarning, match="no tag is called 'los'; closest: loss"):
        assert len(log.sql("select * from scalars where tag = 'los'")) == 0
    with pytest.warns(TbqWarning, match="no run is called 'lr0/sed0'; closest: lr0/seed0"):
        log.sql("select * from scalars where run = $run", params={"run": "lr0/sed0"})


def test_smoothing_is_of_the_whole_curve(log: tbq.LogDir) -> None:
    from tbq.table.smooth import ema

    want = ema([0.5 * step for step in range(10)], 0.6)
    query = "select ema(value, 0.6) e from scalars where run = 'lr0/seed0' and tag = 'loss' and step >= 8 order by step"
    assert [value for (value,) in rows(log.sql(query))] == want[8:]
    where = "s.tag = 'loss' and ema(s.value, $w) > 0 and run = 'lr0/seed0'"
    assert rows(log.sql(f"select min(ema(s.value, $w)) from scalars s where {where}", params={"w": 0.6})) == [
        (want[1],)
    ]
    star = log.sql("select *, ema(value, .6) from scalars where tag = 'loss'")
    assert star.columns == ["run", "tag", "step", "wall_time", "value", "ema(value, 0.6)"]


def test_relative_time_counts_from_the_first_event_of_the_run(log: tbq.LogDir) -> None:
    query = (
        "select relative_time a, relative_time(s.wall_time) b from scalars s where tag = 'loss' and step = 7"
    )
    assert rows(log.sql(query)) == [(7.0, 7.0)] * 3


@pytest.mark.parametrize("weight", ["1.5", "-1", "1e300"])
def test_weights_are_between_0_and_1(log: tbq.LogDir, weight: str) -> None:
    with pytest.raises(UsageError):
        log.sql(f"select ema(value, {weight}) from scalars")


def test_only_calls_are_replaced() -> None:
    query = "select 'ema(value, 0.6)', ema, \"ema(value, 2)\" -- ema(value, 3)\nfrom x"
    assert prepare(query, words(query), {}).text == query
    made = prepare("select ema ( s.value , 6e-1 )+1", words("select ema ( s.value , 6e-1 )+1"), {})
    assert (made.text, made.extra) == ('select s."ema(value, 0.6)"+1', {"ema(value, 0.6)": ("ema", 0.6)})


# ---- what a query cannot do ----


@pytest.mark.parametrize(
    "attack",
    [
        "copy scalars to '{there}/stolen.csv'",
        "copy (select 1) to '{there}/stolen.parquet' (format parquet)",
        "export database '{there}/all'",
        "attach '{there}/other.db' as other",
        "create table kept as select 1",
        "create temp macro ema(v, w) as 1",
        "insert into scalars select * from scalars",
        "from read_csv('{there}/secret.csv')",
        "select * from '{there}/secret.csv'",
        "from read_text('{there}/secret.csv')",
        "from read_blob('{there}/*')",
        "from read_json('{there}/secret.csv')",
        "from parquet_scan('{there}/secret.csv')",
        "select * from glob('{there}/*')",
        "from sniff_csv('{there}/secret.csv')",
        "install httpfs",
        "load httpfs",
        "load '{there}/evil.duckdb_extension'",
        "set enable_external_access = true",
        "set lock_configuration = false",
        "pragma enable_profiling",
        "call pragma_version()",
        "checkpoint",
        "explain analyze copy scalars to '{there}/stolen.csv'",
        "select 1; copy scalars to '{there}/stolen.csv'",
        "from query('copy scalars to ''{there}/stolen.csv''')",
        "select * from secret_of_python",
    ],
)
def test_nothing_but_the_logdir_can_be_reached(log: tbq.LogDir, tmp_path: Path, attack: str) -> None:
    secret_of_python = log.scalars().to_arrow()  # noqa: F841 - DuckDB reads variables of its callers, if allowed
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    with pytest.raises(QueryError):
        log.sql(attack.format(there=tmp_path.as_posix()))
    assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"]
    assert rows(log.sql("select count(*) from scalars")) == [(63,)]  # and nothing was broken


def test_unsafe_may_write(log: tbq.LogDir, tmp_path: Path) -> None:
    target = (tmp_path / "out.csv").as_posix()
    log.sql(f"copy (select * from scalars where tag = 'loss') to '{target}' (header)", unsafe=True)
    assert len(Path(target).read_text().splitlines()) == 31


def test_connections_do_not_share_tables(root: Path, tmp_path: Path) -> None:
    other = tbq.open(logs.write(tmp_path / "other", {"x": {"t": [(0, 1.0)]}}))
    first = tbq.open(root)
    assert rows(other.sql("select count(*) from scalars")) == [(1,)]
    assert rows(first.sql("select count(*) from scalars")) == [(63,)]


def test_queries_from_threads(log: tbq.LogDir) -> None:
    got: list[Any] = []
    work = [
        threading.Thread(
            target=lambda: got.append(rows(log.sql("select count(*) from scalars where tag = 'loss'")))
        )
        for _ in range(4)
    ]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert got == [[(30,)]] * 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_connection_is_not_shared_with_a_fork(log: tbq.LogDir) -> None:
    from tbq.query import safe as module

    log.sql("select 1")
    ours = set(module._safe)
    child = os.fork()
    if child == 0:
        os._exit(0 if os.getpid() not in module._safe else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert set(module._safe) == ours


# ---- several logdirs, damage ----


def test_two_logdirs(root: Path) -> None:
    both = tbq.open({"a": root, "b": root})
    assert rows(both.sql("select run[:1] which, count(*) from scalars group by 1 order by 1")) == [
        ("a", 63),
        ("b", 63),
    ]
    named = tbq.open([f"first:{root}", f"second:{root}"])
    assert named.runs[0] == "first/lr0/seed0" and len(named.runs) == 6


def test_two_runs_of_one_name(root: Path, tmp_path: Path) -> None:
    other = logs.write(tmp_path, {"lr0/seed0": {"t": [(0, 1.0)]}})
    with pytest.raises(UsageError, match="two runs are called 'a/lr0/seed0'"):
        tbq.open([f"a:{root}", f"a:{other}"])


def test_damage_is_told_when_the_query_is_done(root: Path, tmp_path: Path) -> None:
    file = next((logs.write(tmp_path / "log", {"r": {"t": logs.line(range(20))}})).glob("r/*"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(data)
    log = tbq.open(tmp_path / "log")
    with pytest.warns(TbqWarning, match="bytes lost"):
        assert rows(log.sql("select count(*) from scalars")) == [(19,)]
    with pytest.raises(DamageError):
        log.sql("select count(*) from scalars", on_error="raise")
    assert rows(log.sql("select count(*) from scalars", on_error="ignore")) == [(19,)]


def test_an_error_of_reading_is_not_hidden_in_one_of_duckdb(tmp_path: Path) -> None:
    file = next(logs.write(tmp_path / "log", {"r": {"t": [(0, 1.0)]}}).glob("r/*"))
    log = tbq.open(tmp_path / "log")
    file.unlink()
    with pytest.raises(TbqError) as reported:
        log.sql("select * from scalars")
    assert reported.value.path == str(file)
