"""`tbq watch`: a log directory live in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from tbq.errors import UsageError, missing

if TYPE_CHECKING:
    from tbq.following.follower import Following
    from tbq.source.discover import Source

INTERVAL = 1.0  # seconds between two polls


def watch(
    path: Source,
    *,
    smooth: float = 0.0,
    stalled_after: float | None = None,
    **following: Unpack[Following],
) -> None:
    """Show a log directory full screen in the terminal while it grows, until the user presses `q`.

    `smooth` is TensorBoard's weight at the start. A run counts as stalled after `stalled_after` seconds without data
    (default: 120, or 20 times its usual pause if that is more). `path` and the other keywords are those of
    `tbq.follow`; the default of `interval` is 1, or 30 for URLs. Needs the extra "watch".

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

    if following.get("interval") is None and not any_remote(path):
        following["interval"] = INTERVAL
    kinds = ["scalars", "images", "texts", "histograms", "hparams"]
    with follow(path, kinds=kinds, on_error="ignore", **following) as follower:
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
