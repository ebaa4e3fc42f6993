"""`log.dataset`, `log.lazy` and `log.scan`: frames that read no more than they need."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import duckdb
import eventfile as ef
import logs
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

import tbq
from tbq.query import scanning as reading
from tbq.query.dataset import LogDataset
from tbq.query.lazy import conjuncts, lazy, step_range
from tbq.query.scanning import Scan, Scanning, groups
from tbq.query.sql import sql
from tbq.select import MAX_STEP, MIN_STEP


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> tbq.LogDir:
    curves = {run: {"loss": logs.line(range(8)), "acc": logs.line(range(4))} for run in ("a", "b", "c")}
    return tbq.open(logs.write(tmp_path_factory.mktemp("frames"), curves))


# ---- dataset ----


def test_dataset_is_one_of_arrow(log: tbq.LogDir) -> None:
    made = log.dataset()
    assert isinstance(made, ds.Dataset)
    assert made.schema == log.scalars().to_arrow().schema
    assert made.count_rows() == 36
    assert made.head(3).num_rows == 3
    assert made.to_table(columns=["step"], filter=pc.field("tag") == "acc").to_pydict() == {
        "step": [0, 1, 2, 3] * 3
    }
    assert sum(batch.num_rows for batch in made.to_batches(filter=pc.field("run") == "b")) == 12
    doubled = made.to_table(columns={"twice": pc.field("value") * 2}, filter=pc.field("step") == 7)
    assert doubled.to_pydict() == {"twice": [14.0] * 3}
    assert made.take([0, 35]).num_rows == 2


def test_what_arrow_would_answer_by_itself(log: tbq.LogDir) -> None:
    """The base class of the dataset has no rows: no method may fall through to it."""
    made = log.dataset()
    only = made.filter(pc.field("tag") == "acc").filter(pc.field("step") > 1)
    assert only.count_rows() == 6
    assert only.count_rows(filter=pc.field("run") == "a") == 2
    assert made.sort_by([("value", "descending")]).head(1)["value"].to_pylist() == [7.0]
    assert sum(fragment.count_rows() for fragment in made.get_fragments()) == 36
    steps = ds.InMemoryDataset(pa.table({"step": [7]}))
    assert (
        made.to_table(columns=["step", "value"]).join(steps.to_table(), "step", join_type="inner").num_rows
        == 3
    )
    assert made.join(steps, "step", join_type="right semi").count_rows() == 1
    assert made.replace_schema(pa.schema([made.schema.field("step")])).to_table().num_rows == 36
    with pytest.raises(TypeError, match="pickle the log"):
        pickle.dumps(made)


def test_the_user_of_duckdb_has_the_dataset(log: tbq.LogDir) -> None:
    scans: list[Scan] = []
    scalars = LogDataset(log._reader, "scalars", Scanning(on_scan=scans.append))
    with duckdb.connect() as connection:
        connection.register("mine", scalars)
        assert connection.execute("select count(*) from mine where tag = 'acc' and step < 2").fetchall() == [
            (6,)
        ]
    assert [scan.rows for scan in scans] == [6]


def test_overviews_are_datasets_too(log: tbq.LogDir) -> None:
    assert log.dataset(kind="runs").to_table(filter=pc.field("run") == "b")["last_step"].to_pylist() == [7]


@pytest.mark.parametrize("made", ["dataset", "lazy", "scan", "table"])
def test_no_such_kind(log: tbq.LogDir, made: str) -> None:
    with pytest.raises(tbq.TbqError, match="no table is called 'scalrs'"):
        getattr(log, made)(**{"name" if made == "table" else "kind": "scalrs"})


# ---- lazy ----


def test_lazy_frame(log: tbq.LogDir) -> None:
    frame = log.lazy()
    assert isinstance(frame, pl.LazyFrame)
    got = (
        frame.filter(pl.col("tag") == "loss").group_by("run").agg(pl.col("value").max()).sort("run").collect()
    )
    assert got.rows() == [("a", 7.0), ("b", 7.0), ("c", 7.0)]
    assert log.lazy(kind="tags").filter(pl.col("count") == 4).collect().height == 3
    assert log.lazy().collect().rows() == log.scalars().to_polars().rows()


@pytest.mark.parametrize(
    ("where", "stored", "runs"),
    [
        (pl.col("tag") == "acc", 12, 3),
        ((pl.col("tag") == "acc") & (pl.col("step") >= 2), 6, 3),
        (pl.col("run").is_in(["a", "c"]) & pl.col("step").is_between(1, 2), 8, 2),
        ((pl.col("tag") == "acc") | (pl.col("tag") == "nothing"), 12, 3),
        ((pl.col("tag") == "acc") | (pl.col("step") == 7), 36, 3),
        ((pl.lit(3) > pl.col("step")) & (pl.col("run") == "b"), 6, 1),
        ((pl.col("step") > 5) & (pl.col("step") < 3), 0, 0),
        (pl.col("run") == "nowhere", 0, 0),
        (~(pl.col("tag") == "acc"), 24, 3),
    ],
)
def test_predicates_reach_the_reader(log: tbq.LogDir, where: pl.Expr, stored: int, runs: int) -> None:
    scans: list[Scan] = []
    got = lazy(log._reader, on_scan=scans.append).filter(where).collect()
    assert got.rows() == log.scalars().to_polars().filter(where).rows()
    assert [(scan.rows, scan.runs) for scan in scans] == [(stored, runs)]


@pytest.fixture
def by_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are decoded one by one, small as they are."""
    monkeypatch.setattr(reading, "FIRST_BYTES", 1)
    monkeypatch.setattr(reading, "GROUP_BYTES", 1)


@pytest.mark.usefixtures("by_run")
def test_a_limit_ends_the_reading(log: tbq.LogDir) -> None:
    scans: list[Scan] = []
    assert lazy(log._reader, on_scan=scans.append).head(14).collect().height == 14
    assert lazy(log._reader, on_scan=scans.append).select("step").limit(12).collect().height == 12
    assert [(scan.runs, scan.decoded, scan.columns) for scan in scans] == [
        (3, 2, tuple(log.dataset().schema.names)),
        (3, 1, ("step",)),
    ]


@pytest.mark.usefixtures("by_run")
def test_a_limit_behind_a_filter(log: tbq.LogDir) -> None:
    some = log.lazy().filter(pl.col("value") > 5).head(3)
    assert some.collect().select("run", "value").rows() == [("a", 6.0), ("a", 7.0), ("b", 6.0)]


@pytest.mark.usefixtures("by_run")
def test_a_limit_of_a_query_ends_the_reading(log: tbq.LogDir) -> None:
    scans: list[Scan] = []
    assert len(sql(log._reader, "select step from scalars limit 5", on_scan=scans.append)) == 5
    query = "select run, value from scalars where tag = 'loss' limit 3"
    assert sql(log._reader, query, on_scan=scans.append).to_arrow()["run"].to_pylist() == ["a"] * 3
    ordered = "select run, value from scalars order by run desc, value limit 1"
    assert sql(log._reader, ordered, on_scan=scans.append).to_arrow().to_pylist() == [
        {"run": "c", "value": 0.0}
    ]
    everything = "select ema(value, 0.5), relative_time from scalars limit 100"
    assert len(sql(log._reader, everything, on_scan=scans.append)) == 36
    assert [scan.decoded for scan in scans][2:] == [3, 3]
    assert all(scan.decoded < 3 for scan in scans[:2])


@pytest.mark.usefixtures("by_run")
@pytest.mark.parametrize("ask", ["sql", "lazy", "scan"])
def test_one_run_that_cannot_be_read_is_told_of(tmp_path: Path, ask: str) -> None:
    root = logs.write(tmp_path, {run: {"t": logs.line(range(5))} for run in ("a", "b", "c")})
    for file in (*root.glob("a/*"), *root.glob("c/*")):
        file.write_bytes(b"not an event file")
    log = tbq.open(root)
    with pytest.warns(tbq.TbqWarning, match="no record"):
        if ask == "sql":
            assert len(log.sql("select * from scalars limit 9")) == 5
        elif ask == "lazy":
            assert log.lazy().collect().height == 5
        else:
            assert log.scan().read_all().num_rows == 5


@pytest.mark.usefixtures("by_run")
def test_a_limited_query_that_fails(tmp_path: Path) -> None:
    """An error reads like that of any other query, although DuckDB requests the rows late."""
    root = logs.write(tmp_path, {run: {"t": logs.line(range(20))} for run in ("a", "b")})
    for file in root.glob("a/*"):
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 0xFF
        file.write_bytes(data)
    with pytest.warns(tbq.TbqWarning, match="bytes lost"):
        assert len(tbq.open(root).sql("select * from scalars limit 25")) == 25
    for file in root.glob("*/*"):
        file.write_bytes(b"not an event file")
    with pytest.raises(tbq.TbqError, match="no record"):
        tbq.open(root).sql("select * from scalars limit 25")


def test_parts_of_a_predicate() -> None:
    tag, step = pl.col("tag") == "x", pl.col("step") > 3
    assert [str(part) for part in conjuncts(tag & step & tag)] == [str(tag), str(step), str(tag)]
    assert len(list(conjuncts(tag | step))) == 1
    assert step_range([step, pl.col("step") <= 9, tag]) == (4, 9)
    assert step_range([pl.col("step") > 3.5, pl.col("step") + 1 > 3]) == (MIN_STEP, MAX_STEP)


# ---- scan ----


@pytest.mark.usefixtures("by_run")
def test_scan_streams_run_by_run(log: tbq.LogDir, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[str] = []
    real = log._reader.read_quietly

    def noting(runs: Any, *rest: Any, **more: Any) -> Any:
        decoded.extend(run.name for run in runs)
        return real(runs, *rest, **more)

    monkeypatch.setattr(log._reader, "read_quietly", noting)
    reader = log.scan()
    assert isinstance(reader, pa.RecordBatchReader)
    assert decoded == []
    for i, batch in enumerate(reader):
        assert set(batch.column("run").to_pylist()) == {"abc"[i]}
        assert decoded == ["a", "b", "c"][: i + 1]


def test_scan_gives_the_rows_of_the_table(log: tbq.LogDir) -> None:
    assert log.scan().read_all().to_pylist() == log.scalars().to_arrow().to_pylist()
    some = log.scan(run=["a", "b"], tag="acc", steps="1:2").read_all()
    assert some.to_pylist() == log.scalars(run=["a", "b"], tag="acc", steps="1:2").to_arrow().to_pylist()
    assert log.scan(kind="runs").read_all().num_rows == 3
    assert pl.from_arrow(log.scan()).height == 36  # type: ignore[union-attr]


def test_groups_of_runs(log: tbq.LogDir) -> None:
    runs = log._reader.runs
    size = sum(Path(path).stat().st_size for path in runs[0].files)
    assert [len(group) for group in groups(runs, 2 * size, 2 * size)] == [2, 1]
    assert [len(group) for group in groups(runs, 1, 1)] == [1, 1, 1]
    assert [len(group) for group in groups(runs, 1, 10 * size)] == [1, 1, 1]
    assert [len(group) for group in groups(runs, size, 10 * size)] == [1, 2]
    assert [len(group) for group in groups(runs, 10 * size, 10 * size)] == [3]
    assert list(groups([], 10, 10)) == []


def test_damage_is_told_while_streaming(tmp_path: Path) -> None:
    file = next(logs.write(tmp_path, {"r": {"t": logs.line(range(20))}}).glob("r/*"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(data)
    with pytest.warns(tbq.TbqWarning, match="bytes lost"):
        assert tbq.open(tmp_path).scan().read_all().num_rows == 19


# ---- other kinds ----


_PNG = b"\x89PNG\r\n\x1a\n" + bytes(5000)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> tbq.LogDir:
    """Scalars, texts and images in two runs."""
    root = tmp_path_factory.mktemp("mixed")
    for run in ("a", "b"):
        (root / run).mkdir()
        events = [ef.version()]
        for step in range(4):
            events += [
                ef.scalar("loss", step, float(step)),
                ef.text("note", step, f"{run} at {step}".encode(), ef.WALL + step),
                ef.image("picture", step, _PNG, width=3, height=step, wall=ef.WALL + step),
            ]
        (root / run / "events.out.tfevents.1.host").write_bytes(ef.event_file(events))
    return tbq.open(root)


def test_other_kinds_stream(mixed: tbq.LogDir) -> None:
    some = (pc.field("run") == "b") & (pc.field("step") > 1)
    texts = mixed.dataset(kind="texts").to_table(columns=["step", "text"], filter=some)
    assert texts.to_pydict() == {"step": [2, 3], "text": ["b at 2", "b at 3"]}
    assert mixed.lazy(kind="images").filter(pl.col("height") == 2).select(
        "run", "width"
    ).collect().rows() == [
        ("a", 3),
        ("b", 3),
    ]
    assert mixed.scan(kind="texts", run="a").read_all()["text"].to_pylist() == [
        f"a at {step}" for step in range(4)
    ]
    assert mixed.scan(kind="texts").read_all().schema == mixed.table("texts").to_arrow().schema


def test_other_kinds_in_sql(mixed: tbq.LogDir) -> None:
    scans: list[Scan] = []
    query = "select run, max(octet_length(data)) as size, count(*) as n from images where step >= $first group by run"
    assert sql(
        mixed._reader, f"{query} order by run", {"first": 3}, on_scan=scans.append
    ).to_arrow().to_pylist() == [
        {"run": "a", "size": 5008, "n": 1},
        {"run": "b", "size": 5008, "n": 1},
    ]
    assert [(scan.kind, scan.rows, scan.steps[0]) for scan in scans] == [("images", 2, 3)]
    both = (
        "select count(*) as n from texts t join scalars s using (run, step) join images i using (run, step)"
    )
    assert mixed.sql(both).to_arrow().to_pylist() == [{"n": 8}]
    late = "select text, relative_time from texts where relative_time > 2 and run = 'a'"
    assert mixed.sql(late).to_arrow().to_pylist() == [{"text": "a at 3", "relative_time": 3.0}]
    twice = "select count(*) as n from texts a join texts b using (run, step, text)"
    assert mixed.sql(twice).to_arrow().to_pylist() == [{"n": 8}]


def test_what_is_no_table_of_a_log(mixed: tbq.LogDir) -> None:
    with pytest.raises(tbq.TbqError, match="media is not a table of a log"):
        mixed.dataset(kind="media").to_table()
