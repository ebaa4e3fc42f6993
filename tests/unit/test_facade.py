"""What `tbq` exports, and what all methods of a log have in common: selections, keywords, pickling, writing."""

from __future__ import annotations

import inspect
import math
import pickle
import pkgutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tbq
from tbq.errors import OutputError, SelectionError, TbqWarning, UsageError
from tbq.kinds.histograms import HistogramTable
from tbq.kinds.hparams import HparamTable
from tbq.kinds.tensors import TensorTable


@pytest.fixture
def log(runs: Path) -> tbq.LogDir:
    return tbq.open(runs)


pytestmark = pytest.mark.filterwarnings("ignore:run resumed:tbq.TbqWarning")


def test_what_is_exported() -> None:
    assert tbq.__all__ == [
        "AudioTable", "Diagnosis", "Finding", "Findings", "Follower", "Histogram", "HistogramTable", "HparamTable",
        "LogDir", "Mesh", "Problem", "Rewritten", "RunChanges", "RunWriter", "Series", "SummaryTable", "SummaryWriter",
        "Table", "TagTable", "TbqError", "TbqWarning", "TensorTable", "Update", "__version__",
        "board", "compat", "demo", "doctor", "errors", "explain", "follow", "init", "lake", "live",
        "load_ipython_extension", "mcp", "open", "patch", "ray",
        "read", "release_memory", "results", "rewrite", "serve", "unpatch", "watch",
    ]  # fmt: skip
    for name in (
        "board",
        "demo",
        "doctor",
        "explain",
        "follow",
        "mcp",
        "open",
        "read",
        "rewrite",
        "serve",
        "watch",
    ):
        assert inspect.isfunction(getattr(tbq, name)), name
    code = "import tbq; tbq.compat.install(); tbq.compat.uninstall(); tbq.results.weights; tbq.lake.sync"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert tbq.Table is tbq.table.table.Table and tbq.errors.TbqError is tbq.TbqError


def test_no_module_has_the_name_of_a_public_function() -> None:
    names = {module.name for module in pkgutil.iter_modules(tbq.__path__)}
    assert not names & set(tbq._LAZY)


PUBLIC = [
    (name, method)
    for name, method in inspect.getmembers(tbq.LogDir, inspect.isfunction)
    if not name.startswith("_")
]


#: Functions of two things of the same rank: what is read and where it goes, or what is compared.
OF_TWO = {"compare", "rewrite", "sync", "weights_diff", "write_predictions"}
FUNCTIONS = [
    (name, function)
    for owner in (tbq, tbq.lake, tbq.ray, tbq.results)
    for name, function in ((name, getattr(owner, name)) for name in owner.__all__)
    if inspect.isfunction(function)
]
OF_CLASSES = [
    (f"{owner.__name__}.{name}", method)
    for owner in (tbq.Table, tbq.Follower, tbq.results.Rows, HistogramTable, HparamTable, TensorTable)
    for name, method in inspect.getmembers(owner, inspect.isfunction)
    if not name.startswith("_") and name not in ("image",)  # a cell: row and column
]


def positional(method: Any) -> list[str]:
    parameters = inspect.signature(method).parameters.values()
    return [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]


def test_everything_after_the_first_argument_is_keyword_only() -> None:
    functions = [(name, positional(method), 2 if name in OF_TWO else 1) for name, method in FUNCTIONS]
    methods = [  # one more, for self
        (name, positional(method), 3 if name == "compare" else 2) for name, method in [*PUBLIC, *OF_CLASSES]
    ]
    assert len(functions) > 20 and len(methods) > 100
    assert [(name, got) for name, got, most in [*functions, *methods] if len(got) > most] == []


def misspelt() -> list[tuple[str, str]]:
    """Each keyword of each method that has more of them, with a letter too many."""
    found = []
    for name, method in PUBLIC:
        parameters = inspect.signature(method).parameters.values()
        if (
            any(each.kind is each.VAR_KEYWORD for each in parameters) and name != "image_text"
        ):  # says log.image
            names = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
            found += [(name, each) for each in names if f"{each}s" not in names]
    return found


@pytest.mark.parametrize(("name", "keyword"), misspelt())
def test_a_misspelt_keyword_names_the_closest(
    log: tbq.LogDir, name: str, keyword: str, tmp_path: Path
) -> None:
    arguments = {"a": "lr=0.1/seed=0", "b": "lr=0.1/seed=1", "path": tmp_path / "new", "query": "select 1",
                 "run": "diverged", "name": "scalars", "tag": "lr"}  # fmt: skip
    first = [arguments[each] for each in positional(getattr(tbq.LogDir, name))[1:]]
    with pytest.raises(UsageError, match=rf"no argument '{keyword}s'\n  did you mean {keyword}\?"):
        getattr(log, name)(*first, **{f"{keyword}s": 1})


def test_everything_that_reads_takes_progress_and_on_error(log: tbq.LogDir, tmp_path: Path) -> None:
    reported: list[Any] = []
    options: Any = {"progress": lambda *numbers: reported.append(numbers), "on_error": "ignore", "threads": 1}
    calls = {
        "scalars": (), "series": ("lr", "diverged"), "tags": (), "table": ("runs",), "tables": (), "tensors": (),
        "tensor": ("embedding",), "histograms": (), "histogram": ("weights/layer1",), "images": (),
        "image": ("samples",), "audio": (), "waveform": ("tone",), "texts": (), "text": ("notes",), "hparams": (),
        "pr_curves": (), "meshes": (), "mesh": ("cube",), "graphs": (), "nodes": (), "custom_scalars": (),
        "summary": (), "importance": ("val/loss",), "diagnose": ("diverged",),
        "show": ("notes",), "write": (tmp_path / "all",), "write_media": (tmp_path / "media",),
        "sql": ("select * from scalars",), "scan": (), "reduce": (), "write_reduced": (tmp_path / "reduced",),
        "compare": ("lr=0.1/seed=0", "lr=0.1/seed=1"), "dataset": (), "lazy": (), "plot": ("lr",),
        "write_plot": (tmp_path / "plot.svg",), "plot_text": ("lr",), "image_text": ("samples",), "sparklines": ("lr",),
        "report": (tmp_path / "report.html",),
    }  # fmt: skip
    assert set(calls) == {name for name, _ in PUBLIC}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TbqWarning)
        for name, arguments in calls.items():
            reported.clear()
            if name == "series":
                made: Any = log.series("lr", run="diverged", **options)
            elif name == "reduce":
                made = log.reduce(tag="lr", **options)
            elif name == "write_plot":
                made = log.write_plot(tmp_path / "plot.svg", tag="lr", **options)
            elif name == "write_reduced":
                made = log.write_reduced(tmp_path / "reduced", tag="lr", **options)
            else:
                made = getattr(log, name)(*arguments, **options)
            {
                "scan": lambda x: x.read_all(),
                "dataset": lambda x: x.to_table(),
                "lazy": lambda x: x.collect(),
            }.get(name, lambda x: x)(made)
            assert reported, f"{name} does not report its progress"


# ---- selections ----


def test_a_directory_above_runs_selects_them(log: tbq.LogDir) -> None:
    both = ["lr=0.1/seed=0", "lr=0.1/seed=1"]
    for name in ("lr=0.1", "lr=0.1/"):
        assert sorted(set(log.scalars(run=name)["run"])) == both
        assert log.table("runs", run=name)["run"].tolist() == both
        assert log.summary(run=name)["run"].tolist() == both
    assert len(log.tags(run=".")) == len(log.tags())
    with pytest.raises(SelectionError, match="no tag matches 'val'"):
        log.scalars(tag="val")  # tags have no directories
    with pytest.raises(SelectionError, match=r"no run matches 'lr=0\.'"):
        log.scalars(run="lr=0.")


def test_a_misspelt_tag_is_reported_everywhere(log: tbq.LogDir, tmp_path: Path) -> None:
    with pytest.warns(TbqWarning, match="no tag matches 'vall/loss'; closest: val/loss"):
        log.summary(tag=["vall/loss", "lr"])
    for call in (
        lambda: log.summary(tag="vall/loss"),
        lambda: log.scan(tag="vall/loss").read_all(),
        lambda: log.tags(tag="vall/loss"),
        lambda: log.table("tags", tag="vall/loss"),
        lambda: log.scalars().wide("vall/loss"),
        lambda: log.scalars().summary(tag=["vall/loss"]),
        lambda: log.report(tmp_path / "x.html", tag="vall/loss"),
    ):
        with pytest.raises(SelectionError, match="closest: val/loss"):
            call()


def test_a_misspelt_run_or_name_is_reported_too(log: tbq.LogDir, tmp_path: Path) -> None:
    with pytest.raises(SelectionError, match="no run matches 'divergd'; closest: diverged"):
        log.report(tmp_path / "x.html", run="divergd")
    with pytest.raises(SelectionError, match="no hyperparameter matches 'optimiser'; closest: optimizer"):
        log.hparams().wide("optimiser")
    with pytest.raises(SelectionError, match="'lr,seed'; to select several, pass a list"):
        log.hparams().wide("lr,seed")
    with pytest.raises(SelectionError, match="no tag matches 'nots'; closest: notes\\n"):
        log.show("nots")  # logged as notes/text_summary
    assert log.hparams().wide("optim*").columns == ["run", "optimizer", "group", "status"]
    assert not list(tmp_path.iterdir())


def test_a_table_without_rows_keeps_the_columns_asked_for(log: tbq.LogDir) -> None:
    assert log.scalars().head(0).wide(["lr", "val/loss"]).columns == ["run", "step", "lr", "val/loss"]
    assert log.hparams().head(0).wide("lr").columns == ["run", "lr", "group", "status"]


def test_commas_do_not_separate_names(log: tbq.LogDir) -> None:
    with pytest.raises(
        SelectionError, match=r"no tag matches 'lr,val/loss'; to select several, repeat --tag"
    ):
        log.scalars(tag="lr,val/loss")


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("runs", {"tag": "lr"}, "has no argument 'tag'"),
        ("runs", {"steps": "1:2"}, "has no argument 'steps'"),
        ("runs", {"restarts": "bogus"}, "restarts: got 'bogus'"),
        ("files", {"restarts": "keep"}, "has no argument 'restarts'"),
        ("projector", {"steps": 3}, "has no argument 'steps'"),
        ("runs", {"run": "nowhere"}, "no run matches 'nowhere'"),
        ("scalars", {"stp": 3}, "has no argument 'stp'"),
    ],
)
def test_an_argument_that_cannot_be_honoured_is_an_error(
    log: tbq.LogDir, name: str, options: Any, says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        log.table(name, **options)


def test_counts_follow_the_restart_policy(log: tbq.LogDir) -> None:
    for restarts in ("resume", "keep"):
        rows = len(log.scalars(run="resumed", restarts=restarts, on_error="ignore"))
        counted = log.tags(run="resumed", restarts=restarts)["count"].sum()
        assert rows == counted
        assert log.table("runs", run="resumed", restarts=restarts)["events"].tolist() == [counted]


def test_statistics_take_a_list_or_commas(log: tbq.LogDir) -> None:
    runs = ("lr=0.1/seed=0", "lr=0.1/seed=1")
    for stats in ("last,min", ["last", "min"]):
        assert "lr.min" in log.summary(stats=stats).columns
        assert "lr.min" in log.scalars().summary(stats=stats).columns
        assert set(log.compare(*runs, stats=stats, tag="lr")["stat"]) - {None} == {"last", "min"}
    for stats in ("mean,n", ["mean", "n"]):
        assert log.reduce(by="lr=0.1/*", stats=stats, tag="lr", run="lr=0.1").columns[-2:] == ["mean", "n"]


def test_summary_sorts_and_cuts(log: tbq.LogDir) -> None:
    table = log.summary(sort="hparam.lr:desc", top=3)
    assert table["hparam.lr"].tolist() == sorted(table["hparam.lr"], reverse=True)
    assert len(table) == 3


# ---- pickling ----


def test_a_log_can_be_pickled(log: tbq.LogDir, tmp_path: Path) -> None:
    log.scalars()
    again = pickle.loads(pickle.dumps(log))
    assert again.runs == log.runs
    np.testing.assert_array_equal(again.scalars()["value"], log.scalars()["value"])
    (tmp_path / "history.csv").write_text("epoch,loss\n0,1.5\n1,0.5\n")
    metrics = tbq.open(tmp_path / "history.csv")
    again = pickle.loads(pickle.dumps(metrics))
    del metrics
    assert again.scalars()["value"].tolist() == [1.5, 0.5]
    table = pickle.loads(pickle.dumps(log.tags()))
    assert table.by_kind() == log.tags().by_kind()


def test_a_pickled_log_keeps_its_limit(runs: Path) -> None:
    again = pickle.loads(pickle.dumps(tbq.open(runs, max_unpacked="1GB")))
    assert again._reader.unpacked.limit == 1_000_000_000


# ---- tables ----


def test_manners_of_a_table(log: tbq.LogDir) -> None:
    table = log.scalars("lr", run="diverged")
    assert table.shape == (20, 5) == (len(table), len(table.columns))
    assert table["step"].dtype == np.int64 and table["value"].dtype == np.float64
    assert table["run"].tolist() == ["diverged"] * 20
    rows = list(table)
    assert rows[1]._fields == ("run", "tag", "step", "wall_time", "value")
    assert (rows[1].run, rows[1].step, rows[1].value) == ("diverged", 10, 1.0)
    assert table.head(2).to_dicts() == [row._asdict() for row in rows[:2]]
    assert table.head(100).shape == table.shape and table.head(0).shape == (0, 5)
    with pytest.raises(KeyError, match="no column 'valu'; closest: value"):
        table["valu"]
    with pytest.raises(UsageError, match="no column 'valu'"):
        table["valu"]
    odd = log.summary(run="diverged")
    assert next(iter(odd))[0] == "diverged" and len(next(iter(odd))) == len(odd.columns)
    assert log.histograms()["count"][0].__class__ is list


def test_frames_agree_on_strings(log: tbq.LogDir) -> None:
    table = log.scalars("lr", run="diverged")
    assert isinstance(table.to_pandas()["run"].iloc[0], str)
    assert table.to_polars()["run"].dtype == pl.String
    assert isinstance(table.to_pandas(categories=True)["run"].dtype, pd.CategoricalDtype)
    assert table.to_polars(categories=True)["run"].dtype == pl.Categorical


def test_images_in_frames_and_cells(log: tbq.LogDir) -> None:
    table = log.images()
    frame = table.to_pandas(images="pil")
    assert {image.size for image in frame["data"]} == {(32, 32)}
    assert isinstance(table.to_pandas()["data"].iloc[0], bytes)
    summary = log.summary(run="media", media=True)
    assert summary.image(0, "samples").size == summary.image(-1, "samples").size == (32, 32)
    assert summary.to_pandas(images="pil")["samples"].iloc[0].size == (32, 32)
    for row, column in ((7, "data"), (0, "step"), (0, "dat")):
        with pytest.raises(UsageError):
            table.image(row, column)
    with pytest.raises(UsageError, match="images: got 'png'"):
        table.to_pandas(images="png")  # type: ignore[arg-type]


def test_wide_with_wall_times(log: tbq.LogDir) -> None:
    scalars = log.scalars(["val/loss", "val/accuracy"], run="lr=0.1")
    wide = scalars.wide(wall_time=True)
    assert wide.columns == ["run", "step", "wall_time", "val/loss", "val/accuracy"]
    long = scalars.to_pandas().groupby(["run", "step"])["wall_time"].max()
    assert wide.to_pandas().set_index(["run", "step"])["wall_time"].equals(long)
    assert "wall_time" not in scalars.wide().columns
    with pytest.raises(UsageError, match="wall_time"):
        log.hparams().wide(wall_time=True)


def test_a_histogram_is_printed_short(log: tbq.LogDir) -> None:
    assert repr(log.histogram("weights/layer1")).startswith("<tbq.Histogram: 1000 values in ")
    assert len(repr(log.histogram("weights/layer1"))) < 120


# ---- writing ----


def test_columns_to_keep_and_bytes_to_leave_out(log: tbq.LogDir, tmp_path: Path) -> None:
    images = log.images()
    with pytest.raises(OutputError, match="CSV cannot hold the bytes of column") as reported:
        images.write(tmp_path / "a.csv")
    assert "--drop-bytes (drop_bytes=True)" in str(reported.value)
    assert images.write(tmp_path / "a.csv", drop_bytes=True) == [str(tmp_path / "a.csv")]
    assert "data" not in (tmp_path / "a.csv").read_text().splitlines()[0]
    images.write(tmp_path / "b.csv", columns="step,width")
    assert (tmp_path / "b.csv").read_text().splitlines()[0] == "step,width"
    images.write(tmp_path / "c.parquet", columns=["width"])
    assert pq.read_schema(tmp_path / "c.parquet").names == ["width"]
    with pytest.raises(UsageError, match="no column 'wdth'; closest: width"):
        images.write(tmp_path / "d.csv", columns="wdth")
    with pytest.raises(UsageError, match=r"table\.write has no argument 'colums'"):
        images.write(tmp_path / "d.csv", colums="width")  # type: ignore[call-arg]


def test_a_summary_leaves_its_images_out_of_csv(log: tbq.LogDir, tmp_path: Path) -> None:
    with pytest.warns(TbqWarning, match=r"csv cannot hold bytes: summary\.samples is left out"):
        log.summary(run="media", media=True).write(tmp_path / "a.csv")
    assert "samples" not in (tmp_path / "a.csv").read_text()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        log.summary(run="media", media=True).write(tmp_path / "b.csv", drop_bytes=True)


@pytest.mark.parametrize("method", ["scalars", "summary", "tags", "texts"])
def test_a_tag_for_a_run_and_a_run_for_a_tag(log: tbq.LogDir, method: str) -> None:
    read = getattr(log, method)
    with pytest.raises(
        SelectionError, match=r"no run matches 'val/loss'\n  val/loss is a tag: tag='val/loss', --tag"
    ):
        read(run="val/loss")
    with pytest.raises(
        SelectionError, match=r"no tag matches 'diverged'\n  diverged is a run: run='diverged', --run"
    ):
        read("diverged") if method != "summary" else read(tag="diverged")
    with pytest.raises(SelectionError, match=r"val/\* matches the tag val/"):
        read(run="val/*")


def test_missing_folders_are_made_alike(log: tbq.LogDir, tmp_path: Path) -> None:
    table = log.scalars("lr", run="lr=0.1")
    assert table.write(tmp_path / "one" / "two" / "x.csv") == [str(tmp_path / "one" / "two" / "x.csv")]
    paths = table.write(f"{tmp_path}/three/{{run}}.csv")
    assert [Path(path).name for path in paths] == ["lr=0.1_seed=0.csv", "lr=0.1_seed=1.csv"]
    (tmp_path / "file").touch()
    for path in ("file/x.csv", "file/{run}.csv"):
        with pytest.raises(OutputError):
            table.write(tmp_path / path)


def test_a_log_writes_all_tables_or_one(log: tbq.LogDir, tmp_path: Path) -> None:
    paths = log.write(tmp_path / "all", run="media")
    assert {Path(path).stem for path in paths} >= {"images", "texts", "histograms", "tensors"}
    assert log.write(tmp_path / "all.duckdb", run="diverged") == [str(tmp_path / "all.duckdb")]
    log.write(tmp_path / "lr.csv", kind="scalars", tag="lr", time="relative", columns="run,wall_time")
    assert (tmp_path / "lr.csv").read_text().startswith("run,wall_time\ndiverged,")
    with pytest.raises(UsageError, match="a csv file holds one table"):
        log.write(tmp_path / "x.csv")
    with pytest.raises(OutputError, match="CSV cannot hold the bytes"):
        log.write(tmp_path / "x.csv", kind="images")
    with pytest.raises(UsageError, match=r"log\.write has no argument 'colums'"):
        log.write(tmp_path / "x.csv", kind="scalars", colums="run")  # type: ignore[call-arg]


def test_tensors_become_npy_files(log: tbq.LogDir, tmp_path: Path) -> None:
    written = log.write_media(tmp_path / "media", kinds="tensors")
    assert set(written["kind"]) == {"tensors"}
    for row in written:
        array = np.load(tmp_path / "media" / row.path, allow_pickle=False)
        np.testing.assert_array_equal(array, log.tensor(row.tag, step=row.step, run=row.run))


def test_warnings_point_at_the_line_of_the_caller(log: tbq.LogDir) -> None:
    for call in (
        lambda: log.scalars(tag=["lr", "nowhere"]),
        lambda: log.summary(tag=["lr", "nowhere"]),
        lambda: log.sql("select * from scalars where tag = 'nowhere'"),
        lambda: log.reduce(by="lr=0.1/*", tag="lr"),
    ):
        with pytest.warns(TbqWarning) as reported:
            call()
        assert {Path(warning.filename).name for warning in reported} == {"test_facade.py"}


# ---- rows and columns of a table ----


def test_tail_select_and_schema(log: tbq.LogDir) -> None:
    table = log.scalars("lr", run="diverged")
    assert table.tail(2)["step"].tolist() == table["step"].tolist()[-2:]
    assert len(table.tail(0)) == 0 and len(table.tail(10**6)) == len(table)
    assert table.select("step,value").columns == table[["step", "value"]].columns == ["step", "value"]
    assert table.schema.names == table.columns
    with pytest.raises(KeyError, match="closest: value"):
        table.select(["valu"])


@given(st.lists(st.one_of(st.none(), st.floats(), st.just(math.nan)), max_size=30), st.booleans())
def test_sorting_puts_what_is_absent_last(values: list[float | None], down: bool) -> None:
    table = tbq.Table(pa.table({"place": range(len(values)), "value": pa.array(values, pa.float64())}))
    found = table.sort("value:desc" if down else "value").to_dicts()
    present = [row for row in found if row["value"] is not None and not math.isnan(row["value"])]
    assert present == found[: len(present)]
    keys = [(-row["value"] if down else row["value"], row["place"]) for row in present]
    assert keys == sorted(keys)
    assert sorted(row["place"] for row in found) == list(range(len(values)))


def test_a_filter_is_a_mask_an_expression_or_a_selection(log: tbq.LogDir) -> None:
    table = log.scalars()
    large = table.filter(table["value"] > 1)
    assert large.to_dicts() == table.filter(pc.field("value") > 1).to_dicts()
    assert 0 < len(large) < len(table)
    selected = table.filter(tag="val/*", run="lr=0.1/*", steps="100:")
    assert selected.to_dicts() == log.scalars("val/*", run="lr=0.1/*", steps="100:").to_dicts()
    assert len(table.filter(tag=["lr"], steps=(10**6, None))) == 0
    with pytest.raises(UsageError, match="one bool for each of the"):
        table.filter([True])
    with pytest.raises(UsageError, match="one bool for each of the"):
        table.filter(table["value"])
    with pytest.raises(UsageError, match="no tag matches 'nowhere'"):
        table.filter(tag="nowhere")
    with pytest.raises(UsageError, match="no column 'tag'"):
        table.wide().filter(tag="lr")


LATE = """
import atexit, sys, threading
def late():
    writer.add_scalar("atexit", 1, 1)
    writer.add_scalars("lines", {"a": 1}, 1)
    going.set()
    until.wait(120)
atexit.register(late)  # before tbq is imported: it runs after tbq's own function
import tbq
tbq.patch()
from tensorboardX import SummaryWriter
writer, going, until = SummaryWriter(sys.argv[1]), threading.Event(), threading.Event()
class Last:
    def __init__(self, writer):
        self.writer = writer
    def __del__(self):
        self.writer.add_scalar("destructor", 1, 1)
        self.writer.close()
last = Last(writer)
def log():
    going.wait()
    writer.add_scalar("thread", 1, 1)
    until.set()
threading.Thread(target=log, daemon=True).start()
writer.add_scalar("loss", 1, 1)
writer.add_scalars("lines", {"a": 0}, 0)
"""


def test_a_patched_writer_logs_to_the_end_of_the_process(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", LATE, str(tmp_path)], capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0 and done.stderr == ""
    rows = [(row.tag, row.step) for row in tbq.open(tmp_path).scalars()]
    assert sorted(rows) == [
        ("atexit", 1), ("destructor", 1), ("lines", 0), ("lines", 1), ("loss", 1), ("thread", 1),
    ]  # fmt: skip
