"""The text of a query: its words, the functions that tbq computes itself, and how to show a place in it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tbq.errors import QueryError
from tbq.table.smooth import check_weight


@dataclass(frozen=True)
class Word:
    """A token of the query: its text, start and end, and whether it is a string constant."""

    text: str
    start: int
    end: int
    string: bool

    @cached_property
    def name(self) -> str:
        """The name that this word denotes: unquoted, in lower case as DuckDB compares names."""
        return _unquoted(self.text, '"').lower()


def words(query: str) -> list[Word]:
    """The tokens of a query, by DuckDB's own lexer."""
    import duckdb

    data = query.encode()
    tokens = [(at, str(kind)) for at, kind in duckdb.tokenize(query)]
    ends = [*(at for at, _ in tokens[1:]), len(data)][: len(tokens)]
    out = []
    for (at, kind), end in zip(tokens, ends, strict=True):
        if "comment" in kind:
            continue
        start = len(data[:at].decode())
        text = data[at:end].decode().rstrip()
        out.append(Word(text, start, start + len(text), "string" in kind))
    return out


def strings(tokens: Sequence[Word]) -> list[str]:
    """The string constants of a query."""
    return [_unquoted(word.text, "'") for word in tokens if word.string]


def _unquoted(text: str, quote: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] == quote:
        return text[1:-1].replace(quote * 2, quote)
    return text


@dataclass(frozen=True)
class Prepared:
    """A query with its calls of `ema` and `relative_time` replaced by columns that the scan computes."""

    text: str
    extra: dict[str, tuple[Any, ...]]  # column → ("ema", weight) or ("relative_time",)
    used: frozenset[str]  # parameters substituted into the text


def prepare(query: str, tokens: Sequence[Word], params: Mapping[str, Any]) -> Prepared:
    """Replace `ema(value, 0.6)` and `relative_time(wall_time)`.

    They depend on a full curve or a full run, whichever rows the query selects, which no macro could
    know; as columns they can also be filtered, grouped and aggregated.
    """
    extra: dict[str, tuple[Any, ...]] = {}
    used: set[str] = set()
    parts: list[str] = []
    done = i = 0
    while i < len(tokens):
        word = tokens[i]
        call = not word.string and i + 1 < len(tokens) and tokens[i + 1].text == "("
        if word.name == "relative_time" and not word.string and not call:
            extra["relative_time"] = ("relative_time",)
        if not call or word.name not in ("ema", "relative_time"):
            i += 1
            continue
        close = next((j for j in range(i + 2, len(tokens)) if tokens[j].text == ")"), None)
        inner = "".join(inside.text for inside in tokens[i + 2 : close]) if close is not None else ""
        if word.name == "ema":
            column, weight = _ema(inner, query, word, params, used)
            name = f"ema(value, {weight!r})"
            extra[name] = ("ema", weight)
        else:
            column, name = inner, "relative_time"
            extra[name] = ("relative_time",)
            if column.rsplit(".", 1)[-1].lower() != "wall_time":
                raise QueryError(
                    pointing(query, word, "relative_time takes wall_time: relative_time(wall_time)")
                )
        assert close is not None
        before = column.rpartition(".")[0]
        parts += [query[done : word.start], f"{before}." if before else "", f'"{name}"']
        done = tokens[close].end
        i = close + 1
    return Prepared("".join([*parts, query[done:]]), extra, frozenset(used))


def _ema(inner: str, query: str, word: Word, params: Mapping[str, Any], used: set[str]) -> tuple[str, float]:
    column, _, weight = inner.rpartition(",")
    value: Any = None
    if weight.startswith("$"):
        name = weight[1:]
        used.add(name)
        if name not in params:
            raise missing_parameters([name], query)
        value = params[name]
    elif re.fullmatch(r"[0-9.eE+-]+", weight):
        try:
            value = float(weight)
        except ValueError:
            value = None
    if column.rsplit(".", 1)[-1].strip('"').lower() != "value" or isinstance(value, str | None):
        raise QueryError(
            pointing(query, word, "ema takes the column value and a number"),
            hint="e.g. ema(value, 0.6), as TensorBoard smooths with 0.6",
        )
    check_weight(value)
    return column, float(value)


def pointing(query: str, word: Word, message: str) -> str:
    """The message, with the line of the query and a mark below the word."""
    begin = query.rfind("\n", 0, word.start) + 1
    line = query[begin:].split("\n", 1)[0]
    number = query.count("\n", 0, word.start) + 1
    head = f"LINE {number}: "
    mark = " " * (len(head) + word.start - begin) + "^" * max(1, word.end - word.start)
    return f"{message}\n\n  {head}{line}\n  {mark}"


def missing_parameters(names: Sequence[str], query: str) -> QueryError:
    """The error for parameters of the query that the caller did not pass."""
    listed = ", ".join(f"${name}" for name in names)
    what = "was" if len(names) == 1 else "were"
    message = f"{listed} {what} not given"
    place = next((word for word in words(query) if word.text == f"${names[0]}"), None)
    if place is None:  # some versions split $ from the name
        at = query.find(f"${names[0]}")
        place = Word(f"${names[0]}", at, at + len(names[0]) + 1, False) if at >= 0 else None
    return QueryError(
        pointing(query, place, message) if place else message,
        hint=f"pass it: log.sql(query, params={{'{names[0]}': …}}), --param {names[0]}=…",
        code="parameter",
    )
