"""`Table`: the ways out of it, its layouts at their edges, and how it looks."""

import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tbq.errors import TbqWarning, UsageError
from tbq.schema import KINDS, schema
from tbq.table import Table
from tbq.table.wide import column_names


def scalars(rows: list[tuple[str, str, int, float]]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ([], [], [], [])
    run, tag, step, value = map(list, columns)
    return pa.table([run, tag, step, [0.0] * len(run), value], schema=schema("scalars"))


@pytest.fixture
def table() -> Table:
    return Table(
        scalars([("a", "acc", 1, 0.5), ("a", "loss", 0, 3.0), ("a", "loss", 1, 2.0), ("b", "loss", 0, 9.0)])
    )


def test_every_kind_has_a_schema() -> None:
    for kind in KINDS:
        names = schema(kind).names
        assert len(set(names)) == len(names)
        if kind not in ("runs", "files", "problems", "tags", "projector", "media"):
            assert names[:4] == ["run", "tag", "step", "wall_time"]
    assert schema("scalars").field("run").type == pa.dictionary(pa.int32(), pa.string())
    with pytest.raises(UsageError, match="no table is called 'scalar'"):
        schema("scalar")


def test_pandas_gets_strings_and_categories_on_request(table: Table) -> None:
    frame = table.to_pandas()
    assert frame["run"].tolist() == ["a", "a", "a", "b"]
    assert not isinstance(frame["run"].dtype, pd.CategoricalDtype)
    assert isinstance(table.to_pandas(categories=True)["run"].dtype, pd.CategoricalDtype)


def test_polars_and_the_capsule(table: Table) -> None:
    assert table.to_polars()["value"].to_list() == [0.5, 3.0, 2.0, 9.0]
    assert pl.DataFrame(table).shape == (4, 5)
    assert pa.table(table).equals(table.to_arrow())
    assert len(table) == 4
    assert table.columns == ["run", "tag", "step", "wall_time", "value"]


def test_wide_by_name_and_in_the_order_asked_for(table: Table) -> None:
    assert table.wide().to_arrow().to_pylist() == [
        {"run": "a", "step": 0, "acc": None, "loss": 3.0},
        {"run": "a", "step": 1, "acc": 0.5, "loss": 2.0},
        {"run": "b", "step": 0, "acc": None, "loss": 9.0},
    ]
    assert table.wide(["loss", "acc"]).columns == ["run", "step", "loss", "acc"]
    assert table.wide("l*").columns == ["run", "step", "loss"]


def test_a_tag_that_is_nowhere_is_a_blank_column(table: Table) -> None:
    with pytest.warns(TbqWarning, match="no tag matches 'los'; closest: loss"):
        wide = table.wide(["los", "loss"])
    assert wide.columns == ["run", "step", "los", "loss"]
    assert wide.to_arrow()["los"].null_count == len(wide)
    assert Table(table.to_arrow(), tags=["x", "loss"]).wide().columns == ["run", "step", "x", "loss"]
    assert Table(table.to_arrow(), tags=["x", "loss"]).summary().columns == ["run", "x", "loss"]


def test_tags_called_run_and_step() -> None:
    table = Table(scalars([("a", "run", 1, 1.0), ("a", "step", 1, 2.0), ("a", "tag.step", 1, 3.0)]))
    wide = table.wide().to_arrow().to_pylist()
    assert wide == [{"run": "a", "step": 1, "tag.run": 1.0, "tag.tag.step": 2.0, "tag.step": 3.0}]
    assert column_names(["loss", "step", "run"]) == ["loss", "tag.step", "tag.run"]


def test_hidden_values_are_counted() -> None:
    table = Table(scalars([("a", "loss", 1, 1.0), ("a", "loss", 1, 2.0), ("a", "loss", 2, 3.0)]))
    with pytest.warns(TbqWarning, match=r"1 value hidden .* loss \(1\)"):
        wide = table.wide()
    assert wide.to_arrow()["loss"].to_pylist() == [2.0, 3.0]


def test_wide_of_steps_that_are_far_apart() -> None:
    ends = [-(2**63), -5, 0, 10**12, 2**63 - 1]
    table = Table(scalars([("a", tag, step, float(step)) for tag in ("x", "y") for step in ends]))
    wide = table.wide().to_arrow()
    assert wide["step"].to_pylist() == ends
    assert wide["y"].to_pylist() == [float(step) for step in ends]


def test_wide_of_many_strided_steps() -> None:
    steps = np.arange(0, 200_000) * 1000
    arrow = pa.table(
        {
            "run": pa.array(["a"] * len(steps)).dictionary_encode(),
            "tag": pa.array(["loss"] * len(steps)).dictionary_encode(),
            "step": steps,
            "value": steps.astype(float),
        }
    )
    wide = Table(arrow).wide().to_arrow()
    assert wide["step"].equals(pa.chunked_array([steps]))
    assert wide["loss"].to_pylist()[-1] == float(steps[-1])


def test_a_wide_table_of_absurd_size_is_refused() -> None:
    rows = [("a", f"t{i}", i, 1.0) for i in range(47_000)]
    with pytest.raises(UsageError, match="too large"):
        Table(scalars(rows)).wide()


def test_summary(table: Table) -> None:
    got = table.summary(stats=["last", "min", "min_step", "count"]).to_arrow().to_pylist()
    assert got == [
        {
            "run": "a", "acc": 0.5, "acc.min": 0.5, "acc.min_step": 1, "acc.count": 1,
            "loss": 2.0, "loss.min": 2.0, "loss.min_step": 1, "loss.count": 2,
        },
        {
            "run": "b", "acc": None, "acc.min": None, "acc.min_step": None, "acc.count": None,
            "loss": 9.0, "loss.min": 9.0, "loss.min_step": 0, "loss.count": 1,
        },
    ]  # fmt: skip
    assert table.summary(stats="max").columns == ["run", "acc.max", "loss.max"]
    with pytest.raises(UsageError, match=r"stats: got 'median'"):
        table.summary(stats=["median"])


def test_the_last_value_may_be_nan_and_the_best_ignores_it() -> None:
    nan = float("nan")
    table = Table(scalars([("a", "loss", 0, 2.0), ("a", "loss", 1, 1.0), ("a", "loss", 2, nan)]))
    (row,) = table.summary(stats=["last", "min", "max", "mean", "count"]).to_arrow().to_pylist()
    assert np.isnan(row.pop("loss"))
    assert row == {"run": "a", "loss.min": 1.0, "loss.max": 2.0, "loss.mean": 1.5, "loss.count": 3}


def test_infinities_make_no_noise() -> None:
    table = Table(scalars([("a", "loss", 0, float("inf")), ("a", "loss", 1, 1.0)]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (row,) = table.summary(stats=["mean", "std", "max_step"]).to_arrow().to_pylist()
    assert row["loss.mean"] == float("inf")
    assert np.isnan(row["loss.std"])
    assert row["loss.max_step"] == 0


def test_an_empty_table_has_layouts() -> None:
    empty = Table(scalars([]))
    assert empty.wide().columns == ["run", "step"]
    assert empty.summary().columns == ["run"]
    assert "0 rows" in repr(empty)
    assert Table(scalars([]), tags=["loss"]).wide().columns == ["run", "step", "loss"]


def test_layouts_are_for_scalars() -> None:
    with pytest.raises(UsageError, match="this is a table of texts"):
        Table(pa.table({"text": ["x"]}), "texts").wide()


def test_repr_shows_the_ends_and_the_size() -> None:
    table = Table(scalars([("a", "loss", i, i / 10) for i in range(1000)]))
    text = repr(table)
    assert "scalars: 1,000 rows × 5 columns" in text
    assert " 0.1" in text
    assert "99.9" in text
    assert "50.0" not in text
    assert "1970-01-01 00:00:00" in text
    assert max(len(line) for line in text.splitlines()) <= 100


def test_repr_of_many_columns_shows_what_fits() -> None:
    table = Table(scalars([("a", f"metric_{i:03d}", 0, 1.0) for i in range(200)]))
    text = repr(table.wide())
    assert "metric_000" in text
    assert "wide: 1 row × 202 columns, 1" in text
    assert "not shown" in text
    assert max(len(line) for line in text.splitlines()) <= 100


def test_repr_takes_hostile_text() -> None:
    table = Table(scalars([("[bold]a[/bold]", "x\x1b[31m\n\ty" + "z" * 500, 0, 1.0)]))
    text = repr(table)
    assert "[bold]a[/bold]" in text
    assert "\x1b" not in text
    assert "z" * 100 not in text


def test_a_notebook_aligns_text_to_the_left_and_breaks_long_names() -> None:
    html = Table(scalars([("x" * 200, "loss", 1, 0.5)]))._repr_html_()
    text = re.findall("<t[hd] style='text-align:left;[^']*overflow-wrap:anywhere'>([^<]*)", html)
    assert text[:2] == ["run", "tag"] and {"x" * 200, "loss"} <= {*text}
    assert re.findall("<t[hd] class='n'>([^<]*)", html) == ["step", "value", "1", "0.5"]


def test_html_for_notebooks(table: Table) -> None:
    html = Table(scalars([("<b>", "loss", i, 1.0) for i in range(100)]))._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert html.count("<tr>") == 1 + 15 + 1
    assert "100 rows" in html


def test_chunks_with_dictionaries_of_their_own() -> None:
    one = scalars([("a", "loss", 0, 1.0)])
    two = scalars([("b", "acc", 0, 2.0), ("b", "loss", 0, 3.0)])
    table = Table(pa.concat_tables([one, two]))
    assert table.wide().to_arrow().to_pylist() == [
        {"run": "a", "step": 0, "acc": None, "loss": 1.0},
        {"run": "b", "step": 0, "acc": 2.0, "loss": 3.0},
    ]
    assert table.to_pandas()["run"].tolist() == ["a", "b", "b"]
    assert table.to_pandas(categories=True)["run"].tolist() == ["a", "b", "b"]


def test_a_selection_imports_nothing_heavy() -> None:
    code = (
        "import sys, tbq.select, tbq.schema, tbq.export, tbq.table; "
        "sys.exit(bool({'numpy', 'pyarrow', 'duckdb', 'pandas', 'polars', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_no_condition_or_column_is_named(table: Table) -> None:
    for where in (pc.field("nope") > 1, pc.field("step") + 1, pc.field("run")):
        with pytest.raises(UsageError, match="where: got"):
            table.filter(where)
    for wrong in (None, 5):
        with pytest.raises(UsageError, match="select: got"):
            table.select(wrong)  # type: ignore[arg-type]
    for wrong in (None, 5, [1]):
        with pytest.raises(UsageError, match="sort: got"):
            table.sort(wrong)  # type: ignore[arg-type]
    empty = table.head(0)
    assert len(empty.filter([value > 2 for value in empty["value"]])) == 0


def test_rows_without_a_tag_are_of_no_tag(tmp_path: Path) -> None:
    columns = {
        "run": ["a", "a"],
        "tag": ["x", None],
        "step": [0, 0],
        "value": [1.0, 2.0],
        "more": pa.nulls(2),
    }
    table = Table(pa.table(columns))
    assert table.wide("x").to_dicts() == [{"run": "a", "step": 0, "x": 1.0}]
    assert table.summary("x").to_dicts() == [{"run": "a", "x": 1.0}]
    assert len(table.filter(tag="*")) == 1
    table.head(0).write(tmp_path / "x.parquet")
    assert pq.read_table(tmp_path / "x.parquet").column_names == list(columns)
