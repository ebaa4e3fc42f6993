"""`tbq.open`: the log that lies at a path, or at several."""

from __future__ import annotations

import weakref
from functools import partial
from typing import TYPE_CHECKING

from tbq.decode.reader import Reader
from tbq.errors import SourceError, warn
from tbq.logdir import LogDir
from tbq.source.discover import Found, discover, find, is_lake, refuse_lakes, remote_for, sources
from tbq.source.inflate import Unpacked
from tbq.source.urls import is_remote
from tbq.text import shown_path

if TYPE_CHECKING:
    from tbq.arguments import StrPath
    from tbq.limits import Size
    from tbq.results.opened import MetricsAsEvents
    from tbq.source.discover import Source
    from tbq.source.merge import Merging
    from tbq.storage import Storage

# The endings of files of metrics: if there is none, the code that reads them is not imported.
_METRICS = (".csv", ".tsv", ".json", ".jsonl", ".parquet", ".log")


def open(  # noqa: A001 - tbq.open, as users read it
    path: Source,
    *,
    merge_runs: Merging | None = None,
    max_unpacked: Size | None = None,
    storage: Storage | None = None,
    cache: StrPath | None = None,
) -> LogDir:
    """Look for event files below a directory; or take a file, a glob, `name:path`, a list of those, or {name: path}.

    Nothing is decoded before a table is asked for. A file of metrics (Keras' or Lightning's CSV, `trainer_state.json`
    and others that `tbq.results.metrics` reads) is taken too if it is named itself.
    So is a lake that `tbq.lake.sync` made.

    `merge_runs` makes one run of several: `{"job": ["job1", "job2"]}`, or all that a `re:` expression gives the same
    name in its first brackets (`merge_runs=r"re:(.*)/version_\\d+"`).

    `max_unpacked` is the most that a compressed event file may unpack to, in bytes or with a unit ("4GB"); without it
    a hundred times its size, and 256 MiB more for all of them. What is past that is not read, and is in `problems`.

    A path may be a URL: `s3://`, `gs://`, `az://`, `http://`, `https://`, `file://`. `storage` has options of the store
    by name ({"aws_region": "eu-west-1"}); objects are fetched when they are needed, and kept in the folder `cache`.

    >>> tbq.open("runs")
    <tbq.LogDir 'runs': 9 runs, 10 files>
    """
    unpacked = Unpacked(max_unpacked)
    named = sources(path)
    if len(named) == 1 and merge_runs is None and is_lake(named[0][1]):
        from tbq.lake.opened import open as open_lake

        return open_lake(named[0][1])
    refuse_lakes(named, "it is opened alone, without a name and without merge_runs")
    metrics = _metrics_as_events(named)
    remote = remote_for(named, storage, cache)
    found = find(named, remote=remote) if metrics is None else discover(metrics.paths, remote)
    if not found.runs:
        lake = _remote_lake(named, storage) if merge_runs is None else None
        if lake is None:
            raise _nothing(found)
        return lake
    if merge_runs is not None:
        from tbq.source.merge import merge_runs as merge

        found = merge(found, merge_runs)
    for problem in found.notices:
        warn(str(problem))
    reopen = (
        None
        if metrics is None
        else partial(
            open, path, merge_runs=merge_runs, max_unpacked=max_unpacked, storage=storage, cache=cache
        )
    )
    log = LogDir(Reader(found, unpacked), reopen)
    if metrics is not None:
        weakref.finalize(log, metrics.remove)
    return log


def _remote_lake(named: list[tuple[str | None, str]], storage: Storage | None) -> LogDir | None:
    """The lake at a URL that has no event files; None if it is not one."""
    if len(named) != 1 or not is_remote(named[0][1]) or named[0][1].lower().startswith("http"):
        return None
    from tbq.lake.layout import read_config
    from tbq.lake.opened import open_place
    from tbq.lake.place import can_be_lake, place_of

    if not can_be_lake(named[0][1]):
        return None
    place = place_of(named[0][1], storage)
    return open_place(place) if read_config(place) is not None else None


def _metrics_as_events(named: list[tuple[str | None, str]]) -> MetricsAsEvents | None:
    """The source with each file of metrics replaced; None if there is none."""
    if not any(path.lower().endswith(_METRICS) for _, path in named):
        return None
    from tbq.results.opened import MetricsAsEvents

    return MetricsAsEvents.of(named)


def _nothing(found: Found) -> SourceError:
    path = ", ".join(map(shown_path, found.paths))
    unreadable = next(iter(found.problems), None)
    if unreadable is not None:
        return SourceError(unreadable.message, path=unreadable.path, code="unreadable")
    others = f"none of its {found.others:,} files is one" if found.others > 1 else "its one file is not one"
    what = others if found.others else "it contains no files"
    return SourceError(
        f"no event files here: {what}",
        path=path,
        hint="event files have 'tfevents' in their name; `tbq doctor` looks for them nearby",
        code="no_event_files",
    )
