"""Paths of other machines and stores: which of them can be read, and how they are taken apart."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from tbq.errors import SourceError, TbqError
from tbq.text import shown_path

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


class Place(NamedTuple):
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

    def below(self, name: str) -> Place:
        return Place(self.store, f"{self.key}/{name}" if self.key else name)


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


def place_of(url: str | os.PathLike[str]) -> Place:
    """Take a URL apart.

    >>> place_of("s3://bucket/runs/a/")
    Place(store='s3://bucket', key='runs/a')
    """
    text = os.fspath(url)
    scheme = _scheme(text)
    assert scheme is not None, text
    host, _, key = text[len(scheme) + 1 :].lstrip("/").partition("/")
    if not host:
        want = "https://host/runs" if scheme.startswith("http") else f"{scheme}://bucket/runs"
        raise SourceError("does not name a bucket or host", path=text, hint=f"want {want}", code="remote")
    if scheme.startswith("http"):
        from urllib.parse import unquote

        if "?" in key:
            hint = "a signed URL: fetch it with curl, and read the file; else omit what follows the ?"
            raise SourceError("a URL with a query cannot be read", path=text, hint=hint, code="remote")
        key = unquote(key.partition("#")[0], errors="surrogateescape")
    return Place(f"{_READ[scheme]}://{host}", key.strip("/"))


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
            raise SourceError(
                f"names another machine ({shown_path(host)})",
                path=path,
                hint="want file:///path",
                code="remote",
            )
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
