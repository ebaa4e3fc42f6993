"""How `tbq follow` shows rows: lines for people on a terminal, rows of text for programs in a pipe."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tbq.text import counted, printable, shortened

if TYPE_CHECKING:
    import tbq
    from tbq.export.stream import RowStream

_KEYS = ("run", "tag", "step", "wall_time")
_WIDE = 40  # characters of a name


class RowPrinter:
    """Rows for programs. JSON Lines repeat a retracted row with `"retracted": true`."""

    def __init__(self, rows: RowStream, kinds: list[str], is_json: bool) -> None:
        self._rows = rows
        self._kinds = kinds
        self._json = is_json

    def begin(self, empty: Mapping[str, tbq.Table]) -> None:
        """Write the header, before the first row."""
        if not self._json:
            self._rows.write(next(iter(empty.values())).to_arrow())

    def retracted(self, rows: tbq.Table) -> None:
        """Write rows that no longer count."""
        if self._json and len(rows):
            arrow = rows.to_arrow()
            self._rows.write(_with(arrow, "retracted", True), rows.began)

    def new(self, kind: str, rows: tbq.Table) -> None:
        """Write new rows."""
        arrow = rows.to_arrow()
        if self._json and len(self._kinds) > 1:
            arrow = _with(arrow, "kind", kind)
        self._rows.write(arrow, rows.began)


class Lines:
    """Lines for people: one per row, the oldest first; columns keep their places as long as names fit."""

    def __init__(self, colour: bool) -> None:
        self._widths = {"run": 0, "tag": 0, "step": 0}
        self._colour = colour

    def begin(self, empty: Mapping[str, tbq.Table]) -> None:
        """Show nothing before the first row."""

    def retracted(self, rows: tbq.Table) -> None:
        """Show nothing: `tbq follow` reports retracted rows on stderr."""

    def new(self, kind: str, rows: tbq.Table) -> None:
        """Show new rows."""
        from tbq.arrow import arrow_of, values_of
        from tbq.cli.emit import draw_lines
        from tbq.export.cells import cell_rows
        from tbq.export.fit import that_fit

        arrow = that_fit({"rows": arrow_of(rows)}, "csv", quiet=True)["rows"]
        times = [time if time is not None and time == time else 0.0 for time in values_of(arrow["wall_time"])]
        order = sorted(range(len(times)), key=times.__getitem__)
        cells = list(cell_rows(arrow))
        rows_shown = [dict(zip(arrow.column_names, cells[i], strict=True)) for i in order]
        names = [self._names(row) for row in rows_shown]
        lines = [self._line(kind, row, of_row) for row, of_row in zip(rows_shown, names, strict=True)]
        draw_lines(lines)

    def _names(self, row: dict[str, str | None]) -> dict[str, str]:
        """The row's run and tag, padded to the width of earlier names."""
        names = {name: printable(shortened(row[name] or "", _WIDE)) for name in ("run", "tag")}
        names["step"] = f"{int(row['step'] or 0):,}"
        for name, text in names.items():
            self._widths[name] = max(self._widths[name], len(text))
        return names

    def _line(self, kind: str, row: dict[str, str | None], names: dict[str, str]) -> str:
        at = self._dim(_clock(row["wall_time"]))
        run = names["run"].ljust(self._widths["run"])
        tag = names["tag"].ljust(self._widths["tag"])
        step = names["step"].rjust(self._widths["step"])
        return f"{at}  {run}  {step}  {tag}  {self._value(kind, row)}".rstrip()

    def _value(self, kind: str, row: dict[str, str | None]) -> str:
        if kind == "scalars":
            value = row["value"] or ""
            return f"\033[31m{value}\033[0m" if self._colour and value in ("nan", "inf", "-inf") else value
        rest = [
            f"{name} {printable(shortened(cell, _WIDE))}"
            for name, cell in row.items()
            if name not in _KEYS and cell
        ]
        return "  ".join([self._dim(kind), *rest])

    def _dim(self, text: str) -> str:
        return f"\033[2m{text}\033[0m" if self._colour else text


def retraction(retracted: tbq.Table, update: tbq.Update) -> list[str]:
    """One sentence per run that has rows here that no longer count."""
    runs: dict[str, list[tuple[str, str, int]]] = {}
    table = retracted.to_arrow()
    columns = (table[name].to_pylist() for name in ("run", "tag", "kind", "step"))
    for run, tag, kind, step in zip(*columns, strict=True):
        runs.setdefault(run, []).append((tag, kind, step))
    return [
        f"run {printable(run)}: {counted(len(rows), 'row')} of {counted(len({row[:2] for row in rows}), 'tag')} "
        f"from step {min(row[2] for row in rows):,} on no longer count: {_cause(run, update)}"
        for run, rows in runs.items()
    ]


def _cause(run: str, update: tbq.Update) -> str:
    if run in update.runs.gone:
        return "the run is gone"
    if run in update.runs.replaced:
        return "a file was truncated, replaced or deleted"
    return "a restart overtook them"


def _with(table: pa.Table, name: str, value: Any) -> pa.Table:
    return table.append_column(name, pa.array([value] * len(table)))


def _clock(wall_time: str | None) -> str:
    """The time of day; blank if it is outside the calendar."""
    try:
        return clock.strftime("%H:%M:%S", clock.localtime(float(wall_time or "nan")))
    except (ValueError, OverflowError, OSError):
        return " " * 8
