"""A canvas of braille dots: two columns and four rows of dots in each cell of a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

_BLANK = 0x2800
# The bit of each dot of a cell, in Unicode's numbering.
_BITS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]], dtype=np.int64)
UNOWNED = -1


class Canvas:
    """`width` × `height` cells of dots; row 0 is the top. Each cell has one owner, which sets its colour.

    >>> canvas = Canvas(2, 1)
    >>> canvas.curve(np.array([0.0, 1, 2, 3]), *[np.array([0.0, 1, 2, 3])] * 3)
    >>> canvas.text()
    '⠑⢄'
    """

    def __init__(self, width: int, height: int) -> None:
        self.width = max(width, 1)
        self.height = max(height, 1)
        self.dots = np.zeros((self.height * 4, self.width * 2), dtype=np.bool_)
        self.owners = np.full((self.height, self.width), UNOWNED, dtype=np.int64)

    def curve(
        self,
        first: Floats,
        last: Floats,
        top: Floats,
        bottom: Floats,
        owner: int = 0,
        *,
        only_free: bool = False,
    ) -> None:
        """Draw a curve from the rows of the first, last, highest and lowest point in each column; NaN for no points.

        Draws each column from its highest to its lowest point, and joins it to the next column with points. With
        `only_free`, draws only in cells without an owner.
        """
        high, low = _joined(first, last, top, bottom)
        rows = np.arange(self.dots.shape[0])[:, None]
        drawn = (rows >= high) & (rows <= low)  # false without points: comparisons with NaN are false
        touched = self._cells(drawn).any(axis=(2, 3))
        if only_free:
            touched &= self.owners == UNOWNED
            drawn &= np.repeat(np.repeat(touched, 4, axis=0), 2, axis=1)
        self.dots |= drawn
        self.owners[touched] = owner

    def shade(self, top: Floats, bottom: Floats, owner: int) -> None:
        """Fill each column with sparse dots from its top to its bottom row, in cells without another owner. Columns
        without rows are interpolated from their neighbours."""
        filled = np.flatnonzero(~np.isnan(top) & ~np.isnan(bottom))
        if not len(filled):
            return
        columns = np.arange(len(top))
        inside = (columns >= filled[0]) & (columns <= filled[-1])
        high = np.where(inside, np.interp(columns, filled, top[filled]), np.nan)
        low = np.where(inside, np.interp(columns, filled, bottom[filled]), np.nan)
        rows = np.arange(self.dots.shape[0])[:, None]
        drawn = (rows >= np.rint(high)) & (rows <= np.rint(low)) & ((rows * 2 + columns * 3) % 4 == 0)
        touched = self._cells(drawn).any(axis=(2, 3)) & ((self.owners == UNOWNED) | (self.owners == owner))
        drawn &= np.repeat(np.repeat(touched, 4, axis=0), 2, axis=1)
        self.dots |= drawn
        self.owners[touched] = owner

    def dotted(self, column: int, owner: int) -> None:
        """Draw a thin vertical line of dots, in cells without another owner."""
        if not 0 <= column < self.dots.shape[1]:
            return
        for row in range(0, self.dots.shape[0], 2):
            if self.owners[row // 4, column // 2] in (UNOWNED, owner):
                self.dots[row, column] = True
                self.owners[row // 4, column // 2] = owner

    def rows(self) -> list[list[tuple[str, int]]]:
        """Each line as pieces of text with their owners."""
        codes = (self._cells(self.dots) * _BITS).sum(axis=(2, 3)) + _BLANK
        lines = []
        for codes_of_line, owners in zip(codes.tolist(), self.owners.tolist(), strict=True):
            line: list[tuple[str, int]] = []
            start = 0
            for at in range(1, self.width + 1):
                if at == self.width or owners[at] != owners[start]:
                    text = "".join(" " if code == _BLANK else chr(code) for code in codes_of_line[start:at])
                    line.append((text, owners[start]))
                    start = at
            lines.append(line)
        return lines

    def text(self) -> str:
        """The dots without owners."""
        return "\n".join("".join(text for text, _ in line) for line in self.rows())

    def _cells(self, dots: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        return dots.reshape(self.height, 4, self.width, 2).swapaxes(1, 2)


def rows_of(values: Floats, low: float, high: float, height: int, clip: bool = True) -> Floats:
    """The rows of values on an axis from low (the last row) to high (row 0); values outside it lie at its ends, or
    without `clip` as far beyond them as the axis is long.

    >>> rows_of(np.array([0.0, 0.5, 1.0, np.nan]), 0, 1, 11).tolist()
    [10.0, 5.0, 0.0, nan]
    """
    if not high > low:
        return np.where(np.isnan(values), np.nan, float((height - 1) // 2))
    inside = np.clip(values, low, high)
    beyond = np.zeros(1) if clip else np.sign(values - inside, where=~np.isnan(values), out=np.zeros(len(values)))
    if high / 2 - low / 2 > 1:  # halves, because the span of two finite numbers may be infinite
        low, high, inside = low / 2, high / 2, inside / 2
    return np.rint((high - inside) / (high - low) * (height - 1)) - beyond * height


def _joined(first: Floats, last: Floats, top: Floats, bottom: Floats) -> tuple[Floats, Floats]:
    """The highest and lowest row of each column, extended to meet its neighbours."""
    filled = ~np.isnan(top)
    high, low = top.copy(), bottom.copy()
    count = len(top)
    if count < 2 or not filled.any():
        return high, low
    columns = np.arange(count)
    before = np.maximum.accumulate(np.where(filled, columns, -1))
    after = np.minimum.accumulate(np.where(filled, columns, count)[::-1])[::-1]
    between = ~filled & (before >= 0) & (after < count)
    enter, leave = first.copy(), last.copy()
    left, right = before[between], after[between]
    share = (columns[between] - left) / (right - left)
    for rows in (enter, leave, high, low):
        rows[between] = np.rint(last[left] + (first[right] - last[left]) * share)
    # Two columns more than a row apart meet in the middle.
    down = np.fmax(enter[1:] - leave[:-1] - 1, 0)
    up = np.fmax(leave[:-1] - enter[1:] - 1, 0)
    low[:-1] = np.fmax(low[:-1], leave[:-1] + np.floor(down / 2))
    high[1:] = np.fmin(high[1:], enter[1:] - np.ceil(down / 2))
    high[:-1] = np.fmin(high[:-1], leave[:-1] - np.floor(up / 2))
    low[1:] = np.fmax(low[1:], enter[1:] + np.ceil(up / 2))
    return high, low
