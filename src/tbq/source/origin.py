"""Which URL a file is a copy of: people read of the URL, wherever the core reads the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.source.urls import is_remote, place_of

if TYPE_CHECKING:
    from tbq.errors import SourceError

_urls: dict[str, str] = {}
_failures: dict[str, SourceError] = {}


def origin(path: str) -> str:
    """What people call a file: the URL that it is a copy of, else its path."""
    return _urls.get(path, path)


def ordering_name(path: str) -> str:
    """The name by which a file is ordered among those of its run: that of the object, whatever its copy is called."""
    url = _urls.get(path)
    if url is None or not is_remote(url):
        return path
    place = place_of(url)
    return f"{place.store}/{place.key}"


def why_not_fetched(path: str) -> SourceError | None:
    """What went wrong when the object of this file was last fetched; None if nothing did."""
    return _failures.get(path)


def stands_for(path: str, url: str) -> None:
    """A file is, or will be, a copy of this URL."""
    _urls[path] = url


def note(path: str, failure: SourceError | None) -> None:
    """What went wrong with the object of a file, if anything did."""
    if failure is None:
        _failures.pop(path, None)
    else:
        _failures[path] = failure


def forget(folder: str) -> None:
    """The copies in this folder are gone."""
    for path in [path for path in list(_urls) if path.startswith(folder)]:
        _urls.pop(path)
        _failures.pop(path, None)
