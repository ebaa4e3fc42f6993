"""Finding runs: each directory with event files is one, named by its path below the logdir."""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tbq.arguments import StrPath, bad
from tbq.errors import SourceError, UsageError
from tbq.problems import Problem
from tbq.source.remote import refuse_remote
from tbq.source.walk import Seen, is_event_file, walk
from tbq.text import natural, shown_name, shown_path

#: What `tbq.open` takes.
Source = StrPath | Sequence[StrPath] | Mapping[str, StrPath]

_NAMED = re.compile(r"([^:/\\]+):(.+)", re.DOTALL)
#: The range of all bytes of a file.
WHOLE = (0, 2**64 - 1)

_WHO = "see who may read it, and the directories above it: ls -ld"
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


class Run(NamedTuple):
    """A directory of event files; `name` is its path below the logdir, `.` for the logdir itself."""

    name: str
    path: str
    files: list[str]
    ranges: list[tuple[int, int]] | None = None  # the bytes of each file that belong to it, None for all
    metadata: dict[bytes, bytes] | None = (
        None  # of tags, if it is only a part of a run that may say it elsewhere
    )


@dataclass(frozen=True)
class Found:
    """What lies below the paths that were given: runs by name, and what could not be listed."""

    paths: list[str]
    runs: list[Run]
    problems: list[Problem] = field(default_factory=list)
    others: int = 0  # files that are not event files


def sources(source: object) -> list[tuple[str | None, str]]:
    """What was given to open, as (name, path): the name is None if the path determines it.

    >>> sources({"a": "runs"}), sources(["runs", "more"])
    ([('a', 'runs')], [(None, 'runs'), (None, 'more')])
    """
    want = "a path, a list of paths, or {name: path}"
    if isinstance(source, str | bytes | os.PathLike):
        return [(None, _path(source, want))]
    if isinstance(source, Mapping):
        for name in source:
            if not isinstance(name, str) or not name:
                raise bad("path", name, "names of runs, as text, for the keys")
        return [(name, _path(path, want)) for name, path in source.items()]
    if not isinstance(source, Iterable):
        raise bad("path", source, want)
    return [(None, _path(path, want)) for path in source]


def _path(given: object, want: str) -> str:
    if not isinstance(given, str | bytes | os.PathLike):
        raise bad("path", given, want)
    return os.fsdecode(given)


def discover(source: Source) -> Found:
    """Find the runs in a directory, a file, a glob, a `name:path` pair, a list of those, or {name: path}."""
    return find(sources(source))


def find(items: Sequence[tuple[str | None, str]], watched: list[str] | None = None) -> Found:
    """Find the runs below paths, each with the name that its runs shall have, or None.

    Every directory is one run at most, whatever links lead to it: by the name without a link, else by the name that
    comes first, those with fewer folders before those with more.

    A path that leads nowhere is an error, unless `watched` is given: then it has no runs yet, and every directory that
    was listed is added to `watched`.
    """
    if not items:
        raise UsageError("no path was given", hint="give a directory with event files, e.g. runs")
    roots: list[tuple[str | None, str]] = []
    absent: list[str] = []
    for given, item in items:
        try:
            roots += [(given or name, path) for name, path in _expand(item)]
        except SourceError as nothing:
            if watched is None or nothing.code == "remote":
                raise
            if given is None and not glob.has_magic(item) and (not _NAMED.fullmatch(item) or _is_drive(item)):
                absent.append(os.path.expanduser(item))
    problems: list[Problem] = []
    others = 0
    files: dict[str, list[str]] = {}
    places: dict[str, str] = {}
    base = _common([path for name, path in roots if name is None], absent)
    together = Seen(several=len(roots) > 1)  # paths that were not named apart share their directories
    for name, path in roots:
        prefix = name if name is not None else _below(path, base)
        if not os.path.isdir(path):
            run = prefix if name is not None else _below(os.path.dirname(path) or ".", base)
            _add(files, places, run, os.path.dirname(path), [path])
            continue
        prefix = "" if prefix == "." else prefix
        for folder, below, event_files, rest in walk(
            path, problems, Seen() if name is not None else together
        ):
            others += rest
            if watched is not None:
                watched.append(folder)
            if event_files:
                run = f"{prefix}/{below}" if prefix and below else prefix or below or "."
                _add(files, places, run, folder, event_files)
    runs = sorted(
        Run(
            _shown(name),
            places[name],
            event_files if len(event_files) == 1 else sorted(event_files, key=_by_name),
        )
        for name, event_files in files.items()
    )
    return Found([path for _, path in roots], runs, problems, others)


def _shown(name: str) -> str:
    return name if name.isascii() and "\\" not in name else shown_name(name)


def _add(files: dict[str, list[str]], places: dict[str, str], run: str, folder: str, more: list[str]) -> None:
    if places.setdefault(run, folder) != folder:
        raise UsageError(
            f"two runs are called {_shown(run)!r}: {shown_path(places[run])} and {shown_path(folder)}",
            hint="name them apart, e.g. a:first/path b:second/path",
        )
    known = files.setdefault(run, more)
    if known is not more:
        files[run] = known + [path for path in more if path not in known]


def _expand(item: str) -> list[tuple[str | None, str]]:
    """A path, a glob or a `name:path` pair as (name, path); what exists is taken as it is."""
    if not item:
        raise UsageError("got an empty path", hint="give a directory with event files, e.g. runs")
    item = os.path.expanduser(item)
    if os.path.lexists(item):
        if not os.path.exists(item):
            raise SourceError("is a link to nothing", path=item)
        return [(None, item)]
    refuse_remote(item)
    named = _NAMED.fullmatch(item)
    if named and not _is_drive(item):
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


def _is_drive(item: str) -> bool:
    """Whether this is a path on a drive of Windows, and not a run called `C`."""
    if _DRIVE.match(item) is None:
        return False
    # Elsewhere `a:/data/runs` names a run, if there is such a path.
    return os.name == "nt" or item[2] == "\\" or not (os.path.lexists(item[2:]) or glob.glob(item[2:]))


def _nearby(path: str) -> str | None:
    import difflib

    parent = Path(path).parent
    if not parent.is_dir():
        while not parent.is_dir() and parent != parent.parent:
            parent = parent.parent
        return f"the nearest directory that exists is {shown_path(parent.absolute())}"
    try:
        there = [other.name for other in parent.iterdir()]
    except OSError:
        return None
    close = difflib.get_close_matches(Path(path).name, there, n=3)
    return f"close to it: {', '.join(shown_path(parent / name) for name in close)}" if close else None


def _common(paths: list[str], absent: Sequence[str] = ()) -> str:
    """The directory that run names are relative to; what is not there yet is expected to be a directory."""
    if not paths:
        return ""
    folders = [
        os.path.abspath(path if os.path.isdir(path) else os.path.dirname(path) or ".") for path in paths
    ] + [os.path.abspath(path) for path in absent]
    try:
        return os.path.commonpath(folders)
    except ValueError as apart:
        raise UsageError(
            "the paths lie on different drives", hint="name them apart, e.g. a:first/path b:second/path"
        ) from apart


def _below(path: str, base: str) -> str:
    """The name of a run: run names use `/` on every system."""
    return os.path.relpath(os.path.abspath(path), base).replace(os.sep, "/")


def _by_name(path: str) -> list[tuple[int, int, str]]:
    return natural(os.path.basename(path))


def ranges_of(runs: Iterable[Run]) -> list[tuple[int, int]] | None:
    """The bytes of each file that are read; None if all are."""
    listed = list(runs)
    if all(run.ranges is None for run in listed):
        return None
    return [each for run in listed for each in run.ranges or [WHOLE] * len(run.files)]


def metadata_of(runs: Iterable[Run]) -> list[dict[bytes, bytes] | None] | None:
    """What is known of the tags of each run from elsewhere; None if that is nothing."""
    listed = [run.metadata for run in runs]
    return listed if any(listed) else None


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
