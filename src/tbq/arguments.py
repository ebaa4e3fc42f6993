"""Checks of arguments: an invalid argument raises a UsageError that names it and what it accepts."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tbq.errors import UsageError

#: A path argument, for every function.
StrPath = str | os.PathLike[str]

MIN_INT, MAX_INT = -(2**63), 2**63 - 1


def bad(argument: str, value: object, want: str, hint: str | None = None) -> UsageError:
    """The error for an invalid argument.

    >>> print(bad("threads", "2", "a whole number"))
    threads: got '2' (str), want a whole number
    """
    return UsageError(f"{argument}: got {described(value)}, want {want}", hint=hint, code="argument")


def described(value: object) -> str:
    """A value for a message: short, with its type unless that is obvious."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a custom repr that fails, or an int of more than 4,300 digits
        text = "…"
    if len(text) > 60:
        text = text[:57] + "..."
    return text if value is None or isinstance(value, bool) else f"{text} ({type(value).__name__})"


def whole(argument: str, value: Any, least: int = MIN_INT, most: int = MAX_INT) -> int:
    """Check a whole number, also NumPy's; not a bool, and not a float such as 3.0.

    >>> whole("top", 3, least=1)
    3
    """
    want = "a whole number" if least == MIN_INT else f"a whole number, {least} or more"
    if isinstance(value, bool):
        raise bad(argument, value, want)
    try:
        number = operator.index(value)
    except TypeError:
        raise bad(argument, value, want) from None
    if not least <= number <= most:
        raise bad(argument, value, want if number < least else f"{most} or less")
    return number


def choice(argument: str, value: Any, allowed: Sequence[str]) -> str:
    """Check that the value is one of a few words."""
    if not isinstance(value, str) or value not in allowed:
        raise bad(argument, value, f"one of {', '.join(allowed)}")
    return value


def choices(argument: str, value: Any, allowed: Sequence[str]) -> list[str]:
    """Check some of a few words, each once: a list, or one text with commas between them.

    >>> choices("stats", "last, min,last", ["last", "min", "max"])
    ['last', 'min']
    """
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, Iterable) or isinstance(parts, bytes):
        raise bad(argument, value, f"some of {', '.join(allowed)}")
    words = [part.strip() if isinstance(part, str) else part for part in parts]
    if not words:
        raise bad(argument, value, f"some of {', '.join(allowed)}")
    return list(dict.fromkeys(choice(argument, part, allowed) for part in words))


def path(argument: str, value: Any) -> str:
    """A path as text, from any kind of path."""
    if not isinstance(value, str | bytes | os.PathLike):
        raise bad(argument, value, "a path")
    return os.fsdecode(value)


def listening(port: int, token: str | None) -> None:
    """Check the port and the token of a server."""
    if not isinstance(port, int) or isinstance(port, bool) or not 0 <= port <= 65535:
        raise bad("port", port, "a whole number from 0 to 65535; 0 takes any free port")
    # An empty token (--token "$UNSET") would admit everyone, and a header cannot hold every character.
    if token is not None and not (token.strip() and token.isascii() and token.isprintable()):
        raise bad("token", token, "printable ASCII characters, e.g. from `openssl rand -hex 16`")


def mapping(argument: str, value: Any, example: str) -> Mapping[Any, Any]:
    """Check a mapping; `example` shows a valid one."""
    if not isinstance(value, Mapping):
        raise bad(argument, value, f"a mapping such as {example}")
    return value


def keywords(function: str, names: Iterable[str], allowed: Iterable[str]) -> None:
    """Raise for a keyword that the function does not accept; `allowed` are all that it accepts, for the hint."""
    known = list(allowed)
    for name in names:
        if name not in known:
            import difflib

            near = difflib.get_close_matches(name, known, n=1)
            raise UsageError(
                f"{function} has no argument {name!r}",
                hint=f"did you mean {near[0]}?" if near else f"it takes {', '.join(known)}",
                code="argument",
            )
