"""Every format, written and read back by another library."""

import gzip
import io
import json
import math
import sqlite3
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from tbq.errors import OutputError, TbqWarning, UsageError
from tbq.export import FORMATS, ExportOptions, format_of, write, write_many
from tbq.export.everything import write_all
from tbq.table import Table

NAN = float("nan")
RUNS = ["exp/1", "exp/1", "exp/1", "exp/2", "exp/2"]
TAGS = ["=cmd|' /C calc'!A0", "loss", "loss", 'a,"b"\n', "loss"]
STEPS = [-1, 0, 1, 2**60, 5]
TIMES = [1.7e9 + 2, 1.7e9, 1.7e9 + 0.5, 5.25, 6.25]
VALUES = [math.inf, float(np.float32(0.1)), NAN, 1e-300, 3.0]


@pytest.fixture
def table() -> Table:
    return Table(
        pa.table(
            {
                "run": pa.array(RUNS).dictionary_encode(),
                "tag": pa.array(TAGS).dictionary_encode(),
                "step": STEPS,
                "wall_time": TIMES,
                "value": VALUES,
            }
        ),
        logdir="runs",
    )


def rows_of(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.astype(object).itertuples(index=False)]


def same(got: list[tuple[Any, ...]], want: list[tuple[Any, ...]]) -> bool:
    return str(got) == str(want)  # NaN is like NaN in text


def test_csv_by_pandas_and_polars(table: Table, tmp_path: Path) -> None:
    table.write(tmp_path / "out.csv")
    text = (tmp_path / "out.csv").read_bytes().decode()
    assert text.splitlines()[0] == "run,tag,step,wall_time,value"
    assert text.splitlines()[1].endswith(",inf")
    assert text.splitlines()[2] == "exp/1,loss,0,1700000000.0,0.1"
    assert text.splitlines()[3].endswith(",nan")
    frame = pd.read_csv(tmp_path / "out.csv")
    assert list(frame["tag"]) == TAGS
    assert list(frame["step"]) == STEPS
    assert list(frame["wall_time"]) == TIMES
    assert np.array_equal(frame["value"].astype(np.float32), np.array(VALUES, np.float32), equal_nan=True)
    assert pl.read_csv(tmp_path / "out.csv")["tag"].to_list() == TAGS


def test_tsv(table: Table, tmp_path: Path) -> None:
    table.write(tmp_path / "out.tsv")
    assert list(pd.read_csv(tmp_path / "out.tsv", sep="\t")["tag"]) == TAGS


def test_the_same_table_gives_the_same_bytes_compressed(table: Table, tmp_path: Path) -> None:
    table.write(tmp_path / "out.csv")
    table.write(tmp_path / "out.csv.gz")
    table.write(tmp_path / "again.csv.gz")
    table.write(tmp_path / "out.csv.zst")
    plain = (tmp_path / "out.csv").read_bytes()
    assert gzip.decompress((tmp_path / "out.csv.gz").read_bytes()) == plain
    assert (tmp_path / "out.csv.gz").read_bytes() == (tmp_path / "again.csv.gz").read_bytes()
    with pa.input_stream(tmp_path / "out.csv.zst", compression="zstd") as stream:
        assert stream.read() == plain


def test_csv_safe_guards_what_a_spreadsheet_would_run(tmp_path: Path) -> None:
    table = pa.table({"=head": ["=1+1", "+1", "-1", "@x", "plain", '=a,"b"'], "value": [-1.0] * 6})
    write(table, tmp_path / "out.csv", csv_safe=True)
    frame = pd.read_csv(tmp_path / "out.csv")
    assert list(frame.columns) == ["'=head", "value"]
    assert list(frame["'=head"]) == ["'=1+1", "'+1", "'-1", "'@x", "plain", '\'=a,"b"']
    assert list(frame["value"]) == [-1.0] * 6


@pytest.mark.parametrize("format", ["parquet", "arrow", "feather"])
def test_arrow_formats_by_polars_and_pyarrow(table: Table, tmp_path: Path, format: str) -> None:
    path = tmp_path / f"out.{format}"
    table.write(path)
    frame = pl.read_parquet(path) if format == "parquet" else pl.read_ipc(path.read_bytes())
    assert same(frame.rows(), list(zip(RUNS, TAGS, STEPS, TIMES, VALUES, strict=True)))
    back = pq.read_table(path) if format == "parquet" else pyarrow.feather.read_table(path)
    assert back.schema.field("run").type == pa.dictionary(pa.int32(), pa.string())


def test_json_and_jsonl(table: Table, tmp_path: Path) -> None:
    table.write(tmp_path / "out.json")
    table.write(tmp_path / "out.jsonl", json_nan="string")
    records = json.loads((tmp_path / "out.json").read_text())
    assert [record["tag"] for record in records] == TAGS
    assert [record["value"] for record in records] == [None, 0.1, None, 1e-300, 3.0]
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [record["value"] for record in lines] == ["Infinity", 0.1, "NaN", 1e-300, 3.0]


def test_xlsx_by_openpyxl(table: Table, tmp_path: Path) -> None:
    table.write(tmp_path / "out.xlsx")
    book = openpyxl.load_workbook(tmp_path / "out.xlsx")
    sheet = book["scalars"]
    assert [cell.value for cell in sheet[1]] == table.columns
    cells = list(sheet.iter_rows(min_row=2))
    assert [row[1].value for row in cells] == TAGS
    assert {row[1].data_type for row in cells} == {"s"}  # no formula among them
    assert [row[2].value for row in cells] == [-1, 0, 1, str(2**60), 5]
    assert [row[4].value for row in cells][:3] == ["inf", VALUES[1], "nan"]
    book.close()


def test_xlsx_takes_any_text_and_says_what_it_cut(tmp_path: Path) -> None:
    table = pa.table({"text": ["a\x00b\x1f", "x" * 40_000]})
    with pytest.warns(TbqWarning, match="1 texts were cut"):
        write(table, tmp_path / "out.xlsx")
    frame = pd.read_excel(tmp_path / "out.xlsx")
    assert frame["text"][0] == "a\ufffdb\ufffd"
    assert len(frame["text"][1]) == 32_767


def test_xlsx_refuses_more_rows_than_a_sheet_has(tmp_path: Path) -> None:
    table = pa.table({"step": np.arange(1_048_576)})
    with pytest.raises(OutputError, match=r"1,048,576 rows.*holds 1,048,575"):
        write(table, tmp_path / "out.xlsx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["sqlite", "db"])
def test_sqlite(table: Table, tmp_path: Path, ending: str) -> None:
    table.write(tmp_path / f"out.{ending}")
    with closing(sqlite3.connect(tmp_path / f"out.{ending}")) as base:
        rows = base.execute("select * from scalars").fetchall()
        kinds = base.execute("select type from pragma_table_info('scalars')").fetchall()
    values = [math.inf, VALUES[1], None, 1e-300, 3.0]
    assert rows == list(zip(RUNS, TAGS, STEPS, TIMES, values, strict=True))
    assert [kind.lower() for (kind,) in kinds] == ["text", "text", "integer", "real", "real"]


def test_sqlite_keeps_columns_apart_that_differ_in_case(tmp_path: Path) -> None:
    with pytest.warns(
        TbqWarning, match="SQLite ignores case.*'Loss' is called 'Loss_1', 'loss' is called 'loss_2'"
    ):
        write(pa.table({"Loss": [1.0], "loss": [2.0]}), tmp_path / "out.sqlite")
    with closing(sqlite3.connect(tmp_path / "out.sqlite")) as base:
        assert base.execute('select "Loss_1", "loss_2" from "table"').fetchall() == [(1.0, 2.0)]


def test_duckdb(table: Table, tmp_path: Path) -> None:
    table.write(tmp_path / "out.duckdb")
    with closing(duckdb.connect(str(tmp_path / "out.duckdb"), read_only=True)) as base:
        rows = base.execute("select * from scalars").fetchall()
        kinds = [kind for (_, kind, *_) in base.execute("describe scalars").fetchall()]
    assert same(rows, list(zip(RUNS, TAGS, STEPS, TIMES, VALUES, strict=True)))
    assert kinds == ["VARCHAR", "VARCHAR", "BIGINT", "DOUBLE", "DOUBLE"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.duckdb"]


@pytest.mark.parametrize("ending", ["xlsx", "sqlite", "duckdb"])
def test_several_tables_in_one_file(table: Table, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out.{ending}"
    write_many({"scalars": table, "summary": table.summary()}, path)
    if ending == "xlsx":
        book = openpyxl.load_workbook(path, read_only=True)
        assert book.sheetnames == ["scalars", "summary"]
        book.close()
    else:
        module: Any = sqlite3 if ending == "sqlite" else duckdb
        with closing(module.connect(str(path))) as base:
            assert base.execute("select count(*) from summary").fetchone() == (2,)
            assert base.execute("select count(*) from scalars").fetchone() == (5,)


def test_one_csv_holds_one_table(table: Table, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"2 tables do not fit.*\n.*xlsx, sqlite, duckdb"):
        write_many({"a": table, "b": table}, tmp_path / "out.csv")


def test_markdown(table: Table, tmp_path: Path) -> None:
    table.write(tmp_path / "out.md")
    lines = (tmp_path / "out.md").read_text().splitlines()
    assert lines[:2] == ["| run | tag | step | wall_time | value |", "| --- | --- | ---: | ---: | ---: |"]
    assert "=cmd\\|' /C calc'!A0" in lines[2]
    assert lines[3] == "| exp/1 | loss | 0 | 1700000000 | 0.1 |"
    assert len(lines) == 7


def test_html_escapes_every_text(tmp_path: Path) -> None:
    class Cells(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.tags: set[str] = set()
            self.data: list[str] = []

        def handle_starttag(self, tag: str, attrs: object) -> None:
            self.tags.add(tag)

        def handle_data(self, data: str) -> None:
            self.data.append(data)

    evil = "<script>alert('x')</script>"
    write(Table(pa.table({evil: [evil], "n": [0.1]}), evil), tmp_path / "out.html")
    cells = Cells()
    cells.feed((tmp_path / "out.html").read_text())
    assert "script" not in cells.tags
    assert cells.data.count(evil) == 3  # title, header, cell
    assert "0.1" in cells.data


def test_npz(table: Table, tmp_path: Path) -> None:
    table.write(tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz", allow_pickle=False) as arrays:
        assert arrays["run"].tolist() == RUNS
        assert arrays["tag"].tolist() == TAGS
        assert arrays["step"].tolist() == STEPS
        assert np.array_equal(arrays["value"], VALUES, equal_nan=True)


def test_npz_of_lists_bytes_and_odd_names(tmp_path: Path) -> None:
    table = pa.table(
        {
            "file": [1.0, None],
            "train/loss": pa.array([[1.0, 2.0], []], pa.list_(pa.float64())),
            "data": pa.array([b"abc", None], pa.large_binary()),
            "text": ["a", None],
        }
    )
    write(table, tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz", allow_pickle=False) as arrays:
        assert np.array_equal(arrays["file"], [1.0, NAN], equal_nan=True)
        assert arrays["train/loss"].tolist() == [1.0, 2.0]
        assert arrays["train/loss.offsets"].tolist() == [0, 2, 2]
        assert arrays["data"].tobytes() == b"abc"
        assert arrays["data.offsets"].tolist() == [0, 3, 3]
        assert arrays["text"].tolist() == ["a", ""]


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_an_empty_table_has_its_columns(tmp_path: Path, format: str, table: Table) -> None:
    Table(table.to_arrow().slice(0, 0)).write(tmp_path / f"out.{format}")
    assert (tmp_path / f"out.{format}").exists()


@pytest.mark.parametrize("format", ["csv", "tsv", "json", "jsonl", "xlsx"])
def test_bytes_are_refused_with_a_way_out(tmp_path: Path, format: str) -> None:
    with pytest.raises(OutputError, match=r"bytes of column 'data'.*\n.*\.parquet"):
        write(pa.table({"data": [b"x"]}), tmp_path / f"out.{format}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("format", ["csv", "jsonl", "xlsx"])
def test_of_all_tables_bytes_are_left_out_and_named(table: Table, tmp_path: Path, format: str) -> None:
    pictures = Table(pa.table({"step": [1], "data": [b"x"]}), "images")
    out = tmp_path / ("all.xlsx" if format == "xlsx" else "all")
    with pytest.warns(
        TbqWarning, match=rf"{format} cannot hold bytes: images\.data is left out; .*tbq media"
    ):
        written = write_all({"scalars": table, "images": pictures}, out, format=format)
    if format == "xlsx":
        assert pd.read_excel(out, sheet_name="images").columns.tolist() == ["step"]
        assert len(pd.read_excel(out, sheet_name="scalars")) == 5
    else:
        assert sorted(written) == [str(out / f"{name}.{format}") for name in ("images", "scalars")]
        assert b"data" not in (out / f"images.{format}").read_bytes()
    write_all({"scalars": table, "images": pictures}, tmp_path / "whole.sqlite")  # holds all, without a word


def test_npz_where_values_are_absent(tmp_path: Path) -> None:
    table = pa.table({"b": [True, None], "n": pa.nulls(2), "t": pa.array([36_000, None], pa.time32("s"))})
    write(table, tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz", allow_pickle=False) as arrays:
        assert str(arrays["b"].tolist()) == "[1.0, nan]"
        assert np.isnan(arrays["n"]).all()
        assert arrays["t"].tolist() == ["10:00:00", ""]


def test_sqlite_has_no_larger_integers(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="integers of 2\\^63"):
        write(pa.table({"n": pa.array([2**64 - 1], pa.uint64())}), tmp_path / "out.sqlite")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("format", ["csv", "json", "parquet", "xlsx", "sqlite", "duckdb", "npz", "md"])
@pytest.mark.parametrize("time", ["iso", "relative"])
def test_times(table: Table, tmp_path: Path, format: str, time: str) -> None:
    path = tmp_path / f"out.{format}"
    table.write(path, time=time)
    if format == "csv":
        got = pd.read_csv(path)["wall_time"].tolist()
    elif format == "json":
        got = [record["wall_time"] for record in json.loads(path.read_text())]
    elif format == "parquet":
        got = pq.read_table(path)["wall_time"].to_pylist()
    else:
        assert path.stat().st_size > 0
        return
    if time == "relative":
        assert got == [2.0, 0.0, 0.5, 0.0, 1.0]
    else:
        iso = ["2023-11-14T22:13:22", "2023-11-14T22:13:20", "2023-11-14T22:13:20.5"]
        assert list(pd.to_datetime(got[:3], utc=True)) == list(
            pd.to_datetime(iso, utc=True, format="ISO8601")
        )
        assert list(pd.to_datetime(got[3:], utc=True).year) == [1970, 1970]


def test_a_time_that_no_calendar_holds_is_absent(tmp_path: Path) -> None:
    write(pa.table({"wall_time": [NAN, 1e300, 0.0]}), tmp_path / "out.csv", time="iso")
    assert (tmp_path / "out.csv").read_text().splitlines() == [
        "wall_time", "", "", "1970-01-01T00:00:00.000000Z",
    ]  # fmt: skip


def test_wrong_options(table: Table, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="time: got 'later'"):
        table.write(tmp_path / "out.csv", time="later")
    with pytest.raises(UsageError, match="json_nan"):
        ExportOptions(json_nan="maybe")  # type: ignore[arg-type]


def test_the_kinds_of_columns_that_queries_give(tmp_path: Path) -> None:
    got = duckdb.sql(
        "select 1::utinyint u, 2::ubigint big, 3.50::decimal(5, 2) d, date '2024-02-29' dd, "
        "timestamp '2024-02-29 01:02:03' t, {'a': 1, 'b': 'x'} s, ['p', null] l, true b, null n, 1.5::float f"
    ).arrow()
    arrow = got if isinstance(got, pa.Table) else got.read_all()
    write(arrow, tmp_path / "out.csv")
    write(arrow, tmp_path / "out.jsonl")
    row = pd.read_csv(tmp_path / "out.csv", dtype=str, keep_default_na=False).iloc[0].tolist()
    assert row == [
        "1", "2", "3.50", "2024-02-29", "2024-02-29T01:02:03.000000Z", '{"a":1,"b":"x"}', '["p",null]',
        "true", "", "1.5",
    ]  # fmt: skip
    record = json.loads((tmp_path / "out.jsonl").read_text())
    assert record["s"] == {"a": 1, "b": "x"}
    assert (record["u"], record["big"], record["d"], record["l"], record["n"]) == (
        1,
        2,
        3.5,
        ["p", None],
        None,
    )


def test_a_file_a_run(table: Table, tmp_path: Path) -> None:
    template = str(tmp_path / "out" / "{run}.csv")
    paths = write(table, template)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["exp_1.csv", "exp_2.csv"]
    assert [len(pd.read_csv(path)) for path in paths] == [3, 2]
    (tmp_path / "out" / "exp_1.csv").unlink()
    with pytest.raises(OutputError, match=r"exp_2.csv: already exists"):
        write(table, template)
    assert not (tmp_path / "out" / "exp_1.csv").exists()  # nothing is written when one cannot be
    write(table, template, force=True)


def test_names_of_runs_are_safe_and_apart(tmp_path: Path) -> None:
    from tbq.export.runs import run_paths

    runs = [".", "a/b", "a_b", "A_B", "../../etc", "con", "x" * 400, 'a:<>"|?*\\', "é"]
    paths = run_paths("{run}.csv", runs)
    names = [path.lower() for path in paths.values()]
    assert len(set(names)) == len(runs)
    assert paths["."] == "root.csv"
    assert paths["a/b"] == "a_b.csv"
    assert paths["../../etc"] == "_.._.._etc.csv"
    for path in paths.values():
        assert len(path.encode()) < 250
        (tmp_path / path).touch()


@pytest.mark.parametrize(
    ("path", "format", "want"),
    [
        ("a.CSV", None, ("csv", None)),
        ("runs.v2/a.db", None, ("sqlite", None)),
        ("a.b.ndjson.zst", None, ("jsonl", "zst")),
        ("whatever", "csv.gz", ("csv", "gz")),
        ("-", "parquet", ("parquet", None)),
        ("a.txt.gz", "csv", ("csv", "gz")),
    ],
)
def test_format_of(path: str, format: str | None, want: tuple[str, str | None]) -> None:
    assert format_of(path, format) == want


def test_anything_with_the_arrow_capsule_can_be_written(tmp_path: Path) -> None:
    write(pl.DataFrame({"a": [1]}), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "a\n1\n"


def test_the_text_of_chunks_with_offsets_and_nulls() -> None:
    from tbq.export.csv import write as write_csv

    table = pa.table(
        {
            "label": pa.array(["a", None, "b", "c"]).dictionary_encode(),
            "n": pa.array([1, None, 3, 4]),
            "list": pa.array([[1.5], None, [], [2.5, NAN]]),
        }
    )
    out = io.BytesIO()
    write_csv(pa.concat_tables([table.slice(1, 2), table.slice(3), table.slice(0, 1)]), out, ExportOptions())
    assert out.getvalue().decode() == 'label,n,list\n,,\nb,3,"[]"\nc,4,"[2.5,null]"\na,1,"[1.5]"\n'
