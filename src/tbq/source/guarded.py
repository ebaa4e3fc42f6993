"""`Guarded`: a client for one web server whose headers are secret, and must not be sent to the targets of redirects.

obstore follows redirects itself, and passes on every header except those that it knows to be secret.
"""

from __future__ import annotations

import email.utils
import http.client
import re
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

_MOST_BACKOFF = 10.0
_KNOWN_SECRET = ("authorization", "cookie", "proxy-authorization")


def needs_guard(headers: Mapping[str, str]) -> bool:
    """Whether obstore would send one of these headers to another server."""
    return any(name.lower() not in _KNOWN_SECRET for name in headers)


class FetchedObject(NamedTuple):
    """An object's metadata and body, with the interface of obstore's result."""

    meta: dict[str, Any]
    body: http.client.HTTPResponse
    size: int  # of the body
    until: float  # deadline of the body, by the monotonic clock
    repeat: Callable[[], FetchedObject] | None = None  # repeats the request

    def stream(self, min_chunk_size: int) -> Iterator[bytes]:
        """The body in chunks of about this many bytes; raises if it is incomplete."""
        left = self.size
        try:
            with self.body as body:
                while left:
                    pieces: list[bytes] = []
                    while left and sum(map(len, pieces)) < min_chunk_size:
                        piece = body.read1(min(left, 1 << 20))
                        if not piece or time.monotonic() > self.until:
                            raise TimeoutError if piece else EOFError
                        pieces.append(piece)
                        left -= len(piece)
                    yield b"".join(pieces)
        except TimeoutError:
            raise _generic("error sending request: operation timed out") from None
        except (http.client.HTTPException, OSError, EOFError):
            raise _generic("error sending request: the answer ended early") from None

    def to_bytes(self) -> bytes:
        """All of the body."""
        from obstore.exceptions import GenericError

        try:
            return b"".join(self.stream(1 << 20))
        except GenericError:
            if self.repeat is None or time.monotonic() > self.until:
                raise
        return self.repeat().to_bytes()


class Guarded:
    """Sends requests to one web server; raises the errors of obstore."""

    def __init__(
        self, store: str, headers: Mapping[str, str], options: Mapping[str, Any], retries: Mapping[str, Any]
    ) -> None:
        self._store = store
        self._headers = dict(headers)
        if "user_agent" in options:
            self._headers["User-Agent"] = str(options["user_agent"])
        self._timeout = _seconds(str(options.get("timeout", "120s")))
        self._retries = int(retries.get("max_retries", 0))
        limit = retries.get("retry_timeout")
        self._give_up = limit.total_seconds() if limit is not None else self._timeout
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
        """The metadata of an object."""
        answer = self._ask("HEAD", key, {})
        answer.body.close()
        return answer.meta

    def get(self, key: str, options: Mapping[str, Any] | None = None) -> FetchedObject:
        """An object, or some bytes of it."""
        headers = {}
        wanted = (options or {}).get("range")
        if isinstance(wanted, tuple):
            headers["Range"] = f"bytes={wanted[0]}-{wanted[1] - 1}"
        elif wanted is not None:
            headers["Range"] = f"bytes={wanted['offset']}-"
        if (options or {}).get("if_match"):
            headers["If-Match"] = str((options or {})["if_match"])
        return self._got(key, headers, wanted, self._retries)

    def _got(self, key: str, headers: Mapping[str, str], wanted: Any, retries: int) -> FetchedObject:
        from obstore.exceptions import NotSupportedError

        answer = self._ask("GET", key, headers)
        if wanted is not None:
            wrong: Exception | None = None
            if answer.body.status != 206:
                wrong = NotSupportedError("the server sent the whole object")
            elif not _is_range(answer.body.headers, wanted):
                wrong = _generic("the server sent other bytes than requested")
            if wrong is not None:
                answer.body.close()
                raise wrong
        if retries:
            return answer._replace(repeat=lambda: self._got(key, headers, wanted, retries - 1))
        return answer

    def _ask(self, method: str, key: str, more: Mapping[str, str]) -> FetchedObject:
        url = f"{self._store}/{quote(key, errors='surrogateescape')}"
        pause = self._pause.total_seconds() if self._pause is not None else 0.0
        began = time.monotonic()
        for left in range(self._retries, -1, -1):
            is_last = not left or time.monotonic() - began > self._give_up
            request = urllib.request.Request(url, headers={**self._headers, **more}, method=method)
            until = time.monotonic() + self._timeout
            try:
                response = self._opener.open(request, timeout=self._timeout)
            except urllib.error.HTTPError as refusal:
                refusal.close()
                if (refusal.code < 500 and refusal.code not in (408, 429)) or is_last:
                    raise _error(refusal.code, method, key) from None
            except (urllib.error.URLError, http.client.HTTPException, OSError) as failure:
                if is_last:
                    reason = getattr(failure, "reason", failure)
                    raise _generic(f"error sending request: {reason}") from None
            else:
                try:
                    meta, size = _meta(response.headers)
                except BaseException:
                    response.close()
                    raise
                return FetchedObject(meta, response, size, until)
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


_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")


def _is_range(headers: Any, wanted: Any) -> bool:
    """Whether an answer has the requested bytes, up to the end of the object."""
    got = _RANGE.fullmatch(headers.get("Content-Range") or "")
    if got is None:
        return False
    first, last, total = map(int, got.groups())
    begin, end = wanted if isinstance(wanted, tuple) else (wanted["offset"], total)
    return (first, last) == (begin, min(end, total) - 1)


def _meta(headers: Any) -> tuple[dict[str, Any], int]:
    """The metadata of an answer's object, and the size of the answer."""
    length = headers.get("Content-Length")
    if length is None:
        raise _generic("Content-Length Header missing from response")
    if not re.fullmatch(r"[0-9]{1,18}", length):
        raise _generic("Invalid Content-Length")
    total = _RANGE.fullmatch(headers.get("Content-Range") or "")
    modified = datetime.fromtimestamp(0, UTC)
    if headers.get("Last-Modified"):
        try:
            modified = email.utils.parsedate_to_datetime(headers["Last-Modified"])
        except (ValueError, TypeError):
            raise _generic("Invalid last modified") from None
    size = int(total[3]) if total else int(length)
    return {"size": size, "e_tag": headers.get("ETag"), "last_modified": modified}, int(length)


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
    """A duration in obstore's form, in seconds.

    >>> _seconds("20s"), _seconds("2m"), _seconds("500ms")
    (20.0, 120.0, 0.5)
    """
    match = re.fullmatch(r"\s*([\d.]+)\s*(ms|s|m|min|h)?.*", text)
    units = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
    return float(match[1]) * units[match[2] or "s"] if match else 120.0
