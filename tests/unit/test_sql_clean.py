"""Every query starts clean, only one that reads runs, and names that differ by case are never mistaken."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import warnings
from contextlib import closing
from pathlib import Path

import duckdb
import logs
import pytest

import tbq
from tbq.errors import QueryError, TbqWarning
from tbq.query.safe import connect


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> tbq.LogDir:
    root = tmp_path_factory.mktemp("logs")
    curves = {"Loss": [(1, 0.5)], "loss": [(1, 0.25)], "lr": [(1, 3.0)], "Step": [(1, 9.0)]}
    return tbq.open(logs.write(root / "runs", {"a": curves}))


REFUSED = [
    "create macro avg(x) as 42; select 1 as pivot",
    "create macro avg(x) as 42",
    "create temp macro avg(x) as 42",
    "create table stolen as select * from scalars",
    "create temp table stolen as select * from scalars",
    "create view stolen as select 1; pivot scalars on tag using last(value)",
    "create table stolen as pivot scalars on tag using last(value)",
    "explain analyze create table stolen as select * from scalars",
    "explain (analyze) create table stolen as select * from scalars",
    "explain (analyze, format json) create temp table stolen as select 1",
    "EXPLAIN ANALYZE insert into stolen select 1",
    "explain create table stolen as select 1",
    "explain analyze create table stolen as pivot scalars on tag using last(value)",
    "select 1; select 2",
    "select 1; drop table if exists stolen",
    "insert into scalars values (1)",
    "with gone as (delete from scalars returning *) select * from gone",
    "with made as (insert into scalars select * from scalars returning *) select * from made",
    "set threads = 1",
    "reset threads",
    "set variable x = 1",
    "use system",
    "attach ':memory:' as other",
    "call enable_logging()",
    "from enable_logging()",
    "from enable_profiling()",
    "prepare p as select 1",
    "begin transaction",
    "commit",
    "checkpoint",
    "load httpfs",
    "install httpfs",
    "update extensions",
    "copy (select 1) to 'stolen.csv'",
    "with made as (copy (select 1) to 'stolen.csv') select 1",
    "export database 'stolen'",
    "from read_csv('/etc/passwd')",
    "comment on table scalars is 'x'",
    "",
    "  -- nothing",
]


@pytest.mark.parametrize("query", REFUSED)
def test_what_does_not_read_is_refused(
    log: tbq.LogDir, query: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(QueryError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        log.sql(query)
    assert list(tmp_path.iterdir()) == []


HARMLESS = [
    "select setseed(0.1)", "select write_log('x')", "pivot scalars on run using last(value)",
    "from register_external_resource_type('x', kind := 'database', create_function := 'f')",  # of DuckDB 2
    "select (select count(*) from register_external_resource_type('y', kind := 'database', create_function := 'f'))",
    "from query('from register_external_resource_type(''z'', kind := ''database'', create_function := ''f'')')",
    "from checkpoint()", "from truncate_duckdb_logs()",
]  # fmt: skip


def state(log: tbq.LogDir) -> list[object]:
    """Everything that a query can see besides its log."""
    parts = [
        "select avg(value) as n from scalars",
        "select function_name, macro_definition from duckdb_functions() where not internal order by all",
        "select table_name from duckdb_tables() order by all",
        "select view_name from duckdb_views() where not internal order by all",
        "select name, value from duckdb_settings() where name not in ('duckdb_api', 'custom_user_agent') order by all",
        "select type_name from duckdb_types() where not internal order by all",
        "select database_name from duckdb_databases() order by all",
    ]
    found: list[object] = [log.sql(part).to_arrow().to_pylist() for part in parts]
    # What the next query on the shared database would see, if it were allowed to look.
    with closing(connect(unsafe=False)) as shared:
        functions = ("duckdb_external_resource_types", "duckdb_external_resources", "duckdb_variables")
        there = {row[0] for row in shared.execute("select function_name from duckdb_functions()").fetchall()}
        found += [shared.execute(f"from {each}()").fetchall() for each in functions if each in there]
    return found


@pytest.mark.long
def test_nothing_is_left_of_a_query(log: tbq.LogDir) -> None:
    before = state(log)
    for query in [*REFUSED, *HARMLESS]:
        with warnings.catch_warnings(), contextlib.suppress(QueryError):
            warnings.simplefilter("ignore")
            log.sql(query)
        assert state(log)[:4] == before[:4], query
    assert state(log) == before


def test_one_log_is_not_seen_from_another(log: tbq.LogDir, tmp_path: Path) -> None:
    other = tbq.open(logs.write(tmp_path / "other", {"b": {"secret": [(1, 1.0)]}}))
    other.sql("select * from scalars")
    assert log.sql("select distinct run from scalars").to_arrow()["run"].to_pylist() == ["a"]
    seen = log.sql("select view_name, sql from duckdb_views() where not internal").to_arrow().to_pylist()
    assert "secret" not in str(seen)


ALLOWED = [
    "select 1 as one",
    "select 1 as pivot;",
    "select 1 as one;;",
    "from scalars limit 1 -- all of it",
    "/* first */ values (1)",
    "with l as (select * from scalars) select count(*) from l",
    "pivot scalars on tag in ('lr') using last(value)",
    "pivot scalars on tag using last(value) group by run",
    "from (pivot scalars on tag using last(value) group by run)",
    "explain select * from scalars",
    "explain analyze select * from scalars",
    "explain (format json) select 1",
    "explain pivot scalars on tag using last(value) group by run;",
    "show tables",
    "describe scalars",
    "summarize scalars",
    "select 'create table x' as words",
]


@pytest.mark.parametrize("query", ALLOWED)
def test_what_reads_runs(log: tbq.LogDir, query: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TbqWarning)
        assert len(log.sql(query)) > 0


def test_pivot_says_that_it_ignores_case(log: tbq.LogDir) -> None:
    with pytest.warns(
        TbqWarning, match="PIVOT ignores case in names of columns, so it renames some of 'Loss', 'loss'"
    ):
        log.sql("pivot scalars on tag using last(value) group by run")


# ---- case ----


@pytest.mark.parametrize("table", ["wide", "summary"])
@pytest.mark.parametrize("column", ["loss", "Loss", "LOSS"])
def test_a_column_of_which_there_are_two_must_be_asked_for(log: tbq.LogDir, table: str, column: str) -> None:
    with pytest.warns(TbqWarning, match="'Loss' is called 'Loss_1'"), pytest.raises(QueryError) as reported:
        log.sql(f'select "{column}" from {table}')
    assert reported.value.hint == (
        f'SQL ignores case, so Loss is the column "Loss_1", loss is the column "loss_2"; '
        f"or query the table scalars: where tag = '{column}'"
    )


def test_both_columns_are_there(log: tbq.LogDir) -> None:
    with pytest.warns(TbqWarning, match="wide: SQL ignores case"):
        rows = log.sql('select "Loss_1", loss_2, lr, step, "Step_1" from wide').to_arrow().to_pylist()
    assert rows == [{"Loss_1": 0.5, "loss_2": 0.25, "lr": 3.0, "step": 1, "Step_1": 9.0}]
    with pytest.warns(TbqWarning, match="summary: SQL ignores case"):
        rows = log.sql('select "Loss.min_1", "loss.min_2" from summary').to_arrow().to_pylist()
    assert rows == [{"Loss.min_1": 0.5, "loss.min_2": 0.25}]
    for tag, value in (("Loss", 0.5), ("loss", 0.25)):
        found = (
            log.sql("select value from scalars where tag = $tag", params={"tag": tag})
            .to_arrow()["value"]
            .to_pylist()
        )
        assert found == [value]


def test_columns_that_a_query_makes_twice(log: tbq.LogDir, tmp_path: Path) -> None:
    table = log.sql("select 1 as a, 2 as a, 3 as a_1, s.run, t.run from scalars s, scalars t limit 1")
    assert table.columns == ["a", "a_2", "a_1", "run", "run_1"]
    assert list(table.to_arrow().to_pylist()[0].values()) == [1, 2, 3, "a", "a"]
    assert table.to_polars().columns == table.columns
    table.write(tmp_path / "out.parquet")
    assert tbq.read(tmp_path / "out.parquet").columns == table.columns


def test_no_twins_no_words(tmp_path: Path) -> None:
    log = tbq.open(logs.write(tmp_path, {"a": {"Loss": [(1, 0.5)], "É": [(1, 1.0)], "é": [(1, 2.0)]}}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert log.sql('select loss, "É" as a, "é" as b from wide').to_arrow().to_pylist() == [
            {"Loss": 0.5, "a": 1.0, "b": 2.0}
        ]


@pytest.mark.parametrize(("ending", "where"), [("duckdb", "DuckDB"), ("sqlite", "SQLite")])
def test_exports_say_what_they_rename(log: tbq.LogDir, tmp_path: Path, ending: str, where: str) -> None:
    import sqlite3

    path = tmp_path / f"out.{ending}"
    with pytest.warns(
        TbqWarning,
        match=f"{where} ignores case.*'Loss' is called 'Loss_1', 'Step' is called 'Step_1', 'loss' is",
    ):
        log.scalars().wide().write(path)
    connect = duckdb.connect if ending == "duckdb" else sqlite3.connect
    with closing(connect(str(path))) as base:
        assert base.execute('select "Loss_1", loss_2, lr, step, "Step_1" from wide').fetchall() == [
            (0.5, 0.25, 3.0, 1, 9.0)
        ]


def test_a_database_of_another_process_is_another(log: tbq.LogDir) -> None:
    code = "import tbq, sys; print(tbq.open(sys.argv[1]).sql('select count(*) as n from scalars').to_arrow()['n'][0])"
    path = log._reader.found.paths[0]
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "4"
