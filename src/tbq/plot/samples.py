"""The rows of a table of histograms, images, clips or PR curves by run, tag and step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.columns.codes import values_of

if TYPE_CHECKING:
    import pyarrow as pa


def rows_by_step(table: pa.Table) -> dict[tuple[str, str], dict[int, list[int]]]:
    """The rows of each step of each (run, tag), in ascending order of steps; of several images or clips logged at once,
    the first.

    >>> import pyarrow as pa
    >>> table = pa.table({"run": ["a", "a"], "tag": ["x", "x"], "step": [5, 5], "index": [0, 1]})
    >>> rows_by_step(table)
    {('a', 'x'): {5: [0]}}
    """
    index = table["index"].to_pylist() if "index" in table.column_names else [0] * len(table)
    by_series: dict[tuple[str, str], dict[int, list[int]]] = {}
    keys = zip(
        values_of(table["run"]), values_of(table["tag"]), table["step"].to_pylist(), index, strict=True
    )
    for row, (run, tag, step, item) in enumerate(keys):
        if not item:
            by_series.setdefault((run, tag), {}).setdefault(step, []).append(row)
    return {key: {step: of_key[step] for step in sorted(of_key)} for key, of_key in by_series.items()}
