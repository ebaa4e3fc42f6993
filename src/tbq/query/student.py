"""Student's t: the width of a confidence interval in standard errors, without SciPy."""

from __future__ import annotations

import math
from functools import cache


@cache
def quantile(p: float, df: int) -> float:
    """The value that a t variable with `df` degrees of freedom stays below with probability `p`.

    >>> round(quantile(0.975, 4), 6)
    2.776445
    """
    if df < 1 or not 0 < p < 1:
        raise ValueError(f"no quantile: p={p}, df={df}")
    if p < 0.5:
        return -quantile(1 - p, df)
    low, high = 0.0, 1.0
    while cdf(high, df) < p:
        low, high = high, 2 * high
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return middle
        if cdf(middle, df) < p:
            low = middle
        else:
            high = middle


def cdf(t: float, df: int) -> float:
    """The probability of staying below t: for whole df, a finite sum (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan2(t, math.sqrt(df))
    cosine, sine = math.cos(angle), math.sin(angle)
    term = cosine if df % 2 else 1.0
    total = term if df > 1 else 0.0
    for k in range(3 if df % 2 else 2, df - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    inside = 2 / math.pi * (angle + sine * total) if df % 2 else sine * total
    return 0.5 + inside / 2
