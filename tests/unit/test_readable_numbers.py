"""Numbers for people in Markdown, HTML, notebooks, terminals and sheets; exact everywhere else."""

from __future__ import annotations

import csv
import json
import math
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tbq
from tbq.export import write
from tbq.export.cells import number_text
from tbq.table.draw import text
from tbq.table.table import Table

VALUES = [16.0, -0.09000000000000001, float(pa.array([0.1], pa.float32())[0].as_py()), 1e-07, math.nan]
SHOWN = ["16", "-0.09", "0.1", "1e-07", "NaN"]


@pytest.fixture
def table() -> Table:
    return Table(pa.table({"run": list("abcde"), "step": [1, 20_000, 3, 4, 5], "value": VALUES}), "summary")


def test_markdown_html_and_drawings_show_short_numbers(table: Table, tmp_path: Path) -> None:
    write(table, tmp_path / "a.md")
    cells = [line.split(" | ")[2].rstrip(" |") for line in (tmp_path / "a.md").read_text().splitlines()[2:]]
    assert cells == SHOWN
    write(table, tmp_path / "a.html")
    for page in ((tmp_path / "a.html").read_text(), table._repr_html_()):
        assert re.findall(r"<td class='n'>([^<]*)</td></tr>", page) == SHOWN
    drawn = text(table.to_arrow(), "summary")
    assert [line.split()[-1] for line in drawn.splitlines()[2:7]] == SHOWN


def test_data_formats_stay_exact(table: Table, tmp_path: Path) -> None:
    for digits in (None, 2):
        write(table, tmp_path / "a.csv", force=True, digits=digits)
        with (tmp_path / "a.csv").open() as file:
            assert [row["value"] for row in csv.DictReader(file)][1] == "-0.09000000000000001"
        write(table, tmp_path / "a.json", force=True, digits=digits)
        assert json.loads((tmp_path / "a.json").read_text())[1]["value"] == VALUES[1]


@pytest.mark.parametrize("digits", [1, 3, 12])
def test_digits(table: Table, tmp_path: Path, digits: int) -> None:
    precise = Table(
        pa.table({"value": [0.123456789012345, 12345.678], "wall_time": [1767609000.25, 1.0]}), "t"
    )
    write(precise, tmp_path / "a.md", digits=digits)
    rows = [line.strip("| ").split(" | ") for line in (tmp_path / "a.md").read_text().splitlines()[2:]]
    assert rows[0] == [f"{0.123456789012345:.{digits}g}", "1767609000.25"]  # a time is not rounded
    assert rows[1] == ["12345.678" if digits == 12 else "12346", "1"]


def test_wrong_digits(table: Table, tmp_path: Path) -> None:
    wrong: Any
    for wrong in (0, -1, "x", 1.5):
        with pytest.raises(tbq.errors.UsageError, match="digits: got"):
            table.write(tmp_path / "a.md", digits=wrong)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_logged_float_reads_back(value: float) -> None:
    shown = number_text(value)
    assert pa.scalar(float(shown), pa.float32()) == pa.scalar(value, pa.float32())
    assert not shown.endswith(".0")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_computed_float_is_close(value: float) -> None:
    assume(value == 0 or abs(value) > 1e-37)  # smaller numbers of 32 bits have fewer digits
    assert math.isclose(float(number_text(value)), value, rel_tol=1e-5)


def test_a_sheet_is_ready_to_use(table: Table, tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    write(table, tmp_path / "a.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "a.xlsx").active
    assert [cell.font.b for cell in sheet[1]] == [True] * 3 and not sheet["A2"].font.b
    assert sheet.auto_filter.ref == "A1:C6" and sheet.freeze_panes == "A2"
    assert sheet.column_dimensions["C"].width >= len("value") + 2
    assert sheet["B3"].number_format == "#,##0" and sheet["C3"].number_format == "0.######"
    assert sheet["C3"].value == VALUES[1] and sheet["B3"].value == 20_000  # exact
    wide = Table(pa.table({"run": ["a long name of a run " * 9], "n": [1]}), "t")
    write(wide, tmp_path / "b.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "b.xlsx").active
    assert sheet.column_dimensions["A"].width == 60
    write(Table(pa.table({"run": pa.array([], pa.string())}), "t"), tmp_path / "c.xlsx")
    assert openpyxl.load_workbook(tmp_path / "c.xlsx").active.auto_filter.ref == "A1:A1"
