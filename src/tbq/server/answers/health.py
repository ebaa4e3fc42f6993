"""The health of the log: the doctor's findings, damage found while reading, and restarts."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tbq.diagnosis.finding import Finding
from tbq.errors import TbqError, collected_warnings
from tbq.server.http.encoding import Answer, json_answer
from tbq.server.sql.worker_pool import Job

if TYPE_CHECKING:
    from tbq.problems import Problem
    from tbq.server.http.params import Params
    from tbq.server.live_log import LiveLog

_EVERY = 30.0  # seconds between two examinations of a growing log
_MOST = 2000  # findings in a list
_MOST_RESTARTS = 2000
_LONGEST = 6 * 3600.0  # time limit of the doctor, in seconds
_ANY = 1 << 50  # memory limit of the doctor, in bytes: none, as for `tbq doctor`


class Checkup:
    """Runs the doctor, and keeps its last findings with the version of the log that they describe.

    The doctor reads every file. It runs in a process that ends afterwards, because the allocator would not return the
    memory; a thread waits for it.
    """

    def __init__(self, log: LiveLog) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ended = 0.0
        self.version = -1
        self.findings: list[Finding] = []
        self.failure: str | None = None

    def ask(self) -> bool:
        """Start an examination if the log changed since the last one; whether one is running."""
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return True
            stale = self.version != self._log.version and self._log.loaded
            if not stale or (self.version >= 0 and time.monotonic() - self._ended < _EVERY):
                return False
            self._thread = threading.Thread(
                target=self.examine, args=(Job(_LONGEST),), name="tbq doctor", daemon=True
            )
            self._thread.start()
            return True

    def examine(self, job: Job | None = None) -> None:
        """Examine the log now, with a `job` in another process."""
        log, version = self._log, self._log.version
        asked = {**log.opening, "threads": log.threads}
        try:
            if job is None:
                findings = findings_of(asked)
            else:
                reply = log.workers.ask(job, "examine", most_memory=_ANY, asked=asked)
                findings = [Finding(**each) for each in json.loads(reply.body)]
            self.findings, self.failure = findings, None
        except TbqError as wrong:
            self.failure = log.without_paths(wrong.message)
        except (OSError, MemoryError) as wrong:
            self.failure = type(wrong).__name__
        self.version, self._ended = version, time.monotonic()


def findings_of(asked: dict[str, Any]) -> list[Finding]:
    """The doctor's findings, asked with these keywords."""
    from tbq.diagnosis import doctor

    with collected_warnings():
        return list(doctor(**asked))


def health(log: LiveLog, params: Params) -> Answer:
    """The findings so far; `running` if more will come. With wait=1, waits until they are complete."""
    checkup = log.checkup
    running = checkup.ask()
    if params.flag("wait"):
        until = time.monotonic() + 60
        while checkup.ask() and time.monotonic() < until:
            time.sleep(0.05)
        running = checkup.ask()
    return json_answer(report(log, checkup, running))


def report(log: LiveLog, checkup: Checkup, running: bool = False) -> dict[str, Any]:
    """Everything about the health of the log."""
    with log.lock:
        wanted = {run: log.id_of(run) for run in log.states}
        restarts = [
            {"id": wanted[run], "tag": log.index.tags[tag], "steps": [step for step, _ in places]}
            for run, series in log.index.of_run.items()
            if run in wanted
            for tag, places in series.takeovers.items()
        ]
    findings = [
        each for each in checkup.findings if log.has_all_runs or each.run is None or each.run in wanted
    ]
    counts: dict[str, int] = {}
    for each in findings:
        counts[each.severity] = counts.get(each.severity, 0) + 1
    return {
        "version": log.version,
        "checked": checkup.version if checkup.version >= 0 else None,
        "running": running,
        "failure": checkup.failure,
        "counts": counts,
        "findings": [_entry(log, each, wanted) for each in findings[:_MOST]],
        "more": max(len(findings) - _MOST, 0),
        "problems": [_entry(log, each, wanted) for each in log.follower.problems[:_MOST]],
        "restarts": restarts[:_MOST_RESTARTS],
    }


def _entry(log: LiveLog, item: Finding | Problem, wanted: dict[str, int]) -> dict[str, Any]:
    return {
        "severity": item.severity,
        "code": item.code,
        "name": item.name if isinstance(item, Finding) else None,
        "run": item.run,
        "id": wanted.get(item.run or ""),
        "tag": item.tag,
        "message": log.without_paths(item.message),
        "hint": None if item.hint is None else log.without_paths(item.hint),
        "file": _file(item.path),
        "offset": item.offset,
    }


def _file(path: str | None) -> str | None:
    """The name of a file; its run tells the folder."""
    from tbq.text import shown_name

    return None if path is None else shown_name(Path(path).name)


def explain(_log: LiveLog, params: Params) -> Answer:
    """What a code of the doctor means, why it matters, and what to do."""
    from tbq.diagnosis import explain as explanation

    return json_answer({"code": params.text("code"), "text": explanation(params.text("code")[:40])})
