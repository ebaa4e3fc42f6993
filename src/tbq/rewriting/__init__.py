"""Rewriting logs: merge, repair, prune, rename and thin event files, and lose nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tbq.rewriting.options import RewriteOptions
from tbq.rewriting.report import Rewritten, RunReport

if TYPE_CHECKING:
    import os

    from tbq.arguments import StrPath
    from tbq.limits import Size
    from tbq.progress import Progress
    from tbq.rewriting.options import Restarts
    from tbq.select import Names, Steps
    from tbq.source.discover import Source
    from tbq.source.merge import Merging
    from tbq.storage import Storage

__all__ = ["Rewritten", "RunReport", "rewrite"]


def rewrite(
    source: Source,
    out: str | os.PathLike[str],
    *,
    repair: bool = False,
    drop_tag: Names = None,
    keep_tag: Names = None,
    drop_kind: str | Sequence[str] = (),
    rename: Mapping[str, str] | None = None,
    rename_run: Mapping[str, str] | None = None,
    steps: Steps = None,
    every: int = 1,
    max_points: int | None = None,
    restarts: Restarts = "keep",
    offset_steps: int = 0,
    merge_runs: Merging | None = None,
    flatten_hparams: bool = False,
    dry_run: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
    max_unpacked: Size | None = None,
    storage: Storage | None = None,
    cache: StrPath | None = None,
) -> Rewritten:
    """Write the runs of `source` to the new directory `out`, one event file per run.

    Without options every record is copied byte for byte; the files of a run are joined in the order of their
    sessions. `out` must not exist; it appears only when all of it is written.

    - `repair` skips damage, which is otherwise an error, and reports what was lost.
    - `drop_tag`, `keep_tag` take names, globs, `re:` expressions or lists; `drop_kind` takes kinds as in
      `tbq tags`, a list or with commas.
    - `rename` and `rename_run` map old names to new ones; an old name `re:…` may use groups: `{"re:(.*)_x": r"x/\\1"}`.
    - `steps` (both ends included), `every`, `max_points` and `restarts="resume"` drop values, but never what
      describes a run (hparams, graphs, layouts); `offset_steps` is added to each remaining step.
    - `merge_runs` maps a new name to the runs to merge, as in `tbq.open`; `flatten_hparams` folds `add_hparams`
      sub-runs into the run above them.
    - `dry_run` writes nothing and reports what would change. `threads` is for reading the source; writing uses
      one. `max_unpacked`, `storage` and `cache` are as in `tbq.open`.

    >>> print(tbq.rewrite("runs", "clean", drop_kind="images", restarts="resume"))
    wrote clean: 9 files from 10, ...
    """
    from tbq.arguments import path
    from tbq.errors import OutputError
    from tbq.progress import reporting
    from tbq.rewriting.execute import execute
    from tbq.source.urls import refuse_remote

    out = path("out", out)
    refuse_remote(out, OutputError)

    options = RewriteOptions.of(
        repair=repair,
        drop_tag=drop_tag,
        keep_tag=keep_tag,
        drop_kind=drop_kind,
        rename=rename,
        rename_run=rename_run,
        steps=steps,
        every=every,
        max_points=max_points,
        restarts=restarts,
        offset_steps=offset_steps,
        merge_runs=merge_runs,
        flatten_hparams=flatten_hparams,
        dry_run=dry_run,
    )
    with reporting(progress, "rewriting") as call:
        report = execute(source, out, options, threads, call, max_unpacked, storage, cache)
        if call is not None:
            call(report.bytes_in, report.bytes_in, len(report.runs), len(report.runs))
    return report
