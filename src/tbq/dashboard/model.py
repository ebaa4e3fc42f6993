"""The state of the screen: runs, tags, filters, sort, zoom. Keys change it, the feed fills it; it knows no widgets."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from tbq.dashboard.runs import ShownRun, tags_of
from tbq.errors import UsageError
from tbq.following.states import STALLED_AFTER, STATES, State, states_now
from tbq.following.view import AXES, Axis
from tbq.labels import labels
from tbq.plot.colours import colours
from tbq.problems import Problem
from tbq.select import name_filter
from tbq.text import natural, printable

if TYPE_CHECKING:
    from tbq.following.polling import Poll

Kind = Literal["scalars", "images", "texts", "histograms"]
KINDS: tuple[Kind, ...] = ("scalars", "images", "texts", "histograms")
SORTS = ("name", "state", "step", "recent", "value")
SMOOTHS = (0.0, 0.3, 0.6, 0.8, 0.9, 0.95, 0.99)
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOST_CURVES = 40  # in one chart: more would be unreadable


@dataclass
class Model:
    """Everything on the screen."""

    path: str
    smooth: float = 0.0
    stalled_after: float = STALLED_AFTER
    clock: Callable[[], float] = time.time
    runs: dict[str, ShownRun] = field(default_factory=dict)  # by name, numbers by value
    polled: tuple[str, ...] = ()  # the runs of the last poll
    problems: list[Problem] = field(default_factory=list)
    loaded: bool = False  # the data present at the start has been read
    left: int = 0  # bytes still to read
    exists: bool = True  # the directory exists
    kind: Kind = "scalars"
    tag_filters: dict[Kind, str] = field(default_factory=dict)  # a filter of curves is not one of images
    run_filter: str = ""
    sort: str = "name"
    axis: Axis = "step"
    log: bool = False
    outliers: bool = False  # charts show outliers too
    zoom: tuple[float, float] | None = None
    pins: list[str] = field(default_factory=list)
    hidden: set[str] = field(default_factory=set)
    run: str | None = None  # the selected run
    tag: str | None = None  # the tag of the selected card
    full: bool = False
    wide: bool = False  # the list of runs takes the full width
    comparing: list[str] = field(default_factory=list)
    per_page: int = 4
    plain: bool = False  # the terminal shows no colours

    @property
    def tag_filter(self) -> str:
        """The filter of the current kind's tags."""
        return self.tag_filters.get(self.kind, "")

    @tag_filter.setter
    def tag_filter(self, text: str) -> None:
        self.tag_filters[self.kind] = text

    # The data.

    def refresh(self) -> None:
        """Drop derived values after a change."""
        for name in ("colours", "states", "listed", "labels", "tags"):
            self.__dict__.pop(name, None)
        self.hidden &= self.runs.keys()
        self.comparing = [name for name in self.comparing if name in self.runs]
        if self.run not in self.listed:
            self.run = self.listed[0] if self.listed else None
        if self.tag not in self.tags:
            self.tag = self.tags[0] if self.tags else None

    def tick(self) -> None:
        """Update the states as time passes."""
        self.__dict__.pop("states", None)
        if self.sort in ("state", "recent"):
            self.__dict__.pop("listed", None)

    def take(self, poll: Poll) -> None:
        """Apply the result of a poll."""
        now = self.clock()
        if poll.runs != self.polled:  # sorting 100,000 names takes a second
            self.polled = poll.runs
            order = sorted(poll.runs, key=lambda name: (natural(name), name))
            self.runs = {name: self.runs.get(name) or ShownRun(name) for name in order}
        for name in poll.latest.keys() & self.runs.keys():
            self.runs[name].update(poll.latest[name], now, poll.is_backlog)
        self.problems += poll.problems
        self.exists = poll.exists
        self.left = poll.left
        self.loaded = self.loaded or not poll.left
        at_first = self.tag is None or self.tags[:1] == [self.tag]
        self.refresh()
        if poll.is_backlog and at_first and self.tags:  # later tags may sort before it
            self.tag = self.tags[0]

    @cached_property
    def colours(self) -> dict[str, str]:
        """The colour of each run by its name, in the order in which the runs began."""
        order = sorted(
            self.runs.values(),
            key=lambda run: (math.inf if math.isnan(run.began) else run.began, run.name),
        )
        return colours(run.name for run in order)

    @cached_property
    def states(self) -> dict[str, State]:
        """The current state of each run that has been read."""
        now = self.clock()
        return states_now(self.runs, now, self.stalled_after)

    @cached_property
    def listed(self) -> list[str]:
        """The runs that match the filter, sorted."""
        names = chosen(self.run_filter, self.runs)
        return names if self.sort == "name" else sorted(names, key=self._sort_key)

    @cached_property
    def labels(self) -> dict[str, str]:
        """What tells the listed runs apart."""
        names = list(self.listed)
        return dict(zip(names, labels([printable(name) for name in names]), strict=True))

    def _sort_key(self, name: str) -> tuple[float, float]:
        run = self.runs[name]
        if self.sort == "state":
            return STATES.index(self.states[name]) if run.is_read else len(STATES), 0.0
        if self.sort == "step":
            return -(run.step if run.step is not None else -math.inf), 0.0
        if self.sort == "recent":
            return run.age(self.clock()) // 10, 0.0  # in steps of 10 s, so that the list does not jump
        series = run.scalars.get(self.value_tags[0]) if self.value_tags else None
        if series is None or math.isnan(series.value):
            return 1.0, 0.0
        return 0.0, series.value

    @cached_property
    def tags(self) -> list[str]:
        """The filtered tags of the current kind; pinned tags first."""
        names = chosen(self.tag_filter, tags_of(self.runs.values(), self.kind))
        pinned = [tag for tag in self.pins if tag in names]
        return pinned + [tag for tag in names if tag not in pinned]

    @property
    def value_tags(self) -> list[str]:
        """The tags with values beside the runs: the pinned tags, otherwise the selected card's."""
        scalars = set(tags_of(self.runs.values()))
        pinned = [tag for tag in self.pins if tag in scalars]
        return pinned or [tag for tag in (self.tag,) if tag in scalars]

    @property
    def drawn(self) -> list[str]:
        """The runs with visible curves."""
        if len(self.comparing) == 2:
            return [name for name in self.comparing if name in self.runs]
        return [name for name in self.listed if name not in self.hidden]

    @property
    def lettered(self) -> bool:
        """Whether letters tell curves apart: colours are missing, or too few."""
        drawn = self.drawn[:MOST_CURVES]
        return self.plain or len({self.colours[name] for name in drawn}) < len(drawn)

    @property
    def letters(self) -> dict[str, str]:
        """A letter for each of the first drawn runs, for curves that colours do not tell apart."""
        return dict(zip(self.drawn, _LETTERS, strict=False)) if self.lettered else {}

    def curves_of(self, tag: str) -> list[str]:
        """The runs with a curve in a tag's chart: all of them, up to `MOST_CURVES`.

        If there are more: the selected run, the diverged runs, and others spread evenly over the list.
        """
        names = [name for name in self.drawn if tag in self.runs[name].scalars]
        if len(names) <= MOST_CURVES:
            return names
        first = [name for name in names if name == self.run]
        first += [name for name in names if name != self.run and self.states.get(name) == "diverged"]
        first = first[:MOST_CURVES]
        others = [name for name in names if name not in first]
        count = MOST_CURVES - len(first)
        few = {*first, *(others[i * len(others) // count] for i in range(count))}
        return [name for name in names if name in few]

    def shown_run(self, tag: str) -> str | None:
        """The run whose image, text or histogram is shown: the selected run, or the first that has the tag."""
        names = [self.run, *self.drawn] if self.run else self.drawn
        return next(
            (name for name in names if name and (self.kind, tag) in self.runs[name].non_scalars), None
        )

    @property
    def cards(self) -> list[str]:
        """The tags on the page of the selected card; only that tag if it is full screen."""
        if self.tag is None:
            return []
        if self.full:
            return [self.tag]
        start = self.tags.index(self.tag) // self.per_page * self.per_page
        return self.tags[start : start + self.per_page]

    @property
    def page(self) -> tuple[int, int]:
        """The number of the page, from 1, and the number of pages."""
        if self.tag is None:
            return 1, 1
        return self.tags.index(self.tag) // self.per_page + 1, -(-len(self.tags) // self.per_page)

    # The actions of keys.

    def move_run(self, by: int) -> None:
        """Select another run of the list."""
        self.run = _moved(self.listed, self.run, by)

    def move_tag(self, by: int) -> None:
        """Select another card."""
        self.tag = _moved(self.tags, self.tag, by)

    def show_kind(self, number: int) -> None:
        """Show a kind of data, by its number from 1; 0 for the next kind that has data."""
        available = [kind for kind in KINDS if kind == self.kind or tags_of(self.runs.values(), kind)]
        self.kind = (
            KINDS[number - 1] if number else available[(available.index(self.kind) + 1) % len(available)]
        )
        self.zoom = None
        self.refresh()

    def toggle_full(self) -> None:
        """Show the selected card full screen, or go back."""
        self.full = not self.full and self.tag is not None
        self.wide = False

    def toggle_wide(self) -> None:
        """Show the list of runs on the full width, or go back."""
        self.wide = not self.wide
        self.full = False

    def toggle_log(self) -> None:
        """Switch the log scale of values on or off."""
        self.log = not self.log

    def toggle_outliers(self) -> None:
        """Show all values in charts, or only the usual range."""
        self.outliers = not self.outliers

    def unzoom(self) -> None:
        """Show all data, and follow new data."""
        self.zoom = None

    def next_axis(self) -> None:
        """Switch between step, relative time and wall time; ends a zoom, because its numbers lose their meaning."""
        self.axis = AXES[(AXES.index(self.axis) + 1) % len(AXES)]
        self.zoom = None

    def next_smooth(self, by: int) -> None:
        """Increase or decrease smoothing."""
        at = min(range(len(SMOOTHS)), key=lambda i: abs(SMOOTHS[i] - self.smooth))
        self.smooth = SMOOTHS[(at + by) % len(SMOOTHS)]

    def next_sort(self) -> None:
        """Sort the runs by the next criterion."""
        self.sort = SORTS[(SORTS.index(self.sort) + 1) % len(SORTS)]
        self.refresh()

    def pin(self) -> None:
        """Pin or unpin the tag of the selected card."""
        if self.tag is None:
            return
        if self.tag in self.pins:
            self.pins.remove(self.tag)
        else:
            self.pins.append(self.tag)
        self.refresh()

    def hide(self) -> None:
        """Hide the selected run in charts, or show it again."""
        if self.run is not None:
            self.hidden ^= {self.run}

    def show_only(self) -> None:
        """Draw only the selected run; if it is already the only one, draw all."""
        if self.run is not None:
            others = set(self.listed) - {self.run}
            self.hidden = set() if others <= self.hidden else others

    def compare(self) -> None:
        """Choose the first run, then the second; a third call ends the comparison."""
        if len(self.comparing) >= 2:
            self.comparing = []
        elif self.run is not None:
            self.comparing = [] if self.run in self.comparing else [*self.comparing, self.run]

    def zoom_by(self, factor: float, begin: float, end: float) -> None:
        """Zoom into the current range, of data from begin to end; at the end of the data, keep the end in view."""
        low, high = self.zoom or (begin, end)
        span = (high - low) * factor
        if not span > 0 or not math.isfinite(span):
            return
        if span >= end - begin:
            self.zoom = None
        elif high >= end:
            self.zoom = (high - span, high)
        else:
            low = min(max(low + (high - low) / 2 - span / 2, begin), end - span)
            self.zoom = (low, low + span)

    def pan_by(self, share: float, begin: float, end: float) -> None:
        """Move the current range by a share of its width, not past the data."""
        if self.zoom is None:
            return
        low, high = self.zoom
        distance = min(max((high - low) * share, min(begin - low, 0.0)), max(end - high, 0.0))
        if distance and math.isfinite(distance):
            self.zoom = (low + distance, high + distance)

    def back(self) -> None:
        """Undo the last of: full screen, wide list, comparison, zoom, filters."""
        if self.full or self.wide:
            self.full = self.wide = False
        elif self.comparing:
            self.comparing = []
        elif self.zoom:
            self.zoom = None
        elif self.tag_filter or self.run_filter:
            self.tag_filter = self.run_filter = ""
        self.refresh()


def chosen(text: str, names: Iterable[str]) -> list[str]:
    """The names that fit a filter; none while its regular expression is unfinished."""
    try:
        return list(filter(name_filter(text), names))
    except UsageError:
        return []


def _moved(names: list[str], name: str | None, by: int) -> str | None:
    if not names:
        return None
    if name not in names:
        return names[0]
    return names[min(max(names.index(name) + by, 0), len(names) - 1)]
