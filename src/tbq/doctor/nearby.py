"""The surroundings: event files near a path that has none."""

from __future__ import annotations

import os
from collections import deque
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from tbq.source import is_event_file

if TYPE_CHECKING:
    from tbq.doctor.look import Look

_MOST = 5000  # entries looked at around a path
_DEEP = 4


def near(look: Look) -> list[str]:
    """Directories with event files near the one path that has none: around it first, then above. Remembered.

    None if something at the path cannot be read, or is on another machine: the logs may be there, and others are not
    what was asked for.
    """
    if look.near is None:
        elsewhere = look.unreadable or any(error.code == "remote" for error in look.errors)
        nothing = not look.runs and not look.clash and not elsewhere and len(look.given) == 1
        look.near = _near(look) if nothing else []
    return look.near


def _near(look: Look) -> list[str]:
    path = Path(os.path.normpath(Path.cwd() / Path(look.given[0]).expanduser()))  # links stay what they are
    parent = path.parent
    while not parent.is_dir() and parent != parent.parent:
        parent = parent.parent
    if parent == parent.parent:  # the root of a file system is nobody's neighbourhood
        return []
    found = _search(parent, path)
    above = parent.parent
    if not found and above != above.parent and _has_events(above):
        found = [str(above)]
    return found


def _search(top: Path, leave_out: Path) -> list[str]:
    """Directories with event files below `top`, the highest first."""
    found: list[str] = []
    queue = deque([(top, 0)])
    seen = 0
    while queue and len(found) < 20:
        folder, depth = queue.popleft()
        if folder == leave_out:
            continue
        inner = []
        has = False
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    seen += 1
                    if seen > _MOST:
                        return found
                    if entry.is_dir(follow_symlinks=False):
                        inner.append(Path(entry.path))
                    else:
                        has = has or is_event_file(entry.name)
        except OSError:
            continue
        if has:
            found.append(str(folder))
        if depth < _DEEP:
            queue.extend((one, depth + 1) for one in sorted(inner))
    return found


def _has_events(folder: Path) -> bool:
    try:
        return any(is_event_file(entry.name) for entry in islice(folder.iterdir(), _MOST))
    except OSError:
        return False
