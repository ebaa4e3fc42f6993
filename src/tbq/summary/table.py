"""The table of a summary, which draws a sparkline beside each last value in notebooks."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tbq.table.table import Table
from tbq.text import printable

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.columns.grouped import GroupedRows


@dataclass(frozen=True)
class SummaryCurves:
    """The scalars of a summary, so that a page can draw them beside their last values."""

    scalars: pa.Table
    tags: Mapping[str, str]  # column → tag

    def beside(self, shown: pa.Table, row: int, column: int) -> str:
        """The sparkline of a cell."""
        tag = self.tags.get(shown.column_names[column])
        if tag is None or not shown.column(column)[row].is_valid:
            return ""
        from tbq.table.sparks import spark_svg

        rows, parts = self.grouped
        run = shown["run"][row].as_py()
        part = parts.get((run, tag), slice(0, 0))
        if part.stop - part.start < 2:
            return ""
        return f" {spark_svg(rows.step[part].astype(float), rows.value[part])}"

    @cached_property
    def grouped(self) -> tuple[GroupedRows, dict[tuple[str, str], slice]]:
        """The rows by run and tag."""
        from tbq.columns.grouped import GroupedRows

        rows = GroupedRows.of(self.scalars)
        return rows, rows.parts()


class SummaryTable(Table):
    """One row per run; `best` maps each tag of `best=` to the columns of its best value and step.

    With one row per configuration, `verdict` says whether the first differs from the second beyond chance, and which
    runs count although they diverged or crashed.
    """

    #: Tag of `best=` -> the columns of its best value and of that value's step.
    best: Mapping[str, tuple[str, str]] = {}
    #: Whether the first configuration differs from the second beyond chance.
    verdict: str = ""
    #: The data of sparklines.
    curves: SummaryCurves | None = None

    def having(self, arrow: pa.Table) -> SummaryTable:
        """The same table with other rows, or in another order.

        >>> summary = log.summary()
        >>> len(summary.having(summary.to_arrow().slice(0, 2)))
        2
        """
        table = SummaryTable(arrow, self.kind, logdir=self.logdir, began=self.began)
        table.verdict = self.verdict
        names = arrow.column_names
        table.best = {tag: both for tag, both in self.best.items() if {*both} <= {*names}}
        table.curves = self.curves if names.count("run") == 1 else None  # a curve is found by its run
        return table

    def _same(self, arrow: pa.Table) -> SummaryTable:
        return self.having(arrow)

    def __repr__(self) -> str:
        return "\n".join([super().__repr__(), *map(printable, self.verdict.splitlines())])

    def _repr_html_(self) -> str:
        from tbq.table.draw import page

        drawn = page(self._arrow, self.kind, self.curves.beside if self.curves is not None else None)
        return drawn + "".join(f"<p>{html.escape(printable(line))}</p>" for line in self.verdict.splitlines())
