"""Execute a rewrite: survey the source, plan, then stream each run into its new file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from tbq import _core
from tbq import decode as _decode
from tbq.decode import problems as _problems
from tbq.errors import DamageError, SelectionError, SourceError, warn
from tbq.export.target import unwritable
from tbq.problems import Problem, is_damage, notices
from tbq.rewriting import plan
from tbq.rewriting.report import Rewritten, RunReport
from tbq.rewriting.target import LEFT, UnfinishedTarget, check, scratch
from tbq.source import Run, discover, is_event_file
from tbq.source.discover import Logs, refuse_lakes, refuse_remote_lakes, remote_for, sources
from tbq.source.formats.translation import Translations
from tbq.source.inflate import Unpacked
from tbq.text import counted, shell_word, shown_path, system_name

if TYPE_CHECKING:
    from tbq._core import FileReport, Result, RewriteReport, Rules
    from tbq.arguments import StrPath
    from tbq.limits import Size
    from tbq.progress import Call
    from tbq.rewriting.options import RewriteOptions
    from tbq.source.discover import Source
    from tbq.storage import Storage

_REASONS = {
    "selection": "dropped_rule",
    "restarts": "dropped_restart",
    "steps": "dropped_steps",
    "thinned": "dropped_thinned",
}
_PACKED = (".gz", ".gzip", ".zz", ".zlib")


def execute(
    source: Source,
    out: str | os.PathLike[str],
    options: RewriteOptions,
    threads: int | None,
    progress: Call | None,
    max_unpacked: Size | None = None,
    storage: Storage | None = None,
    cache: StrPath | None = None,
) -> Rewritten:
    """Rewrite `source` to `out` as `options` say."""
    named = sources(source)
    refuse_lakes(named, "tbq rewrite needs event files")
    remote = remote_for(named, storage, cache)
    # TensorBoard does not show float64 unless it is asked to, so the numbers of other trackers become float32.
    discovered = discover(source, remote, Logs(remote, max_unpacked=max_unpacked, exact=False))
    refuse_remote_lakes(discovered, "tbq rewrite needs event files")
    target = check(out, discovered.paths)
    if not discovered.runs:
        raise SourceError(
            "no event files here",
            path=", ".join(map(shown_path, discovered.paths)),
            hint="`tbq ls` and `tbq doctor` look for them nearby",
        )
    if discovered.problems and not options.repair:
        first = discovered.problems[0]
        raise SourceError(
            first.message, path=first.path, hint="--repair continues without it", code=first.code
        )
    unpacked = Unpacked(max_unpacked)
    folded: dict[str, str] = {}
    notes: list[str] = []
    if options.flatten_hparams:
        folded, notes = plan.folds(discovered, unpacked, _survey(discovered.runs, unpacked, threads))
    runs = plan.group(discovered.runs, options, folded)
    for line in notices(copy.problem() for run in runs for copy in run.copies):
        warn(line)
    survey = _survey(runs, unpacked, threads)
    reports = survey.files
    packed = _problems.of_unpacking(unpacked.failures, reports, runs)
    packed += [problem for problem in _problems.of_logs(runs) if is_damage(problem)]
    _refuse_damage(reports, packed, runs, options)
    rules, empty = plan.make_rules(survey, runs, options)
    execution = _Execution(survey, reports, packed, runs, options, rules, unpacked, progress)
    with contextlib.nullcontext() if options.dry_run else scratch(target) as beside:
        written = [execution.run(index, beside, run.name in empty) for index, run in enumerate(runs)]
        if not any(run.file for run in written):
            raise _nothing_left(written, ", ".join(map(shown_path, discovered.paths)))
    return Rewritten(
        source=", ".join(map(shown_path, discovered.paths)),
        out=os.fspath(target),
        dry_run=options.dry_run,
        runs=written,
        gone=execution.gone,
        gone_bytes=execution.gone_bytes,
        gone_places=execution.gone_places,
        notes=[*notes, *_notes(reports, discovered.others, discovered.problems, execution.left_out)],
    )


def _nothing_left(runs: Sequence[RunReport], source: str) -> SourceError | SelectionError:
    if any(run.records_in for run in runs):
        return SelectionError("nothing would be left", path=source, hint="drop less, or keep more")
    return SourceError(
        "no file contains a record", path=source, hint=f"tbq doctor {shell_word(source)} explains why"
    )


def _survey(runs: Sequence[Run], unpacked: Unpacked, threads: int | None) -> Result:
    options = _decode.DecodeOptions(restarts="keep", threads=threads)
    return _decode.decode(runs, [], options, unpacked, session_tables=True, verify=True)


def _refuse_damage(
    reports: Sequence[FileReport], packed: Sequence[Problem], runs: Sequence[Run], options: RewriteOptions
) -> None:
    """Without `repair`, raise on damage before anything is written; `packed` are the problems of unpacking and
    translating."""
    if options.repair:
        return
    if packed:
        raise DamageError(
            packed[0].message,
            path=packed[0].path,
            hint="--repair (repair=True) continues without the rest of it",
            code=packed[0].code,
        )
    for report in reports:
        if report.state in ("unreadable", "git_lfs") or report.error:
            first = _problems.of_file(report, runs[report.run].name)[0]
            raise SourceError(
                first.message,
                path=first.path,
                hint=first.hint or "--repair continues without it",
                code=first.code,
            )
    damaged = [report for report in reports if any(fault.code != "bad_event" for fault in report.faults)]
    damaged = [report for report in damaged if report.state == "events"]
    if damaged:
        problems = _problems.of_file(damaged[0], runs[damaged[0].run].name)
        first = next(problem for problem in problems if problem.code != "bad_event")
        others = f" ({len(damaged):,} files are damaged)" if len(damaged) > 1 else ""
        raise DamageError(
            first.message + others,
            path=first.path,
            offset=first.offset,
            hint="--repair (repair=True) skips the damage and keeps everything else",
        )


class _Execution:
    def __init__(
        self,
        survey: Result,
        reports: Sequence[FileReport],
        packed: Sequence[Problem],
        runs: Sequence[Run],
        options: RewriteOptions,
        rules: Rules,
        unpacked: Unpacked,
        progress: Call | None,
    ) -> None:
        self.survey, self.runs, self.options, self.rules = survey, runs, options, rules
        self.reports = reports
        self.paths = [
            (unpacked.copy_of(report.path) or report.path) if report.compressed else report.path
            for report in reports
        ]
        sessions = pa.table(survey.sessions())
        self.first_file: dict[int, int] = {}
        self.headers: dict[int, int] = {}
        for run, file in zip(sessions["run"].to_pylist(), sessions["file"].to_pylist(), strict=True):
            self.first_file.setdefault(run, file)
            self.headers[run] = self.headers.get(run, 0) + 1
        self.gone: list[Problem] = list(packed)
        self.gone_bytes = 0
        self.gone_places = len(packed)
        self.left_out = 0
        self.progress = progress
        self.done = 0
        self.total = sum(report.bytes for report in reports) * (3 if options.max_points else 1)
        for report in reports:
            if options.repair and (report.state in ("unreadable", "git_lfs") or report.error):
                self.gone.append(_problems.of_file(report, runs[report.run].name)[0])
                self.gone_places += 1

    def run(self, index: int, beside: UnfinishedTarget | None, empty: bool) -> RunReport:
        """Rewrite a run into `beside`, or only count."""
        run = self.runs[index]
        first = self.first_file.get(index)
        if first is None:  # none of its files contains a record
            return RunReport(run.name, run.files, None)
        source = _problems.path_of(self.reports[first])
        is_log = isinstance(run.remote, Translations) and run.remote.is_log(source)
        name = (
            f"events.out.tfevents.{index}.{self.reports[first].writer}"
            if is_log
            else _new_name(Path(source).name)
        )
        place = beside.file(run.name, name) if beside else None
        report = self._call(index, place, self._ticker(index))
        target = beside.target if beside else Path()
        self._raise(report, target)
        for file, code, offset, length in report.gone:
            path = _problems.path_of(self.reports[file])
            self.gone.append(
                Problem(code, "warning", f"{length:,} bytes skipped", path=path, offset=offset, run=run.name)
            )
        self.gone_bytes += report.gone_bytes
        self.gone_places += report.gone_places
        dropped = {reason: int(getattr(report, field)) for reason, field in _REASONS.items()}
        kept = report.records_out - report.marks > (self.headers[index] if empty else 0)
        if not kept:
            self.left_out += 1
            if beside and place:
                beside.forget(place)
        return RunReport(
            run=run.name,
            sources=run.files,
            file=(name if run.name == "." else f"{system_name(run.name)}/{name}") if kept else None,
            records_in=report.records_in,
            records_out=report.records_out if kept else 0,
            marks=report.marks if kept else 0,
            changed=report.changed if kept else 0,
            bytes_in=report.bytes_in,
            bytes_out=report.bytes_out if kept else 0,
            dropped={reason: count for reason, count in dropped.items() if count},
        )

    def _call(self, index: int, place: Path | None, tick: Callable[[int], object] | None) -> RewriteReport:
        options = self.options
        return _core.rewrite_run(
            self.survey,
            self.paths,
            index,
            self.rules,
            os.fsencode(place) if place else None,
            repair=options.repair,
            first_step=options.steps[0],
            last_step=options.steps[1],
            offset=options.offset_steps,
            every=options.every,
            max_points=options.max_points,
            resume=options.resume,
            progress=tick,
        )

    def _ticker(self, index: int) -> Callable[[int], object] | None:
        progress = self.progress
        if progress is None:
            return None

        def tick(passed: int) -> None:
            self.done = min(self.done + passed, self.total)
            progress(self.done, self.total, index, len(self.runs))

        return tick

    def _raise(self, report: RewriteReport, target: Path) -> None:
        if report.state == "done":
            return
        if report.state == "unwritable":
            raise unwritable(target, OSError(report.error, os.strerror(report.error)), LEFT)
        path = _problems.path_of(self.reports[report.file])
        if report.state == "damaged":
            raise DamageError(
                _problems.FAULTS["bad_payload"],
                path=path,
                offset=report.offset,
                hint="--repair (repair=True) skips the damage and keeps everything else",
            )
        raise SourceError(f"reading stopped: {os.strerror(report.error)}", path=path, offset=report.offset)


def _new_name(name: str) -> str:
    """The name of the new file, without the suffix of a compressed one."""
    path = Path(name)
    return path.stem if path.suffix.lower() in _PACKED and is_event_file(path.stem) else name


def _notes(reports: Sequence[FileReport], others: int, unread: Sequence[Problem], left_out: int) -> list[str]:
    notes = []
    for state, description in (("empty", "without content"), ("not_events", "without a record")):
        count = sum(report.state == state for report in reports)
        if count:
            notes.append(f"not in the new log: {counted(count, 'file')} {description}")
    tails = [report for report in reports if report.truncated]
    if tails:
        size = sum(report.truncated for report in tails)
        notes.append(
            f"not in the new log: the unfinished record ({counted(size, 'byte')}) at the end of "
            f"{counted(len(tails), 'file')}"
        )
    if left_out:
        notes.append(f"not in the new log: {counted(left_out, 'run')} with no selected data")
    if others:
        notes.append(f"not in the new log: {counted(others, 'file')} of other kinds (checkpoints, configs)")
    notes += [str(problem) for problem in unread]
    return notes
