"""The tables of runs and files: how much there is, from when to when, and whether it is sound."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

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
            "path": os.fsdecode(report.path),
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
    return pa.Table.from_pylist(
        [_run(run.name, mine) for run, mine in zip(runs, by_run, strict=True)], schema=schema
    )


def _run(name: str, reports: list[FileReport]) -> dict[str, Any]:
    if len(reports) == 1:  # as most are: with thousands of runs this is a good part of `tbq ls`
        one = reports[0]
        return {
            "run": name,
            "files": 1,
            "bytes": one.bytes,
            "events": one.records,
            "first_wall_time": one.first_wall_time if one.timed else None,
            "last_wall_time": one.last_wall_time if one.timed else None,
            "last_step": one.max_step if one.values else None,
            "writer": one.writer or None,
            "health": health(one),
        }
    timed = [report for report in reports if report.timed]
    valued = [report for report in reports if report.values]
    return {
        "run": name,
        "files": len(reports),
        "bytes": sum(report.bytes for report in reports),
        "events": sum(report.records for report in reports),
        "first_wall_time": min((report.first_wall_time for report in timed), default=None),
        "last_wall_time": max((report.last_wall_time for report in timed), default=None),
        "last_step": max((report.max_step for report in valued), default=None),
        "writer": next((report.writer for report in reports if report.writer), None),
        "health": max((health(report) for report in reports), key=_HEALTH.index),
    }
