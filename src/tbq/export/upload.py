"""Outputs to URLs: written to this disk, then uploaded in one step, so that no partial object is visible."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from tbq.arguments import StrPath
from tbq.errors import OutputError, SourceError, existing
from tbq.scratch import temporary
from tbq.source.store import Store, open_store
from tbq.source.urls import ObjectURL, place_of

_asked: set[str] = set()  # stores that have answered a listing


@contextlib.contextmanager
def uploaded(path: StrPath, force: bool) -> Iterator[Path]:
    """The name of a file that becomes the object if the block succeeds; otherwise the store is unchanged."""
    place, store = _target(path)
    with temporary("upload") as scratch:
        content = scratch.folder / f"content{Path(place.key).suffix}"
        yield content
        store.put(place.key, content, replace=force)


def check_absent(path: StrPath, force: bool) -> None:
    """Raise if the object exists and may not be replaced, or if the store cannot be reached."""
    place, store = _target(path)
    try:
        if place.store not in _asked:  # a head request does not say whether the bucket exists
            next(store.list(place.key), None)
            _asked.add(place.store)
        exists = not force and store.head(place.key) is not None
    except SourceError as failure:
        if failure.code == "denied":  # writing may be allowed without reading
            return
        raise OutputError(failure.message, path=path, hint=failure.hint, code=failure.code) from failure
    if exists:
        raise existing(path)


def refuse_web_server(place: ObjectURL) -> None:
    """Raise if the URL is that of a web server."""
    if place.is_http:
        hint = "write to a file, or to s3://, gs:// or az://"
        raise OutputError("tbq cannot write to a web server", path=place.url, hint=hint, code="remote")


def _target(path: StrPath) -> tuple[ObjectURL, Store]:
    place = place_of(path)
    refuse_web_server(place)
    if not place.key or os.fspath(path).endswith("/"):
        raise OutputError(
            "does not name an object", path=path, hint=f"want {place.url}/name.parquet", code="remote"
        )
    return place, open_store(place.store)
