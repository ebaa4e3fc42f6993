"""Points as JSON for TensorBoard's page, written by the core: Python would take seconds for many points."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from tbq.following.listing import Points

Form = Literal["list", "object"]

# The text before each cell, and after a row: [wall, step, value] or {"wallTime": …}.
_FORMS = {
    "list": (["[", ",", ","], "]"),
    "object": (['{"wallTime":', ',"step":', ',"value":'], "}"),
}


def points_json(points: Points, form: Form) -> bytes:
    """The points as a JSON list; numbers exact, and NaN and infinities as TensorBoard writes them.

    >>> import numpy as np
    >>> from tbq.following.listing import Points
    >>> points = Points(np.array([7]), np.array([1.5]), np.array([np.nan]))
    >>> points_json(points, "list"), points_json(points, "object")
    (b'[[1.5,7,"NaN"]]', b'[{"wallTime":1.5,"step":7,"value":"NaN"}]')
    """
    from arro3.core import Array

    from tbq._core import TextRows

    before, after = _FORMS[form]
    specials = ['"NaN"', '"Infinity"', '"-Infinity"']
    writer = TextRows(True, ",", False, before, [",", after], ["null", *specials], specials)
    arrays = [
        np.ascontiguousarray(points.wall_times, np.float64),
        np.ascontiguousarray(points.steps, np.int64),
        np.ascontiguousarray(points.values, np.float64),
    ]
    columns = [column for column in map(writer.column, map(Array.from_numpy, arrays)) if column is not None]
    answer = io.BytesIO()  # its buffer is returned without a copy
    answer.write(b"[")
    row = 0
    while row < len(points.steps):
        row, text = writer.write(columns, row, len(points.steps), 1 << 20)
        answer.write(text)
    answer.write(b"]")
    return answer.getvalue()
