"""The state that a later read of a run resumes from. A run without a state is read from its start when it changes."""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tbq.columns.codes import values_of
from tbq.decode.reader import table_of
from tbq.lake.rows import SESSION
from tbq.lake.stamps import marks_of
from tbq.source.origin import origin

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq._core import FileReport, Result

#: Seconds after its last change when a file is no longer expected to grow. If it does, its run is read from the start.
QUIET = 86_400.0
#: A run's state: the file that may grow, the offset to resume at and checksums of the bytes before it; the rank of its
#: last session and, if the run has several, that session's series; the numbers of the next rows; metadata of tags.
State = dict[str, Any]


def states_of(
    result: Result,
    reports: Sequence[FileReport],
    series: pa.Table,
    sessions: pa.Table,
    next_rows: Sequence[Mapping[str, int]],
) -> list[str]:
    """The state of each run of a result, as text; "" if a run must be read from its start."""
    by_run: list[list[FileReport]] = [[] for _ in next_rows]
    for report in reports:
        by_run[report.run].append(report)
    last = _last_sessions(result, series, sessions)
    metadata = result.metadata()
    # Most files never grow again; a state for each would cost time and space.
    since = time.time() - QUIET
    return [
        _state(of_run, reports, last.get(run), metadata.get(run, {}), next_rows[run], since)
        for run, of_run in enumerate(by_run)
    ]


def may_continue(problems: pa.Table) -> dict[str, bool]:
    """For each run with problems, whether its problems stay the same if the run grows."""
    good: dict[str, bool] = {}
    columns = (values_of(problems[name]) for name in ("run", "code", "message"))
    for run, code, message in zip(*columns, strict=True):
        # A restart's message names the share of dropped rows only if it dropped most of them.
        stays = code == "truncated" or (code == "restart" and "%)" not in message)
        good[run] = good.get(run, True) and stays
    return good


def text_of(state: State) -> str:
    """A state as text, for a position."""
    return json.dumps(state)


def metadata_in(state: State) -> dict[bytes, bytes]:
    """The metadata of tags that a state has."""
    return {base64.b64decode(tag): base64.b64decode(data) for tag, data in state["metadata"]}


def metadata_for(metadata: Mapping[bytes, bytes]) -> list[list[str]]:
    """The metadata of tags in the form that a state stores."""
    return [
        [base64.b64encode(tag).decode(), base64.b64encode(data).decode()] for tag, data in metadata.items()
    ]


def _last_sessions(result: Result, series: pa.Table, sessions: pa.Table) -> dict[int, dict[str, Any]]:
    """The last session of each run: where it is, and, if the run has several sessions, which series it has."""
    last: dict[int, dict[str, Any]] = {}
    final: dict[int, tuple[int, int]] = {}  # file → the offset and number of the last session in it
    columns = (sessions[name].to_pylist() for name in ("run", "file", "offset", "timed", "values"))
    for number, (run, file, offset, timed, values) in enumerate(zip(*columns, strict=True)):
        rank = last[run]["rank"] + 1 if run in last else 0
        # Until its first event, the start of a session is unknown, and so is whether it is the last.
        settled = bool(timed) and (values > 0 or rank == 0)
        last[run] = {"number": number, "file": file, "settled": settled, "rank": rank}
        final[file] = max(final.get(file, (-1, -1)), (offset, number))
    several = {about["number"] for about in last.values() if about["rank"]}
    logged: dict[int, list[int]] = {}
    if several:
        segments = table_of(result.segments())
        numbered = zip(segments["session"].to_pylist(), segments["series"].to_pylist(), strict=True)
        for number, of_series in numbered:
            if number in several:
                logged.setdefault(number, []).append(of_series)
        tags, kinds = values_of(series["tag"]), values_of(series["kind"])
    for about in last.values():
        about["ends_file"] = final[about["file"]][1] == about["number"]
        if about["rank"]:
            about["series"] = [[tags[each], kinds[each]] for each in logged.get(about["number"], [])]
    return last


def _state(
    of_run: Sequence[FileReport],
    reports: Sequence[FileReport],
    last: Mapping[str, Any] | None,
    metadata: Mapping[bytes, bytes],
    next_rows: Mapping[str, int],
    since: float,
) -> str:
    if last is None or not last["ends_file"] or not last["settled"] or not all(map(_is_healthy, of_run)):
        return ""
    report = reports[last["file"]]
    if any(each.truncated for each in of_run if each.path != report.path):
        return ""
    path = os.fsdecode(report.path)
    marks = marks_of(path, report.resume, since)
    if not marks:
        return ""
    begin = last["rank"] * SESSION
    return text_of(
        {
            "file": origin(path),
            "resume": report.resume,
            "marks": marks,
            "rank": last["rank"],
            "series": last.get("series"),
            "next": {kind: number for kind, number in next_rows.items() if number >= begin},
            "metadata": metadata_for(metadata),
        }
    )


def _is_healthy(report: FileReport) -> bool:
    return report.state == "events" and not (report.faults or report.error or report.compressed)
