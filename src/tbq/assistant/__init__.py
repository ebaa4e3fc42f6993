"""`tbq mcp`: answers the questions of AI assistants about a log, by the Model Context Protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Unpack

from tbq.arguments import listening
from tbq.errors import missing

if TYPE_CHECKING:
    from tbq.following.follower import Following
    from tbq.source.discover import Source

PATH = "/mcp"  # of the server, over HTTP


def mcp(
    path: Source,
    *,
    port: int | None = None,
    token: str | None = None,
    stalled_after: float | None = None,
    on_start: Callable[[str, str], object] | None = None,
    **following: Unpack[Following],
) -> None:
    """Answer an assistant's questions about a log directory until the client goes, or the process is interrupted.

    The client talks over stdin and stdout. With `port`, it talks HTTP on this machine (0 takes any free port) and
    needs the `token` (default: a random one); `on_start` gets the address and the token. `path` and the other keywords
    are those of `tbq.serve`. Needs the extra "mcp".

    >>> tbq.mcp("runs")  # doctest: +SKIP
    """
    import importlib.util

    if importlib.util.find_spec("mcp") is None:
        raise missing("mcp", needed_for="tbq mcp", extra="mcp")
    listening(0 if port is None else port, token)
    from tbq.server.live_log import LiveLog

    log = LiveLog(path, stalled_after=stalled_after, **following)
    log.start()  # reads while the modules of the protocol are imported
    try:
        from tbq.assistant import serving

        if port is None:
            serving.over_stdio(log)
        else:
            serving.over_http(log, port, token, on_start)
    finally:
        log.close()
