"""Sub-runs: directories below a run that hold only its hyperparameters and final metrics are part of the run.

torch and tensorboardX write each call of `add_hparams` into a directory below the run, named after the time of day or
`run_name`. Its content identifies it; its name proves nothing. Only small runs below another run are decoded for that.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from tbq.arguments import choice
from tbq.decode import decode
from tbq.decode.options import DecodeOptions
from tbq.errors import SourceError
from tbq.source.discover import Found, Run
from tbq.source.formats.translation import Translations
from tbq.source.urls import is_remote

if TYPE_CHECKING:
    from tbq._core import FileReport, Result
    from tbq.source.copies import Copy

#: Whether sub-runs are part of the run above, or runs of their own.
SubRunsAs = Literal["fold", "keep"]
#: A directory with more bytes than this is a run of its own.
MOST_BYTES = 1 << 16

_Stamp = tuple[Any, ...]


class SubRunFacts(NamedTuple):
    """What a small run below another one holds; `state` as the core names it, `healthy` if its files can be read."""

    state: str
    hparams: bytes
    healthy: bool


class SubRunFolder:
    """Finds sub-runs and makes them part of the runs above; remembers files that stay as they are.

    If a sub-run cannot be read any more, it stays one; `was_sub_run` knows what earlier processes found.
    """

    def __init__(self, inflate: Callable[[bytes], bytes | None]) -> None:
        self._inflate = inflate
        self.was_sub_run: Callable[[Run], bool] = lambda _run: False
        self._known: dict[str, tuple[tuple[_Stamp, ...], SubRunFacts]] = {}
        #: Run → the directories that `add_hparams` made below it, folded or not, as of the last `fold`.
        self.below: dict[str, list[str]] = {}
        self.unread: set[str] = set()  # runs that could not be read; `fold` tries again

    @property
    def paths(self) -> list[str]:
        """The files of this machine that a decision depends on; they may still grow."""
        return [
            str(stamp[0])
            for stamps, facts in self._known.values()
            if facts.state != "other"
            for stamp in stamps
            if not is_remote(str(stamp[0]))
        ]

    def fold(self, found: Found, hold_back: bool = False) -> Found:
        """The runs with their sub-runs; `hold_back` leaves out those that have no value yet: they may become sub-runs.

        A run's sub-runs stay apart if they are trials with different hyperparameters.
        """
        self.below = {}
        above, stamps = _candidates(found.runs)
        if not above:
            self._known, self.unread = {}, set()
            return found
        facts = self._facts([run for run in found.runs if run.name in above], stamps)
        by_parent = self.below
        for name, parent in above.items():
            if facts[name].state in ("begun", "complete", "trial"):
                by_parent.setdefault(parent, []).append(name)
        folds: dict[str, list[str]] = {}
        used: set[str] = set()
        for parent in sorted(by_parent):  # a run above comes first
            subs = by_parent[parent]
            if parent not in used and is_one_trial([facts[name] for name in subs]):
                folds[parent] = subs
                used.update(subs)
        if hold_back:
            used.update(
                name
                for name in above
                if facts[name].state == "nothing" and facts[name].healthy and name not in folds
            )
        if not used:
            return found
        runs = {run.name: run for run in found.runs}
        return found._replace(
            runs=[
                _with_sub_runs(run, [runs[name] for name in folds[run.name]]) if run.name in folds else run
                for run in found.runs
                if run.name not in used
            ],
        )

    def _facts(self, runs: Sequence[Run], stamps: Mapping[str, tuple[_Stamp, ...]]) -> dict[str, SubRunFacts]:
        """What each of these runs holds; only those that changed are decoded, all at once."""
        known = {name: (stamp, self._known[name][1]) for name, stamp in stamps.items()
                 if name in self._known and self._known[name][0] == stamp}  # fmt: skip
        new = [run for run in runs if run.name not in known]
        self.unread = set()
        if new:
            try:
                result = decode(new, [], DecodeOptions(restarts="keep"), self._inflate, verify=True)
            except SourceError:  # of a store; reading the runs raises it again
                self.unread = {run.name for run in new}
            else:
                unread = {report.run for report in result.troubled() if _is_unread(report)}
                self.unread = {
                    run.name for index, run in enumerate(new) if index in unread or _has_failed(run)
                }
                sick = _unhealthy(result)
                for index, (run, (state, hparams, calls)) in enumerate(
                    zip(new, result.sub_runs(len(new)), strict=True)
                ):
                    if calls > 1:  # each call may have other hyperparameters
                        hparams += run.name.encode(errors="surrogateescape")
                    known[run.name] = stamps[run.name], SubRunFacts(state, hparams, index not in sick)
            for run in new:
                if run.name in self.unread:
                    stamp, facts = self._known.get(run.name) or ((), self._assumed(run))
                    known[run.name] = stamp, facts._replace(healthy=False)
        self._known = known
        return {name: facts for name, (_, facts) in known.items()}

    def _assumed(self, run: Run) -> SubRunFacts:
        """What a run holds that was never read here."""
        return SubRunFacts("complete" if self.was_sub_run(run) else "other", b"", healthy=False)


def fold(found: Found, inflate: Callable[[bytes], bytes | None], sub_runs: SubRunsAs = "fold") -> Found:
    """The runs with their sub-runs, as `sub_runs` says."""
    choice("sub_runs", sub_runs, get_args(SubRunsAs))
    return SubRunFolder(inflate).fold(found) if sub_runs == "fold" else found


def is_one_trial(subs: Iterable[SubRunFacts]) -> bool:
    """Whether these sub-runs of one run are all of the same trial: that of the run.

    A resumed program may call `add_hparams` again, with the same hyperparameters.
    """
    several = list(subs)
    known = {facts.hparams for facts in several if facts.hparams}
    return len(known) <= 1 and all(facts.state != "trial" for facts in several)


def parent(run: str) -> str | None:
    """The run above a run, if any; the logdir itself has none.

    >>> parent("exp/1700000000.5"), parent("exp")
    ('exp', '.')
    """
    return None if run == "." else run.rpartition("/")[0] or "."


def _candidates(runs: Sequence[Run]) -> tuple[dict[str, str], dict[str, tuple[_Stamp, ...]]]:
    """Maps each small run directly below another run to that run; also returns the stamps of its files."""
    places = {run.name: run.path.rstrip("/" + os.sep) for run in runs}
    above: dict[str, str] = {}
    stamps: dict[str, tuple[_Stamp, ...]] = {}
    for run in runs:
        name = run.name
        parent = name.rpartition("/")[0] or "."
        if parent not in places or name == "." or _directory(places[name]) != places[parent]:
            continue
        if isinstance(run.remote, Translations) and any(map(run.remote.is_log, run.files)):
            continue
        of_run = tuple([_stamp(run, path) for path in run.files])
        if sum([stamp[1] for stamp in of_run]) <= MOST_BYTES:
            above[name], stamps[name] = parent, of_run
    return above, stamps


def _directory(place: str) -> str:
    """The directory that a directory or a URL lies in."""
    return place.rpartition("/" if is_remote(place) else os.sep)[0]


def _with_sub_runs(run: Run, subs: Sequence[Run]) -> Run:
    below = [path for sub in subs for path in sub.files]
    copies: Sequence[Copy] = run.copies
    if any(sub.copies for sub in subs):
        copies = [*copies, *(copy._replace(run=run.name) for sub in subs for copy in sub.copies)]
    return run._replace(
        files=run.files + below,
        copies=copies,
        below=frozenset(below),
        folded=tuple([sub.name for sub in subs]),
    )


def _stamp(run: Run, path: str) -> _Stamp:
    """The path, the size in bytes (0 if the file does not exist), and values that change with the content."""
    version = run.remote.objects.get(path) if run.remote is not None else None
    if version is not None:
        return path, version.size, version.etag, version.modified
    try:
        info = os.stat(path)
    except OSError as failure:
        return path, 0, failure.errno
    return path, info.st_size, info.st_mtime_ns, info.st_ino


def _has_failed(run: Run) -> bool:
    """Whether an object of the run could not be fetched; its file may hold an older version."""
    return run.remote is not None and bool(run.remote.failed(filter(run.remote.has, run.files)))


def _is_unread(report: FileReport) -> bool:
    """Whether a file could not be read to its end, whatever its bytes are."""
    return report.state == "unreadable" or bool(report.error)


def _unhealthy(result: Result) -> set[int]:
    return {
        report.run
        for report in result.troubled()
        if report.state not in ("events", "empty") or report.faults or report.error or report.more_faults
    }
