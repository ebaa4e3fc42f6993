"""Rows of a scalar table grouped by run and tag: one rule for absent names, steps and values."""

from __future__ import annotations

import pyarrow as pa
import pytest

import tbq
from tbq.columns.grouped import GroupedRows
from tbq.errors import UsageError
from tbq.summary.statistics import summary
from tbq.table.downsample import every, max_points
from tbq.table.smooth import smooth
from tbq.table.wide import wide

# Two series, not in order, with rows that lack each of the four columns between them.
TABLE = pa.table(
    {
        "run": ["a", "b", None, "a", "a", "b", "a", "a"],
        "tag": ["x", "x", "x", None, "x", "x", "x", "x"],
        "step": [0, 0, 1, 1, None, 1, 1, 2],
        "value": pa.array([1.0, 3.0, 9.0, 9.0, 9.0, 5.0, None, 2.0]),
    }
)
COMPLETE = [("a", 0, 1.0), ("b", 0, 3.0), ("b", 1, 5.0), ("a", 2, 2.0)]


def rows(table: pa.Table) -> list[tuple[str, int, float]]:
    return list(zip(*(table[name].to_pylist() for name in ("run", "step", "value")), strict=True))


@pytest.mark.parametrize("encoded", [False, True], ids=["strings", "labels"])
def test_incomplete_rows_belong_to_no_series(encoded: bool) -> None:
    table = TABLE
    if encoded:
        for place, name in enumerate(("run", "tag")):
            table = table.set_column(place, name, table[name].dictionary_encode())
    grouped = GroupedRows.of(table)
    assert grouped.value.tolist() == [1.0, 2.0, 3.0, 5.0]
    assert grouped.starts.tolist() == [0, 2]
    assert grouped.ends.tolist() == [2, 4]
    assert grouped.in_table_order(grouped.value).tolist() == [value for _, _, value in COMPLETE]
    assert rows(every(table, 1)) == rows(max_points(table, 10)) == COMPLETE
    assert rows(every(table, 2)) == COMPLETE[:2]
    assert rows(max_points(table, 1)) == COMPLETE[2:]
    assert wide(table).to_pydict() == {
        "run": ["a", "a", "b", "b"],
        "step": [0, 2, 0, 1],
        "x": [1.0, 2.0, 3.0, 5.0],
    }
    assert summary(table, ["count"])["x.count"].to_pylist() == [2, 2]


def test_smoothing_leaves_incomplete_rows_alone() -> None:
    expected = dict(zip(COMPLETE, rows(smooth(every(TABLE, 1), 0.5)), strict=True))
    assert expected != {row: row for row in COMPLETE}
    assert rows(smooth(TABLE, 0.5)) == [expected.get(row, row) for row in rows(TABLE)]


def test_other_columns_are_refused() -> None:
    for function in (
        lambda t: every(t, 1),
        lambda t: max_points(t, 1),
        lambda t: smooth(t, 0.5),
        wide,
        summary,
    ):
        with pytest.raises(UsageError, match="want the columns run, tag, step, value, got run, x"):
            function(pa.table({"run": ["a"], "x": [1]}))


@pytest.mark.parametrize("smooth_by", [0.0, 0.5])
def test_a_chart_draws_complete_rows_alone(smooth_by: float) -> None:
    """A row without a run is not drawn as one of the last run, and a row without a value is not a diverged one."""
    from tbq.plot.options import PlotOptions
    from tbq.plot.scalars import of_table

    options = PlotOptions.of({"smooth": smooth_by})
    drawn, expected = (
        [
            (line.name, line.x.tolist(), line.y.tolist())
            for panel in of_table(tbq.Table(table, "scalars"), None, None, options).panels
            for line in panel.lines
        ]
        for table in (TABLE, every(TABLE, 1))
    )
    assert drawn == expected
    assert [(name, x) for name, x, _ in drawn] == [("a", [0.0, 2.0]), ("b", [0.0, 1.0])]
