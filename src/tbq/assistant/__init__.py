"""`tbq mcp`: answers the questions of AI assistants about a log, by the Model Context Protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tbq.arguments import bad
from tbq.errors import missing

if TYPE_CHECKING:
    from tbq.decode.options import Restarts
    from tbq.decode.sub_runs import SubRunsAs
    from tbq.limits import Size
    from tbq.select import Names, Steps
    from tbq.source.discover import Source

PATH = "/mcp"  # of the server, over HTTP


def mcp(
    path: Source,
    *,
    port: int | None = None,
    token: str | None = None,
    run: Names = None,
    tag: Names = None,
    steps: Steps = None,
    restarts: Restarts = "resume",
    interval: float | None = None,
    stalled_after: float | None = None,
    threads: int | None = None,
    max_unpacked: Size | None = None,
    sub_runs: SubRunsAs = "fold",
    on_start: Callable[[str, str], object] | None = None,
) -> None:
    """Answer an assistant's questions about a log directory until the client goes, or the process is interrupted.

    The client talks over stdin and stdout. With `port`, it talks HTTP on this machine (0 takes any free port) and
    needs the `token` (default: a random one); `on_start` gets the address and the token. The other options are those
    of `tbq.serve`. Needs the extra "mcp".

    >>> tbq.mcp("runs")  # doctest: +SKIP
    """
    import importlib.util

    if importlib.util.find_spec("mcp") is None:
        raise missing("mcp", needed_for="tbq mcp", extra="mcp")
    if port is not None and (not isinstance(port, int) or isinstance(port, bool) or not 0 <= port <= 65535):
        raise bad("port", port, "a whole number from 0 to 65535; 0 takes any free port")
    if token is not None and not (token.strip() and token.isascii() and token.isprintable()):
        raise bad("token", token, "printable ASCII characters, e.g. from `openssl rand -hex 16`")
    from tbq.server.live_log import LiveLog

    options: dict[str, Any] = {
        "run": run, "tag": tag, "steps": steps, "restarts": restarts, "interval": interval,
        "stalled_after": stalled_after, "threads": threads, "max_unpacked": max_unpacked, "sub_runs": sub_runs,
    }  # fmt: skip
    log = LiveLog(path, **options)
    log.start()  # reads while the modules of the protocol are imported
    try:
        from tbq.assistant import serving

        if port is None:
            serving.over_stdio(log)
        else:
            serving.over_http(log, port, token, on_start)
    finally:
        log.close()
