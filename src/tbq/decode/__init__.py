"""From runs to columns: one call of the core, with selections compiled and problems collected."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tbq.decode.options import EVERYTHING, ON_ERROR, RESTARTS, DecodeOptions
from tbq.progress import reporting
from tbq.source.discover import Run
from tbq.source.files import below_of, fetch, files_of, metadata_of, ranges_of

if TYPE_CHECKING:
    from tbq._core import Result

__all__ = ["EVERYTHING", "ON_ERROR", "RESTARTS", "DecodeOptions", "cpu_count", "decode"]


def cpu_count() -> int:
    """The number of CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def decode(
    runs: Sequence[Run],
    kinds: Sequence[str],
    options: DecodeOptions,
    inflate: Callable[[bytes], bytes | None],
    session_tables: bool = False,
    verify: bool = False,
    count: bool = False,
) -> Result:
    """Decode the files of these runs and store the rows of `kinds`.

    With `session_tables`, also reports the sessions, and what each logged of each series. With `verify`, checks
    every record, also large ones that are not stored. With `count`, stores nothing: each series
    reports the rows that the restart policy keeps.
    """
    from tbq import _core

    if any(run.remote is not None for run in runs):
        with reporting(options.progress, "fetching") as progress:
            fetch(runs, progress)
    paths, indices, names = files_of(runs)
    select = None if options.tag.everything else options.tag.matches
    first, last = options.steps
    with reporting(options.progress) as progress:
        return _core.decode(
            paths,
            indices,
            list(kinds),
            select,
            first,
            last,
            # The sessions of split runs are runs already.
            "keep" if options.restarts == "split" else options.restarts,
            min(options.threads or cpu_count(), 64),
            options.block,
            options.split,
            options.defer,
            progress,
            inflate,
            session_tables,
            verify,
            count,
            options.general_only,
            options.columns,
            ranges_of(runs),
            metadata_of(runs),
            names,
            below_of(runs),
        )
