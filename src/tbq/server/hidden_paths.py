"""Replaces paths of this machine by names: pages and reports do not show where a log is stored."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tbq.text import shown_name, without_secrets

Places = list[tuple[str, str]]
_INSIDE = r"(?<![/\\])"  # a relative path is not the end of another path


def title_of(paths: list[str]) -> str:
    """The names of the paths, without the secrets of URLs."""
    return ", ".join(_name(Path(without_secrets(path))) for path in paths)


def _name(path: Path) -> str:
    return shown_name(path.name or path.absolute().name or "/")


def places_of(paths: list[str]) -> Places:
    """Every spelling of the paths, longest first, and the name to show instead.

    >>> without_paths("http://lab/runs/a", places_of(["http://lab/runs/"]))
    'runs/a'
    """
    shown: dict[str, str] = {}
    for path in paths:
        plain = Path(os.path.expanduser(path))  # noqa: PTH111 - an unknown user is not an error
        absolute = plain.absolute()
        for each in (path, str(plain), str(absolute), os.path.realpath(plain)):
            each = each.rstrip("/" + os.sep)  # the rest of a path starts with a separator
            if os.sep in each:  # a name without a directory reveals nothing
                shown[each] = shown_name(Path(without_secrets(str(absolute))).name)
        shown |= {str(parent): "…" for parent in absolute.parents if not _is_root(parent)}
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - unchanged if there is no home
    if home.is_absolute() and not _is_root(home):
        shown[str(home)] = "~"
    return sorted(shown.items(), key=lambda item: -len(item[0]))


def _is_root(path: Path) -> bool:
    """Whether a path is a root (/, //, C:\\, a share), which every other path starts with."""
    return len(path.parts) < 2 or path.parent == path


def without_paths(text: str, places: Places) -> str:
    """The text with names instead of paths. Only entire paths, or starts of paths, are replaced.

    >>> places = [("/logs/mine/runs", "runs"), ("/logs/mine", "…")]
    >>> without_paths("/logs/mine/runs/a: damaged, /logs/mine2/a and /old/logs/mine are not", places)
    'runs/a: damaged, /logs/mine2/a and /old/logs/mine are not'
    """
    if not places:
        return text
    names = dict(places)
    # A longer name is another path, and so is a path that ends like this one.
    any_place = "|".join(
        re.escape(place) if _is_full(place) else _INSIDE + re.escape(place) for place in names
    )
    return re.sub(rf"(?<![\w.~-])(?:{any_place})(?![\w~-]|\.\w)", lambda found: names[found[0]], text)


def _is_full(place: str) -> bool:
    """Whether a place does not depend on the working directory."""
    return "://" in place or Path(place).is_absolute()
