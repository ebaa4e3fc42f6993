"""The path below which a proxy shows the page, such as /user/ada/tbq on a JupyterHub."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from starlette.responses import Response

from tbq.arguments import bad

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_VALID = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9_.~%@:+-]+)+/?")


def checked(path: str | None) -> str:
    """The path without a slash at its end; empty if there is none.

    >>> checked("/user/ada/tbq/"), checked("/"), checked(None)
    ('/user/ada/tbq', '', '')
    """
    if path is None:
        return ""
    # Cookies and headers contain the path: nothing in it may end them.
    if path != "/" and not (isinstance(path, str) and _VALID.fullmatch(path)):
        raise bad("base_path", path, "a path such as /user/ada/tbq")
    return path.rstrip("/")


class BasePath:
    """Removes the path from requests. A proxy may also have removed it, so requests without it are answered too."""

    def __init__(self, app: ASGIApp, path: str) -> None:
        self.app = app
        self.path = unquote(path)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope.get("path", "")
        if scope["type"] != "http" or not (path == self.path or path.startswith(f"{self.path}/")):
            await self.app(scope, receive, send)
        elif path == self.path:
            # Addresses in the page are relative: they need the slash.
            query: Any = scope.get("query_string", b"").decode("latin-1")
            place = f"{quote(self.path.rpartition('/')[2])}/" + (f"?{query}" if query else "")
            await Response(status_code=307, headers={"Location": place})(scope, receive, send)
        else:
            inner = path.removeprefix(self.path)
            await self.app({**scope, "path": inner, "raw_path": quote(inner).encode()}, receive, send)
