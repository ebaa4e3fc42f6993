"""Points as JSON for TensorBoard's page, written by the core: Python would take seconds for many points."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from tbq.live.listing import Points

Form = Literal["list", "object"]

# The text before each cell, and after a row: [wall, step, value] or {"wallTime": …}.
_FORMS = {
    "list": (["[", ",", ","], "]"),
    "object": (['{"wallTime":', ',"step":', ',"value":'], "}"),
}


def points_json(points: Points, form: Form) -> bytes:
    """The points as a JSON list; numbers exact, and NaN and infinities as TensorBoard writes them.

    >>> import numpy as np
    >>> from tbq.live.listing import Points
    >>> points = Points(np.array([7]), np.array([1.5]), np.array([np.nan]))
    >>> points_json(points, "list"), points_json(points, "object")
    (b'[[1.5,7,"NaN"]]', b'[{"wallTime":1.5,"step":7,"value":"NaN"}]')
    """
    from tbq._core import Cell, TextColumn, TextRows

    before, after = _FORMS[form]
    specials = ['"NaN"', '"Infinity"', '"-Infinity"']
    writer = TextRows(True, ",", False, before, [",", after], ["null", *specials], specials)
    wall_times = np.ascontiguousarray(points.wall_times, np.float64)
    steps = np.ascontiguousarray(points.steps, np.int64)
    values = np.ascontiguousarray(points.values, np.float64)
    columns = [
        TextColumn(Cell.float64, 0, 0, wall_times.ctypes.data),
        TextColumn(Cell.int64, 0, 0, steps.ctypes.data),
        TextColumn(Cell.float64, 0, 0, values.ctypes.data),
    ]
    answer = io.BytesIO()  # its buffer is returned without a copy
    answer.write(b"[")
    row = 0
    while row < len(steps):
        row, text = writer.write(columns, row, len(steps), 1 << 20)
        answer.write(text)
    answer.write(b"]")
    return answer.getvalue()
