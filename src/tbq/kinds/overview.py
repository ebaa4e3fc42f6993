"""The tables about a log itself: runs, tags, files, problems, and the projector's embeddings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from tbq.arguments import keywords
from tbq.arrow import having, joined, made, table_of, take, typed, values_of
from tbq.decode.options import READING, DecodeOptions, Reading, Selected
from tbq.decode.problems import path_of
from tbq.kinds.run_states import RunFacts, Totals, facts_of, states_now, totals_of, with_states
from tbq.problems import table_of_problems
from tbq.select import Names, Selection
from tbq.table.table import Table
from tbq.text import shown_path

if TYPE_CHECKING:
    from arro3.core import Table as Arrow

    from tbq._core import FileReport, Result
    from tbq.decode.reader import Reader
    from tbq.source import Run

#: The tables about the log itself, and the keywords that each takes besides `run`. They are small, and report
#: damage as rows: the default of `on_error` is "ignore".
OVERVIEWS = {
    "runs": READING,
    "tags": ("tag", *READING),
    "files": ("threads", "progress", "on_error"),
    "problems": READING,
    "projector": (),
}

# From best to worst: a run is as healthy as its worst file.
_HEALTH = ("ok", "truncated", "header_only", "empty", "not_events", "damaged", "git_lfs", "unreadable")


def overview(reader: Reader, kind: str, tag: Names = None, **selected: Unpack[Selected]) -> Arrow:
    """A table about the log."""
    passed = [*selected, *(() if tag is None else ("tag",))]
    keywords(f'log.table("{kind}")', passed, ("run", *OVERVIEWS[kind]))
    run = selected.pop("run", None)
    selected.pop("steps", None)
    reading: Reading = {"on_error": "ignore", **selected}  # type: ignore[typeddict-unknown-key]
    if kind == "tags":
        return _tags(reader, run, tag, reading)
    stored = reader.stored_overview(kind)
    if stored is not None:
        stored = table_of(stored)
        return stored if run is None else having(stored, "run", {each.name for each in reader.choose(run)})
    names = [each.name for each in reader.choose(run)]
    if kind == "projector":
        from tbq.kinds.projector import embeddings_of

        return embeddings_of(reader.choose(run))
    if kind == "problems":
        if not reader.has_read or selected:
            reader.survey(**reading)
        return table_of_problems(each for each in reader.problems if run is None or each.run in names)
    if kind == "files":
        table = _in_parts(reader, kind, reading, lambda part, result: files(part, result.files))
    else:
        table = _runs(reader, reading)
    return table if run is None else having(table, "run", set(names))


def _runs(reader: Reader, reading: Reading) -> Arrow:
    facts: dict[str, RunFacts] = {}

    def of_part(part: Sequence[Run], result: Result) -> Arrow:
        names = [run.name for run in part]
        totals = totals_of(result.series(names), len(names))
        facts.update(facts_of(names, result, totals))
        return runs(part, result.files, totals)

    table = _in_parts(reader, "runs", reading, of_part)
    return with_states(table, states_now(facts))


def _in_parts(
    reader: Reader, kind: str, reading: Reading, make: Callable[[Sequence[Run], Result], Arrow]
) -> Arrow:
    """A table about all runs, built from a few runs at a time: it reads far more than it keeps."""
    on_error = reading.get("on_error", "ignore")
    tables = [
        make(part, result)
        for part, result in reader.in_groups(reader.runs, [], DecodeOptions.of(reading), on_error, count=True)
    ]
    return tables[0] if len(tables) == 1 else typed(joined(tables), kind)


def _tags(reader: Reader, run: Names, tag: Names, reading: Reading) -> Arrow:
    """One row per run and tag. A tag whose values a restart all removed has no rows in any table."""
    stored = reader.stored_overview("tags")
    table = _in_parts(reader, "tags", reading, _tags_of) if stored is None else table_of(stored)
    if run is not None:
        table = having(table, "run", {each.name for each in reader.choose(run)})
    chosen = Selection.of(tag)
    if chosen.everything:
        return table
    known = sorted(set(values_of(table["tag"])))
    return having(table, "tag", set(chosen.require(known, where=reader.path, others=lambda: reader.names)))


def _tags_of(part: Sequence[Run], result: Result) -> Arrow:
    series = table_of(result.series([run.name for run in part]))
    rows = [row for row, count in enumerate(values_of(series["count"])) if count]
    return typed(take(series, rows), "tags")


def health(report: FileReport) -> str:
    """ "ok", or the worst known condition of a file."""
    if report.state != "events":
        return report.state
    if report.faults or report.error:
        return "damaged"
    if report.truncated:
        return "truncated"
    return "ok" if report.values else "header_only"


def health_of_run(reports: Sequence[FileReport]) -> str:
    """The health of the worst file. Files without data do not count beside others; a file that is not an event file
    does."""
    if len(reports) == 1:
        return health(reports[0])
    return worst_health([health(report) for report in reports], any(report.values for report in reports))


def worst_health(of_files: Sequence[str], has_values: bool) -> str:
    """The health of a run from its files' health; `has_values`: whether any file has values."""
    if has_values:
        weight = {"empty": "ok", "header_only": "ok", "not_events": "damaged"}
        of_files = [weight.get(each, each) for each in of_files]
    return max(of_files, key=_HEALTH.index)


def files(runs: Sequence[Run], reports: Sequence[FileReport]) -> Arrow:
    """The `files` table."""
    columns: dict[str, list[Any]] = {
        "run": [runs[report.run].name for report in reports],
        "path": [shown_path(path_of(report)) for report in reports],
        "bytes": [report.bytes for report in reports],
        "records": [report.records for report in reports],
        "first_step": [report.first_step if report.values else None for report in reports],
        "last_step": [report.last_step if report.values else None for report in reports],
        "first_wall_time": [report.first_wall_time if report.timed else None for report in reports],
        "last_wall_time": [report.last_wall_time if report.timed else None for report in reports],
        "truncated_bytes": [report.truncated for report in reports],
        "faults": [len(report.faults) + report.more_faults for report in reports],
        "health": [health(report) for report in reports],
    }
    return made("files", columns)


def runs(runs: Sequence[Run], reports: Sequence[FileReport], totals: Sequence[Totals]) -> Arrow:
    """The `runs` table without states."""
    by_run: list[list[FileReport]] = [[] for _ in runs]
    for report in reports:
        by_run[report.run].append(report)
    # Column by column, not row by row: with thousands of runs this is a large part of `tbq ls`.
    joined = [of_run[0] if len(of_run) == 1 else _Joined(of_run) for of_run in by_run]
    columns: dict[str, list[Any]] = {
        "run": [run.name for run in runs],
        "files": [len(of_run) for of_run in by_run],
        "bytes": [report.bytes for report in joined],
        "events": [of_run.events for of_run in totals],
        "first_wall_time": [report.first_wall_time if report.timed else None for report in joined],
        "last_wall_time": [report.last_wall_time if report.timed else None for report in joined],
        "last_step": [of_run.max_step for of_run in totals],
        "writer": [report.writer or None for report in joined],
        "health": [health_of_run(of_run) for of_run in by_run],
        "state": [None] * len(runs),
    }
    return made("runs", columns)


class _Joined:
    """All files of a run, reported as one."""

    def __init__(self, reports: Sequence[FileReport]) -> None:
        timed = [report for report in reports if report.timed]
        self.bytes = sum(report.bytes for report in reports)
        self.timed = bool(timed)
        self.first_wall_time = min((report.first_wall_time for report in timed), default=0.0)
        self.last_wall_time = max((report.last_wall_time for report in timed), default=0.0)
        self.writer = next((report.writer for report in reports if report.writer), "")


class TagTable(Table):
    """The `tags` table; `by_kind()` returns the tags of each kind."""

    def by_kind(self) -> dict[str, list[str]]:
        """The tags of each kind, sorted, as in TensorBoard's `EventAccumulator.Tags()`.

        >>> import pyarrow as pa
        >>> TagTable(pa.table({"tag": ["b", "a"], "kind": ["scalars", "scalars"]})).by_kind()
        {'scalars': ['a', 'b']}
        """
        kinds: dict[str, set[str]] = {}
        for tag, kind in zip(*(values_of(self._source[name]) for name in ("tag", "kind")), strict=True):
            kinds.setdefault(kind, set()).add(tag)
        return {kind: sorted(tags) for kind, tags in sorted(kinds.items())}
