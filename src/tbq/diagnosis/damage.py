"""Damaged places in files, by cause: what was lost, between which steps, and what is left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tbq.decode.problems import FAULTS
from tbq.diagnosis.rows import grouped
from tbq.text import counted

if TYPE_CHECKING:
    from tbq._core import Fault, FileReport
    from tbq.diagnosis.finding import Finding, Rule
    from tbq.diagnosis.survey import Survey

# Checked against TensorBoard in tests/differential/test_doctor_tensorboard.py.
_EFFECTS = {"bad_payload": "TensorBoard shows the damaged values, or stops there (--load_fast=false)"}
_LARGEST = 64 << 20  # a longer stretch is not a single record with a damaged header


def damage(survey: Survey, rule: Rule, cause: str, words: str | None = None) -> Iterator[Finding]:
    """One finding per file for all of its damage of this cause."""
    for index in survey.rows((survey.files["faults"] > 0) & (survey.files["state"] == 0)):
        report = survey.reports[index]
        faults = [fault for fault in report.faults if cause_of(report, fault) == cause]
        if not faults:
            continue
        lost = sum(fault.length for fault in faults)
        places = f" at {len(faults):,} places" if len(faults) > 1 else ""
        more = (
            f" ({counted(report.more_faults, 'more damaged place')} not listed)" if report.more_faults else ""
        )
        yield rule.finding(
            f"{words or FAULTS[cause]}{places}: {lost:,} bytes lost {_steps(faults)}; "
            f"{report.records:,} records are valid{more}",
            run=survey.run_of_file(index),
            path=survey.paths[index],
            offset=faults[0].offset,
            hint=f"{_EFFECTS.get(cause, 'TensorBoard stops there')}; to keep the rest: "
            "tbq rewrite LOGDIR -o NEW --repair",
        )


def cause_of(report: FileReport, fault: Fault) -> str:
    """The cause, in finer detail than the reader needs: one damaged record, or bytes that are not records."""
    from tbq import _core

    if fault.code in ("torn", "too_long"):
        return "garbage"
    if fault.code not in ("bad_length", "bad_payload") or report.compressed:
        return fault.code
    data = _bytes(report, fault)
    if data is None:
        return fault.code
    if fault.code == "bad_payload":  # the full record that its header announces, or a part of it
        return "bad_payload" if int.from_bytes(data[:8], "little") + 16 == fault.length else "garbage"
    return "bad_length" if len(data) >= 16 and _core.frame(data[12:-4])[-4:] == data[-4:] else "garbage"


def _bytes(report: FileReport, fault: Fault) -> bytes | None:
    try:
        with open(report.path, "rb") as file:
            file.seek(fault.offset)
            return file.read(fault.length if fault.code == "bad_length" and fault.length <= _LARGEST else 8)
    except OSError:
        return None


def _steps(faults: list[Fault]) -> str:
    first, last = faults[0].step_before, faults[-1].step_after
    if first is not None and last is not None:
        return f"between step {first:,} and step {last:,}"
    if first is not None:
        return f"after step {first:,}"
    return f"before step {last:,}" if last is not None else "with no step on either side"


def overwritten(survey: Survey) -> dict[int, int]:
    """Files in which the steps of a tag go back across damaged places only: two writers wrote to them.

    Returns the offset of the first such place of each file.

    The events before and after a damaged place may belong to two tags that count steps differently, such as epochs and
    batches. A tag whose steps go back elsewhere too restarts its count now and then, perhaps at a damaged place. So one
    damaged record proves nothing: a writer that overwrites another leaves parts of records.
    """
    places = {index: _backward(survey.reports[index]) for index in survey.rows(survey.files["faults"] > 0)}
    offsets: dict[int, int] = {}
    if not any(places.values()):
        return offsets
    for _, rows in grouped(survey, (survey.step_changes < 0).nonzero()[0]):
        files = survey.sessions["file"][survey.segments["session"][survey.segments_of_rows(rows)]]
        for index in places.keys() & set(files.tolist()):
            backward = survey.scalars["step"][rows[files == index] + 1].tolist()
            if len(backward) > len(places[index]):
                continue
            overwritten = [
                [offset for before, after, offset in places[index] if after <= step < before]
                for step in backward
            ]
            if all(overwritten):
                offsets[index] = min(*overwritten[0], offsets.get(index, overwritten[0][0]))
    return offsets


def _backward(report: FileReport) -> list[tuple[int, int, int]]:
    """Where steps go back across parts of records: the steps before and after, and the offset."""
    return [
        (before, after, fault.offset)
        for fault in report.faults
        if (before := fault.step_before) is not None
        and (after := fault.step_after) is not None
        and after < before
        and cause_of(report, fault) in ("garbage", "zeros")
    ]
