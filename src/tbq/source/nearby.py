"""What is near a path without event files: directories that have some, and names like its own."""

from __future__ import annotations

import os
from collections import deque
from itertools import islice
from pathlib import Path

from tbq.source.walk import is_event_file
from tbq.text import shown_path

_MOST = 5000  # entries listed around a path
_DEEP = 4
_SHOWN = 3


def hint_for(path: str) -> str | None:
    """What to try instead of a local path that does not exist or has no event files.

    Names like its own come first, because a typo is the usual cause; then directories with event files.
    """
    alike = _alike(Path(path))
    if alike:
        return f"closest: {', '.join(map(shown_path, alike))}"
    parent = _existing_parent(_absolute(path))
    tops = tops_near(path)
    if tops:
        more = f" and {len(tops) - _SHOWN:,} more" if len(tops) > _SHOWN else ""
        return f"there are event files below {', '.join(map(shown_path, tops[:_SHOWN]))}{more}"
    if os.path.lexists(path) or parent == _absolute(path).parent:
        return None
    return f"the nearest directory that exists is {shown_path(parent)}"


def tops_near(path: str) -> list[str]:
    """Directories near a local path without event files that have some, in them or below; names like its own first."""
    tops = _tops(_folders_near(path), _existing_parent(_absolute(path)))
    alike = [_from_here(str(_absolute(str(each)))) for each in _alike(Path(path))]
    return sorted(tops, key=lambda top: alike.index(top) if top in alike else len(alike))


def _folders_near(path: str) -> list[str]:
    """Directories with event files near a local path that has none: first around it, then above it."""
    here = _absolute(path)
    parent = _existing_parent(here)
    if parent == parent.parent:  # everything is near the root of a file system
        return []
    folders = _search(parent, here)
    above = parent.parent
    if not folders and above != above.parent and _has_events(above):
        folders = [str(above)]
    return folders


def _alike(path: Path) -> list[Path]:
    """Paths that exist and are like one that does not, the best match first.

    Its first missing part is misspelt, or too much, or has another name.
    """
    import difflib

    parent = _existing_parent(path)
    missing = path.parts[len(parent.parts) if parent != Path() else 0 :]
    if os.path.lexists(path) or not missing:
        return []
    try:
        siblings = [other.name for other in islice(parent.iterdir(), _MOST)]
    except OSError:
        return []
    close = [parent / name for name in difflib.get_close_matches(missing[0], siblings, n=_SHOWN)]
    deeper = [found.joinpath(*missing[1:]) for found in close]
    rest = [missing[i:] for i in range(1, len(missing))]
    elsewhere = [parent.joinpath(*parts) for parts in rest]
    elsewhere += [
        parent.joinpath(name, *parts) for parts in (missing, *rest[:1]) for name in sorted(siblings)
    ]
    found = [each for each in [*deeper, *elsewhere] if each.exists()]
    found += [each for each, deep in zip(close, deeper, strict=True) if not deep.exists()]
    return list(dict.fromkeys(found))[:_SHOWN]


def _absolute(path: str) -> Path:
    """The path from the root, unless the working directory was deleted; links are not followed."""
    try:
        here = Path.cwd()
    except OSError:
        here = Path()
    return Path(os.path.normpath(here / Path(path).expanduser()))


def _existing_parent(path: Path) -> Path:
    parent = path.parent
    while not parent.is_dir() and parent != parent.parent:
        parent = parent.parent
    return parent


def _tops(folders: list[str], parent: Path) -> list[str]:
    """The directories just below `parent` that hold these, as paths from the working directory."""
    tops: dict[str, None] = {}
    for folder in folders:
        below = Path(os.path.relpath(folder, parent)).parts
        inside = below and below[0] not in ("..", ".")
        tops[_from_here(str(parent / below[0]) if inside else folder)] = None
    return list(tops)


def _from_here(folder: str) -> str:
    """The path from the working directory, if that is shorter: users named a path in this way."""
    try:
        relative = os.path.relpath(folder)
    except ValueError:  # another drive
        return folder
    return min(relative, folder, key=len)


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
