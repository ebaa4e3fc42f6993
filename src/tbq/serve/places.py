"""Where a log lies concerns nobody but this machine: its names instead of its paths."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from tbq.text import shown_name

Places = list[tuple[str, str]]


def title_of(paths: list[str]) -> str:
    """The names of the paths alone."""
    return ", ".join(shown_name(Path(path).name or Path(path).absolute().name or "/") for path in paths)


def places_of(paths: list[str]) -> Places:
    """Every way to write the paths, longest first, and the name to write instead.

    >>> without_paths("http://lab/runs/a", places_of(["http://lab/runs/"]))
    'runs/a'
    """
    shown: dict[str, str] = {}
    for path in paths:
        plain = Path(path).expanduser()
        absolute = plain.absolute()
        for each in (path, str(plain), str(absolute), os.path.realpath(plain)):
            each = each.rstrip("/" + os.sep)  # what follows a directory starts with one
            if os.sep in each:  # a mere name gives nothing away
                shown[each] = shown_name(absolute.name)
        shown |= {str(parent): "…" for parent in absolute.parents if len(parent.parts) > 1}
    with contextlib.suppress(RuntimeError):  # no home
        shown[str(Path.home())] = "~"
    return sorted(shown.items(), key=lambda item: -len(item[0]))


def without_paths(text: str, places: Places) -> str:
    """A text in which the log directory has its name alone.

    >>> without_paths("/logs/mine/runs/a: damaged", [("/logs/mine/runs", "runs"), ("/logs/mine", "…")])
    'runs/a: damaged'
    """
    for place, name in places:
        text = text.replace(place, name)
    return text
