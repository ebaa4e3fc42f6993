"""Rows of a table by a condition, or by run, tag and step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tbq.arguments import bad
from tbq.columns.codes import names_in
from tbq.columns.rows import having
from tbq.errors import UsageError
from tbq.select import Selection
from tbq.select import steps as step_range

if TYPE_CHECKING:
    import pyarrow.compute as pc
    from numpy.typing import ArrayLike

    from tbq.select import Names, Steps


def filtered(
    table: pa.Table,
    where: pc.Expression | ArrayLike | None,
    *,
    tag: Names,
    run: Names,
    steps: Steps,
    origin: str | None,
) -> pa.Table:
    """The rows that pass `where` and that tag, run and steps select."""
    import pyarrow.compute as pc

    if where is not None:
        table = (
            _having(table, where)
            if isinstance(where, pc.Expression)
            else table.filter(_mask(where, len(table)))
        )
    for column, names in (("run", run), ("tag", tag)):
        if names is not None:
            _check(table, column)
            known = names_in(table[column])
            table = having(table, column, Selection.of(names, column).require(known, where=origin))
    if steps is not None:
        _check(table, "step")
        first, last = step_range(steps)
        table = table.filter((pc.field("step") >= pa.scalar(first)) & (pc.field("step") <= pa.scalar(last)))
    return table


def _having(table: pa.Table, where: pc.Expression) -> pa.Table:
    try:
        return table.filter(where)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as wrong:
        raise bad(
            "where", str(where), "an expression of its columns that is true or false", hint=str(wrong)
        ) from None


def _mask(where: ArrayLike, rows: int) -> pa.Array:
    mask = np.asarray(where)
    if not rows and mask.shape == (0,):
        mask = mask.astype(bool)  # what an empty list holds is not known
    if mask.dtype != np.bool_ or mask.shape != (rows,):
        raise bad("where", f"{mask.dtype} of shape {mask.shape}", f"one bool for each of the {rows:,} rows")
    return pa.array(mask)


def _check(table: pa.Table, column: str) -> None:
    if column not in table.column_names:
        raise UsageError(
            f"filter: the table has no column {column!r}", hint=f"columns: {', '.join(table.column_names)}"
        )
