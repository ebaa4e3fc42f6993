"""`Diagnosis`: what happened to one run, and why, as far as its log shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from tbq.diagnosis.before import QuantityChange, changes, unlogged
from tbq.diagnosis.course import Departure, Pause, departures, milestones, pauses
from tbq.numbers import duration
from tbq.query.groups import value_text
from tbq.roles import words_of
from tbq.text import counted, printable, some

if TYPE_CHECKING:
    from tbq.diagnosis.finding import Finding
    from tbq.diagnosis.history import RunHistory, Sibling
    from tbq.states import State

_MOST_FINDINGS = 10
_MOST_SETTINGS = 6
_FEW = 3


@dataclass(frozen=True)
class Diagnosis:
    """What happened to one run. `report()` is the text that `tbq diagnose` prints."""

    run: str
    state: State | None
    verdict: str
    happened: Sequence[str]  # what happened, the most telling first
    before: Sequence[str]  # what changed before it, and what did not
    missing: Sequence[str]  # what the log does not show
    compared: Sequence[str]  # with other runs
    findings: Sequence[Finding] = field(default_factory=list)
    step: int | None = None  # the last step at which all was well, if something happened

    def report(self) -> str:
        """What `tbq diagnose` prints.

        >>> print(tbq.open("runs").diagnose("diverged").report().splitlines()[0])
        diverged: diverged, after step 0
        """
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        """The report line by line; names from the log are harmless on a terminal."""
        yield printable(f"{self.run}: {self.verdict}")
        parts = (
            ("what happened", self.happened),
            ("what changed before", self.before),
            ("not in the log", self.missing),
            ("other runs", self.compared),
            ("findings of the doctor", [*_findings(self.findings)]),
        )
        for title, lines in parts:
            if lines:
                yield f"  {title}"
                yield from (f"    {printable(line)}" for line in lines)

    def __repr__(self) -> str:
        return self.report()

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values.

        >>> tbq.open("runs").diagnose("diverged").to_dict()["state"]
        'diverged'
        """
        return {**asdict(self), "findings": [each.to_dict() for each in self.findings]}


def diagnosed(history: RunHistory) -> Diagnosis:
    """The diagnosis of a run."""
    left, idle = departures(history), pauses(history)
    happened = [each.message for each in left[:_FEW]]
    if len(left) > _FEW:
        happened.append(f"so did {counted(len(left) - _FEW, 'other tag')}")
    happened += [each.message for each in idle]
    happened += list(_restarts(history))
    happened += milestones(history, left)
    anchor = _anchor(history, left, idle)
    before: list[QuantityChange] = [] if anchor is None else changes(history, *anchor)
    return Diagnosis(
        history.run,
        history.state,
        _verdict(history, left),
        happened,
        [each.message for each in before],
        [] if anchor is None else unlogged(history),
        list(_compared(history)),
        list(history.findings),
        None if anchor is None else anchor[0],
    )


def _anchor(history: RunHistory, left: Sequence[Departure], idle: Sequence[Pause]) -> tuple[int, int] | None:
    """The last step before it happened, and the step by which it had happened; None for a healthy run."""
    if left:
        return left[0].step, left[0].end
    if history.state in ("crashed", "stalled") and history.last_step is not None:
        return history.last_step, history.last_step
    if idle:
        return idle[0].step, idle[0].step
    return None


def _verdict(history: RunHistory, left: Sequence[Departure]) -> str:
    where = "" if history.last_step is None else f" at step {history.last_step:,}"
    if not history.series and history.last_step is None:
        return "nothing is logged yet"
    since = f", {duration(history.age)} ago" if history.age < 1e8 else ""
    text = {
        "diverged": "diverged",
        "crashed": f"crashed{where}{since}",
        "stalled": f"stalled: nothing was logged since step {history.last_step or 0:,}{since}",
        "running": f"running{where}, last row {duration(history.age)} ago",
        "finished": f"finished{where}{since}",
        None: f"ended{where}",
    }[history.state]
    if left:
        broken = "" if history.state == "diverged" else ", and a loss left its course"
        text += f"{broken}, after step {left[0].step:,}"
    elif history.state == "crashed":
        text += _early(history)
    return text


def _early(history: RunHistory) -> str:
    """How far the other runs went."""
    steps = sorted(each.last_step for each in history.siblings if each.last_step is not None)
    if not steps or history.last_step is None or steps[len(steps) // 2] <= history.last_step:
        return ""
    return f"; half of the other runs reached step {steps[len(steps) // 2]:,}"


def _restarts(history: RunHistory) -> Iterator[str]:
    if history.restarts:
        steps = [f"{each.step:,}" for each in history.restarts]
        times = "once" if len(steps) == 1 else f"{len(steps):,} times"
        yield f"resumed {times}, from step {some(steps)}"
    yield from history.dropped


def _compared(history: RunHistory) -> Iterator[str]:
    """How the runs with nearly the same hyperparameters fared."""
    known = [each for each in history.siblings if each.hparams]
    if not history.hparams or not known:
        return
    differing = {each.run: _differences(history.hparams, each.hparams) for each in known}
    fewest = min(map(len, differing.values()))
    nearest = [each for each in known if len(differing[each.run]) == fewest]
    # Runs that differ in the same parameter, best in the seed; those that differ in another one are another group.
    counts = Counter(differing[each.run] for each in nearest)
    common = max(counts, key=lambda names: (all("seed" in words_of(name) for name in names), counts[names]))
    group = [each for each in nearest if differing[each.run] == common]
    states = Counter(each.state or "ended" for each in group)
    in_words = ", ".join(f"{count:,} {state}" for state, count in states.most_common())
    verb = "differs" if len(group) == 1 else "differ"
    what = f"that {verb} only in {some(common)}" if common else "with the same hyperparameters"
    yield f"{counted(len(group), 'run')} {what}: {in_words}"
    healthy = next((each for each in (*group, *nearest) if each.state == "finished"), None)
    if healthy is not None and history.state != "finished":
        yield _nearest(history, healthy, differing[healthy.run])


def _nearest(history: RunHistory, other: Sibling, names: Sequence[str]) -> str:
    pairs = [f"{name}: {_value(other, name)} there, {_value(history, name)} here" for name in names]
    more = f" and {len(pairs) - _MOST_SETTINGS:,} more" if len(pairs) > _MOST_SETTINGS else ""
    return f"{other.run} finished ({'; '.join(pairs[:_MOST_SETTINGS])}{more})"


def _value(run: RunHistory | Sibling, name: str) -> str:
    return value_text(run.hparams[name]) if name in run.hparams else "none"


def _differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name)))


def _findings(findings: Sequence[Finding]) -> Iterator[str]:
    for each in findings[:_MOST_FINDINGS]:
        tag = "" if each.tag is None else f"{each.tag}: "
        yield f"{each.severity} {each.code} {tag}{each.message}"
        if each.hint:
            yield f"  next: {each.hint}"
    if len(findings) > _MOST_FINDINGS:
        yield f"{len(findings) - _MOST_FINDINGS:,} more: tbq doctor shows them"
