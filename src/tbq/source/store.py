"""`Store`: an object store or a web server, through obstore, with readable error messages."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tbq.errors import OutputError, SourceError, TbqError, existing, missing
from tbq.source.guarded import FetchedObject, Guarded, needs_guard
from tbq.source.urls import ObjectURL, place_of, user_of
from tbq.storage import Storage, chosen

if TYPE_CHECKING:
    pass

#: The options of the HTTP client; users mix them with those of the store.
_CLIENT = (
    "allow_http", "allow_invalid_certificates", "connect_timeout", "http1_only", "http2_only", "pool_idle_timeout",
    "pool_max_idle_per_host", "proxy_url", "proxy_excludes", "proxy_ca_certificate", "root_certificate", "read_timeout",
    "timeout", "user_agent", "randomize_addresses",
)  # fmt: skip
_FLAGS = ("allow_http", "allow_invalid_certificates", "http1_only", "http2_only", "randomize_addresses")
PAGE = 1000  # objects that stores list per request
_AT_ONCE = 64 << 20  # larger objects are written in parts
_ENVIRONMENT = ("AWS_", "AZURE_", "GOOGLE_")  # prefixes of the variables that obstore reads
_HEADER = "header."  # prefix of options that are sent as a header with each request


class Object(NamedTuple):
    """One version of an object; `key` is its path below the URL of its store."""

    key: str
    size: int
    etag: str
    modified: float

    @property
    def is_known(self) -> bool:
        """Whether the store tells its size and version, and not only that it exists."""
        return self.size >= 0

    @property
    def is_made_up(self) -> bool:
        """Whether the store has no etags, and the etag is made of size and time."""
        return self.etag.startswith(_MADE_UP)


_MADE_UP = "made-up "


def unknown(key: str) -> Object:
    """An object that is listed, but whose size and version are unknown."""
    return Object(key, -1, "", 0.0)


class MissingObjectError(SourceError):
    """The object does not exist."""


class ChangedError(SourceError):
    """The object has changed since the requested version."""


class NoRangesError(SourceError):
    """The server serves only whole objects."""


def open_store(url: str, storage: Storage | None = None) -> Store:
    """The store of a URL and the objects below it. Sends no request yet."""
    place = place_of(url)
    return Store(place, chosen(storage), user_of(place))


class Store:
    """The objects below a URL. Keys are relative to it. Safe to use from several threads."""

    def __init__(self, place: ObjectURL, storage: dict[str, str], user: str | None = None) -> None:
        self.place = place
        self.storage = storage
        self.url = place.url
        self._user = user
        self._has_checksums: bool | None = None  # whether etags are checksums, once that is known
        # Listings must answer soon; a download of hours may wait through a minute of trouble.
        options = tuple(sorted(with_user(storage, user).items()))
        environment = tuple(_environment())
        self._asked = _connect(place.store, options, environment, patient=False)
        self._data = _connect(place.store, options, environment, patient=True)

    def __reduce__(self) -> tuple[Any, ...]:
        return Store, (self.place, self.storage, self._user)

    def list(self, prefix: str = "") -> Iterator[list[Object]]:
        """The objects below `prefix`, one page per request."""
        import obstore

        cut = len(self.place.key) + 1 if self.place.key else 0
        seen: set[str] = set()
        with self._explained(prefix):
            for page in obstore.list(self._asked, prefix=self._key(prefix) or None, chunk_size=PAGE):
                paths = [meta["path"] for meta in page]
                if paths and seen.issuperset(paths):
                    what = "the store lists the same objects over and over"
                    raise SourceError(
                        what, path=self._url(prefix), hint="see the store's server", code="remote"
                    )
                seen.update(paths)
                yield [_object(meta, meta["path"][cut:]) for meta in page]

    def head(self, key: str = "") -> Object | None:
        """The newest version; None if the object does not exist."""
        try:
            with self._explained(key):
                version = _object(self._asked.head(self._key(key)), key)
            if version.size or not self.place.is_http:
                return version
        except MissingObjectError:
            if not self.place.is_http:
                return None
        except SourceError as failure:
            answered = failure.code == "denied" or _STATUS in failure.message or _LENGTH in failure.message
            if not self.place.is_http or not answered:
                raise
        return self.head_of_get(key)

    def head_of_get(self, key: str) -> Object | None:
        """The newest version, from a GET request: some web servers do not answer HEAD, or answer it wrongly.

        Does not read the body. If a request for one byte fails, the server may not support ranges, or the object may be
        empty; the second request is for the complete object.
        """
        for options in ({"range": (0, 1)}, {}):
            try:
                with self._explained(key):
                    return _object(self._asked.get(self._key(key), options=options).meta, key)
            except MissingObjectError:
                return None
            except SourceError:
                if not options:
                    raise
        raise AssertionError("the last request returns or raises")

    def answers(self, key: str) -> bool:
        """Whether the store still answers a request for the directory of an object."""
        above = key.rpartition("/")[0]
        try:
            if self.place.is_http:
                self.head(above)
            else:
                next(self.list(above), None)
        except SourceError as failure:
            return failure.code != "remote"
        return True

    def is_checksum(self, etag: str) -> bool:
        """Whether an etag is presumably the MD5 of the bytes."""
        return self._has_checksums is not False and not self.place.is_http and bool(_MD5.fullmatch(etag))

    def learn(self, etag: str, checksum: Callable[[], str]) -> None:
        """Learn from one object whether etags are checksums: with some kinds of encryption they are not."""
        if self._has_checksums is None and self.is_checksum(etag):
            self._has_checksums = checksum() == etag

    def get(self, key: str, start: int = 0, end: int | None = None, etag: str | None = None) -> bytes:
        """Bytes of an object; with `etag`, of that version."""
        return self.version(key, start, end, etag)[1]

    def version(
        self, key: str, start: int = 0, end: int | None = None, etag: str | None = None
    ) -> tuple[Object, bytes]:
        """The version and the bytes of an object."""
        options: dict[str, Any] = {}
        if start or end is not None:
            options["range"] = (start, end) if end is not None else {"offset": start}
        if etag is not None and _is_strong(etag):
            options["if_match"] = f'"{etag}"'
        with self._explained(key):
            got = self._data.get(self._key(key), options=options)
            version = _object(got.meta, key)
            if etag is not None and version.etag != etag:
                raise ChangedError("was replaced while it was read", path=self._url(key), code="changed")
            return version, got.to_bytes() if isinstance(got, FetchedObject) else got.bytes().to_bytes()

    def stream(self, key: str, etag: str) -> Iterator[bytes]:
        """All bytes of this version in one request, a few megabytes at a time: for servers without ranges."""
        with self._explained(key):
            got = self._data.get(self._key(key))
            if _object(got.meta, key).etag != etag:
                raise ChangedError("was replaced while it was read", path=self._url(key), code="changed")
            for chunk in got.stream(min_chunk_size=4 << 20):
                yield bytes(chunk)

    def folders(self, key: str = "") -> Sequence[str]:
        """The names of the folders and objects directly below. One request, unless there are very many."""
        import obstore

        with self._explained(key):
            listed = obstore.list_with_delimiter(self._asked, prefix=self._key(key) or None)
        paths = [*listed["common_prefixes"], *(meta["path"] for meta in listed["objects"])]
        return [path.rpartition("/")[2] for path in paths]

    def put(self, key: str, data: bytes | Path, replace: bool = True) -> str:
        """Write an object, completely or not at all; returns its etag. With `replace=False`, raises if it exists."""
        import obstore

        large = isinstance(data, Path) and data.stat().st_size > _AT_ONCE
        # A multipart upload cannot be conditional.
        if large and not replace and self.head(key) is not None:
            raise existing(self._url(key))
        mode: Literal["create", "overwrite"] = "overwrite" if large or replace else "create"
        with self._explained(key, OutputError):
            done = obstore.put(self._data, self._key(key), data, mode=mode, use_multipart=large)
        return _plain(done["e_tag"]) or ""

    def delete(self, key: str) -> None:
        """Delete an object, if it exists."""
        import obstore

        with contextlib.suppress(MissingObjectError), self._explained(key, OutputError):
            obstore.delete(self._data, self._key(key))

    def _key(self, key: str) -> str:
        return self.place.below(key).key if key else self.place.key

    def _url(self, key: str) -> str:
        return self.place.below(key).url if key else self.place.url

    @contextlib.contextmanager
    def _explained(self, key: str, error: type[TbqError] = SourceError) -> Iterator[None]:
        """Turn obstore's errors into readable ones without secrets: obstore's own messages may have some."""
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, OSError, ValueError) as failure:
            text = str(failure)
            if isinstance(failure, ValueError) and _NOT_A_PATH not in text:
                raise
            secrets = with_user(self.storage, self._user)
            raise _in_words(failure, _hushed(text, secrets), self._url(key), error) from None


def with_user(storage: Mapping[str, str], user: str | None) -> dict[str, str]:
    """Add the Authorization header for a user and password to the options, unless they have one."""
    if user is None or any(key.lower() == f"{_HEADER}authorization" for key in storage):
        return dict(storage)
    import base64
    from urllib.parse import unquote_to_bytes

    name, _, password = user.partition(":")
    both = unquote_to_bytes(name) + b":" + unquote_to_bytes(password)
    return {**storage, f"{_HEADER}Authorization": f"Basic {base64.b64encode(both).decode()}"}


_SECRET = re.compile(r"(?i)secret|key|token|password|credential|sas|^header\.|proxy_url")
_MD5 = re.compile(r"[0-9a-f]{32}")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_UNSENDABLE = re.compile(r"[\x00-\x1f\x7f]")
# Options whose value may be the text of a file.
_WHOLE_FILE = re.compile(r"(?i)certificate|service_account|credentials")


def _hushed(text: str, storage: Mapping[str, str]) -> str:
    """A library's message without the secrets among its options."""
    for key, value in (*storage.items(), *_environment()):
        if _SECRET.search(key) and len(value) > 3:
            text = text.replace(value, "…")
    return text


def _environment() -> list[tuple[str, str]]:
    """The variables that obstore reads."""
    return sorted(each for each in os.environ.items() if each[0].startswith(_ENVIRONMENT))


def _is_strong(etag: str) -> bool:
    """Whether the store supplied the etag, and it changes with each byte."""
    return not etag.startswith((_MADE_UP, "W/"))


def _plain(etag: str | None) -> str | None:
    """An etag without quotation marks: listings of some stores omit them."""
    return etag[1:-1] if etag and etag.startswith('"') else etag


def _object(meta: Any, key: str) -> Object:
    modified = meta["last_modified"].timestamp()
    etag = _plain(meta["e_tag"]) or f"{_MADE_UP}{meta['size']} {modified}"
    return Object(key, meta["size"], etag, modified)


@functools.lru_cache(maxsize=32)
def _connect(
    store: str, storage: tuple[tuple[str, str], ...], environment: tuple[tuple[str, str], ...], patient: bool
) -> Any:
    """obstore's store. Stores with the same options and environment variables share connections."""
    try:
        from obstore.exceptions import BaseError
        from obstore.store import from_url
    except ImportError:
        raise missing("obstore", needed_for="reading from and writing to a URL", extra="remote") from None

    _refuse_unsendable(store, storage, environment)
    client: dict[str, Any] = {"connect_timeout": "5s", "timeout": "120s" if patient else "20s"}
    config: dict[str, str] = {}
    headers: dict[str, str] = {}
    for key, value in storage:
        if key.startswith(_HEADER):
            headers[key.removeprefix(_HEADER)] = value
        elif key.lower() in _CLIENT:
            client[key.lower()] = value.lower() in ("true", "1", "yes") if key in _FLAGS else value
        else:
            config[key] = value
    if headers and needs_guard(headers):
        if not store.startswith("http"):
            what = "a store takes only the headers Authorization and Cookie: others would follow a redirect"
            raise SourceError(what, path=store, hint="omit the other header.… options", code="remote")
        if config:
            raise _no_option(store, config)
        return Guarded(store, headers, client, _retries(patient))
    if headers:
        client["default_headers"] = headers
    if store.startswith("http:") or without_tls(config, dict(environment)):
        client.setdefault("allow_http", True)
    settings: dict[str, Any] = {"client_options": client, "retry_config": _retries(patient)}
    if not store.startswith("http"):
        settings["config"] = config
    elif config:
        raise _no_option(store, config)
    try:
        return from_url(store, **settings)
    except (BaseError, ValueError, TypeError) as wrong:
        text = _first_line(_hushed(str(wrong), dict(storage)), wrong)
        raise SourceError(text, path=store, hint=_hint(store), code="remote") from None


def _refuse_unsendable(store: str, *options: tuple[tuple[str, str], ...]) -> None:
    """Raise if an option cannot be sent, such as a key that ends with a line break. The value may be secret."""
    for key, value in itertools.chain(*options):
        name = key.removeprefix(_HEADER)
        if name != key and not _HEADER_NAME.fullmatch(name):
            what, hint = f"{key!r} does not name a header", "want header.NAME=VALUE"
        elif _UNSENDABLE.search(value) and not _WHOLE_FILE.search(key):
            what, hint = f"the value of {key} has a line break or a control character", "remove it"
        elif name != key and not value.isascii():
            what = f"the value of {key} has characters that are not ASCII"
            hint = "encode it as the server expects"
        else:
            continue
        raise SourceError(what, path=store, hint=hint, code="remote")


def _no_option(store: str, config: Mapping[str, str]) -> SourceError:
    what = f"a web server has no option {next(iter(config))!r}"
    return SourceError(what, path=store, hint=_hint(store), code="remote")


def without_tls(storage: Storage, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether an option or variable names a server by http://. Plain http:// is always deliberate."""
    named = [value for name, value in environment.items() if "ENDPOINT" in name or name.startswith("GOOGLE_")]
    return any("http://" in str(value) for value in (*storage.values(), *named))


def _retries(patient: bool) -> dict[str, Any]:
    from datetime import timedelta

    retries, timeout, longest = (8, 90, 10) if patient else (3, 10, 2)
    pauses = {"init_backoff": timedelta(seconds=0.2), "max_backoff": timedelta(seconds=longest), "base": 2}
    return {"max_retries": retries, "retry_timeout": timedelta(seconds=timeout), "backoff": pauses}


#: obstore's words before the status code, if the server answered.
_STATUS = "status code:"
#: A word of obstore's message if an answer does not tell its length.
_LENGTH = "Content-Length"
#: obstore's words, in a ValueError, for a name with control characters.
_NOT_A_PATH = "Could not parse path"


def _in_words(failure: Exception, text: str, url: str, error: type[TbqError]) -> TbqError:
    from obstore import exceptions

    if "NoSuchBucket" in text or "ContainerNotFound" in text or "The specified bucket does not exist" in text:
        return error("the bucket does not exist", path=url, hint=_hint(url), code="remote")
    if isinstance(failure, FileNotFoundError):
        return MissingObjectError("no such object", path=url, code="missing")
    if isinstance(failure, exceptions.AlreadyExistsError):
        return existing(url)
    if isinstance(failure, exceptions.PreconditionError):
        return ChangedError("was replaced while it was read", path=url, code="changed")
    if isinstance(failure, exceptions.NotSupportedError):
        return NoRangesError("the server does not serve parts of a file", path=url, code="no_ranges")
    if isinstance(failure, exceptions.InvalidPathError) or _NOT_A_PATH in text:
        name = re.search(r'Path "(.*?)"', text, re.DOTALL)
        what = f" ({name[1]!r})" if name else ""
        return error(
            f"an object here has a name that is not a path{what}",
            path=url,
            hint="rename it: names must not contain '//', control characters or parts called '.' and '..'",
            code="remote",
        )
    if re.search(r"169\.254\.|metadata\.google|[Mm]issing ?[Cc]redential|no credentials|MissingToken", text):
        return error(
            "no credentials were found for this store", path=url, hint=_credentials(url), code="remote"
        )
    # Take only the number after these words: names and times in the text have numbers too.
    code_match = re.search(rf"{_STATUS} (\d+)", text)
    status = code_match[1] if code_match else ""
    refused = exceptions.PermissionDeniedError | exceptions.UnauthenticatedError
    if isinstance(failure, refused) or status in ("401", "403"):
        said = "" if url.startswith("http") else _server_said(text)  # a web server may repeat a password
        return error(f"access is denied{said}", path=url, hint=_credentials(url), code="denied")
    if "error sending request" in text or "timed out" in text or "operation timed out" in text:
        return error(f"cannot be reached{_cause(text)}", path=url, hint=_hint(url), code="remote")
    if status == "301" or re.search("without LOCATION|PermanentRedirect|AuthorizationHeaderMalformed", text):
        if url.startswith("http"):
            return error(
                "has moved, and the redirect cannot be followed", path=url, hint=_hint(url), code="remote"
            )
        return error("the bucket is in another region", path=url, hint=_hint(url), code="remote")
    # Any other 4xx concerns this object, not the store.
    code = "refused" if re.fullmatch(r"4(?!29|08)\d\d", status) else "remote"
    return error(_first_line(text, failure), path=url, hint=_hint(url), code=code)


def _first_line(text: str, failure: Exception) -> str:
    """The first line of a library's message, without its debug output."""
    text = text.partition("\n\nDebug source")[0].strip()
    # Drop the server's own text: some servers repeat the request, including secrets.
    text = re.sub(rf"({_STATUS} \d+[^:\n]*).*", r"\1", text, flags=re.DOTALL)
    text = re.sub(r"<\?xml.*", "", text, flags=re.DOTALL).strip(" :\n")
    return text.splitlines()[0][:300] if text else type(failure).__name__


def _server_said(text: str) -> str:
    code = re.search(r"<Code>(\w+)</Code>", text)
    return f" ({code[1]})" if code else ""


def _cause(text: str) -> str:
    for sign, words in (
        ("dns error", "its host name is unknown"),
        ("Name or service not known", "its host name is unknown"),
        ("failed to lookup", "its host name is unknown"),
        ("Connection refused", "the connection was refused"),
        ("certificate", "its certificate is not trusted"),
        ("timed out", "it does not answer"),
    ):
        if sign in text:
            return f": {words}"
    return ""


def _hint(url: str) -> str:
    if url.startswith("s3"):
        return "check the bucket's name, AWS_REGION and AWS_ENDPOINT, or --storage aws_region=… (storage={…})"
    if url.startswith("http"):
        return "check the address and the network"
    return "check the bucket's name and the network, or pass options: --storage KEY=VALUE (storage={…})"


def _credentials(url: str) -> str:
    if url.startswith("s3"):
        return (
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or --storage aws_access_key_id=…; "
            "a public bucket: --storage aws_skip_signature=true"
        )
    if url.startswith("gs"):
        return (
            "set GOOGLE_APPLICATION_CREDENTIALS, or --storage google_service_account=FILE; "
            "a public bucket: --storage google_skip_signature=true"
        )
    if url.startswith("a"):
        return (
            "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, or --storage azure_storage_account_name=…; "
            "a public container: --storage azure_skip_signature=true"
        )
    return "pass the headers that the server expects: --storage header.Authorization='Bearer …'"
