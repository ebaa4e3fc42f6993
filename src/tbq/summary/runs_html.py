"""A log as a notebook shows it: its runs, with the last value and the curve of its main tags."""

from __future__ import annotations

import html

import pyarrow as pa

from tbq.decode.options import DecodeOptions
from tbq.decode.reader import Reader
from tbq.errors import TbqError
from tbq.roles import main_first
from tbq.source.files import bytes_of
from tbq.summary.table import SummaryCurves
from tbq.table.draw import page
from tbq.text import printable

_TAGS = 3
_BYTES = 64_000_000  # larger logs are listed, but not read: drawing an object must not take seconds


def runs_html(reader: Reader, title: str) -> str:
    """The table of runs; warns of nothing, and leaves the reader as it is."""
    names = reader.names
    columns: dict[str, pa.Array] = {"run": pa.array(names, pa.string())}
    curves = _curves(reader)
    if curves is not None:
        rows, parts = curves.grouped
        last_steps: dict[str, int] = {}
        for (run, _), part in parts.items():
            last_steps[run] = max(last_steps.get(run, 0), int(rows.step[part][-1]))
        columns["step"] = pa.array([last_steps.get(run) for run in names], pa.int64())
        for column, tag in curves.tags.items():
            last = [rows.value[parts[run, tag]][-1] if (run, tag) in parts else None for run in names]
            columns[column] = pa.array(last, pa.float64(), from_pandas=False)
    drawn = page(pa.table(columns), "runs", None if curves is None else curves.beside)
    return f"<p>{html.escape(printable(title))}</p>{drawn}"


def _curves(reader: Reader) -> SummaryCurves | None:
    """The scalars and their main tags; None if reading them would take long, or fails."""
    if (
        type(reader) is not Reader
        or reader.found.remote is not None
        or sum(map(bytes_of, reader.runs)) > _BYTES
    ):
        return None
    apart = Reader(reader.found, reader.unpacked)  # its problems are not those of the log's user
    try:
        result, _ = apart.read_quietly(apart.runs, ["scalars"], DecodeOptions())
    except (TbqError, OSError):
        return None
    curves = SummaryCurves(pa.table(apart.scalars(result, apart.runs)), {})
    longest: dict[str, int] = {}
    for (_, tag), part in curves.grouped[1].items():
        longest[tag] = max(longest.get(tag, 0), part.stop - part.start)
    tags = sorted(longest, key=lambda tag: main_first(tag, longest[tag] < 2))
    columns = {tag if tag not in ("run", "step") else f"tag {tag}": tag for tag in tags[:_TAGS]}
    return SummaryCurves(curves.scalars, columns)
