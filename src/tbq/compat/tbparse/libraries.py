"""Frames as pandas or polars data frames."""

from __future__ import annotations

from typing import Any

import numpy as np

from tbq.compat.tbparse.frames import Frame, Repeated
from tbq.errors import missing


def to_pandas(frame: Frame) -> Any:
    """A pandas DataFrame with a plain index; without columns if there are no rows."""
    try:
        import pandas as pd
    except ImportError as absent:
        raise missing("pandas", needed_for="SummaryReader", extra="pandas") from absent
    columns = {}
    for name, column in frame.items():
        if isinstance(column, Repeated):
            columns[name] = pd.Series(column.values).repeat(column.counts).array
        elif isinstance(column, list) and not all(map(np.isscalar, column)):
            columns[name] = _objects(column)
        else:
            columns[name] = column
    return pd.DataFrame(columns)


def _objects(cells: list[Any]) -> Any:
    """A column of arbitrary objects, one per row."""
    column = np.empty(len(cells), object)
    for place, cell in enumerate(cells):
        column[place] = cell
    return column


def to_polars(frame: Frame) -> Any:
    """A polars DataFrame; a column with lists has only lists, and absent values are null."""
    try:
        import polars as pl
    except ImportError as absent:
        raise missing("polars", needed_for='SummaryReader(frame="polars")', extra="polars") from absent
    columns = {}
    for name, column in frame.items():
        if isinstance(column, Repeated):
            values = pl.Series(name, column.values, dtype=pl.String)
            columns[name] = values.gather(np.repeat(np.arange(len(column.values)), column.counts))
        elif isinstance(column, np.ndarray) and column.dtype != object:
            columns[name] = pl.Series(name, column, nan_to_null=name not in ("value", "wall_time"))
        else:
            columns[name] = _polars_cells(pl, name, list(column))
    return pl.DataFrame(columns)


def _polars_cells(pl: Any, name: str, cells: list[Any]) -> Any:
    known = [None if isinstance(cell, float) and np.isnan(cell) else cell for cell in cells]
    if any(isinstance(cell, np.ndarray) and cell.ndim > 1 for cell in known):
        return pl.Series(name, known, dtype=pl.Object)
    if any(isinstance(cell, list | np.ndarray) for cell in known):
        known = [cell if cell is None or isinstance(cell, list | np.ndarray) else [cell] for cell in known]
    try:
        return pl.Series(name, known, strict=False)
    except (TypeError, pl.exceptions.PolarsError):
        return pl.Series(name, known, dtype=pl.Object)
