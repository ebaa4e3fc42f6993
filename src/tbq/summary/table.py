"""The table of a summary, which draws a sparkline beside each last value in notebooks."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tbq.table.table import Table
from tbq.text import printable

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class SummaryCurves:
    """The scalars of a summary, so that a page can draw them beside their last values."""

    scalars: pa.Table
    tags: Mapping[str, str]  # column → tag
    folds: Mapping[str, str]

    def beside(self, shown: pa.Table, row: int, column: int) -> str:
        """The sparkline of a cell."""
        tag = self.tags.get(shown.column_names[column])
        if tag is None or not shown.column(column)[row].is_valid:
            return ""
        from tbq.columns.codes import codes_of, numbers
        from tbq.table.sparks import spark_svg

        run = shown["run"][row].as_py()
        names = [run, *(sub for sub, above in self.folds.items() if above == run)]
        runs, run_names = codes_of(self.scalars["run"])
        tags, tag_names = codes_of(self.scalars["tag"])
        of_tag = tags == tag_names.to_pylist().index(tag)
        for name in names:
            if name in run_names.to_pylist():
                of_run = of_tag & (runs == run_names.to_pylist().index(name))
                if int(of_run.sum()) > 1:
                    x, y = (numbers(self.scalars[each])[of_run] for each in ("step", "value"))
                    return f" {spark_svg(x.astype(float), y)}"
        return ""


class SummaryTable(Table):
    """One row per run; `best` maps each tag of `best=` to the columns of its best value and step.

    With one row per configuration, `verdict` says whether the first differs from the second beyond chance.
    """

    best: Mapping[str, tuple[str, str]] = {}
    verdict: str = ""
    curves: SummaryCurves | None = None  # the data of sparklines

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
        return "\n".join(filter(None, (super().__repr__(), printable(self.verdict))))

    def _repr_html_(self) -> str:
        from tbq.table.draw import page

        drawn = page(self._arrow, self.kind, self.curves.beside if self.curves is not None else None)
        return f"{drawn}<p>{html.escape(printable(self.verdict))}</p>" if self.verdict else drawn
