"""Files in which the steps of a tag go back across damaged places, and nowhere else: two writers wrote to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.rows import grouped

if TYPE_CHECKING:
    from tbq.doctor.survey import Survey


def overwritten(survey: Survey) -> dict[int, int]:
    """Such files, with the offset of the first such place.

    The events before and after a damaged place may be of two tags that count their steps differently, as epochs and
    batches; and a tag whose steps go back elsewhere too counts them anew now and then.
    """
    places = {
        index: [
            (fault.step_before, fault.step_after, fault.offset)
            for fault in survey.reports[index].faults
            if fault.code != "bad_event" and fault.step_before is not None and fault.step_after is not None
        ]
        for index in survey.rows(survey.files["faults"] > 0)
    }
    offsets: dict[int, int] = {}
    if not any(after < before for of_file in places.values() for before, after, _ in of_file):
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
