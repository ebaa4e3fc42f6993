"""Files in which the steps of a tag go back across damaged places, and nowhere else: two writers wrote to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.diagnosis.damage import cause_of
from tbq.diagnosis.rows import grouped

if TYPE_CHECKING:
    from tbq._core import FileReport
    from tbq.diagnosis.survey import Survey


def overwritten(survey: Survey) -> dict[int, int]:
    """Such files, with the offset of the first such place.

    The events before and after a damaged place may belong to two tags that count steps differently, such as epochs and
    batches. A tag whose steps go back elsewhere too restarts its count now and then, perhaps at a damaged place. So one
    damaged record proves nothing: a writer that overwrites another leaves parts of records.
    """
    places = {index: _places(survey.reports[index]) for index in survey.rows(survey.files["faults"] > 0)}
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


def _places(report: FileReport) -> list[tuple[int, int, int]]:
    """Where steps go back across parts of records: the steps before and after, and the offset."""
    return [
        (before, after, fault.offset)
        for fault in report.faults
        if (before := fault.step_before) is not None
        and (after := fault.step_after) is not None
        and after < before
        and cause_of(report, fault) in ("garbage", "zeros")
    ]
