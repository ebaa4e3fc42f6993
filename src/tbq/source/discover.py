"""Finding runs: each directory with event files is one, named by its path below the logdir."""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tbq.errors import SourceError, UsageError
from tbq.problems import Problem

PathLike = str | os.PathLike[str]

_NOT_EVENTS = (".profile-empty", ".sagemaker-uploaded")
_NAMED = re.compile(r"([^:/\\]+):(.+)", re.DOTALL)
_WHO = "see who may read it, and the directories above it: ls -ld"
_DIGITS = re.compile(r"(\d+)")


class Run(NamedTuple):
    """A directory of event files; `name` is its path below the logdir, `.` for the logdir itself."""

    name: str
    path: str
    files: list[str]


@dataclass(frozen=True)
class Found:
    """What lies below the paths that were given: runs by name, and what could not be looked into."""

    paths: list[str]
    runs: list[Run]
    problems: list[Problem] = field(default_factory=list)
    others: int = 0  # files that are no event files


def is_event_file(name: str) -> bool:
    """Whether a file of this name is an event file.

    >>> is_event_file("events.out.tfevents.1700000000.host.1.0.v2")
    True
    >>> is_event_file("events.out.tfevents.1700000000.host.profile-empty")
    False
    """
    return "tfevents" in name and not name.endswith(_NOT_EVENTS)


def discover(source: PathLike | Sequence[PathLike] | Mapping[str, PathLike]) -> Found:
    """Find the runs in a directory, a file, a glob, a `name:path` pair, a list of those, or {name: path}."""
    items: list[tuple[str | None, PathLike]]
    if isinstance(source, Mapping):
        items = list(source.items())
    else:
        items = [(None, item) for item in ([source] if isinstance(source, str | os.PathLike) else source)]
    if not items:
        raise UsageError("no path was given", hint="give a directory with event files, e.g. runs")
    roots = [(given or name, path) for given, item in items for name, path in _expand(os.fspath(item))]
    problems: list[Problem] = []
    others = 0
    files: dict[str, list[str]] = {}
    places: dict[str, str] = {}
    base = _common([path for name, path in roots if name is None])
    for name, path in roots:
        prefix = name if name is not None else _below(path, base)
        if not os.path.isdir(path):
            run = prefix if name is not None else _below(os.path.dirname(path) or ".", base)
            _add(files, places, run, os.path.dirname(path), [path])
            continue
        prefix = "" if prefix == "." else prefix
        for folder, below, mine, rest in _walk(path, problems):
            others += rest
            if mine:
                run = f"{prefix}/{below}" if prefix and below else prefix or below or "."
                _add(files, places, run, folder, mine)
    runs = [
        Run(name, places[name], mine if len(mine) == 1 else sorted(mine, key=_natural))
        for name, mine in sorted(files.items())
    ]
    return Found([path for _, path in roots], runs, problems, others)


def _add(
    files: dict[str, list[str]], places: dict[str, str], run: str, folder: str, found: list[str]
) -> None:
    if places.setdefault(run, folder) != folder:
        raise UsageError(
            f"two runs are called {run!r}: {places[run]} and {folder}",
            hint="name them apart, e.g. a:first/path b:second/path",
        )
    known = files.setdefault(run, found)
    if known is not found:
        files[run] = known + [path for path in found if path not in known]


def _expand(item: str) -> list[tuple[str | None, str]]:
    """A path, a glob or a `name:path` pair as (name, path); what exists is taken as it is."""
    if not item:
        raise UsageError("got an empty path", hint="give a directory with event files, e.g. runs")
    item = os.path.expanduser(item)
    if os.path.lexists(item):
        if not os.path.exists(item):
            raise SourceError("is a link to nothing", path=item)
        return [(None, item)]
    named = _NAMED.fullmatch(item)
    if named and not (os.name == "nt" and len(named[1]) == 1):
        return [(named[1], path) for _, path in _expand(named[2])]
    if glob.has_magic(item):
        matches = sorted(glob.glob(item, recursive=True))
        chosen = [path for path in matches if os.path.isdir(path) or is_event_file(os.path.basename(path))]
        if chosen:
            return [(None, path) for path in chosen]
        raise SourceError("no directory or event file matches this pattern", path=item)
    try:
        os.stat(item)
    except (FileNotFoundError, ValueError):
        pass
    except OSError as failure:  # a directory above it does not let us look
        reason = (failure.strerror or str(failure)).lower()
        raise SourceError(f"cannot be looked at: {reason}", path=item, hint=_WHO, code="unreadable") from None
    raise SourceError("no such file or directory", path=item, hint=_nearby(item))


def _nearby(path: str) -> str | None:
    import difflib

    parent = Path(path).parent
    if not parent.is_dir():
        while not parent.is_dir() and parent != parent.parent:
            parent = parent.parent
        return f"the nearest directory that exists is {parent.absolute()}"
    close = difflib.get_close_matches(Path(path).name, [other.name for other in parent.iterdir()], n=3)
    return f"close to it: {', '.join(str(parent / name) for name in close)}" if close else None


def _common(paths: list[str]) -> str:
    """The directory that run names are relative to."""
    if not paths:
        return ""
    folders = [
        os.path.abspath(path if os.path.isdir(path) else os.path.dirname(path) or ".") for path in paths
    ]
    try:
        return os.path.commonpath(folders)
    except ValueError as apart:
        raise UsageError(
            "the paths lie on different drives", hint="name them apart, e.g. a:first/path b:second/path"
        ) from apart


def _below(path: str, base: str) -> str:
    """The name of a run: run names use `/` on every system."""
    return os.path.relpath(os.path.abspath(path), base).replace(os.sep, "/")


def _natural(path: str) -> list[tuple[int, int | str]]:
    parts = _DIGITS.split(os.path.basename(path))
    return [(0, int(part)) if part.isdigit() and part.isascii() else (1, part) for part in parts]


def _walk(top: str, problems: list[Problem]) -> Iterator[tuple[str, str, list[str], int]]:
    """Each directory from `top` down: its path, its name below `top`, its event files, and how many others it has.

    Links are followed, but never into where they came from. With thousands of runs this loop is a good part of
    `tbq ls`.
    """
    stack: list[tuple[str, str, tuple[str, ...]]] = [(top.rstrip(os.sep) or top, "", ())]
    while stack:
        folder, below, behind = stack.pop()
        mine: list[str] = []
        others = 0
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    name = entry.name
                    try:
                        inside = entry.is_dir()
                    except OSError:
                        inside = False
                    if not inside:
                        if is_event_file(name):
                            mine.append(entry.path)
                        else:
                            others += 1
                        continue
                    inner = f"{below}/{name}" if below else name
                    if not entry.is_symlink():
                        stack.append((entry.path, inner, behind))
                        continue
                    target, here = os.path.realpath(entry.path), os.path.realpath(folder)
                    if not any(_inside(place, target) for place in (here, *behind)):
                        stack.append((entry.path, inner, (*behind, here)))
        except OSError as failure:
            reason = (failure.strerror or str(failure)).lower()
            problems.append(Problem("unreadable", "error", f"cannot be listed: {reason}", path=folder))
        yield folder, below, mine, others


def _inside(place: str, target: str) -> bool:
    return place == target or place.startswith(target.rstrip(os.sep) + os.sep)


def files_of(runs: Iterable[Run]) -> tuple[list[bytes], list[int]]:
    """The paths as the core takes them, and for each the index of its run."""
    paths: list[bytes] = []
    indices: list[int] = []
    encoding, errors = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()
    for index, run in enumerate(runs):
        for path in run.files:
            paths.append(path.encode(encoding, errors))
            indices.append(index)
    return paths, indices
