"""Numbers as people read them: four digits, 1.2k, 2h 14m."""

from __future__ import annotations

import math
from collections.abc import Sequence

_UNITS = ("", "k", "M", "G", "T", "P", "E")


def number(value: float, digits: int = 4) -> str:
    """A value with this many significant digits.

    >>> number(0.193912), number(12.0), number(123456.7), number(1.5e-7), number(math.nan)
    ('0.1939', '12', '123,457', '1.5e-07', 'nan')
    """
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if size < -4 or size >= 9:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        return f"{_trimmed(mantissa)}e{exponent}"
    return _trimmed(f"{value:,.{max(digits - 1 - size, 0)}f}")


def compact(value: float) -> str:
    """A count or a tick in few characters.

    >>> compact(950), compact(1204), compact(20_000), compact(3_400_000), compact(-1500)
    ('950', '1.2k', '20k', '3.4M', '-1.5k')
    >>> compact(2e20), compact(-1.5e300)
    ('200E', '-1.5e+300')
    """
    if not math.isfinite(value):
        return str(value)
    if abs(value) >= 1e21:  # beyond the last unit
        return number(value, 3)
    size = 0
    while abs(value) >= 999.5 and size < len(_UNITS) - 1:
        value /= 1000
        size += 1
    return f"{number(value, 2 if abs(value) < 10 else 3)}{_UNITS[size]}"


def duration(seconds: float) -> str:
    """How long something took, in at most two units.

    >>> duration(0.4), duration(12), duration(200), duration(8040), duration(277_000)
    ('0s', '12s', '3m 20s', '2h 14m', '3d 4h')
    """
    if not math.isfinite(seconds):
        return "?"
    amount = int(abs(seconds))
    sign = "-" if seconds <= -1 else ""
    for small, letter, big, big_letter in ((60, "s", 60, "m"), (60, "m", 24, "h"), (24, "h", 10**9, "d")):
        if amount < small:
            return f"{sign}{amount}{letter}"
        amount, rest = divmod(amount, small)
        if amount < big:
            return f"{sign}{amount}{big_letter}" + (f" {rest}{letter}" if rest else "")
    return f"{sign}{amount}d"


def ago(seconds: float) -> str:
    """The time since something, in one unit.

    >>> ago(2.3), ago(200), ago(8040), ago(277_000), ago(-5)
    ('2s', '3m', '2h', '3d', '0s')
    """
    return duration(max(seconds, 0.0)).split()[0]


def rate(per_second: float) -> str:
    """The speed in steps per second, or in seconds per step.

    >>> rate(3.14), rate(1204), rate(0.02), rate(0.0)
    ('3.1 it/s', '1.2k it/s', '50s/it', '')
    """
    if not math.isfinite(per_second) or per_second <= 0:
        return ""
    if per_second >= 1:
        return f"{compact(per_second)} it/s"
    each = 1 / per_second
    return f"{number(each, 2)}s/it" if each < 60 else f"{duration(each).replace(' ', '')}/it"


def aligned(texts: Sequence[str]) -> list[str]:
    """Numbers with aligned decimal points; nan, inf and powers of ten end where the digits end.

    >>> aligned(["0.1939", "12", "nan"])
    [' 0.1939', '12     ', '    nan']
    """
    parts = [text.partition(".") for text in texts if not _is_word(text)]
    before = max((len(integer) for integer, _, _ in parts), default=0)
    after = max((len(point) + len(digits) for _, point, digits in parts), default=0)
    room = max([before + after, *map(len, texts)])
    out = []
    for text in texts:
        integer, point, digits = text.partition(".")
        lined = text if _is_word(text) else f"{integer}{point + digits:<{after}}"
        out.append(f"{lined:>{room}}")
    return out


def _is_word(text: str) -> bool:
    return "e" in text or "n" in text  # 1e-07, nan, inf


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
