"""Anything else: read-only SQL on the tables of the log, and their schema."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from tbq.assistant.answer import AskedWrongError, ToolAnswer, quoted, shown, value
from tbq.assistant.names import no_runs, paths_of
from tbq.assistant.tokens import beginning, tokens
from tbq.errors import TbqError
from tbq.server.http.encoding import unframe
from tbq.server.http.params import Params
from tbq.server.sql.queries import run_query, tables
from tbq.server.sql.worker_pool import Job
from tbq.text import counted, printable

if TYPE_CHECKING:
    from tbq.server.live_log import LiveLog

BUDGET = 2000
MOST_ROWS = 50
_CELL = 60  # tokens
_SCHEMA = 2000  # tokens
_DIGITS = 6


def sql(log: LiveLog, query: str, limit: int = MOST_ROWS, job: Job | None = None) -> ToolAnswer:
    """The answer of the tool `sql`."""
    if not 1 <= limit <= MOST_ROWS:
        raise AskedWrongError(f"limit: got {limit}, want a whole number from 1 to {MOST_ROWS}")
    if not log.shown():
        raise AskedWrongError(no_runs(log))
    job = job or Job()
    answer = ToolAnswer(BUDGET, ["tbq", "sql", *paths_of(log), query])
    facts, columns = _asked(log, query, limit, job)
    names, types = facts["names"], facts["types"]
    lists = [columns[str(place)] for place in range(len(names))]
    rows = [
        " | ".join(_cell(each[i], kind) for each, kind in zip(lists, types, strict=True))
        for i in range(facts["rows"])
    ]
    for warning in facts["warnings"][:3]:
        answer.note(f"warning: {log.without_paths(warning)}")
    left = _count_rest(log, query, job, limit) if facts["more"] else 0
    head = " | ".join(shown(name) for name in names)
    counts = "more than that" if left is None else f"{left + facts['rows']:,}"
    answer.say(
        f"{counted(facts['rows'], 'row')} of {counts}" if facts["more"] else counted(facts["rows"], "row")
    )
    answer.listing(head, rows, "row", "add where, order by, limit, or aggregate", left or 0)
    if any(_is_rounded(each, kind) for column, kind in zip(lists, types, strict=True) for each in column):
        answer.note(f"numbers have {_DIGITS} digits here; cast them to varchar for all")
    if left is None:
        answer.note("more rows left out; they could not be counted")
    return answer


def _asked(log: LiveLog, query: str, limit: int, job: Job) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        return unframe(run_query(log, query, limit, job).body)
    except TbqError as wrong:
        hint = f"; {log.without_paths(wrong.hint)}" if wrong.hint else ""
        text = printable(log.without_paths(wrong.message), keep="\n")
        raise AskedWrongError(f"{text}{hint}; the resource tbq://schema lists tables and columns") from None


def _count_rest(log: LiveLog, query: str, job: Job, shown_rows: int) -> int | None:
    """How many rows follow; None if they cannot be counted in time."""
    inner = query.strip().rstrip(";")
    try:
        _, columns = unframe(run_query(log, f"select count(*) from (\n{inner}\n)", 1, job).body)
        return int(columns["0"][0]) - shown_rows
    except (TbqError, ValueError, LookupError):
        return None


def _cell(cell: Any, kind: str) -> str:
    """A value as text on one line."""
    if cell is None:
        return "null"
    if isinstance(cell, float):
        if "int" in kind and math.isfinite(cell) and cell == int(cell):
            return str(int(cell))
        return value(cell, _DIGITS) if abs(cell) < 1e6 else f"{cell:.15g}"
    text = str(cell)
    short = beginning(text, _CELL)
    is_text = isinstance(cell, str) and "string" in kind
    line = quoted(short) if is_text else printable(short)
    line = '"null"' if is_text and line == "null" else line
    return line if len(short) == len(text) else f"{line}… ({len(text):,} characters)"


def _is_rounded(cell: Any, kind: str) -> bool:
    return isinstance(cell, float) and abs(cell) < 1e6 and float(_cell(cell, kind)) != cell


def schema(log: LiveLog) -> str:
    """The tables and their columns, those with data first; the resource `tbq://schema`."""
    listed = json.loads(tables(log, Params([], ())).body)["tables"]
    lines = ["Tables for the tool sql (DuckDB). Names of columns with signs need double quotes."]
    spent = tokens(lines[0])
    for table in listed:
        columns = [f"{shown(name)} {kind}" for name, kind in table["columns"]]
        shown_columns = columns[:40]
        more = f", … {len(columns) - 40:,} more" if len(columns) > 40 else ""
        empty = " (empty)" if table["empty"] else ""
        line = f"{table['name']}{empty}: {', '.join(shown_columns)}{more}"
        spent += tokens(line) + 1
        if spent > _SCHEMA:
            lines.append(f"{table['name']}{empty}: describe it with sql, e.g. describe {table['name']}")
            spent -= tokens(line) - 12
            continue
        lines.append(line)
    return "\n".join(lines)
