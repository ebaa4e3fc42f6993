"""`tbq watch`: a log directory live in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.errors import UsageError, missing

if TYPE_CHECKING:
    from tbq.arguments import StrPath
    from tbq.decode.options import Restarts
    from tbq.decode.sub_runs import SubRunsAs
    from tbq.limits import Size
    from tbq.select import Names, Steps
    from tbq.source.discover import Source
    from tbq.storage import Storage

INTERVAL = 1.0  # seconds between two polls


def watch(
    path: Source,
    *,
    run: Names = None,
    tag: Names = None,
    steps: Steps = None,
    restarts: Restarts = "resume",
    interval: float | None = None,
    smooth: float = 0.0,
    stalled_after: float | None = None,
    threads: int | None = None,
    max_unpacked: Size | None = None,
    storage: Storage | None = None,
    cache: StrPath | None = None,
    sub_runs: SubRunsAs = "fold",
) -> None:
    """Show a log directory full screen in the terminal while it grows, until the user presses `q`.

    `path`, `run`, `tag`, `steps`, `restarts` and `threads` are those of `tbq.follow`; `interval` is in
    seconds (default: 1, or 30 for URLs). `storage`, `cache` and `sub_runs` are those of `tbq.open`.
    `smooth` is TensorBoard's weight at the start. A run counts as stalled after `stalled_after` seconds without data
    (default: 120, or 20 times its usual pause if that is more).

    >>> tbq.watch("runs", tag="val/*", smooth=0.6)  # doctest: +SKIP
    """
    import importlib.util
    import sys

    if importlib.util.find_spec("textual") is None:
        raise missing("textual", needed_for="tbq watch", extra="watch")
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):  # Textual draws on stderr
        raise UsageError(
            "tbq watch needs a terminal, without redirected input or output",
            hint="for a pipe or a file: tbq follow, tbq export",
        )
    from tbq.dashboard.feed import Feed
    from tbq.following.follower import follow
    from tbq.source.discover import any_remote

    if interval is None and not any_remote(path):
        interval = INTERVAL
    with follow(
        path, run=run, tag=tag, steps=steps, restarts=restarts, interval=interval, threads=threads,
        on_error="ignore", max_unpacked=max_unpacked, kinds=["scalars", "images", "texts", "histograms", "hparams"],
        storage=storage, cache=cache, sub_runs=sub_runs,
    ) as follower:  # fmt: skip
        shown = follower.path
        feed = Feed(follower)
        feed.start()
        from tbq.dashboard.graphics import asked

        with asked() as graphics:
            # Takes a while; meanwhile the feed reads the log and the terminal answers.
            from tbq.dashboard.app import WatchApp
            from tbq.dashboard.model import Model
            from tbq.following.states import STALLED_AFTER

        model = Model(shown, smooth=smooth, stalled_after=stalled_after or STALLED_AFTER)
        WatchApp(feed, model, *graphics).show()
