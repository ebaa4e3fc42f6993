"""What happened to a run, and why; or which runs need a look."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tbq.assistant.answer import ToolAnswer, shown
from tbq.assistant.names import paths_of, runs_of, single_run
from tbq.assistant.restarts import dropped
from tbq.diagnosis.diagnosis import Diagnosis, diagnosed
from tbq.diagnosis.finding import Finding
from tbq.diagnosis.history import RunHistory, Sibling, restarts_of
from tbq.errors import TbqError
from tbq.server.sql.queries import found_files
from tbq.server.sql.worker_pool import Job
from tbq.text import counted

if TYPE_CHECKING:
    from tbq.server.live_log import LiveLog

BUDGET = 800
_SECONDS = 60.0  # limit of the doctor's time for one run
_KEPT = 200  # runs with findings
_TROUBLE = ("diverged", "crashed", "stalled")


def diagnose(log: LiveLog, run: str | None = None, job: Job | None = None) -> ToolAnswer:
    """The answer of the tool `diagnose`."""
    answer = ToolAnswer(BUDGET)
    paths = paths_of(log)
    if run is None:
        query = f"select run, state, last_step from runs where state in {_TROUBLE}"
        answer.command = ["tbq", "sql", *paths, query]
        _needing(log, answer)
        return answer
    name = single_run(log, run, answer)
    answer.command = ["tbq", "diagnose", *paths, name]
    try:
        findings: Sequence[Finding] = _findings(log, name, job or Job(_SECONDS))
    except TbqError as wrong:
        findings = []
        answer.note(f"the findings of the doctor are left out: {log.without_paths(wrong.message)}")
    found = diagnosed(_history(log, name, findings))
    _say(log, answer, found)
    return answer


def _say(log: LiveLog, answer: ToolAnswer, found: Diagnosis) -> None:
    answer.say(f"{shown(found.run)}: {found.verdict}")
    answer.listing("what happened", found.happened, "line")
    if found.before:
        answer.listing("what changed before", found.before, "change")
    if found.missing:
        answer.say(f"not in the log: {', '.join(found.missing)}")
    if found.compared:
        answer.listing("other runs", found.compared, "line")
    answer.listing("findings of the doctor", _finding_lines(log, found.findings), "line", "tbq doctor")


def _finding_lines(log: LiveLog, findings: Sequence[Finding]) -> Iterator[str]:
    """A line per finding, then a line per hint, each hint once."""
    for each in findings:
        tag = "" if each.tag is None else f"{shown(each.tag)}: "
        yield f"{each.severity} {each.code} {tag}{log.without_paths(each.message)}"
    hints = dict.fromkeys(each.hint for each in findings if each.hint)
    yield from (f"next: {log.without_paths(hint)}" for hint in hints if hint)
    if not findings:
        yield "none"


def _needing(log: LiveLog, answer: ToolAnswer) -> None:
    """The runs that did not end well, with the reason that their state gives."""
    runs = runs_of(log, None, answer)
    states = log.states_now()
    lines = []
    for state in _TROUBLE:
        for run in runs:
            if states.get(run) == state:
                with log.lock:
                    known = log.states.get(run)
                if known is not None:
                    broken = (
                        f", not finite: {', '.join(map(shown, known.broken[:3]))}" if known.broken else ""
                    )
                    lines.append(f"{shown(run)}: {state} at step {known.step}{broken}")
    answer.say(f"{counted(len(runs), 'run')}, of which {len(lines):,} did not end well")
    if lines:
        answer.listing(None, lines, "run", "diagnose one of them with run=")


def _quoted(hparams: Mapping[str, Any]) -> dict[str, Any]:
    """Hyperparameters with names and texts as answers show them."""
    return {shown(name): shown(value) if isinstance(value, str) else value for name, value in hparams.items()}


def _history(log: LiveLog, run: str, findings: Sequence[Finding]) -> RunHistory:
    """What a diagnosis needs, from the live store, with the names of tags, runs and hyperparameters quoted."""
    states, now = log.states_now(), log.clock()
    with log.lock:
        series = log.index.of_run.get(run)
        scalars = log.index.kind_code("scalars")
        tags = (
            []
            if series is None
            else [
                log.index.tags[tag]
                for tag, kind in zip(series.tag, series.kind, strict=True)
                if kind == scalars
            ]
        )
        takeovers = {} if series is None else {str(tag): at for tag, at in series.takeovers.items()}
        hparams = {name: _quoted(of.values) for name, of in log.hparams.items()}
        steps = {name: state.step for name, state in log.states.items()}
        age = log.states[run].age(now) if run in log.states else float("inf")
    points = {}
    for tag in tags:
        name = shown(tag)
        while name in points:  # another long name with the same start and end
            name += "'"
        points[name] = log.listing.points(run, tag)
    siblings = [
        Sibling(shown(name), states.get(name), step, hparams.get(name, {}))
        for name, step in steps.items()
        if name != run
    ]
    return RunHistory(
        run, states.get(run), {tag: each for tag, each in points.items() if len(each.steps)}, restarts_of(takeovers),
        [each.message for each in dropped(log, [run])], hparams.get(run, {}), findings, siblings, age, steps.get(run),
    )  # fmt: skip


def _findings(log: LiveLog, run: str, job: Job) -> list[Finding]:
    """The doctor's findings about a run, from another process; kept until the run changes."""

    def ask() -> list[Finding]:
        found, origins = found_files(log)
        own = [each for each in found.runs if each.name == run]
        files = {path for each in own for path in each.files}
        found.runs[:] = own
        reply = log.workers.ask(
            job, "findings", found=found, run=run, threads=log.threads, max_unpacked=log.max_unpacked,
            origins={path: url for path, url in origins.items() if path in files},
        )  # fmt: skip
        return [Finding(**each) for each in json.loads(reply.body)]

    return log.cache.of("findings", log.version_of([run]), ask, limit=_KEPT)
