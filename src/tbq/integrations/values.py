"""Sorts the reports of trainers into numbers, texts and groups; other values are left out with a warning."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from tbq.arguments import described
from tbq.errors import warn

if TYPE_CHECKING:
    from collections.abc import Mapping


class Sorted(NamedTuple):
    """The values of one report, by name."""

    numbers: dict[str, Any]
    texts: dict[str, str]
    groups: dict[str, dict[str, Any]]


class ReportedValues:
    """Sorts the reports of one trainer. Warns once per name if a value cannot be logged."""

    def __init__(self) -> None:
        self._reported: set[str] = set()

    def sort(self, report: Mapping[str, Any], *, groups: bool = True) -> Sorted:
        """Numbers (also arrays and tensors of one element), texts and, with `groups`, dictionaries of numbers."""
        result = Sorted({}, {}, {})
        for name, value in report.items():
            if isinstance(value, str):
                result.texts[name] = value
            elif _is_number(value):
                result.numbers[name] = value
            elif groups and isinstance(value, dict):
                group = {str(line): each for line, each in value.items() if _is_number(each)}
                for line in value.keys() - group.keys():
                    self._leave_out(f"{name}/{line}", value[line])
                if group:
                    result.groups[name] = group
            else:
                self._leave_out(name, value)
        return result

    def _leave_out(self, name: str, value: Any) -> None:
        if name not in self._reported:
            self._reported.add(name)
            warn(
                f"{name!r} is not logged: got {described(value)}, want a number or a text. "
                "The other values are logged (reported once per name)"
            )


def _is_number(value: Any) -> bool:
    if isinstance(value, int | float):
        return True
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is None or getattr(dtype, "kind", "f") in "OSUMm" or "complex" in str(dtype):
        return False
    return bool(math.prod(shape) == 1)
