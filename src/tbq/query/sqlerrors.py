"""DuckDB's errors in tbq's words: with the place in the query, and the closest columns, tags and tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from tbq.errors import QueryError
from tbq.select import closest

_COLUMN = re.compile(r'(?:column|Column)\s+"+([^"]+)"+.*?(?:not found|does not have|not exist)', re.DOTALL)
_LACKS = re.compile(r'does not have a column named "+([^"]+)"+')
_TABLE = re.compile(r"Table with name (.+?) does not exist")
_FORBIDDEN = re.compile(r"disabled by configuration|has been locked|Cannot access|Permission Error|disabled")


def explain(
    error: Exception,
    columns: Callable[[], Sequence[str]],
    tables: Sequence[str],
    tags: Callable[[], Sequence[str]],
    twins: Mapping[str, str] | None = None,
) -> QueryError:
    """What went wrong, where in the query, and the probable intention; `tags` is called only if it helps."""
    text = str(error)
    what, place = _split(text)
    lacking = _LACKS.search(text) or _COLUMN.search(text)
    table = _TABLE.search(text)
    hint = None
    if table:
        hint = _near("table", table[1].strip('"'), tables, f"tables: {', '.join(tables)}")
    elif lacking and _alike(lacking[1], twins or {}):
        hint = _of_twin(lacking[1], twins or {})
    elif lacking:
        hint = _of_column(lacking[1], columns(), tags())
    elif _FORBIDDEN.search(text):
        hint = "queries only read the logdir; files, settings and extensions need unsafe=True, --unsafe"
    first = what.split("\n", 1)[0] if hint else what
    return QueryError(f"{first}\n\n{place}" if place else first, hint=hint)


def _split(text: str) -> tuple[str, str]:
    """The message without its class, and the query line with its mark, indented."""
    message, _, place = text.partition("\nLINE ")
    kind, colon, rest = message.partition(": ")
    if colon and kind.endswith("Error"):
        message = rest
    lines = [f"  {line}" for line in f"LINE {place}".splitlines()] if place else []
    return message.strip(), "\n".join(lines)


def _of_column(name: str, columns: Sequence[str], tags: Sequence[str]) -> str:
    if name in tags:
        return f"{name} is a tag: where tag = '{name}', or query the table wide for its column \"{name}\""
    hint = _near("column", name, columns, f"columns: {', '.join(columns)}")
    near = closest(name, tags)
    if near and not closest(name, columns):
        hint = f"no such column; similar tags: {', '.join(near)}; write where tag = '{near[0]}'"
    return hint


def _alike(name: str, twins: Mapping[str, str]) -> list[str]:
    """The columns of this name except for case that were renamed."""
    return [old for old in twins if old.lower() == name.lower()]


def _of_twin(name: str, twins: Mapping[str, str]) -> str:
    listed = ", ".join(f'{old} is the column "{twins[old]}"' for old in _alike(name, twins))
    return f"SQL ignores case, so {listed}; or query the table scalars: where tag = '{name}'"


def _near(what: str, name: str, known: Sequence[str], otherwise: str) -> str:
    near = closest(name, list(known))
    return f"did you mean the {what} {' or '.join(near)}?" if near else otherwise
