"""`tbq serve`: a log directory as a page in the browser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from tbq.arguments import listening
from tbq.errors import missing

if TYPE_CHECKING:
    from tbq.arguments import StrPath
    from tbq.following.follower import Following
    from tbq.server.live_log import LiveLog
    from tbq.source.discover import Source

PORT = 6007


def serve(
    path: Source,
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    token: str | None = None,
    allow_host: Sequence[str] | str = (),
    base_path: str | None = None,
    embed: bool = False,
    open: bool = False,  # noqa: A002 - the name of the option
    title: str | None = None,
    views: StrPath | None = None,
    stalled_after: float | None = None,
    on_start: Callable[[str, str | None], object] | None = None,
    **following: Unpack[Following],
) -> None:
    """Show a log directory in the browser until the process is interrupted.

    Only this machine can reach the page. Another `host` needs a token; the default is a random one. If the port is in
    use, the next free one is used. `base_path` is the path below which a proxy shows the page. With `embed`, other
    pages may show it in a frame: the token, a random one by default, is then part of its path. `views` is a JSON
    file of views that all users see. `on_start` gets the address and a remark; without it, both are printed.
    `stalled_after` is that of `tbq.watch`. `path` and the other keywords are those of `tbq.follow`; the default of
    `interval` is 0.25, or 30 for URLs. Needs the extra "serve".

    >>> tbq.serve("runs", port=0, tag="val/*")  # doctest: +SKIP
    http://127.0.0.1:40123/
    """
    import importlib.util

    for module in ("starlette", "uvicorn"):
        if importlib.util.find_spec(module) is None:
            raise missing(module, needed_for="tbq serve", extra="serve")
    listening(port, token)
    from tbq.server.answers.views import read
    from tbq.server.http.base_path import checked
    from tbq.server.live_log import LiveLog

    base = checked(base_path)
    shared = None if views is None else Path(views)
    if shared is not None:
        read(shared)  # a wrong file is an error at once
    log = LiveLog(path, stalled_after=stalled_after, title=title, views=shared, **following)
    log.start()  # reads while the modules of the server are imported
    try:
        _serve(
            log,
            host,
            port,
            token,
            allow_host,
            base,
            embed,
            lambda address, remark: _started(address, remark, open, on_start),
        )
    finally:
        log.close()


def _serve(
    log: LiveLog,
    host: str,
    port: int,
    token: str | None,
    allow_host: Sequence[str] | str,
    base: str,
    embed: bool,
    started: Callable[[str, str | None], object],
) -> None:
    import threading
    from urllib.parse import quote

    from tbq.server.http.guard import Guard, is_local, new_token
    from tbq.server.http.listening import Listening, execute
    from tbq.server.http.routes import prepare

    with Listening.at(host, port) as listening:
        if token is None and (embed or not is_local(host)):
            token = new_token()
        # Browsers do not send cookies to frames of other sites, so there the path is the secret.
        secret, token = (quote(token or "", safe=""), None) if embed else ("", token)
        allowed = [allow_host] if isinstance(allow_host, str) else list(allow_host)
        guard = Guard(host, token, allowed, embedded=embed)
        address = listening.address(token, f"{base}/{secret}" if embed else base)
        remark = listening.remark
        threading.Thread(target=prepare, name="tbq imports", daemon=True).start()
        execute(log, guard, listening, lambda: started(address, remark), base, secret)


def _started(
    address: str, remark: str | None, open_page: bool, on_start: Callable[[str, str | None], object] | None
) -> None:
    if on_start is not None:
        on_start(address, remark)
    else:
        print(f"{remark}\n{address}" if remark else address, flush=True)
    if open_page:
        import webbrowser

        webbrowser.open(address)
