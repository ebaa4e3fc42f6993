"""The scalar rows that a check reports, by series."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tbq.diagnosis.survey import Array, Survey


def grouped(survey: Survey, rows: Array) -> Iterator[tuple[int, Array]]:
    """These rows (ascending), series by series."""
    import numpy as np

    if len(rows) == 0:
        return
    series = survey.series_of_rows(rows)
    cuts = (series[1:] != series[:-1]).nonzero()[0] + 1
    for piece in np.split(np.arange(len(rows)), cuts):
        yield int(series[piece[0]]), rows[piece]


def groups(survey: Survey, mask: Array) -> Iterator[tuple[int, Array]]:
    """The rows of this mask, series by series, without files that two writers overwrote."""
    import numpy as np

    rows = mask.nonzero()[0]
    if len(rows) and survey.overwritten:
        files = survey.sessions["file"][survey.segments["session"][survey.segments_of_rows(rows)]]
        rows = rows[~np.isin(files, list(survey.overwritten))]
    yield from grouped(survey, rows)
