"""Parses URLs of stores and web servers, and decides which of them tbq can read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tbq.errors import SourceError, TbqError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
# pathlib collapses two slashes to one. With one of these schemes, `s3:/…` does not mean a run called `s3`.
_COLLAPSED = re.compile(
    r"(gs|gcs|s3|s3a|r2|az|azure|adl|abfss?|wasbs?|hdfs|viewfs|dbfs|hf|https?|ftp|sftp|ssh|file|memory):/",
    re.I,
)
#: The schemes that tbq reads, each with obstore's name for it.
_READ = {
    "s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "az": "az", "azure": "az", "abfs": "abfs", "abfss": "abfss",
    "http": "http", "https": "https",
}  # fmt: skip


_SPECIAL = re.compile(r"[%?#]")
#: The path, below a lake's folder, of the file that marks it as a lake.
LAKE = "_tbq/lake.json"


class ObjectURL(NamedTuple):
    """A URL in two parts: the store (`s3://bucket`), and the key in it, without slashes at either end."""

    store: str
    key: str

    @property
    def url(self) -> str:
        """The URL that `place_of` parses to this place: for web servers, special characters are escaped."""
        key = _SPECIAL.sub(lambda match: f"%{ord(match[0]):02X}", self.key) if self.is_http else self.key
        return f"{self.store}/{key}" if key else self.store

    @property
    def is_http(self) -> bool:
        return self.store.startswith("http")

    def below(self, name: str) -> ObjectURL:
        return ObjectURL(self.store, f"{self.key}/{name}" if self.key else name)


def _scheme(path: str) -> str | None:
    match = _SCHEME.match(path) or _COLLAPSED.match(path)
    return match[1].lower() if match is not None else None


def is_remote(path: str | os.PathLike[str]) -> bool:
    """Whether this is the URL of an object store or a web server, and not an existing local path.

    >>> is_remote("s3://bucket/runs"), is_remote("runs"), is_remote("file:///runs")
    (True, False, False)
    """
    text = os.fspath(path)
    return _scheme(text) in _READ and not os.path.lexists(text)


def place_of(url: str | os.PathLike[str]) -> ObjectURL:
    """Take a URL apart.

    >>> place_of("s3://bucket/runs/a/")
    ObjectURL(store='s3://bucket', key='runs/a')
    """
    text = os.fspath(url)
    scheme = _scheme(text)
    assert scheme is not None, text
    host, _, key = text[len(scheme) + 1 :].lstrip("/").partition("/")
    user = None
    if "@" in key and re.search(r":(?!\d+$)", host.rpartition("@")[2]):
        hint = "write %2F for a slash in a password"
        raise SourceError("is not a URL: it has no host", path=text, hint=hint, code="remote")
    if "@" in host and (scheme.startswith("http") or ":" in host.rpartition("@")[0]):
        if not scheme.startswith("http"):
            hint = "pass them as options: --storage KEY=VALUE (storage={…}), or as environment variables"
            raise SourceError(
                "a store takes no user and password from its URL", path=text, hint=hint, code="remote"
            )
        user, _, host = host.rpartition("@")
    if not host:
        want = "https://host/runs" if scheme.startswith("http") else f"{scheme}://bucket/runs"
        raise SourceError("does not name a bucket or host", path=text, hint=f"want {want}", code="remote")
    if scheme.startswith("http"):
        from urllib.parse import unquote

        if "?" in key:
            hint = "a signed URL: fetch it with curl, and read the file; else omit what follows the ?"
            raise SourceError("a URL with a query cannot be read", path=text, hint=hint, code="remote")
        key = unquote(key.partition("#")[0], errors="surrogateescape")
    place = ObjectURL(f"{_READ[scheme]}://{host}", key.strip("/"))
    if user is not None:
        _users[place] = user
    return place


# Users and passwords of web servers, by the place of the URL that had them. Each applies to everything below its place.
# They stay in this process: URLs are written, stored and shown without them.
_users: dict[ObjectURL, str] = {}
_WITH_USER = re.compile(r"(?i)https?:/{1,2}[^/]*@")


def without_user(path: str) -> str:
    """Remove the user from a path or a `name:path` pair, so that it may be stored and shown; remember the user.

    >>> without_user("a:https://me:secret@host/runs")
    'a:https://host/runs'
    """
    match = _WITH_USER.search(path)
    if match is None or os.path.lexists(path):
        return path
    place_of(path[match.start() :].partition("?")[0])
    head, _, host = path.partition(match[0])
    return f"{head}{match[0].partition(':')[0]}://{host}"


def user_of(place: ObjectURL) -> str | None:
    """The user and password for a place: those of the nearest URL at or above it."""
    above = [(len(top.key), user) for top, user in list(_users.items()) if is_above(top, place)]
    return max(above)[1] if above else None


def is_above(top: ObjectURL, place: ObjectURL) -> bool:
    """Whether `top` is `place` or a directory above it."""
    return top.store == place.store and f"{place.key}/".startswith(f"{top.key}/" if top.key else "")


def users_of(stores: Iterable[str]) -> dict[ObjectURL, str]:
    """The users that another process needs to reach these stores."""
    wanted = set(stores)
    return {place: user for place, user in list(_users.items()) if place.store in wanted}


def remember_users(users: Mapping[ObjectURL, str]) -> None:
    """Use the users that another process sent."""
    _users.update(users)


def common_parts(paths: list[list[str]]) -> list[str]:
    """The parts that all paths begin with."""
    shared = []
    for parts in zip(*paths, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return shared


def local_path(path: str) -> str:
    """The path itself; for a `file://` URL, the path that it stands for.

    >>> local_path("file:///data/my%20runs"), local_path("runs")
    ('/data/my runs', 'runs')
    """
    if path[:5].lower() != "file:" or _scheme(path) is None or os.path.lexists(path):
        return path
    from urllib.request import url2pathname

    rest = path[5:]
    if rest.startswith("//"):
        host, slash, below = rest[2:].partition("/")
        if host.lower() not in ("", "localhost"):
            raise SourceError("names another machine", path=path, hint="want file:///path", code="remote")
        rest = slash + below
    return url2pathname(rest)


def refuse_remote(path: str | os.PathLike[str], error: type[TbqError] = SourceError) -> None:
    """Raise if a path is a URL, unless there is a file of that name."""
    text = os.fspath(path)
    scheme = _scheme(text)
    if scheme is None or os.path.lexists(text):
        return
    if scheme == "file":
        message, hint = "is a URL", "write the path itself, without file://"
    elif scheme in _READ:
        message, hint = (
            "must be a local path, not a URL",
            "copy it from or to there with the store's own tool",
        )
    else:
        message = f"{scheme}:// is not supported"
        hint = "tbq reads s3://, gs://, az://, http:// and https://; copy it with the store's own tool, or mount it"
    raise error(message, path=text, hint=hint, code="remote")
