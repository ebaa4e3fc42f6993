r"""Python's regular expressions translated for RE2, so that both match the same in names that are not English.

In RE2 `\w`, `\d` and `\s` are ASCII only, `{,3}` is four characters, and `[[:alpha:]]` is a class of letters. Features
that RE2 lacks (lookaround, back-references) stay unchanged: RE2 reports them. `\b` stays a border of English words,
and `$` the very end of a name.
"""

from __future__ import annotations

import re

# What each escape stands for, as parts of a bracket list; Python goes by the Unicode category of a character.
_INSIDE = {
    "w": r"\p{L}\p{N}_",
    "W": r"\p{M}\p{Pd}\p{Pe}\p{Pf}\p{Pi}\p{Po}\p{Ps}\p{S}\p{Z}\p{C}"
    r"\x{203F}\x{2040}\x{2054}\x{FE33}\x{FE34}\x{FE4D}-\x{FE4F}\x{FF3F}",  # and \p{Pc} except the underscore
    "d": r"\p{Nd}",
    "D": r"\P{Nd}",
    "s": r"\t-\r\x1c-\x20\x{85}\p{Z}",
    "S": r"\x00-\x08\x0e-\x1b\x21-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}"
    r"\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff}",
}
_IN_LIST = {**_INSIDE, "b": r"\x08"}  # outside a list, \b is a word border
_OUTSIDE = {
    **{name: f"[{parts}]" for name, parts in _INSIDE.items()},
    "W": f"[^{_INSIDE['w']}]",
    "S": f"[^{_INSIDE['s']}]",
    "Z": r"\z",
}
_PART = re.compile(
    r"\\u(?P<four>[0-9a-fA-F]{4})|\\U(?P<eight>[0-9a-fA-F]{8})|\\(?P<escape>.)|\{,(?P<most>\d+)\}|(?P<other>.)",
    re.DOTALL,
)


def as_re2(pattern: str) -> str:
    r"""Translate a Python expression for RE2.

    >>> as_re2(r"(\w+)/seed\d{,3}")
    '([\\p{L}\\p{N}_]+)/seed[\\p{Nd}]{0,3}'
    """
    parts: list[str] = []
    first = -1  # position of the first character of a bracket list; -1 outside a list
    at = 0
    while at < len(pattern):
        match = _PART.match(pattern, at)
        assert match is not None
        end = match.end()
        code = match["four"] or match["eight"]
        if code is not None:
            parts.append(rf"\x{{{code}}}")
        elif match["escape"] is not None:
            parts.append((_OUTSIDE if first < 0 else _IN_LIST).get(match["escape"], match[0]))
        elif first >= 0:
            end = at + 1
            letter = pattern[at]
            if letter == "]" and at > first:
                first = -1
            parts.append(r"\[" if letter == "[" else letter)
        elif match["most"] is not None:
            parts.append(f"{{0,{match['most']}}}")
        else:
            if match["other"] == "[":
                first = end = end + (pattern[end : end + 1] == "^")
            parts.append(pattern[at:end])
        at = end
    return "".join(parts)
