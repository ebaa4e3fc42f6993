"""Names that may be any bytes: how a run or a path is shown, and the way back to what the system calls it.

The rule is the core's (`display_name`): no two names are shown alike, and what is shown can be selected by.
"""

from __future__ import annotations

import os

# How the system's names become bytes: Windows has lone surrogates of its own, elsewhere they stand for bytes.
_ODD = "surrogatepass" if os.name == "nt" else "surrogateescape"


def shown_name(name: str) -> str:
    """A name that the system gave, or the user typed, as tbq shows it.

    >>> shown_name("exp/1")
    'exp/1'
    >>> print(shown_name("exp/\\udcff"))
    exp/\\xff
    """
    from tbq import _core

    return _core.display_name(name.encode("utf-8", _ODD))


def system_name(shown: str) -> str:
    """The name that is shown so, as the system takes it.

    >>> system_name(shown_name("exp/\\udcff")) == "exp/\\udcff"
    True
    """
    from tbq import _core

    try:
        return _core.raw_name(shown).decode("utf-8", _ODD)
    except UnicodeDecodeError:  # bytes that no name on Windows has
        return shown


def shown_path(path: str | os.PathLike[str]) -> str:
    """A path for a message or a table: as it is, unless UTF-8 cannot hold it.

    >>> shown_path("runs/exp1")
    'runs/exp1'
    """
    text = os.fspath(path)
    return text if is_text(text) else shown_name(text)


def is_utf8(shown: str) -> bool:
    r"""Whether the name that is shown so is UTF-8.

    >>> is_utf8("loss"), is_utf8(r"loss\xff")
    (True, False)
    """
    from tbq import _core

    if "\\" not in shown:
        return True
    try:
        _core.raw_name(shown).decode()
    except UnicodeDecodeError:
        return False
    return True


def is_text(name: str) -> bool:
    """Whether UTF-8 can hold a name. Python gives names that are not UTF-8 on disk lone surrogates."""
    if name.isascii():
        return True
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
