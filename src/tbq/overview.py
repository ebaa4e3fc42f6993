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
_HEALTH = ("ok", "truncated", "header_only", "empty", "not_events", "damaged", "git_lfs", "unreadable")


def health(report: FileReport) -> str:
    """ "ok", or the worst thing known of a file."""
    if report.state != "events":
        return report.state
    if report.faults or report.error:
        return "damaged"
    if report.truncated:
        return "truncated"
    return "ok" if report.values else "header_only"


def health_of_run(reports: Sequence[FileReport]) -> str:
    """That of its worst file; files without data do not matter beside others, and one that is no event file does."""
    of_files = [health(report) for report in reports]
    if any(report.values for report in reports):
        weight = {"empty": "ok", "header_only": "ok", "not_events": "damaged"}
        of_files = [weight.get(one, one) for one in of_files]
    return max(of_files, key=_HEALTH.index)


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


def runs(runs: Sequence[Run], reports: Sequence[FileReport], series: pa.Table, schema: pa.Schema) -> pa.Table:
    """The `runs` table; `series` counts the rows of each run and tag."""
    import numpy as np
    import pyarrow as pa

    codes = series["run"].combine_chunks().indices.to_numpy()
    counts = series["count"].to_numpy()
    events = np.bincount(codes, counts, len(runs)).astype(np.int64)
    last_steps = np.full(len(runs), np.iinfo(np.int64).min)
    np.maximum.at(last_steps, codes[counts > 0], series["max_step"].to_numpy()[counts > 0])
    by_run: list[list[FileReport]] = [[] for _ in runs]
    for report in reports:
        by_run[report.run].append(report)
    # Column by column, not row by row: with thousands of runs this is a good part of `tbq ls`.
    all_of = [mine[0] if len(mine) == 1 else _Joined(mine) for mine in by_run]
    columns = {
        "run": [run.name for run in runs],
        "files": [len(mine) for mine in by_run],
        "bytes": [one.bytes for one in all_of],
        "events": events,
        "first_wall_time": [one.first_wall_time if one.timed else None for one in all_of],
        "last_wall_time": [one.last_wall_time if one.timed else None for one in all_of],
        "last_step": pa.array(last_steps, mask=events == 0),
        "writer": [one.writer or None for one in all_of],
        "health": [health_of_run(of_run) for of_run in by_run],
    }
    made = [columns[one.name] for one in schema]
    return pa.table(
        [
            column.cast(one.type) if isinstance(column, pa.Array) else pa.array(column, one.type)
            for column, one in zip(made, schema, strict=True)
        ],
        schema=schema,
    )


class _Joined:
    """The files of a run as one."""

    def __init__(self, reports: Sequence[FileReport]) -> None:
        timed = [report for report in reports if report.timed]
        self.bytes = sum(report.bytes for report in reports)
        self.timed = bool(timed)
        self.first_wall_time = min((report.first_wall_time for report in timed), default=0.0)
        self.last_wall_time = max((report.last_wall_time for report in timed), default=0.0)
        self.writer = next((report.writer for report in reports if report.writer), "")
