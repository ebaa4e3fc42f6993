"""`Guarded`: a web server that is sent headers which nobody else may see, also if it redirects elsewhere.

obstore follows redirects itself, and takes along every header but those that it knows to be secret.
"""

from __future__ import annotations

import email.utils
import http.client
import re
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

_MOST_BACKOFF = 10.0
_KNOWN_SECRET = ("authorization", "cookie", "proxy-authorization")


def needs_guard(headers: Mapping[str, str]) -> bool:
    """Whether there is a header that obstore would send to another server."""
    return any(name.lower() not in _KNOWN_SECRET for name in headers)


class Answer(NamedTuple):
    """What obstore gives for an object."""

    meta: dict[str, Any]
    body: http.client.HTTPResponse
    size: int  # of the body; -1 if it was not said

    def stream(self, min_chunk_size: int) -> Iterator[bytes]:
        """The body, a piece at a time."""
        with self.body as body:
            while data := body.read(min_chunk_size):
                yield data

    def to_bytes(self) -> bytes:
        """All of the body."""
        with self.body as body:
            data = body.read()
        if 0 <= self.size != len(data):
            raise OSError("error sending request: the answer ended early")
        return data


class Guarded:
    """Asks one web server; the errors are those of obstore."""

    def __init__(
        self, store: str, headers: Mapping[str, str], options: Mapping[str, Any], retries: Mapping[str, Any]
    ) -> None:
        self._store = store
        self._headers = dict(headers)
        if "user_agent" in options:
            self._headers["User-Agent"] = str(options["user_agent"])
        self._timeout = _seconds(str(options.get("timeout", "120s")))
        self._retries = int(retries.get("max_retries", 0))
        self._pause = retries.get("backoff", {}).get("init_backoff")
        context = ssl.create_default_context()
        if options.get("root_certificate"):
            context.load_verify_locations(cadata=str(options["root_certificate"]))
        if options.get("allow_invalid_certificates"):
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        proxy = options.get("proxy_url")
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({"http": str(proxy), "https": str(proxy)} if proxy else None),
            urllib.request.HTTPSHandler(context=context),
            _Redirects(self._headers),
        )

    def head(self, key: str) -> dict[str, Any]:
        """What the server says of an object."""
        answer = self._ask("HEAD", key, {})
        answer.body.close()
        return answer.meta

    def get(self, key: str, options: Mapping[str, Any] | None = None) -> Answer:
        """An object, or some bytes of it."""
        from obstore.exceptions import NotSupportedError

        headers = {}
        given = (options or {}).get("range")
        if isinstance(given, tuple):
            headers["Range"] = f"bytes={given[0]}-{given[1] - 1}"
        elif given is not None:
            headers["Range"] = f"bytes={given['offset']}-"
        if (options or {}).get("if_match"):
            headers["If-Match"] = str((options or {})["if_match"])
        answer = self._ask("GET", key, headers)
        if given is not None and answer.body.status != 206:
            answer.body.close()
            raise NotSupportedError("the server sent the whole object")
        return answer

    def _ask(self, method: str, key: str, more: Mapping[str, str]) -> Answer:
        url = f"{self._store}/{quote(key, errors='surrogateescape')}"
        pause = self._pause.total_seconds() if self._pause is not None else 0.0
        for left in range(self._retries, -1, -1):
            request = urllib.request.Request(url, headers={**self._headers, **more}, method=method)
            try:
                response = self._opener.open(request, timeout=self._timeout)
            except urllib.error.HTTPError as refusal:
                refusal.close()
                if (refusal.code < 500 and refusal.code not in (408, 429)) or not left:
                    raise _error(refusal.code, method, key) from None
            except (urllib.error.URLError, http.client.HTTPException, OSError) as failure:
                if not left:
                    reason = getattr(failure, "reason", failure)
                    raise _generic(f"error sending request: {reason}") from None
            else:
                return Answer(
                    _meta(response.headers), response, int(response.headers.get("Content-Length") or -1)
                )
            time.sleep(pause)
            pause = min(2 * pause, _MOST_BACKOFF)
        raise AssertionError("the last attempt returns or raises")


class _Redirects(urllib.request.HTTPRedirectHandler):
    def __init__(self, secret: Mapping[str, str]) -> None:
        self._secret = {name.capitalize() for name in secret}

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        new = super().redirect_request(req, fp, code, msg, headers, newurl)
        if new is not None:
            new.method = req.get_method()
            if _origin(newurl) != _origin(req.full_url):
                for name in self._secret:
                    new.remove_header(name)
        return new


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def _meta(headers: Any) -> dict[str, Any]:
    total = re.fullmatch(r"bytes \d+-\d+/(\d+)", headers.get("Content-Range") or "")
    modified = (
        email.utils.parsedate_to_datetime(headers["Last-Modified"]) if headers.get("Last-Modified") else None
    )
    return {
        "size": int(total[1]) if total else int(headers.get("Content-Length") or 0),
        "e_tag": headers.get("ETag"),
        "last_modified": modified or datetime.fromtimestamp(0, UTC),
    }


def _error(status: int, method: str, key: str) -> Exception:
    from obstore import exceptions

    text = f"{method} {key}: server returned status code: {status} {http.client.responses.get(status, '')}"
    if status in (404, 405):
        return FileNotFoundError(text)
    kinds: dict[int, type[Exception]] = {
        401: exceptions.UnauthenticatedError,
        403: exceptions.PermissionDeniedError,
        412: exceptions.PreconditionError,
    }
    return kinds.get(status, exceptions.GenericError)(text)


def _generic(text: str) -> Exception:
    from obstore.exceptions import GenericError

    return GenericError(text)


def _seconds(text: str) -> float:
    """A duration as obstore takes it.

    >>> _seconds("20s"), _seconds("2m"), _seconds("500ms")
    (20.0, 120.0, 0.5)
    """
    match = re.fullmatch(r"\s*([\d.]+)\s*(ms|s|m|min|h)?.*", text)
    units = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
    return float(match[1]) * units[match[2] or "s"] if match else 120.0
