"""`LiveStore`: everything that a `Follower` has read. One thread at a time uses it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tbq.errors import UsageError
from tbq.source.files import below_of, files_of

if TYPE_CHECKING:
    from tbq._core import LiveUpdate, Result, Store
    from tbq.source import Run

_ALL = (1 << 64) - 1  # bytes: everything that is new


class LiveStore:
    """The core's store, and the runs that it numbers. Callers may hold `lock` over several calls."""

    def __init__(self, core: Store) -> None:
        self.lock = threading.RLock()
        self.runs: list[Run] = []
        self._wanted = self.runs  # unknown to the core if an interrupt came before set_files
        self._place_of: dict[str, int] = {}
        self._core: Store | None = core

    @property
    def has_update(self) -> bool:
        """Whether the core has an update that was not `received`; it numbers runs as they are now."""
        with self.lock:
            return self._core is not None and self._core.has_update

    def set_runs(self, runs: Iterable[Run]) -> None:
        """Follow these runs from now on; all other runs are gone."""
        with self.lock:
            self._wanted = list(runs)
            self._open()

    def poll(self, rows: bool = True, most: int | None = None) -> LiveUpdate:
        """Read about `most` bytes of new data; without `rows`, the update only lists which files changed.

        Returns the same update until it is `received`, so that an interrupt (Ctrl-C) loses nothing.
        """
        with self.lock:
            return self._open().poll(rows, _ALL if most is None else most)

    def received(self, update: LiveUpdate) -> None:
        """The caller has this update: `poll` may read on."""
        with self.lock:
            if self._core is not None:
                self._core.received(update)

    def everything(self, kind: str) -> tuple[Result, list[Run]]:
        """All rows of one of the core's kinds, and the runs that the result numbers."""
        with self.lock:
            return self._open().everything([kind]), list(self.runs)

    def latest(self, runs: Iterable[str], back: int) -> list[tuple[str, tuple[float, float, str, list[Any]]]]:
        """For each of these runs that exists: when it began and ended, and the last row of each series."""
        with self.lock:
            places = self._places()
            wanted = [run for run in runs if run in places]
            latest = self._open().latest([places[run] for run in wanted], back)
        return list(zip(wanted, latest, strict=True))

    def listing(self, runs: Iterable[str]) -> list[tuple[str, tuple[float | None, list[Any]]]]:
        """For each of these runs that exists: the wall time of its first event, and its series."""
        with self.lock:
            places = self._places()
            wanted = [run for run in runs if run in places]
            listed = self._open().listing([places[run] for run in wanted])
        return list(zip(wanted, listed, strict=True))

    def points(self, run: str, tag: str) -> tuple[Any, Any, Any]:
        """Steps, wall times and values of a series of scalars; empty if it does not exist."""
        with self.lock:
            places = self._places()
            return self._open().points(places.get(run, len(places)), tag)

    def of_run(self, kind: str, run: str) -> tuple[Result, list[Run]]:
        """All rows of one kind of one run, and the runs that the result numbers."""
        return self.of_runs(kind, [run])

    def of_runs(self, kind: str, runs: Iterable[str]) -> tuple[Result, list[Run]]:
        """All rows of one kind of these runs, and the runs that the result numbers."""
        with self.lock:
            places = self._places()
            wanted = sorted(places[run] for run in runs if run in places)
            return self._open().everything([kind], wanted), list(self.runs)

    def curves(
        self,
        series: Sequence[tuple[str, str]],
        x: str,
        range: tuple[float, float] | None,  # noqa: A002 - what the axis shows
        width: int,
        smooth: float,
    ) -> tuple[Any, ...]:
        """Low and high x, the columns of the curves of (run, tag) pairs, and x of each first odd value."""
        with self.lock:
            places = self._places()
            absent = len(places)  # the number of no run
            numbered = [(places.get(run, absent), tag) for run, tag in series]
            return self._open().curves(numbered, x, range, width, smooth)

    def close(self) -> None:
        """Forget everything."""
        with self.lock:
            self._core = None

    def _open(self) -> Store:
        if self._core is None:
            raise UsageError("this Follower is closed", hint="tbq.follow(path) makes a new one")
        if self._wanted is not self.runs:
            self._core.set_files(
                [run.name for run in self._wanted], *files_of(self._wanted), below_of(self._wanted)
            )
            self._place_of = {run.name: place for place, run in enumerate(self._wanted)}
            self.runs = self._wanted
        return self._core

    def _places(self) -> dict[str, int]:
        self._open()
        return self._place_of
