"""DuckDB's errors in tbq's words: with the place in the query, and the closest columns, tags and tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from tbq.errors import QueryError
from tbq.select import closest
from tbq.text import sql_name

_COLUMN = re.compile(r'(?:column|Column)\s+"+([^"]+)"+.*?(?:not found|does not have|not exist)', re.DOTALL)
_LACKS = re.compile(r'does not have a column named "+([^"]+)"+')
_TABLE = re.compile(r"Table with name (.+?) does not exist")
# What DuckDB says about `hparam.lr`: it takes hparam for a table.
_PREFIX = re.compile(r'Referenced table "+([^"]+)"+ not found')
_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_SHOWN = 20  # columns of a hint
_FORBIDDEN = re.compile(r"disabled by configuration|has been locked|Cannot access|Permission Error|disabled")


def explain(
    error: Exception,
    columns: Callable[[], Sequence[str]],
    tables: Sequence[str],
    tags: Callable[[], Sequence[str]],
    twins: Mapping[str, str] | None = None,
    query: str = "",
) -> QueryError:
    """What went wrong, where in the query, and the probable intention; `tags` is called only if it helps."""
    text = str(error)
    what, place = _split(text)
    lacking = _LACKS.search(text) or _COLUMN.search(text) or _PREFIX.search(text)
    table = _TABLE.search(text)
    hint = None
    alike = [old for old in twins or {} if lacking and old.lower() == lacking[1].lower()]
    if table:
        near = closest(table[1].strip('"'), list(tables))
        hint = f"did you mean the table {' or '.join(near)}?" if near else f"tables: {', '.join(tables)}"
    elif lacking and twins and alike:  # tags whose names differ only in case were renamed
        listed = ", ".join(f'{old} is the column "{twins[old]}"' for old in alike)
        hint = f"SQL ignores case, so {listed}; or query the table scalars: where tag = '{lacking[1]}'"
    elif lacking:
        hint = _of_column(_as_written(lacking[1], query), columns(), tags())
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


def _of_column(names: Sequence[str], columns: Sequence[str], tags: Sequence[str]) -> str:
    """The hint for a column that does not exist; `names`: what the user may have meant by it, the longest first."""
    by_case = {column.lower(): column for column in reversed(columns)}
    for name in names:
        column = by_case.get(name.lower())
        if column is not None:
            return f"write {quoted(column)}, in double quotes; {_listed(columns)}"
        if name in tags:
            return f"{name} is a tag: where tag = '{name}', or query the table wide for its column {quoted(name)}"
    for name in names:
        near = closest(name, list(columns))
        if near:
            return f"did you mean the column {' or '.join(map(quoted, near))}?"
    for name in names:
        near = closest(name, tags)
        if near:
            return f"no such column; similar tags: {', '.join(near)}; write where tag = '{near[0]}'"
    return _listed(columns)


def quoted(column: str) -> str:
    """A column as SQL writes it.

    >>> quoted("value"), quoted("val/loss")
    ('value', '"val/loss"')
    """
    return column if _PLAIN.fullmatch(column) else sql_name(column)


def _as_written(name: str, query: str) -> list[str]:
    """The missing name, and the words of the query that begin with it: SQL reads `val/loss` as `val` by `loss`.

    >>> _as_written("val", "select w.val/loss, val/loss.min from wide w")
    ['val/loss.min', 'val/loss', 'val']
    """
    text = _QUOTED.sub(" ", query)
    words = re.findall(rf"(?<![\w/])(?:\w+\.)??({re.escape(name)}[^\s,()<>=!;*+\"']+)", text, re.IGNORECASE)
    return [*sorted(dict.fromkeys(words), key=len, reverse=True), name]


def _listed(columns: Sequence[str]) -> str:
    shown = ", ".join(map(quoted, columns[:_SHOWN]))
    return f"columns: {shown}" + (f" and {len(columns) - _SHOWN:,} more" if len(columns) > _SHOWN else "")
