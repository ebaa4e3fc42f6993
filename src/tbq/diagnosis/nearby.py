"""Event files near a path that has none."""

from __future__ import annotations

import os
from collections import deque
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from tbq.source import is_event_file
from tbq.source.urls import is_remote

if TYPE_CHECKING:
    from tbq.diagnosis.survey import Survey

_MOST = 5000  # entries listed around a path
_DEEP = 4


def near(survey: Survey) -> list[str]:
    """Directories with event files near the only path, which has none: first around it, then above it. Cached.

    Empty if something at the path cannot be read, or is on another machine: the logs may be in it, and the user did
    not ask about other directories.
    """
    if survey.near is None:
        elsewhere = survey.unreadable or any(error.code in ("remote", "denied") for error in survey.errors)
        elsewhere = elsewhere or any(map(is_remote, survey.named_paths))
        nothing = not survey.runs and not survey.clash and not elsewhere and len(survey.named_paths) == 1
        survey.near = _near(survey) if nothing else []
    return survey.near


def _near(survey: Survey) -> list[str]:
    path = Path(
        os.path.normpath(Path.cwd() / Path(survey.named_paths[0]).expanduser())
    )  # links are not followed
    parent = path.parent
    while not parent.is_dir() and parent != parent.parent:
        parent = parent.parent
    if parent == parent.parent:  # everything is near the root of a file system
        return []
    folders = _search(parent, path)
    above = parent.parent
    if not folders and above != above.parent and _has_events(above):
        folders = [str(above)]
    return folders


def _search(top: Path, leave_out: Path) -> list[str]:
    """Directories with event files below `top`, the highest first."""
    folders: list[str] = []
    queue = deque([(top, 0)])
    seen = 0
    while queue and len(folders) < 20:
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
                        return folders
                    if entry.is_dir(follow_symlinks=False):
                        inner.append(Path(entry.path))
                    else:
                        has = has or is_event_file(entry.name)
        except OSError:
            continue
        if has:
            folders.append(str(folder))
        if depth < _DEEP:
            queue.extend((child, depth + 1) for child in sorted(inner))
    return folders


def _has_events(folder: Path) -> bool:
    try:
        return any(is_event_file(entry.name) for entry in islice(folder.iterdir(), _MOST))
    except OSError:
        return False
