"""Outputs that are URLs: made on this disk, then written to the store in one step, so that no half object is seen."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from tbq.arguments import StrPath
from tbq.errors import OutputError, SourceError
from tbq.scratch import temporary
from tbq.source.store import Store, open_store
from tbq.source.urls import Place, place_of

_asked: set[str] = set()  # stores that have answered


@contextlib.contextmanager
def uploaded(path: StrPath, force: bool) -> Iterator[Path]:
    """The name of a file that becomes the object when the block ends well; else the store is as it was."""
    place, store = _target(path)
    with temporary("upload") as scratch:
        content = scratch.folder / f"content{Path(place.key).suffix}"
        yield content
        store.put(place.key, content, replace=force)


def check_absent(path: StrPath, force: bool) -> None:
    """Raise if there is such an object and it is not to be replaced, or if the store cannot be asked."""
    place, store = _target(path)
    try:
        if place.store not in _asked:  # a head request does not say whether the bucket exists
            next(store.list(place.key), None)
            _asked.add(place.store)
        there = not force and store.head(place.key) is not None
    except SourceError as failure:
        if failure.code == "denied":  # who may write need not be allowed to look
            return
        raise OutputError(failure.message, path=path, hint=failure.hint, code=failure.code) from failure
    if there:
        raise OutputError(
            "is already there", path=path, hint="use --force (force=True) to replace it", code="exists"
        )


def _target(path: StrPath) -> tuple[Place, Store]:
    place = place_of(path)
    if place.is_http:
        hint = "write to a file, or to s3://, gs:// or az://"
        raise OutputError("a web server cannot be written to", path=path, hint=hint, code="remote")
    if not place.key or os.fspath(path).endswith("/"):
        raise OutputError(
            "does not name an object", path=path, hint=f"want {place.url}/name.parquet", code="remote"
        )
    return place, open_store(place.store)
