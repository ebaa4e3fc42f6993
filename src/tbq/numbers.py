"""Numbers as people read them: four digits, 1.2k, 2h 14m, 3.4 MB.

The page has the same rules in format.js; tests/fixtures/rules/numbers.json tests both.
"""

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
    size = int(f"{value:.{digits - 1}e}".partition("e")[2])  # after rounding
    if size < -4 or size >= max(9, min(digits, 15)):
        return f"{_trimmed(_rounded(value, digits - 1, -size))}e{size:+03d}"
    return _trimmed(_rounded(value, max(digits - 1 - size, 0)))


def compact(value: float) -> str:
    """A count or a tick in few characters.

    >>> compact(950), compact(1204), compact(20_000), compact(3_400_000), compact(-1500)
    ('950', '1.2k', '20k', '3.4M', '-1.5k')
    >>> compact(2e20), compact(-1.5e300)
    ('200E', '-1.5e+300')
    """
    if not abs(value) < 999.5e18:  # beyond the last unit, or NaN
        return number(value, 3)
    size = 0
    while abs(value) >= 999.5:
        value /= 1000
        size += 1
    return f"{number(value, 2 if abs(value) < 10 else 3)}{_UNITS[size]}"


def sized(count: float) -> str:
    """Bytes with a unit.

    >>> sized(999), sized(1_234_567), sized(999_960)
    ('999 B', '1.2 MB', '1.0 MB')
    """
    if count < 1000:
        return f"{count:.0f} B"
    size = 0
    while count >= 999.95 and size < len(_UNITS) - 1:
        count /= 1000
        size += 1
    return f"{_rounded(count, 1)} {_UNITS[size]}B"


def duration(seconds: float) -> str:
    """How long something took, in at most two units; empty if that is unknown.

    >>> duration(0.4), duration(12), duration(200), duration(8040), duration(277_000), duration(math.nan)
    ('0s', '12s', '3m 20s', '2h 14m', '3d 4h', '')
    """
    if not math.isfinite(seconds):
        return ""
    sign = "-" if seconds <= -1 else ""
    amount = float(abs(seconds)) // 1
    if amount >= 1000 * 86_400:
        return f"{sign}{number(amount // 86_400)}d"
    parts: list[str] = []
    for size, letter in ((86_400, "d"), (3600, "h"), (60, "m"), (1, "s")):
        part, amount = divmod(amount, size)
        if parts or part or size == 1:
            parts.append(f"{part:.0f}{letter}" if part else "")
    return sign + (" ".join(filter(None, parts[:2])) or "0s")


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


def _rounded(value: float, decimals: int, power: int = 0) -> str:
    """A value times 10**power, with thousands separators; halves are rounded away from zero, as in JavaScript."""
    from decimal import ROUND_HALF_UP, Decimal

    scaled = Decimal(value).scaleb(power) if power else Decimal(value)
    return f"{scaled.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP):,f}"


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
