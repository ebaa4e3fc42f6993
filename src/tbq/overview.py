"""The tables of runs and files: how much there is, from when to when, and whether it is sound."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tbq.names import shown_path

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq._core import FileReport
    from tbq.source import Run

# From best to worst: a run is as healthy as its worst file.
_HEALTH = ("ok", "truncated", "empty", "not_events", "damaged", "git_lfs", "unreadable")


def health(report: FileReport) -> str:
    """ "ok", or the worst thing known of a file."""
    if report.state != "events":
        return report.state
    if report.faults or report.error:
        return "damaged"
    return "truncated" if report.truncated else "ok"


def files(runs: Sequence[Run], reports: Sequence[FileReport], schema: pa.Schema) -> pa.Table:
    """The `files` table."""
    import pyarrow as pa

    rows = [
        {
            "run": runs[report.run].name,
            "path": shown_path(os.fsdecode(report.path)),
            "bytes": report.bytes,
            "records": report.records,
            "first_step": report.first_step if report.values else None,
            "last_step": report.last_step if report.values else None,
            "first_wall_time": report.first_wall_time if report.timed else None,
            "last_wall_time": report.last_wall_time if report.timed else None,
            "truncated_bytes": report.truncated,
            "faults": len(report.faults) + report.more_faults,
            "health": health(report),
        }
        for report in reports
    ]
    return pa.Table.from_pylist(rows, schema=schema)


def runs(runs: Sequence[Run], reports: Sequence[FileReport], schema: pa.Schema) -> pa.Table:
    """The `runs` table."""
    import pyarrow as pa

    by_run: list[list[FileReport]] = [[] for _ in runs]
    for report in reports:
        by_run[report.run].append(report)
    # Column by column, not row by row: with thousands of runs this is a good part of `tbq ls`.
    all_of = [mine[0] if len(mine) == 1 else _Joined(mine) for mine in by_run]
    columns = {
        "run": [run.name for run in runs],
        "files": [len(mine) for mine in by_run],
        "bytes": [one.bytes for one in all_of],
        "events": [one.records for one in all_of],
        "first_wall_time": [one.first_wall_time if one.timed else None for one in all_of],
        "last_wall_time": [one.last_wall_time if one.timed else None for one in all_of],
        "last_step": [one.max_step if one.values else None for one in all_of],
        "writer": [one.writer or None for one in all_of],
        "health": [one.health if isinstance(one, _Joined) else health(one) for one in all_of],
    }
    return pa.table([pa.array(columns[one.name], one.type) for one in schema], schema=schema)


class _Joined:
    """The files of a run as one."""

    def __init__(self, reports: Sequence[FileReport]) -> None:
        timed = [report for report in reports if report.timed]
        valued = [report for report in reports if report.values]
        self.bytes = sum(report.bytes for report in reports)
        self.records = sum(report.records for report in reports)
        self.timed = bool(timed)
        self.first_wall_time = min((report.first_wall_time for report in timed), default=0.0)
        self.last_wall_time = max((report.last_wall_time for report in timed), default=0.0)
        self.values = bool(valued)
        self.max_step = max((report.max_step for report in valued), default=0)
        self.writer = next((report.writer for report in reports if report.writer), "")
        self.health = max((health(report) for report in reports), key=_HEALTH.index)
