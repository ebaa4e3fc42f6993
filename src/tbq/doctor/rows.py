"""Rows of scalars that a check is about, by series."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Array, Look


def grouped(look: Look, rows: Array) -> Iterator[tuple[int, Array]]:
    """These rows (rising), series by series."""
    import numpy as np

    if len(rows) == 0:
        return
    series = look.series_of_rows(rows)
    cuts = (series[1:] != series[:-1]).nonzero()[0] + 1
    for piece in np.split(np.arange(len(rows)), cuts):
        yield int(series[piece[0]]), rows[piece]


def groups(look: Look, mask: Array) -> Iterator[tuple[int, Array]]:
    """The rows of this mask, series by series; not those in files that two writers wrote over each other."""
    import numpy as np

    rows = mask.nonzero()[0]
    if len(rows) and look.overwritten:
        files = look.sessions["file"][look.segments["session"][look.segments_of_rows(rows)]]
        rows = rows[~np.isin(files, list(look.overwritten))]
    yield from grouped(look, rows)
