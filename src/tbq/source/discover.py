"""Finds runs: each directory with event files is a run, named by its path below the logdir."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tbq.arguments import StrPath, bad
from tbq.errors import SourceError, UsageError
from tbq.problems import Problem
from tbq.source.copies import Copy, without_copies
from tbq.source.formats.interface import Log
from tbq.source.formats.recognise import Place, Recogniser
from tbq.source.formats.translation import Translations
from tbq.source.urls import (
    LAKE,
    common_parts,
    is_remote,
    local_path,
    place_of,
    refuse_remote,
    without_user,
)
from tbq.source.walk import Bounds, Seen, is_event_file, may_be_read, walk
from tbq.text import shown_name, shown_path, with_digits
from tbq.writers import Writers, chosen

if TYPE_CHECKING:
    from tbq.limits import Size
    from tbq.source.remote import Remote
    from tbq.storage import Storage

#: The sources that `tbq.open` accepts.
Source = StrPath | Sequence[StrPath] | Mapping[str, StrPath]

_NAMED = re.compile(r"([^:/\\]+):(.+)", re.DOTALL)
#: The range of all bytes of a file.
WHOLE = (0, 2**64 - 1)

_LFS = b"version https://git-lfs"  # the start of a pointer, which the reader reports as such
_WHO = "check the permissions of the path and of the directories above it: ls -ld"
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


class Run(NamedTuple):
    """A directory of event files; `name` is its path below the logdir, `.` for the logdir itself."""

    name: str
    path: str
    files: list[str]
    ranges: list[tuple[int, int]] | None = None  # the bytes of each file that belong to the run; None for all
    metadata: dict[bytes, bytes] | None = (
        None  # of tags; set if this is a part of a run, and an earlier part had them
    )
    remote: Remote | Translations | None = None  # fetches the files that are URLs or logs of other trackers
    copies: Sequence[Copy] = ()  # files that are not read, because one of `files` has their bytes
    below: frozenset[str] = frozenset()  # the files that lie in its sub-runs
    folded: Sequence[str] = ()  # the names of these sub-runs


class Found(NamedTuple):
    """The contents of some paths: runs by name, and the problems of listing them."""

    paths: list[str]
    runs: list[Run]
    problems: Sequence[Problem] = ()
    others: int = 0  # files that are not event files
    lakes: Sequence[str] = ()  # URLs that are lakes
    remote: Remote | Translations | None = None  # if one of the paths is a URL or a log of another tracker
    notes: Sequence[Problem] = ()  # logs that are not read, because others have their numbers

    @property
    def copies(self) -> list[Copy]:
        """The files of all runs that are not read, because another file has their bytes."""
        return [copy for run in self.runs for copy in run.copies]

    @property
    def folded(self) -> int:
        """How many sub-runs are part of the runs above them."""
        return sum(len(run.folded) for run in self.runs)

    @property
    def notices(self) -> list[Problem]:
        """Everything to report about the runs: what could not be listed, and the copies."""
        return [*self.problems, *self.notes, *(copy.problem() for copy in self.copies)]


def sources(source: object) -> list[tuple[str | None, str]]:
    """The items of a source as (name, path). The name is None if the path determines it.

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


def _path(item: object, want: str) -> str:
    if not isinstance(item, str | bytes | os.PathLike):
        raise bad("path", item, want)
    return without_user(os.fsdecode(item))


def is_lake(path: str) -> bool:
    """Whether a local path names a folder that `tbq sync` created. For URLs, ask `Remote.is_lake`."""
    return not is_remote(path) and os.path.exists(_marker(path))


def refuse_lakes(items: Iterable[tuple[str | None, str]], want: str) -> None:
    """Raise if one of the paths is a lake but event files are needed; `want` says what for."""
    for _, path in items:
        if is_lake(_without_name(path)):
            try:
                with open(_marker(_without_name(path)), "rb") as file:
                    about = file.read()
            except OSError:
                about = b""
            raise _lake_error(path, want, about)


def _lake_error(path: str, want: str, about: bytes) -> UsageError:
    """The error if a path is a lake but event files are needed; `about` is the text of the lake's configuration."""
    import json

    try:
        named = [str(source) for _, source in json.loads(about)["sources"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        named = []
    hint = "name the log directory that the lake was made from"
    if named:
        hint += ": " + " ".join(map(shown_path, named))
    return UsageError(f"is a lake: {want}", path=path, hint=hint)


def _marker(path: str) -> str:
    """The file that marks a folder as a lake."""
    return os.path.join(os.path.expanduser(local_path(path)), *LAKE.split("/"))


def refuse_remote_lakes(found: Found, want: str) -> None:
    """Raise if one of the URLs is a lake but event files are needed; `want` says what for."""
    for url in found.lakes:
        about = found.remote.read_beside(place_of(url).below(LAKE).url, 1 << 20) if found.remote else None
        raise _lake_error(url, want, about or b"")


def refuse_other_files(found: Found) -> None:
    """Raise if one of the paths is a file that is not an event file, by its name and its content.

    A file without content may become one. The reader reports files that it cannot open, and Git-LFS pointers.
    """
    for path in found.paths:
        if is_remote(path) or is_event_file(os.path.basename(path)) or not os.path.isfile(path):
            continue
        if any(run.remote is not None and any(map(run.remote.has, run.files)) for run in found.runs):
            continue
        from tbq._core import RecordFile, is_compressed

        raw = os.fsencode(path)
        try:
            with open(path, "rb") as file:
                is_known = file.read(len(_LFS)) in (b"", _LFS) or is_compressed(raw)
            if is_known or RecordFile(raw).records(1):
                continue
        except OSError:
            continue
        from tbq.source.nearby import hint_for

        hint = hint_for(path) or "name a directory with event files, or an event file"
        raise SourceError("is not an event file: it holds no record", path=path, hint=hint, code="not_events")


def discover(
    source: Source, remote: Remote | None = None, logs: Logs | None = None, bounds: Bounds | None = None
) -> Found:
    """Find the runs in a directory, a file, a glob, a `name:path` pair, a list of those, or {name: path}."""
    return find(sources(source), remote=remote, logs=logs, bounds=bounds)


def find(
    items: Sequence[tuple[str | None, str]],
    watched: list[str] | None = None,
    remote: Remote | None = None,
    logs: Logs | None = None,
    bounds: Bounds | None = None,
) -> Found:
    """Find the runs below paths, in each within `bounds`. Each path comes with the name for its runs, or None.

    Every directory is at most one run, even if several links lead to it. It is named by its path without links, else by
    the link with the fewest path parts, then by the first in order.

    A path that does not exist is an error, unless `watched` is passed: then the path has no runs yet, and every listed
    directory is added to `watched`. `remote` looks up URLs; without it, one is created here if needed.
    """
    if not items:
        raise UsageError("no path was given", hint="give a directory with event files, e.g. runs")
    if remote is None:
        remote = remote_for(items)
    if logs is None:
        logs = Logs(remote)
    roots: list[tuple[str | None, str]] = []
    absent: list[str] = []
    for alias, item in items:
        try:
            roots += [(alias or name, path) for name, path in _expand(item, remote, watched is None)]
        except SourceError as nothing:
            if watched is None or nothing.code in ("remote", "denied", "cache"):
                raise
            if is_remote(item):
                absent.append(place_of(item).url)
            elif (
                alias is None and not glob.has_magic(item) and (not _NAMED.fullmatch(item) or _is_drive(item))
            ):
                absent.append(os.path.expanduser(local_path(item)))
    problems: list[Problem] = []
    others = 0
    files: dict[str, list[str]] = {}
    places: dict[str, str] = {}
    base = _common([path for name, path in roots if name is None], absent, remote)
    together = Seen(several=len(roots) > 1)  # shared by the paths without a name of their own
    seen: set[str] = set()  # the same for URLs
    lakes: list[str] = []
    candidates: list[Place] = []
    logs.recogniser.begin()
    for name, path in roots:
        prefix = name if name is not None else _below(path, base)
        is_url = remote is not None and is_remote(path)
        if remote.is_file(path) if remote is not None and is_url else not os.path.isdir(path):
            run = prefix if name is not None else _below(os.path.dirname(path) or ".", base)
            if not is_url and logs.recogniser.of_file(path):
                candidates.append(Place(run, os.path.dirname(path), [path], False))
                continue
            _add(files, places, run, os.path.dirname(path), [path])
            if remote is not None and is_url:
                remote.file(path)
            continue
        if remote is not None and is_url and remote.is_lake(path):
            lakes.append(path)
            continue
        prefix = "" if prefix == "." else prefix
        possible: dict[str, list[str]] = {}
        tree = (
            remote.walk(path, seen if name is None else set())
            if remote is not None and is_url
            else walk(path, problems, Seen() if name is not None else together, possible, bounds)
        )
        for folder, below, event_files, rest in tree:
            others += rest
            if watched is not None and not is_url:
                watched.append(folder)
            if event_files or folder in possible:
                run = f"{prefix}/{below}" if prefix and below else prefix or below or "."
                if not logs.has_events:
                    event_files = []
                if folder in possible or event_files:
                    candidates.append(Place(run, folder, possible.get(folder, []), bool(event_files)))
                if event_files:
                    _add(files, places, run, folder, event_files)
    runs = logs.runs(candidates, files)
    problems += logs.recogniser.problems
    if watched is not None:
        watched += logs.recogniser.watched
    logged = bool(runs)
    for name, event_files in files.items():
        copies: list[Copy] = []
        if len(event_files) > 1:
            event_files, copies = without_copies(_shown(name), sorted(event_files, key=_by_name), remote)
        runs.append(Run(_shown(name), places[name], event_files, remote=remote, copies=copies))
    runs.sort()
    if remote is not None:
        problems += remote.problems
    fetched = logs.translations if logged else remote
    if logged and remote is not None:
        runs = [run._replace(remote=fetched) for run in runs]
    return Found([path for _, path in roots], runs, problems, others, lakes, fetched, logs.recogniser.notes)


class Logs:
    """The logs of other trackers among the files of a source. Kept by callers that search again."""

    def __init__(
        self,
        remote: Remote | None = None,
        source: Writers = None,
        max_unpacked: Size | None = None,
        exact: bool = True,
    ) -> None:
        writers = chosen(source)
        self.has_events = "events" in writers
        self.recogniser = Recogniser(writers)
        self.translations = Translations(remote, max_unpacked, exact)

    def runs(self, candidates: Sequence[Place], files: Mapping[str, object]) -> list[Run]:
        """The runs of the logs among these files. None has the name of a run with event files."""
        if all(not place.files for place in candidates):
            return []
        runs: list[Run] = []
        by_name: dict[str, Log] = {}
        places_of_runs: dict[str, int] = {}
        for name, folder, log, share in self.recogniser.found(candidates):
            path = self.translations.add(log, share)
            same = by_name.get(name)
            if (
                same is not None
                and log.key
                and same.key == log.key
                and same.writer == log.writer == "neptune"
            ):
                runs[places_of_runs[name]].files.append(path)  # another part of the export
                continue
            for mark in (log.unique or log.key[:8] or log.writer, log.writer, log.name):
                if name not in files and name not in by_name:
                    break
                name = f"{name}-{mark}"
            by_name[name] = log
            places_of_runs[name] = len(runs)
            runs.append(Run(_shown(name), folder, [path], remote=self.translations))
        return runs


def _shown(name: str) -> str:
    return name if name.isascii() and "\\" not in name else shown_name(name)


def _add(files: dict[str, list[str]], places: dict[str, str], run: str, folder: str, more: list[str]) -> None:
    if places.setdefault(run, folder) != folder:
        raise UsageError(
            f"two runs are called {_shown(run)!r}: {shown_path(places[run])} and {shown_path(folder)}",
            hint="give them names, e.g. a:first/path b:second/path",
        )
    known = files.setdefault(run, more)
    if known is not more:
        files[run] = known + [path for path in more if path not in known]


def any_remote(source: Source) -> bool:
    """Whether a source has a URL of a store."""
    return any(is_remote(_without_name(item)) for _, item in sources(source))


def remote_for(
    items: Sequence[tuple[str | None, str]],
    storage: Storage | None = None,
    cache: StrPath | None = None,
    live: bool = False,
) -> Remote | None:
    """A `Remote` to look up the URLs among these paths. None if there are no URLs; then nothing is imported."""
    if not any(is_remote(_without_name(item)) for _, item in items):
        return None
    from tbq.source.remote import Remote

    return Remote(storage, cache, live)


def _without_name(item: str) -> str:
    """The path of a `name:path` pair, else the path."""
    named = _NAMED.fullmatch(item) if not is_remote(item) else None
    return named[2] if named and not os.path.lexists(item) else item


def places_of(item: str) -> list[str]:
    """The local paths that an item may mean: itself and, if it is a `name:path` pair, the path in it.

    >>> places_of("a:/data/runs"), places_of("s3://bucket/runs")
    (['a:/data/runs', '/data/runs'], [])
    """
    if is_remote(item):
        return []
    named = _NAMED.fullmatch(item)
    place = os.path.expanduser(local_path(item))
    return [place, *(places_of(named[2]) if named and place == item else [])]


def absolute(name: str | None, item: str) -> tuple[str | None, str]:
    """A path, a glob or a `name:path` pair as (name, path) that means the same in every working directory."""
    if is_remote(item):
        return name, item
    path = os.path.expanduser(local_path(item))
    named = _NAMED.fullmatch(path)
    if os.path.lexists(path):
        return name, os.path.abspath(path)
    if named and not _is_drive(path):
        return absolute(name or named[1], named[2])
    if glob.has_magic(path) and not os.path.isabs(path):  # the working directory is not part of the pattern
        return name, os.path.join(glob.escape(os.getcwd()), path)
    return name, os.path.abspath(path) if path else path


def _expand(item: str, remote: Remote | None = None, searching: bool = True) -> list[tuple[str | None, str]]:
    """A path, a glob or a `name:path` pair as (name, path). A path that exists is taken literally.

    `searching`: the error for a path that does not exist says what is near it.
    """
    if not item:
        raise UsageError("got an empty path", hint="give a directory with event files, e.g. runs")
    if remote is not None and is_remote(item):
        return [(None, url) for url in remote.expand(item)]
    item = os.path.expanduser(local_path(item))
    if os.path.lexists(item):
        if not os.path.exists(item):
            raise SourceError("is a broken link", path=item)
        return [(None, item)]
    refuse_remote(item)
    named = _NAMED.fullmatch(item)
    if named and not _is_drive(item):
        return [(named[1], path) for _, path in _expand(named[2], remote, searching)]
    if glob.has_magic(item):
        matches = sorted(glob.glob(item, recursive=True))
        kept = [path for path in matches if os.path.isdir(path) or may_be_read(os.path.basename(path))]
        if kept:
            return [(None, path) for path in kept]
        raise SourceError("no directory or event file matches this pattern", path=item)
    try:
        os.stat(item)
    except (FileNotFoundError, ValueError):
        pass
    except OSError as failure:  # a directory above it denies access
        reason = (failure.strerror or str(failure)).lower()
        raise SourceError(f"cannot be accessed: {reason}", path=item, hint=_WHO, code="unreadable") from None
    from tbq.source.nearby import hint_for

    raise SourceError("no such file or directory", path=item, hint=hint_for(item) if searching else None)


def _is_drive(item: str) -> bool:
    """Whether this is a path on a Windows drive, and not a run called `C`."""
    if _DRIVE.match(item) is None:
        return False
    # On other systems `a:/data/runs` names a run, if /data/runs exists.
    return os.name == "nt" or item[2] == "\\" or not (os.path.lexists(item[2:]) or glob.glob(item[2:]))


def _common(paths: list[str], absent: Sequence[str] = (), remote: Remote | None = None) -> str:
    """The directory that run names are relative to. A path that does not exist yet is assumed to be a directory."""
    if not paths:
        return ""
    if remote is not None and any(map(is_remote, paths)):
        return _common_url(
            [os.path.dirname(path) if is_remote(path) and remote.is_file(path) else path for path in paths]
            + list(absent)
        )
    folders = [
        os.path.abspath(path if os.path.isdir(path) else os.path.dirname(path) or ".") for path in paths
    ] + [os.path.abspath(path) for path in absent]
    try:
        return os.path.commonpath(folders)
    except ValueError as error:
        raise UsageError(
            "the paths lie on different drives", hint="give them names, e.g. a:first/path b:second/path"
        ) from error


def _common_url(urls: list[str]) -> str:
    """The URL above all of these: a directory, a bucket or, for several buckets, only `s3://`."""
    parts = [[place.store, *place.key.split("/")] for place in map(place_of, filter(is_remote, urls))]
    schemes = {store.partition("://")[0] for store, *_ in parts}
    if len(parts) < len(urls) or len(schemes) > 1:
        raise UsageError(
            "the paths lie in different stores", hint="give them names, e.g. a:first/path b:s3://bucket/path"
        )
    shared = common_parts(parts)
    return "/".join(shared).rstrip("/") if shared else f"{schemes.pop()}://"


def _below(path: str, base: str) -> str:
    """The name of a run: run names use `/` on every system."""
    if is_remote(path):
        return path[len(base) :].strip("/") or "."
    return os.path.relpath(os.path.abspath(path), base).replace(os.sep, "/")


def _by_name(path: str) -> list[tuple[int, int, str]]:
    return with_digits(os.path.basename(place_of(path).key if is_remote(path) else path))
