"""`Guard`: refuses requests by their host, token and origin; and the security headers of every reply."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import socket
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

#: Nothing from other sites, nothing inline, no frames.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# For frames: a page that does not know the secret path cannot show them.
_FRAMED = {
    **{name: HEADERS[name] for name in ("X-Content-Type-Options", "Referrer-Policy")},
    "Content-Security-Policy": POLICY.partition("; frame-ancestors")[0],
}
_COOKIE = "tbq-"
_LOCAL = ("localhost", "127.0.0.1", "::1")


class Refusal(NamedTuple):
    """Why a request is not answered."""

    status: int
    error: str
    hint: str


def is_local(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> is_local("127.0.0.1"), is_local("localhost"), is_local("0.0.0.0"), is_local("::1")
    (True, True, False, True)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def new_token() -> str:
    """A token that cannot be guessed."""
    return secrets.token_urlsafe(24)


class Guard:
    """Checks requests. Without a token, the server is reachable only from this machine."""

    def __init__(
        self, host: str, token: str | None, allowed: Iterable[str] = (), *, embedded: bool = False
    ) -> None:
        self.token = token
        #: the page may be in a frame of any site, which knows its secret path
        self.embedded = embedded
        self.headers = _FRAMED if embedded else HEADERS
        # All ports of a host share cookies, and tunnels change ports: the token distinguishes servers.
        self.cookie = f"{_COOKIE}{hashlib.sha256((token or '').encode()).hexdigest()[:12]}"
        self.cookie_value = quote(token or "", safe="")  # never needs quotes
        self._hosts = {*_LOCAL, host.lower(), *(name.lower() for name in allowed)}
        self._any_address = token is not None  # a page of another site cannot know the token
        if token is not None:
            self._hosts |= {socket.gethostname().lower(), socket.getfqdn().lower()}

    def refusal(
        self, method: str, path: str, headers: Mapping[str, str], query: str | None
    ) -> Refusal | None:
        """Why this request is refused; `query` is its parameter `token`."""
        host = headers.get("host", "")
        if not self._knows(host):
            return Refusal(
                403,
                f"this server does not answer for the host {host[:100]!r}",
                "use the address that tbq printed, or name the host: tbq serve --allow-host",
            )
        if not self._own_site(method, path, headers, host):
            return Refusal(403, "requests of other sites are refused", "open the page by its own address")
        if self.token is not None and not self.admits(headers, query):
            return Refusal(
                401,
                "the token is missing or wrong",
                "take the address with ?token=…, or the token, that tbq printed",
            )
        return None

    def admits(self, headers: Mapping[str, str], query: str | None) -> bool:
        """Whether the request has the token: in the address, in a cookie, or as `Authorization: Bearer`."""
        if self.token is None:
            return True
        tokens = [query or ""]
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            tokens.append(bearer.strip())
        # Pair by pair: cookies of other applications on this host may be malformed.
        for pair in headers.get("cookie", "").split(";"):
            name, _, value = pair.partition("=")
            if name.strip().startswith(_COOKIE):
                tokens.append(unquote(value.strip().strip('"')))
        return any(each and hmac.compare_digest(each.encode(), self.token.encode()) for each in tokens)

    def _knows(self, host: str) -> bool:
        if self.embedded:
            return True
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name.lower() in self._hosts:
            return True
        if not self._any_address:
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def _own_site(self, method: str, path: str, headers: Mapping[str, str], host: str) -> bool:
        origin = headers.get("origin")
        if origin is not None and not _same_place(origin, host):
            return False
        site = headers.get("sec-fetch-site", "same-origin")
        if site in ("same-origin", "none"):
            return True
        # A link on another page may lead to the page itself, and to nothing else.
        return method == "GET" and path == "/" and headers.get("sec-fetch-mode") == "navigate"


def _same_place(origin: str, host: str) -> bool:
    """Whether an Origin and a Host header name the same host and port; proxies write default ports, browsers do not.

    >>> _same_place("https://lab.org", "lab.org:443"), _same_place("http://lab.org", "lab.org:443")
    (True, False)
    """
    try:
        page = urlsplit(origin)
        here = urlsplit(f"{page.scheme}://{host}")
        usual = {"http": 80, "https": 443}.get(page.scheme)
        return bool(page.hostname) and (page.hostname, page.port or usual) == (
            here.hostname,
            here.port or usual,
        )
    except ValueError:  # not an address
        return False
