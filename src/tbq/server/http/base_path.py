"""The path below which a proxy shows the page, such as /user/ada/tbq on a JupyterHub."""

from __future__ import annotations

import hmac
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
    """Removes the path from requests. A proxy may also have removed it, so requests without it are answered too.

    A `required` path is a secret: requests without it are not answered.
    """

    def __init__(self, app: ASGIApp, path: str, required: bool = False) -> None:
        self.app = app
        self.path = unquote(path)
        self.required = required

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope.get("path", "")
        inside = _below(path, self.path)
        if scope["type"] == "http" and self.required and not inside:
            await Response(status_code=404)(scope, receive, send)
        elif scope["type"] != "http" or not inside:
            await self.app(scope, receive, send)
        elif path == self.path:
            # Addresses in the page are relative: they need the slash.
            query: Any = scope.get("query_string", b"").decode("latin-1")
            place = f"{quote(self.path.rpartition('/')[2])}/" + (f"?{query}" if query else "")
            await Response(status_code=307, headers={"Location": place})(scope, receive, send)
        else:
            inner = path.removeprefix(self.path)
            await self.app({**scope, "path": inner, "raw_path": quote(inner).encode()}, receive, send)


def _below(path: str, base: str) -> bool:
    """Whether a path is `base` or below it; takes the same time for every path, because `base` may be a secret."""
    start = path[: len(base) + 1].removesuffix("/")
    return hmac.compare_digest(start.encode(), base.encode())
