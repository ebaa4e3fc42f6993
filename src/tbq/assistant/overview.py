"""What is here: runs and their states, what varies between them, tags by role and kind, damage."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tbq.assistant.answer import ToolAnswer, shown
from tbq.assistant.names import Names, items_of, paths_of, run_words, runs_of, tags_of
from tbq.assistant.restarts import dropped, resumed
from tbq.numbers import compact, duration
from tbq.query.groups import value_key, value_text
from tbq.roles import better, is_gradient_norm, is_speed, role
from tbq.text import counted, some

if TYPE_CHECKING:
    from tbq.server.live_log import LiveLog

BUDGET = 800
_FEW = 6  # values of a hyperparameter that are listed
_MOST_RESUMED = 50
_TROUBLED = ("running", "stalled", "crashed", "diverged")
_ROLES = {
    "loss": "losses, lower is better",
    "score": "scores, higher is better",
    "setting": "settings",
    "gradient": "gradient norms",
    "speed": "throughput",
    "other": "other scalars",
}


def overview(log: LiveLog, run: Names = None, tag: Names = None) -> ToolAnswer:
    """The answer of the tool `overview`."""
    paths = paths_of(log)
    answer = ToolAnswer(BUDGET)
    runs = runs_of(log, run, answer)
    answer.command = ["tbq", "ls" if tag is None else "tags", *paths, *run_words(log, run)]
    answer.command += [word for each in items_of(tag, "tag") for word in ("--tag", each)]
    _runs(log, runs, answer, listed=run is not None)
    if run is None and tag is None:
        _hparams(log, answer)
    _tags(log, runs, answer, None if tag is None else set(tags_of(log, tag, answer, None)))
    if run is None and tag is None:
        _resumed(log, runs, answer)
        _problems(log, answer)
    return answer


def _runs(log: LiveLog, runs: list[str], answer: ToolAnswer, *, listed: bool) -> None:
    states = log.states_now()
    now = log.clock()
    counts = Counter(states.get(run, "not read yet") for run in runs)
    in_words = ", ".join(f"{count:,} {state}" for state, count in counts.most_common())
    with log.lock:
        ages = {run: log.states[run].age(now) for run in runs if run in log.states}
        steps = {run: log.states[run].step for run in runs if run in log.states}
    newest = min(ages.values(), default=float("inf"))
    last = f"; the newest row is {duration(newest)} old" if newest < 1e9 else ""
    answer.say(f"{counted(len(runs), 'run')}: {in_words}{last}")
    for state in _TROUBLED:
        names = [run for run in runs if states.get(run) == state]
        if names:
            at = [f"{shown(run)} (step {steps.get(run)})" for run in names[:_FEW]]
            answer.say(
                f"{state}: {some(at, _FEW) if len(names) <= _FEW else ', '.join(at)}" + _more(len(names))
            )
    if listed:
        lines = [f"{shown(run)}: {states.get(run, 'not read yet')}, step {steps.get(run)}" for run in runs]
        answer.listing("runs", lines, "run", "narrow run=")
    elif not log.hparams:
        answer.listing("runs", map(shown, runs), "run", "narrow run=")


def _more(count: int) -> str:
    return f" and {count - _FEW:,} more" if count > _FEW else ""


def _hparams(log: LiveLog, answer: ToolAnswer) -> None:
    """The hyperparameters that vary, with their values, and those that do not."""
    with log.lock:
        known = [dict(of.values) for of in log.hparams.values()]
        without = len(log.states) - len(known)
    values: dict[str, Counter[str]] = {}
    keys: dict[str, dict[str, Any]] = {}
    for each in known:
        for name, value in each.items():
            values.setdefault(name, Counter())[value_text(value)] += 1
            keys.setdefault(name, {})[value_text(value)] = value
    if not values:
        return
    lines, same = [], []
    for name, counts in sorted(values.items(), key=lambda each: len(each[1])):
        if len(counts) == 1:
            same.append(f"{shown(name)}={shown(next(iter(counts)))}")
            continue
        ordered = sorted(counts, key=lambda text: value_key(keys[name][text]))
        if len(ordered) <= _FEW:
            listed = ", ".join(f"{shown(text)} ({counts[text]:,})" for text in ordered)
        else:
            listed = f"{len(ordered):,} values from {shown(ordered[0])} to {shown(ordered[-1])}"
        lines.append(f"{shown(name)}: {listed}")
    answer.listing(
        "hyperparameters that vary (value, runs)", lines, "hyperparameter", "sql on the table hparams"
    )
    if same:
        answer.say(f"the same in all runs: {some(same, _FEW)}")
    if without > 0:
        answer.say(f"{counted(without, 'run')} without hyperparameters")


def _tags(log: LiveLog, runs: list[str], answer: ToolAnswer, wanted: set[str] | None) -> None:
    """The tags by what their names mean, and other kinds."""
    with log.lock:
        totals = log.index.totals(runs)
    groups: dict[str, list[str]] = {}
    for tag, kinds, rows in totals:
        if wanted is not None and tag not in wanted:
            continue
        for kind, count in kinds.items():
            if kind == "hparams" and wanted is None:
                continue  # the list of hyperparameters says what they hold
            what = _ROLES[_role(tag)] if kind == "scalars" else kind
            about = f"{counted(count, 'run')}, {compact(rows)} row{'s' * (rows != 1)}"
            groups.setdefault(what, []).append(f"{shown(tag)} ({about})")
    for what in sorted(groups, key=lambda what: [*_ROLES.values(), what].index(what)):
        answer.listing(f"{what}:", [f"  {line}" for line in groups[what]], "tag", "narrow tag=")


def _role(tag: str) -> str:
    if is_gradient_norm(tag):
        return "gradient"
    if is_speed(tag):
        return "speed"
    meant = role(tag)
    return "loss" if meant == "score" and better(tag) == "lower" else meant


def _resumed(log: LiveLog, runs: list[str], answer: ToolAnswer) -> None:
    """The runs that were resumed, and what that cost."""
    names = resumed(log, runs)
    if not names:
        return
    counts = [(each.run or "", each.count or 0) for each in dropped(log, names[:_MOST_RESUMED])]
    cost = ", ".join(f"{shown(run)} {count:,}" for run, count in counts[:_FEW]) + _more(len(counts))
    answer.say(f"resumed: {counted(len(names), 'run')} ({some([shown(run) for run in names])})")
    if len(names) > _MOST_RESUMED:
        answer.note(f"what the restart cost was counted in {_MOST_RESUMED} of {len(names):,} resumed runs")
    answer.say(
        f"rows dropped, because a later session logged their steps again: {cost}"
        if counts
        else "no rows were dropped"
    )


def _problems(log: LiveLog, answer: ToolAnswer) -> None:
    """What was damaged or dropped: one line per kind of problem."""
    by_code: dict[tuple[str, str], list[Any]] = {}
    for problem in log.follower.problems:
        by_code.setdefault((problem.severity, problem.code), []).append(problem)
    lines = []
    for (severity, code), problems in sorted(by_code.items()):
        runs = sorted({problem.run for problem in problems if problem.run is not None})
        where = f" in {some([shown(run) for run in runs])}" if runs else ""
        first = log.without_paths(problems[0].message)
        lines.append(f"{severity} {code}, {counted(len(problems), 'time')}{where}; the first: {first}")
    if lines:
        answer.listing("damaged:", lines, "kind", "tbq doctor")
    else:
        answer.say("no damage was found")
