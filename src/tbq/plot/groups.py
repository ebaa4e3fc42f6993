"""Which runs share a colour: each run by itself, those of one hyperparameter's value, or those of a pattern."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tbq.errors import SelectionError, UsageError, warn
from tbq.kinds.hparams import HPARAM
from tbq.plot.colours import colours, ordinal, print_colours
from tbq.plot.numbers import number
from tbq.query.groups import group_runs
from tbq.select import closest
from tbq.text import natural

if TYPE_CHECKING:
    from tbq.decode.reader import Reader


@dataclass(frozen=True)
class Groups:
    """The group of each run that is drawn, the groups in their order, and the colour of each."""

    of_run: Mapping[str, str]
    names: Sequence[str]
    colours: Mapping[str, str]
    by_run: bool  # each run is a group of its own

    @classmethod
    def of(
        cls,
        runs: Sequence[str],
        by: str | Sequence[str],
        *,
        reader: Reader | None = None,
        known: Sequence[str] = (),
        dark: bool = False,
    ) -> Groups:
        """Group the runs; `known` are all runs of the log, so that a selection changes no colour."""
        pick = colours if dark else print_colours
        if by == "run":
            chosen = pick([*known, *runs])
            return cls({run: run for run in runs}, list(runs), {run: chosen[run] for run in runs}, True)
        wanted = [by] if isinstance(by, str) else list(by)
        if all(each.startswith(HPARAM) for each in wanted):
            names = [each.removeprefix(HPARAM) for each in wanted]
            return cls.of_values(runs, {name: _of_hparam(runs, name, reader) for name in names}, dark=dark)
        return cls.of_names(group_runs(runs, by), dark=dark)

    @classmethod
    def of_names(cls, of_run: Mapping[str, str], *, dark: bool = False) -> Groups:
        """Groups that are known by name."""
        names = sorted(set(of_run.values()), key=natural)
        return cls(of_run, names, (colours if dark else print_colours)(names), False)

    @classmethod
    def of_values(
        cls, runs: Sequence[str], given: Mapping[str, Mapping[str, Any]], *, dark: bool = False
    ) -> Groups:
        """The runs by their values of hyperparameters, which `given` has by name; those without one are in no group."""
        values = {
            run: tuple(of[run] for of in given.values())
            for run in runs
            if all(run in of for of in given.values())
        }
        if not values:
            raise SelectionError(f"no run has all of {', '.join(HPARAM + name for name in given)}")
        of_run = {
            run: ", ".join(f"{name}={_text(value)}" for name, value in zip(given, parts, strict=True))
            for run, parts in values.items()
        }
        by_value = sorted(values, key=lambda run: [*map(_value_key, values[run])])
        ordered = list(dict.fromkeys(of_run[run] for run in by_value))
        numeric = len(given) == 1 and len(ordered) > 2 and all(_is_number(v) for (v,) in values.values())
        pick = colours if dark else print_colours
        return cls(of_run, ordered, ordinal(ordered, dark) if numeric else pick(ordered), False)


def _of_hparam(runs: Sequence[str], name: str, reader: Reader | None) -> dict[str, Any]:
    from tbq.kinds.summary import hyperparameters

    if reader is None:
        raise UsageError(
            f"by: a table has no hyperparameters, so not {HPARAM}{name}", hint="log.plot(...) knows them"
        )
    given = hyperparameters(reader, runs)
    having = {run: given[run][name] for run in runs if name in given[run]}
    if not having:
        names = sorted({each for values in given.values() for each in values})
        near = closest(name, names)
        tip = f"; closest: {', '.join(near)}" if near else ""
        raise SelectionError(
            f"no run has the hyperparameter {name!r}{tip}",
            path=reader.path,
            hint=f"there are {', '.join(names[:10])}" if names else "no run has any",
        )
    without = [run for run in runs if run not in having]
    if without:
        shown = ", ".join(without[:3]) + (f" and {len(without) - 3:,} more" if len(without) > 3 else "")
        warn(f"{len(without):,} of {len(runs):,} runs have no hyperparameter {name}: {shown}")
    return having


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _value_key(value: Any) -> tuple[int, float, str]:
    if _is_number(value):
        return (0, -math.inf if math.isnan(value) else value, "")
    return (1, 0.0, str(value))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return (
        f"{value:g}"
        if _is_number(value) and abs(value) < 1e6
        else number(value)
        if _is_number(value)
        else str(value)
    )
