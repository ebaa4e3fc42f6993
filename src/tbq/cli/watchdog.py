"""The checks of `tbq follow --fail-on`, and the command that runs if one fails."""

from __future__ import annotations

import math
import operator
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tbq.errors import UsageError
from tbq.select import Selection
from tbq.text import printable, shortened

if TYPE_CHECKING:
    from tbq.table.table import Table

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([smhd]?)")
_COMPARISON = re.compile(r"(.+?)\s*(>=|<=|==|!=|>|<)\s*([^<>=!]+)", re.DOTALL)
_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_SHOWN = 300  # characters of a name in a message
_GIVEN = 4000  # characters of a name in a command's environment, which systems limit
_WANT = "nan, inf, stall=10m, or a comparison such as 'loss>10'"


def seconds(text: str, option: str) -> float:
    """A duration: seconds, or numbers with s, m, h or d.

    >>> seconds("90", "--idle"), seconds("1h30m", "--idle"), seconds("0.5s", "--idle")
    (90.0, 5400.0, 0.5)
    """
    duration = text.strip().lower()
    total, at = 0.0, 0
    while (part := _PART.match(duration, at)) and (part[2] or part.end() == len(duration)):
        total += float(part[1]) * _UNITS[part[2]]
        at = part.end()
    if at < len(duration) or not duration or not total < 1e9:
        raise UsageError(f"{option}: got {text!r}, want a duration such as 90, 90s, 10m or 1h30m")
    return total


@dataclass(frozen=True)
class FailedCheck:
    """A failed check and its facts."""

    check: str
    run: str = ""
    tag: str = ""
    step: int | None = None
    value: str = ""

    def __str__(self) -> str:
        facts = {"run": self.run, "tag": self.tag, "step": self.step, "value": self.value}
        listed = ", ".join(
            f"{name} {printable(shortened(str(fact), _SHOWN))}"
            for name, fact in facts.items()
            if fact not in ("", None)
        )
        return f"{self.check}: {listed}" if listed else self.check

    @property
    def environment(self) -> dict[str, str]:
        """The facts as environment variables for a command."""
        step = "" if self.step is None else str(self.step)
        facts = {"EVENT": self.check, "RUN": self.run, "TAG": self.tag, "STEP": step, "VALUE": self.value}
        return {
            f"TBQ_{name}": shortened(fact, _GIVEN).replace("\0", "\ufffd") for name, fact in facts.items()
        }


class Watchdog:
    """The checks of `--fail-on`. Looks for nan and inf in `tags`, which are the tags shown."""

    def __init__(self, checks: Sequence[str], tags: Sequence[str] | None = None) -> None:
        self._shown = Selection.of(tags)
        self._values: list[tuple[str, Selection, Callable[[float], bool]]] = []
        #: the check for a stall, and its limit in seconds
        self.stall: tuple[str, float] | None = None
        for check in checks:
            self._add(check)

    def __bool__(self) -> bool:
        return bool(self._values) or self.stall is not None

    @property
    def tags(self) -> list[str] | None:
        """The tags to show or check; None for all tags."""
        if self._shown.items is None:
            return None
        watched = [item for _, selection, _ in self._values for item in selection.items or ()]
        return list(dict.fromkeys([*self._shown.items, *watched]))

    @property
    def reads_values(self) -> bool:
        """Whether any check needs scalars."""
        return bool(self._values)

    def check(self, scalars: Table) -> FailedCheck | None:
        """The first event that these rows trigger, by wall time."""
        from tbq.export.cells import cell_rows

        if not self._values or not len(scalars):
            return None
        arrow = scalars.to_arrow()
        tags = {tag: self._of_tag(tag) for tag in arrow["tag"].unique().to_pylist()}
        if not any(tags.values()):
            return None
        columns = (arrow[name].to_pylist() for name in ("run", "tag", "step", "wall_time", "value"))
        events = [
            (wall_time, row, FailedCheck(check, run, tag, step))
            for row, (run, tag, step, wall_time, value) in enumerate(zip(*columns, strict=True))
            for check, holds in tags[tag]
            if holds(value)
        ]
        if not events:
            return None
        _, row, event = min(events, key=lambda event: event[:2])
        (cells,) = cell_rows(arrow.select(["value"]).slice(row, 1))
        return replace(event, value=(cells[0] or "").lower())  # scripts expect nan

    def _of_tag(self, tag: str) -> list[tuple[str, Callable[[float], bool]]]:
        return [(check, holds) for check, selection, holds in self._values if selection.matches(tag)]

    def _add(self, check: str) -> None:
        text = check.strip()
        name, equals, rest = text.partition("=")
        if text == "nan":
            self._values.append((check, self._shown, math.isnan))
        elif text == "inf":
            self._values.append((check, self._shown, math.isinf))
        elif name.strip() == "stall" and equals and not rest.startswith("="):
            self.stall = (check, seconds(rest, "--fail-on stall"))
        else:
            self._values.append((check, *_comparison(text)))


def _comparison(text: str) -> tuple[Selection, Callable[[float], bool]]:
    parts = _COMPARISON.fullmatch(text)
    if parts is None:
        raise UsageError(f"--fail-on: got {text!r}, want {_WANT}")
    try:
        limit = float(parts[3])
    except ValueError:
        raise UsageError(
            f"--fail-on: {parts[3]!r} is not a number in {text!r}", hint=f"want {_WANT}"
        ) from None
    # Neither of these comparisons could ever hold, and the user would not notice.
    if math.isnan(limit):
        raise UsageError(
            f"--fail-on: {text!r} compares with nan, which nothing equals", hint="use --fail-on nan"
        )
    if (parts[2], limit) in ((">", math.inf), ("<", -math.inf)):
        raise UsageError(f"--fail-on: {text!r} never holds", hint="use --fail-on inf, or ==")
    if parts[1][-1] in "<>=!" and not parts[1].startswith("re:"):
        raise UsageError(
            f"--fail-on: got {text!r}, want one of {', '.join(_OPERATORS)} after the tag",
            hint=f"for a tag that ends with {parts[1][-1]!r}: re:TAG",
        )
    compare = _OPERATORS[parts[2]]
    selection = Selection.of(parts[1])
    selection.resolve([])  # raises if it is not a regular expression
    return selection, lambda value: compare(value, limit)


def execute(command: str, event: FailedCheck) -> str | None:
    """Run a shell command with the facts in its environment; its output goes to stderr. Returns what went wrong."""
    sys.stderr.flush()
    try:
        output: int | None = sys.stderr.fileno()
    except (OSError, ValueError):  # stderr is not a file
        output = subprocess.DEVNULL
    environment = {**os.environ, **event.environment}
    try:
        status = subprocess.run(command, shell=True, env=environment, stdout=output, check=False).returncode
    except (OSError, ValueError) as failure:
        return f"the command could not be started: {getattr(failure, 'strerror', None) or failure}"
    except KeyboardInterrupt:
        return "the command was interrupted"
    return f"the command ended with {status}" if status else None
