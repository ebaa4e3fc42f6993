"""`tbq.open`: opens the log at a path, or at several."""

from __future__ import annotations

import weakref
from functools import partial
from typing import TYPE_CHECKING, get_args

from tbq.arguments import choice
from tbq.decode.reader import Reader
from tbq.decode.sub_runs import SubRunsAs, fold
from tbq.errors import SourceError, UsageError, warn
from tbq.logdir import LogDir
from tbq.problems import notices
from tbq.source.discover import (
    Found,
    Logs,
    find,
    is_lake,
    refuse_lakes,
    refuse_other_files,
    remote_for,
    sources,
)
from tbq.source.inflate import Unpacked
from tbq.source.urls import is_remote
from tbq.text import shown_path

if TYPE_CHECKING:
    from tbq.arguments import StrPath
    from tbq.limits import Size
    from tbq.results.as_events import MetricsAsEvents
    from tbq.source.discover import Source
    from tbq.source.merge import Merging
    from tbq.storage import Storage
    from tbq.writers import Writers

# The extensions of metrics files: without any, the code that reads them is not imported.
_METRICS = (".csv", ".tsv", ".json", ".jsonl", ".parquet", ".log")


def open(  # noqa: A001 - tbq.open, as users read it
    path: Source,
    *,
    merge_runs: Merging | None = None,
    max_unpacked: Size | None = None,
    storage: Storage | None = None,
    cache: StrPath | None = None,
    sub_runs: SubRunsAs = "fold",
    source: Writers = None,
) -> LogDir:
    """Find event files below a directory; or open a file, a glob, `name:path`, a list of those, or {name: path}.

    Decodes nothing else before you ask for a table. A metrics file (Keras' or Lightning's CSV, `trainer_state.json`
    and others that `tbq.results.metrics` reads) opens too if you name it itself.
    So does a lake that `tbq.lake.sync` made.

    `merge_runs` merges several runs into one: `{"job": ["job1", "job2"]}`, or all runs with the same name in the first
    brackets of a `re:` expression (`merge_runs=r"re:(.*)/version_\\d+"`).

    `max_unpacked` limits the unpacked size of a compressed event file, in bytes or with a unit ("4GB"); the default is
    a hundred times its size, and 256 MiB more for all of them. tbq does not read past the limit, and adds a problem.

    A path may be a URL: `s3://`, `gs://`, `az://`, `http://`, `https://`, `file://`. `storage` sets the store's options
    by name ({"aws_region": "eu-west-1"}); tbq fetches objects when needed, and keeps them in the folder `cache`.

    A directory below a run with nothing but hyperparameters and final metrics, as `add_hparams` of torch and
    tensorboardX makes it, is part of that run; with `sub_runs="keep"` it is its own run. tbq decodes small runs below
    other runs to find out.

    Logs of other trackers are runs too: those of W&B, MLflow, trackio, Lightning, Keras, Hugging Face, Ray, Ultralytics
    and Neptune, and the CSV and JSON lines of other training loops. tbq recognises them by their content; `source`
    limits the runs to those of one writer ("events" for event files, "wandb", "mlflow", …) or of several.

    >>> tbq.open("runs")
    <tbq.LogDir 'runs': 9 runs, 10 files>
    """
    unpacked = Unpacked(max_unpacked)
    named = sources(path)
    if len(named) == 1 and merge_runs is None and is_lake(named[0][1]):
        from tbq.lake.opening import open as open_lake

        return _with_lakes_sub_runs(open_lake(named[0][1]), sub_runs)
    refuse_lakes(named, "open it alone, without a name and without merge_runs")
    metrics = _metrics_as_events(named)
    remote = remote_for(named, storage, cache)
    logs = Logs(remote, source, max_unpacked)
    listing = find(named if metrics is None else sources(metrics.paths), remote=remote, logs=logs)
    refuse_other_files(listing)
    if not listing.runs:
        lake = _remote_lake(named, storage) if merge_runs is None else None
        if lake is None:
            raise _nothing(listing)
        return _with_lakes_sub_runs(lake, sub_runs)
    listing = fold(listing, unpacked, sub_runs)
    if merge_runs is not None:
        from tbq.source.merge import merge_runs as merge

        listing = merge(listing, merge_runs)
    for line in notices(listing.notices):
        warn(line)
    reopen = (
        None
        if metrics is None
        else partial(
            open,
            path,
            merge_runs=merge_runs,
            max_unpacked=max_unpacked,
            storage=storage,
            cache=cache,
            sub_runs=sub_runs,
            source=source,
        )
    )
    log = LogDir(Reader(listing, unpacked), reopen)
    if metrics is not None:
        weakref.finalize(log, metrics.remove)
    return log


def _with_lakes_sub_runs(lake: LogDir, sub_runs: SubRunsAs) -> LogDir:
    """The lake; raises if it cannot show sub-runs as asked, because it was not made so."""
    choice("sub_runs", sub_runs, get_args(SubRunsAs))
    if sub_runs == "keep":
        raise UsageError(
            "sub_runs='keep' is for event files: a lake has the runs that it was made with",
            path=lake.path,
            hint="tbq.lake.sync(…, sub_runs='keep'), tbq sync --sub-runs keep",
        )
    return lake


def _remote_lake(named: list[tuple[str | None, str]], storage: Storage | None) -> LogDir | None:
    """The lake at a URL without event files; None if the URL is not a lake."""
    if len(named) != 1 or not is_remote(named[0][1]) or named[0][1].lower().startswith("http"):
        return None
    from tbq.lake.layout import read_config
    from tbq.lake.location import can_be_lake, location_of
    from tbq.lake.opening import open_location

    if not can_be_lake(named[0][1]):
        return None
    place = location_of(named[0][1], storage)
    return open_location(place) if read_config(place) is not None else None


def _metrics_as_events(named: list[tuple[str | None, str]]) -> MetricsAsEvents | None:
    """The source with each metrics file replaced; None without metrics files."""
    if not any(path.lower().endswith(_METRICS) for _, path in named):
        return None
    from tbq.results.as_events import MetricsAsEvents

    return MetricsAsEvents.of(named)


def _nothing(listing: Found) -> SourceError:
    path = ", ".join(map(shown_path, listing.paths))
    unreadable = next(iter(listing.problems), None)
    if unreadable is not None:
        return SourceError(unreadable.message, path=unreadable.path, code="unreadable")
    files = (
        f"none of its {listing.others:,} files is one" if listing.others > 1 else "its one file is not one"
    )
    what = files if listing.others else "it contains no files"
    return SourceError(
        f"no event files here: {what}",
        path=path,
        hint=_hint(listing.paths),
        code="no_event_files",
    )


def _hint(paths: list[str]) -> str:
    """Directories with event files near the only path; otherwise, how to recognise event files."""
    from tbq.source.nearby import hint_for

    if any(map(is_remote, paths)):
        local = "logs of other trackers are read from this machine only: copy them"
        return f"event files have 'tfevents' in their name; {local}"
    near = hint_for(paths[0]) if len(paths) == 1 else None
    return (
        near
        or "event files have 'tfevents' in their name; print the writer's absolute log_dir, and look there"
    )
