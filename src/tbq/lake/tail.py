"""Decodes only the new bytes of runs that grew, if nothing in them changes rows that were read before.

That is the case if the file that grew has the last session of its run, and the new bytes do not begin a session, do not
name a series that other sessions may have, are not damaged, have no metadata for known tags, and have no values that
change the rows of other values (the end of a session sets the status of all its hyperparameters). Otherwise the run is
refused, and is read from its start.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from tbq.arrow import to_pyarrow
from tbq.columns.codes import values_of
from tbq.decode import decode
from tbq.decode.options import DecodeOptions
from tbq.decode.problems import of_file
from tbq.decode.reader import Reader, table_of
from tbq.kinds.overview import worst_health
from tbq.kinds.run_states import facts_of, totals_of
from tbq.lake.decoded import Decoded, LakeSelection, count_rows, in_order
from tbq.lake.facts import extend
from tbq.lake.layout import DROPPED, INTERNAL, OVERVIEWS, ROW, RUN_FACTS, lake_schema
from tbq.lake.rows import SESSION, rows_of
from tbq.lake.stamps import Stamp, marks_of, path_text, starts_anew
from tbq.lake.state import State, metadata_for, metadata_in, text_of
from tbq.problems import table_of_problems
from tbq.schema import schema
from tbq.source.discover import WHOLE, Found, Run
from tbq.text import shown_path

if TYPE_CHECKING:
    from tbq._core import FileReport, Result
    from tbq.progress import Progress
    from tbq.source.inflate import Unpacked

Rows = list[dict[str, Any]]
#: The kinds of values that change the rows of other values of their run.
_CHANGING = ("hparams",)


class Grown(NamedTuple):
    """A run that grew, and its state after the last read."""

    run: Run
    state: State


def decode_tails(
    grown: Sequence[Grown],
    known: Mapping[str, pa.Table],
    selected: LakeSelection,
    unpacked: Unpacked,
    progress: Progress | None = None,
) -> tuple[Decoded, list[Run]]:
    """The new rows of runs that grew, and the runs that must be read from their start.

    `known` has these runs' current rows in the overviews. The returned overviews have all of their rows, old and new.
    """
    out = Decoded()
    if not grown:
        return out, []
    tails = [
        each.run._replace(
            files=[each.state["file"]],
            ranges=[(each.state["resume"], WHOLE[1])],
            metadata=metadata_in(each.state),
        )
        for each in grown
    ]
    reader = Reader(Found([], tails), unpacked)
    options = DecodeOptions(
        tag=selected.tag, restarts="keep", threads=selected.threads, progress=progress, defer=True
    )
    result = decode(tails, selected.core_kinds, options, unpacked, session_tables=True, verify=True)
    names = [run.name for run in tails]
    sessions = table_of(result.sessions())
    series = table_of(result.series(names))
    next_rows = [dict(each.state["next"]) for each in grown]
    for kind in selected.kinds:
        first = {each.run.name: each.state["next"].get(kind, each.state["rank"] * SESSION) for each in grown}
        for table in rows_of(kind, result, reader, tails, series, sessions, set(), first):
            out.add(kind, table)
            count_rows(kind, table, names, next_rows)
    merge = _Merge(grown, result, series, sessions, known, selected)
    for problem in reader.problems:  # of values; one that names no run may belong to any of them
        merge.refused.update(names if problem.run is None else [problem.run])
    overviews: dict[str, Rows] = {kind: [] for kind in (*INTERNAL, *OVERVIEWS)}
    for index in range(len(grown)):
        merge.add(index, next_rows[index], overviews, out)
    refused = [each.run for each in grown if each.run.name in merge.refused]
    if refused:
        out.drop(merge.refused)
    for kind, rows in overviews.items():
        rows = [row for row in rows if row["run"] not in merge.refused]
        columns = lake_schema(kind)
        out.add(
            kind, in_order(pa.Table.from_pylist(rows, columns.remove(columns.get_field_index(ROW))), kind)
        )
    return out, refused


class _Merge:
    """Merges the known rows of runs with the rows of their new bytes."""

    def __init__(
        self,
        grown: Sequence[Grown],
        result: Result,
        series: pa.Table,
        sessions: pa.Table,
        known: Mapping[str, pa.Table],
        selected: LakeSelection,
    ) -> None:
        self._selected = selected
        self.refused: set[str] = set()
        self._grown = grown
        self._reports: list[FileReport] = list(result.files)
        self._metadata = result.metadata()
        self._sessions = _grouped(sessions.to_pylist(), "run")
        labels = {name: values_of(series[name]) for name in ("run", "tag", "kind", "plugin", "dtype")}
        plain = series.drop_columns(list(labels)).to_pylist()
        rows = [{**row, **{name: labels[name][i] for name in labels}} for i, row in enumerate(plain)]
        self._series = _grouped(rows, "run")
        self._known = {kind: _grouped(_rows(table), "run") for kind, table in known.items()}
        self._facts = facts_of([each.run.name for each in grown], result, totals_of(series, len(grown)))
        for run, *_ in result.notable():
            self.refused.add(grown[run].run.name)

    def add(self, index: int, next_rows: dict[str, int], out: dict[str, Rows], decoded: Decoded) -> None:
        """Add one run's rows in the overviews and its new state, or refuse the run."""
        run, state = self._grown[index]
        report = self._reports[index]
        series = [row for row in self._series.get(run.name, []) if row["count"]]
        tags = {(row["tag"], row["kind"]): row for row in self._known["tags"].get(run.name, [])}
        if run.name in self.refused or not self._fits(index, report, series, tags):
            self.refused.add(run.name)
            return
        (about,) = self._known["runs"][run.name]
        path = shown_path(state["file"])
        files = self._known["files"][run.name]
        (file,) = [row for row in files if row["path"] == path]
        grew = report.bytes - file["bytes"]
        _extend_file(file, report)
        values = any(row["first_step"] is not None for row in files)
        about["bytes"] += grew
        series = [row for row in series if self._selected.tag.matches(row["tag"])]
        about["events"] += sum(row["count"] for row in series)
        about["health"] = worst_health([row["health"] for row in files], values)
        _extend_times(about, report)
        for row in series:
            _extend_tag(tags, row)
            about["last_step"] = max(
                row["max_step"], about["last_step"] if about["last_step"] is not None else row["max_step"]
            )
        out["runs"].append(about)
        (facts,) = self._known[RUN_FACTS][run.name]
        logged = [row["tag"] for row in series if row["kind"] == "scalars"]
        last_steps = [row["last_step"] for row in tags.values()]
        out[RUN_FACTS].append(extend(facts, self._facts[run.name], logged, last_steps))
        out["files"] += files
        out[DROPPED] += self._known[DROPPED].get(
            run.name, []
        )  # a run in which one of them got rows is refused
        out["tags"] += [tags[key] for key in sorted(tags, key=_tag_order)]
        out["problems"] += self._problems(run.name, file, report)
        metadata = {**metadata_in(state), **self._metadata.get(index, {})}
        decoded.states[run.name] = text_of(
            {
                **state,
                "resume": report.resume,
                "marks": marks_of(os.fsdecode(report.path), report.resume),
                "next": next_rows,
                "metadata": metadata_for(metadata),
            }
        )

    def _fits(
        self,
        index: int,
        report: FileReport,
        series: Sequence[dict[str, Any]],
        tags: Mapping[tuple[str, str], dict[str, Any]],
    ) -> bool:
        run, state = self._grown[index]
        if (
            report.state != "events"
            or report.faults
            or report.error
            or report.compressed
            or report.more_faults
        ):
            return False
        if report.writer or report.file_version or report.bytes < state["resume"]:
            return False
        if report.timed and not math.isfinite(report.first_wall_time):
            return False
        sessions = self._sessions.get(index, [])
        if len(sessions) > 1 or (state["rank"] and any(session["has_start"] for session in sessions)):
            return False
        metadata = metadata_in(state)
        of_tag = {tag for tag, _ in tags}
        of_kind = {kind for _, kind in tags}
        in_session = None if state["series"] is None else {(tag, kind) for tag, kind in state["series"]}
        for row in series:
            key = (row["tag"], row["kind"])
            if in_session is not None and key not in in_session:
                return False
            if key not in tags and row["tag"] in of_tag:
                return False
            if row["kind"] in _CHANGING and row["kind"] in of_kind:
                return False
            if key in tags and tags[key]["dtype"] is None and row["dtype"] is not None:
                return False
        from tbq import _core

        for tag, data in self._metadata.get(index, {}).items():
            if metadata.get(tag, data) != data or (tag not in metadata and _core.display_name(tag) in of_tag):
                return False
        return all(run.name in self._known[kind] for kind in ("runs", "files", RUN_FACTS))

    def _problems(self, run: str, file: Mapping[str, Any], report: FileReport) -> Rows:
        """The known problems, and the problem at the current end of the file, if any."""
        rows = [row for row in self._known["problems"].get(run, []) if row["code"] != "truncated"]
        if not report.truncated:
            return rows
        now = SimpleNamespace(
            path=report.path, state="events", error=0, faults=[], more_faults=0, truncated=report.truncated,
            bytes=report.bytes, resume=report.resume, values=file["first_step"] is not None,
            last_step=file["last_step"],
        )  # fmt: skip
        truncated: Rows = to_pyarrow(table_of_problems(of_file(now, run))).to_pylist()  # type: ignore[arg-type]
        return truncated + rows


def _extend_file(file: dict[str, Any], report: FileReport) -> None:
    file["bytes"] = report.bytes
    file["records"] += report.records
    file["truncated_bytes"] = report.truncated
    if report.values:
        file["last_step"] = report.last_step
        if file["first_step"] is None:
            file["first_step"] = report.first_step
    _extend_times(file, report)
    values = file["first_step"] is not None
    file["health"] = "truncated" if report.truncated else "ok" if values else "header_only"


def _extend_times(row: dict[str, Any], report: FileReport) -> None:
    if report.timed:
        first, last = row["first_wall_time"], row["last_wall_time"]
        row["first_wall_time"] = (
            report.first_wall_time if first is None else min(first, report.first_wall_time)
        )
        row["last_wall_time"] = report.last_wall_time if last is None else max(last, report.last_wall_time)


def _extend_tag(tags: dict[tuple[str, str], dict[str, Any]], row: Mapping[str, Any]) -> None:
    key = (row["tag"], row["kind"])
    if key in tags:
        tags[key]["count"] += row["count"]
        tags[key]["last_step"] = row["last_step"]
    else:
        tags[key] = {name: row[name] for name in schema("tags").names}


def _tag_order(key: tuple[str, str]) -> tuple[bytes, int]:
    """Series are ordered by the bytes of their tag, then by kind."""
    from tbq import _core

    return _core.raw_name(key[0]), _core.kinds().index(key[1])


def _rows(table: pa.Table) -> Rows:
    """The rows of a table, in their order."""
    rows = table.drop_columns(["row"]).to_pylist()
    return [
        row for _, row in sorted(zip(table["row"].to_pylist(), rows, strict=True), key=lambda pair: pair[0])
    ]


def _grouped(rows: Rows, by: str) -> dict[Any, Rows]:
    groups: dict[Any, Rows] = {}
    for row in rows:
        groups.setdefault(row[by], []).append(row)
    return groups


def may_have_grown(state: State, before: Sequence[Stamp], now: Sequence[Stamp]) -> bool:
    """Whether, judging by its stamps, a run differs only by more bytes in the file that may grow."""
    if [stamp[0] for stamp in before] != [stamp[0] for stamp in now]:
        return False
    grows = path_text(state["file"])
    return all(
        old == new or (new[0] == grows and int(new[1]) > int(old[1]) and new[-1] == old[-1])
        for old, new in zip(before, now, strict=True)
    )


def has_grown(run: Run, state: State) -> bool:
    """Whether the file still has the bytes that were read, and the new bytes continue them. The file was fetched."""
    path = state["file"]
    if run.remote is not None and run.remote.has(path):
        path = run.remote.path(path)
    return marks_of(path, state["resume"]) == state["marks"] and not starts_anew(path, state["resume"])
