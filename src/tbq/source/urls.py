"""Paths of other machines and stores: which of them can be read, and how they are taken apart."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tbq.errors import SourceError, TbqError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
# pathlib makes one slash of two; with these nobody means a run called `s3`.
_COLLAPSED = re.compile(
    r"(gs|gcs|s3|s3a|r2|az|azure|adl|abfss?|wasbs?|hdfs|viewfs|dbfs|hf|https?|ftp|sftp|ssh|file|memory):/",
    re.I,
)
#: What obstore reads, each with the name that it has there.
_READ = {
    "s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "az": "az", "azure": "az", "abfs": "abfs", "abfss": "abfss",
    "http": "http", "https": "https",
}  # fmt: skip


_SPECIAL = re.compile(r"[%?#]")
#: Where a lake says what it is, below its folder.
LAKE = "_tbq/lake.json"


class ObjectURL(NamedTuple):
    """A URL in two: the store (`s3://bucket`), and the key of what lies in it, without a slash at its ends."""

    store: str
    key: str

    @property
    def url(self) -> str:
        """The URL that `place_of` makes the same of: on web servers some letters of a name mean something else."""
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
    """Whether this is the URL of an object store or a web server, and not the name of something that is here.

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
            hint = (
                "give them as options: --storage KEY=VALUE (storage={…}), or as variables of the environment"
            )
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


# Users and passwords of web servers, by the places whose URLs named them: each holds for everything below.
# They stay in this process; URLs are written, stored and shown without them.
_users: dict[ObjectURL, str] = {}
_WITH_USER = re.compile(r"(?i)https?:/{1,2}[^/]*@")


def without_user(path: str) -> str:
    """A path, or a `name:path` pair, as it may be kept and shown: this process remembers the user of a URL.

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
    """The user and password by which a place is reached: those of the nearest URL at or above it."""
    above = [
        (len(top.key), user)
        for top, user in list(_users.items())
        if top.store == place.store and f"{place.key}/".startswith(f"{top.key}/" if top.key else "")
    ]
    return max(above)[1] if above else None


def users_of(stores: Iterable[str]) -> dict[ObjectURL, str]:
    """The users that another process needs to reach these stores."""
    wanted = set(stores)
    return {place: user for place, user in list(_users.items()) if place.store in wanted}


def remember_users(users: Mapping[ObjectURL, str]) -> None:
    """Reach these places as the process did that sent them."""
    _users.update(users)


def common_parts(paths: list[list[str]]) -> list[str]:
    """What paths, taken apart, begin with."""
    shared = []
    for parts in zip(*paths, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return shared


def local_path(path: str) -> str:
    """The path itself; of a `file://` URL the path that it stands for.

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
        message, hint = "cannot be used from or at a URL", "copy it from or to there with a tool of its own"
    else:
        message = f"{scheme}:// is not supported"
        hint = (
            "tbq reads s3://, gs://, az://, http:// and https://; copy it with a tool of its own, or mount it"
        )
    raise error(message, path=text, hint=hint, code="remote")
