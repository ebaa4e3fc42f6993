"""Values that are not finite, missing or huge: shown, exported and compared without a crash or a wrong number."""

from __future__ import annotations

import io
import math
import re
import struct
import time
import zipfile
from pathlib import Path

import eventfile as ef
import numpy as np
import pyarrow as pa
import pytest

import tbq
from tbq.errors import TbqWarning
from tbq.export import FORMATS
from tbq.kinds.histograms import Histogram, bars
from tbq.query.moments import Moments, merged
from tbq.query.reduce import reduce

SAME = ("csv", "tsv", "json", "jsonl", "parquet", "arrow", "feather", "xlsx", "sqlite", "md", "html", "npz")
ODD = [math.nan, math.inf, -math.inf, -1.0, 0.0, 1e308, -1e308, 5e-324]


def log_of(folder, *values):
    events = [
        ef.event(ef.summary(value), step=step, wall=ef.WALL + step) for step, value in enumerate(values)
    ]
    folder.mkdir(exist_ok=True)
    (folder / "events.out.tfevents.1.h").write_bytes(ef.event_file([ef.version(), *events]))
    return tbq.open(folder)


def histo(limits, counts):
    body = [ef.double_field(number, 1.0) for number in range(1, 6)]
    body += [ef.bytes_field(6, struct.pack(f"<{len(limits)}d", *limits))]
    body += [ef.bytes_field(7, struct.pack(f"<{len(counts)}d", *counts))]
    return ef.value("x", ef.bytes_field(5, body))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("odd", ODD)
def test_histograms_of_odd_counts_and_edges_are_shown(tmp_path, odd):
    for number, (limits, counts) in enumerate(
        [
            ([0.5, 1.0, 2.0], [1.0, odd, 2.0]),
            ([1.0, 2.0], [odd, odd]),
            ([0.5, odd, 2.0], [1.0, 2.0, 3.0]),
            ([float(n) for n in range(60)], [odd if n % 7 else 1.0 for n in range(60)]),
            ([odd] * 40, [1.0] * 40),
        ]
    ):
        text = log_of(tmp_path / str(number), histo(limits, counts)).show("x")
        assert "values from" in text or "(empty)" in text


@pytest.mark.filterwarnings("error")
def test_infinitely_many_values_outweigh_the_others():
    histogram = Histogram(
        np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0]), np.array([5.0, math.inf, math.nan])
    )
    assert histogram.quantiles([0.0, 0.5, 1.0]).tolist() == [1.0, 1.5, 2.0]
    assert bars(histogram, width=4).splitlines()[1].split() == ["1", "…", "2", "████", "inf"]
    assert math.isnan(histogram.total) and "median 1.5" in repr(histogram)
    assert histogram.density()[0].tolist() == [0.0, 1.0, 0.0]
    huge = Histogram(np.array([0.0, 1.0]), np.array([1.0, 2.0]), np.array([1e308, 1e308]))
    assert huge.quantiles([0.0, 0.5, 1.0]).tolist() == [0.0, 1.0, 2.0] and huge.total == math.inf
    open_end = Histogram(np.array([-math.inf]), np.array([math.inf]), np.array([2.0]))
    assert open_end.quantiles([0.0, 1.0]).tolist() == [-math.inf, math.inf]


@pytest.mark.parametrize("dims", [(), None, (1,), (0,), (1, 1)])
@pytest.mark.parametrize("plugin", ["", "scalars", "text"])
def test_tensors_of_strings_are_shown(tmp_path, dims, plugin):
    texts = [] if dims == (0,) else [b"a\r\x1b[31m"]
    value = ef.value(
        "x", ef.tensor("string", texts, dims=dims), ef.metadata(plugin, data_class=2) if plugin else b""
    )
    log = log_of(tmp_path, value)
    shown = log.show("x", on_error="ignore")
    assert "\x1b" not in shown
    if not plugin:
        assert f"string {list(dims or ())}" in shown


def scalars(*values):
    runs = [f"r{n}" for n in range(len(values))]
    table = {
        "run": runs,
        "tag": ["x"] * len(runs),
        "step": [0] * len(runs),
        "value": list(map(float, values)),
    }
    made = pa.table(table)
    for name in ("run", "tag"):
        made = made.set_column(made.column_names.index(name), name, made[name].dictionary_encode())
    return made


@pytest.mark.parametrize(
    "values",
    [
        (math.inf, math.inf),
        (-math.inf, 1.0, -math.inf),
        (math.inf, -math.inf),
        (1.0, math.inf, 2.0),
        (1.0, 2.0, 4.0, math.nan),
        (math.nan, math.inf),
    ],
)
def test_statistics_of_batches_are_those_of_all_values(values):
    whole = reduce(
        scalars(*values), {f"r{n}": "" for n in range(len(values))}, "mean,std,min,max,n"
    ).to_pylist()[0]
    for cut in range(1, len(values)):
        both = merged([Moments.of(scalars(*values[:cut])), Moments.of(scalars(*values[cut:]))])
        got = [both.mean[0], both.std[0], both.min[0], both.max[0], both.count[0]]
        want = [
            math.nan if whole[name] is None else whole[name] for name in ("mean", "std", "min", "max", "n")
        ]
        np.testing.assert_allclose(got, want)


def test_a_hyperparameter_that_is_nan_in_both_runs_does_not_differ(tmp_path):
    for run, same, other in (("a", math.nan, math.nan), ("b", math.nan, 1.0)):
        with tbq.SummaryWriter(tmp_path / run) as writer:
            writer.add_scalar("loss", 1.0, 1)
            writer.add_hparams({"same": same, "other": other}, {}, run_name=".")
    rows = tbq.open(tmp_path).compare("a", "b").to_dicts()
    assert [row["name"] for row in rows if row["what"] == "hparam"] == ["other"]


def test_the_share_of_a_restart_does_not_depend_on_other_runs(tmp_path):
    def session(run, name, wall, steps):
        (tmp_path / run).mkdir(exist_ok=True)
        events = [ef.scalar("loss", step, 1.0, wall + 1 + step) for step in steps]
        (tmp_path / run / f"events.out.tfevents.{name}").write_bytes(
            ef.event_file([ef.version(wall), *events])
        )

    session("a", "1", ef.WALL, range(10, 30))
    session("a", "2", ef.WALL + 1000, range(12))
    session("b", "1", ef.WALL, range(50))

    def reported(run, steps):
        log = tbq.open(tmp_path)
        with pytest.warns(TbqWarning, match="restart"):
            log.scalars(run=run, steps=steps)
        return [
            problem.message for problem in log.problems if problem.code == "restart" and problem.run == "a"
        ]

    assert reported("a", (20, 30)) == reported(None, (20, 30)) == reported(["a", "b"], (20, 30))
    assert reported("a", (20, 30))[0].startswith("restarts=resume dropped 10 of 10 rows (100 %)")
    assert reported("a", None) == reported(None, None)


def test_carriage_returns_survive_a_sheet(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    texts = ["a\rb", "a\r\nb", "\r", "a\nb", "\ufffe", "&#13;", "<\r>"]
    table = tbq.Table(pa.table({"te\rxt": texts}), kind="texts")
    table.write(tmp_path / "a.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "a.xlsx").worksheets[0]
    read = [row[0] for row in sheet.iter_rows(values_only=True)]
    assert read == ["te\rxt", "a\rb", "a\r\nb", "\r", "a\nb", "\ufffd", "&#13;", "<\r>"]


def test_the_documentation_names_the_formats_whose_bytes_differ():
    page = (Path(__file__).parents[2] / "docs" / "formats.md").read_text()
    (said,) = re.findall(r"same bytes in\s+every format except ([^:.]+)", page)
    assert set(re.findall(r"`(\w+)`", said)) == set(FORMATS) - set(SAME)


@pytest.mark.parametrize("ending", [*SAME, "csv.gz", "csv.zst"])
def test_the_same_table_gives_the_same_bytes_at_any_time(tmp_path, monkeypatch, ending):
    table = tbq.Table(
        pa.table({"step": [1, 2], "text": ["a", None], "value": [0.5, math.nan]}), kind="scalars"
    )
    made = []
    now = time.time()
    for later in (0, 100_000_000):
        monkeypatch.setattr(time, "time", lambda later=later: now + later)
        monkeypatch.setattr(time, "localtime", lambda *_, later=later: time.gmtime(now + later))
        path = tmp_path / str(later) / f"a.{ending}"
        path.parent.mkdir()
        table.write(path)
        made.append(path.read_bytes())
    assert made[0] == made[1]
    if ending in ("xlsx", "npz"):
        with zipfile.ZipFile(io.BytesIO(made[0])) as archive:
            assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
            assert not any(b"202" in archive.read(name) for name in archive.namelist() if "docProps" in name)


@pytest.mark.parametrize("ending", SAME)
def test_the_same_table_gives_the_same_bytes_however_it_is_divided(tmp_path, ending):
    whole = pa.table(
        {
            "tag": pa.array(["a"] * 50 + ["b"] * 50).dictionary_encode(),
            "step": range(100),
            "text": [None, "x"] * 50,
        }
    )
    made = []
    for size in (100, 50, 7):
        parts = [whole.slice(first, size) for first in range(0, 100, size)]
        path = tmp_path / str(size) / f"a.{ending}"
        path.parent.mkdir()
        tbq.Table(pa.concat_tables(parts), kind="scalars").write(path)
        made.append(path.read_bytes())
    assert made[0] == made[1] == made[2]
