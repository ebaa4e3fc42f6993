"""Which run or configuration is best, by how much, over how many seeds; and which hyperparameter matters."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from tbq.assistant.answer import AskedWrongError, ToolAnswer, shown, value
from tbq.assistant.names import Names, grouping_of, main_metric, paths_of, run_words, runs_of
from tbq.errors import TbqError
from tbq.query.configurations import Ranking
from tbq.query.groups import value_text
from tbq.query.importance import Importance, importances
from tbq.roles import best_of
from tbq.server.answers.groups import grouping
from tbq.server.answers.metrics import values as metric_values
from tbq.text import counted

if TYPE_CHECKING:
    from tbq.server.live_log import LiveLog
    from tbq.states import State

BUDGET = 800
_MATTERS = 0.05  # of the variance of ranks: a hyperparameter with less does not define a configuration
_MOST_BY = 3
_MOST = 100
_TOP_RUNS = 3


def leaderboard(
    log: LiveLog,
    metric: str | None = None,
    best: Literal["min", "max"] | None = None,
    by: Names = None,
    run: Names = None,
    top: int = 8,
) -> ToolAnswer:
    """The answer of the tool `leaderboard`."""
    if not 1 <= top <= _MOST:
        raise AskedWrongError(f"top: got {top}, want a whole number from 1 to {_MOST}")
    answer = ToolAnswer(BUDGET)
    runs = runs_of(log, run, answer)
    tag = main_metric(log, metric, runs, answer)
    way = best or best_of(tag)
    of_runs = metric_values(log, tag, way, runs)
    finite = {name: each for name, each in of_runs.items() if math.isfinite(each)}
    if not finite:
        raise AskedWrongError(f"none of {counted(len(runs), 'run')} has a finite {shown(tag)}")
    hparams = log.hparams_of(runs)
    matter = importances(of_runs, way, hparams) if any(name in hparams for name in of_runs) else []
    groups = _groups(log, by, matter)
    answer.command = ["tbq", "summary", *paths_of(log), *run_words(log, run), "--best", f"{tag}:{way}"]
    answer.say(f"by the {way} of {shown(tag)} in each run, {'lower' if way == 'min' else 'higher'} is better")
    if groups is not None:
        answer.command = [*answer.command, "--by", groups]
        _configurations(log, answer, tag, way, of_runs, runs, groups, top, chosen=by is None)
    varying = {each.name for each in matter if each.values > 1}
    ranked = sorted(finite, key=lambda name: (-finite[name] if way == "max" else finite[name], name))
    count = _TOP_RUNS if groups is not None else top
    states = log.states_now()
    answer.listing(
        "best runs",
        [
            _run_line(name, states.get(name), finite[name], hparams.get(name, {}), varying)
            for name in ranked[:count]
        ],
        "run",
        'by="run" ranks runs' if groups is not None else "raise top, or run the command",
        max(len(ranked) - count, 0),
    )
    if matter:
        shares = sorted(matter, key=lambda each: -(each.importance if each.importance is not None else -1))
        answer.listing(
            "what matters (share of the variance of ranks that it predicts, 0 to 1)",
            map(
                _importance_line, [each for each in shares if each.values > 1 or each.importance is not None]
            ),
            "hyperparameter",
        )
    _not_counted(log, answer, tag, runs, of_runs)
    return answer


def _groups(log: LiveLog, by: Names, matter: Sequence[Importance]) -> str | None:
    """The expression that defines configurations; None to rank runs."""
    if by is not None:
        return None if by in ("run", ["run"]) else grouping_of(log, by)
    names = [each.name for each in matter if each.importance is not None and each.importance >= _MATTERS]
    return ",".join(f"hparam.{name}" for name in names[:_MOST_BY]) or None


def _configurations(
    log: LiveLog,
    answer: ToolAnswer,
    tag: str,
    way: str,
    of_runs: Mapping[str, float],
    runs: Sequence[str],
    by: str,
    top: int,
    *,
    chosen: bool,
) -> None:
    try:
        board = Ranking.of(tag, way, of_runs, grouping(log, runs, by), log.states_now())
    except TbqError as wrong:
        raise AskedWrongError(f"{wrong.message}" + (f"; {wrong.hint}" if wrong.hint else "")) from None
    sign = -1 if way == "max" else 1
    lines = []
    for place, row in enumerate(board.rows, 1):
        if row.mean is None:
            lines.append(f"{place}. {shown(row.name)}: no finite value, {counted(row.left_out, 'run')}")
            continue
        members = [
            run for run, group in board.grouping.of_run.items() if group == row.name and run in of_runs
        ]
        best_run = min(
            (run for run in members if math.isfinite(of_runs[run])),
            key=lambda run: (sign * of_runs[run], run),
        )
        spread = f" ± {value(row.std, 2)}" if row.std is not None else ""
        p = row.p(board.rows[0])
        against = f", p {value(p, 2)} against 1." if p is not None else ""
        lost = f", {row.left_out} not counted" if row.left_out else ""
        lines.append(
            f"{place}. {_spaced(row.name)}: mean {value(row.mean)}{spread}, n {row.n}{against}, "
            f"best {value(of_runs[best_run])} by {shown(best_run)}{lost}"
        )
    why = ", by the hyperparameters that matter" if chosen else ""
    answer.listing(
        f"{counted(len(board.rows), 'configuration')} (mean ± std over runs){why}",
        lines[:top],
        "configuration",
        "raise top, name run=, or run the command",
        max(len(lines) - top, 0),
    )
    for place, line in enumerate(board.verdict_with(_spaced).splitlines()):
        answer.say(line if place else f"verdict: {line}")
    groupless = len(runs) - len(board.grouping.of_run)
    if groupless:
        answer.note(
            f"{counted(groupless, 'run')} belong to no configuration, because they lack a hyperparameter"
        )


def _spaced(name: str) -> str:
    """The name of a configuration, whose parts are names of their own: `lr=0.1, batch_size=32`."""
    return ", ".join(shown(part) for part in name.split(", "))


def _run_line(
    run: str, state: State | None, best: float, hparams: Mapping[str, Any], varying: set[str]
) -> str:
    settings = [
        f"{shown(name)}={shown(value_text(each))}" for name, each in hparams.items() if name in varying
    ]
    odd = f", {state}" if state not in ("finished", None) else ""
    return f"{shown(run)}: {value(best)}{odd}" + (f" ({', '.join(settings[:8])})" if settings else "")


def _importance_line(each: Importance) -> str:
    share = "unknown" if each.importance is None else value(each.importance, 2)
    best = f", best {shown(each.best)}" if each.best else ""
    note = f" ({each.note})" if each.note else ""
    return f"{shown(each.name)}: {share}{best}{note}"


def _not_counted(
    log: LiveLog, answer: ToolAnswer, tag: str, runs: Sequence[str], of_runs: Mapping[str, float]
) -> None:
    for text in _lacks(log, tag, runs, of_runs):
        answer.note(text)


def _lacks(log: LiveLog, tag: str, runs: Sequence[str], of_runs: Mapping[str, float]) -> Iterator[str]:
    without = [run for run in runs if run not in of_runs]
    if without:
        yield f"{counted(len(without), 'run')} without {shown(tag)}, e.g. {shown(without[0])}"
    odd = [run for run, each in of_runs.items() if not math.isfinite(each)]
    if odd:
        yield f"{counted(len(odd), 'run')} without a finite {shown(tag)}, e.g. {shown(odd[0])}"
    states = log.states_now()
    running = [run for run in of_runs if states.get(run) == "running"]
    if running:
        yield f"{counted(len(running), 'run')} still running, e.g. {shown(running[0])}: the order may change"
