"""Student's t, without SciPy: the width of a confidence interval, and Welch's test of two means."""

from __future__ import annotations

import math
from functools import cache

BEYOND_CHANCE = 0.05  # a smaller p counts as a difference
_MOST_TERMS = 100_000  # of a continued fraction; a few hundred are enough for a million degrees of freedom


@cache
def quantile(p: float, df: float) -> float:
    """The value that a t variable with `df` degrees of freedom stays below with probability `p`.

    >>> round(quantile(0.975, 4), 6)
    2.776445
    """
    if not df > 0 or not 0 < p < 1:
        raise ValueError(f"no quantile: p={p}, df={df}")
    if p < 0.5:
        return -quantile(1 - p, df)
    # Newton's method from the left never passes the value, because the function is concave there.
    t = 0.0
    while True:
        density = math.exp(-(df + 1) / 2 * math.log1p(t * t / df) - _log_beta_half(df / 2)) / math.sqrt(df)
        further = t + (p - cdf(t, df)) / density
        if not further > t * (1 + 1e-15):
            return t
        t = further


def cdf(t: float, df: float) -> float:
    """The probability of staying below t."""
    beyond = two_sided(t, df) / 2
    return beyond if t < 0 else 1 - beyond


def two_sided(t: float, df: float) -> float:
    """The probability that a t variable is at least as far from zero as `t`; `df` need not be whole.

    >>> round(two_sided(2.0, 7.5), 6)
    0.082897
    """
    if math.isinf(t):
        return 0.0
    # t² / df without an overflow of the square.
    ratio = (abs(t) / math.sqrt(df)) ** 2 if abs(t) < 1e150 else math.inf
    return _incomplete_beta(df / 2, 0.5, 1 / (1 + ratio), 1.0 if math.isinf(ratio) else ratio / (1 + ratio))


def welch(first: tuple[float, float, int], second: tuple[float, float, int]) -> float | None:
    """The two-sided p of Welch's test that two samples have the same mean; each is its mean, std and size.

    None if a sample has fewer than two values, or if neither has any spread: the test cannot tell then.

    >>> round(welch((1.0, 0.1, 5), (1.2, 0.2, 5)), 6)
    0.093379
    """
    (mean, std, n), (other_mean, other_std, other_n) = first, second
    if n < 2 or other_n < 2:
        return None
    scale = max(std, other_std)  # squares of huge or tiny numbers leave the range of floats
    if not 0 < scale < math.inf:
        return None
    a, b = (std / scale) ** 2 / n, (other_std / scale) ** 2 / other_n
    t = (mean / scale - other_mean / scale) / math.sqrt(a + b)
    df = (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (other_n - 1))
    return two_sided(t, df)


def _incomplete_beta(a: float, b: float, x: float, rest: float) -> float:
    """The regularised incomplete beta function at x, where a or b is 1/2; `rest` is 1 - x in all its digits."""
    if x <= 0:
        return 0.0
    if rest <= 0:
        return 1.0
    if x > (a + 1) / (a + b + 2):  # the fraction converges quickly on the other side only
        return 1 - _incomplete_beta(b, a, rest, x)
    log_x = math.log1p(-rest) if rest < 0.5 else math.log(x)
    log_rest = math.log1p(-x) if x < 0.5 else math.log(rest)
    return math.exp(a * log_x + b * log_rest - _log_beta_half(b if a == 0.5 else a)) / a * _fraction(a, b, x)


def _log_beta_half(a: float) -> float:
    """The logarithm of the beta function of a and 1/2."""
    if a < 50:
        ratio = math.lgamma(a + 0.5) - math.lgamma(a)
    else:  # the difference of two huge numbers would have few digits: its series instead
        ratio = math.log(a) / 2 - 1 / (8 * a) + 1 / (192 * a**3) - 1 / (640 * a**5)
    return math.log(math.pi) / 2 - ratio


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method (Numerical Recipes, 6.4)."""
    tiny = 1e-300
    c, d = 1.0, 1 / _apart(1 - (a + b) * x / (a + 1), tiny)
    value = d
    for m in range(1, _MOST_TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _apart(1 + term * d, tiny)
            c = _apart(1 + term / c, tiny)
            value *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return value


def _apart(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny
