"""Which runs share a colour: none, those with the same value of a hyperparameter, or those of a pattern."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tbq.plot.colours import colours, ordinal, print_colours
from tbq.query.groups import Grouping

if TYPE_CHECKING:
    from tbq.decode.reader import Reader


@dataclass(frozen=True)
class Groups:
    """The group of each drawn run, the groups in their order, and the colour of each."""

    of_run: Mapping[str, str]
    names: Sequence[str]
    colours: Mapping[str, str]
    by_run: bool  # each run is its own group
    ordinal: bool = False  # the colours are a scale, so that neighbours are similar

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
        """Group the runs; `known` lists all runs of the log, so that a selection changes no colour."""
        if by == "run":
            chosen = (colours if dark else print_colours)([*known, *runs])
            return cls({run: run for run in runs}, list(runs), {run: chosen[run] for run in runs}, True)
        return cls.coloured(Grouping.of(runs, by, reader), dark=dark)

    @classmethod
    def coloured(cls, grouping: Grouping, *, dark: bool = False) -> Groups:
        """A colour for each group: a scale from dark to light if the groups are the values of a number."""
        if grouping.numeric:
            chosen = ordinal(grouping.names, dark)
        else:
            chosen = (colours if dark else print_colours)(grouping.names)
        return cls(grouping.of_run, grouping.names, chosen, False, grouping.numeric)
