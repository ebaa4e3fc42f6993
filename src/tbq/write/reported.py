"""Sorts the reports of trainers and scripts by kind; what cannot be logged is left out with a warning."""

from __future__ import annotations

import dataclasses
import math
import sys
from argparse import Namespace
from collections.abc import Mapping
from typing import Any, NamedTuple

from tbq.arguments import described
from tbq.errors import warn
from tbq.write.arguments import bad

_DEPTH = 32


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


def nested(values: Any, argument: str = "metrics") -> dict[str, Any]:
    """The values of nested mappings, as `outer/inner`.

    >>> nested({"train": {"loss": 0.5}, "lr": 0.1})
    {'train/loss': 0.5, 'lr': 0.1}
    """
    if not isinstance(values, Mapping):
        raise bad(argument, f"got {described(values)}, want a mapping of names to values")
    flat: dict[str, Any] = {}

    def add(part: Mapping[Any, Any], prefix: str, depth: int) -> None:
        for key, value in part.items():
            name = f"{prefix}{key}"
            if isinstance(value, Mapping) and depth < _DEPTH:
                add(value, f"{name}/", depth + 1)
            elif name in flat:
                raise bad(argument, f"{name!r} is there twice, as a name and nested")
            else:
                flat[name] = value

    add(values, "", 0)
    return flat


def hparams(config: Any) -> dict[str, Any]:
    """A configuration as hyperparameters: a mapping, a dataclass, or what argparse returns; nested as `outer/inner`.

    >>> hparams({"optimizer": {"name": "adam", "betas": [0.9, 0.99]}, "seed": None})
    {'optimizer/name': 'adam', 'optimizer/betas': '[0.9, 0.99]'}
    """
    from tbq.source.formats.sink import flat

    if isinstance(config, Namespace):
        config = vars(config)
    elif dataclasses.is_dataclass(config) and not isinstance(config, type):
        config = dataclasses.asdict(config)
    return flat(nested(config, "config"))


def picture(value: Any) -> str | None:
    """The kind of a value that is neither number nor text: `image`, `figure` or `histogram`."""
    image, figure = sys.modules.get("PIL.Image"), sys.modules.get("matplotlib.figure")
    if image is not None and isinstance(value, image.Image):
        return "image"
    if figure is not None and isinstance(value, figure.Figure):
        return "figure"
    return "histogram" if _size(value) > 1 else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) or _size(value) == 1


def _size(value: Any) -> int:
    """The number of elements of an array or tensor of numbers; 0 for anything else."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is None or getattr(dtype, "kind", "f") in "OSUMm" or "complex" in str(dtype):
        return 0
    return int(math.prod(shape))
