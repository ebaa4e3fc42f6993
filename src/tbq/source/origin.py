"""Maps copies to what they are copies of: the core reads the copy, messages show a URL, or another tracker's log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.source.urls import is_remote, place_of

if TYPE_CHECKING:
    from tbq.errors import SourceError

_urls: dict[str, str] = {}
_failures: dict[str, SourceError] = {}


def origin(path: str) -> str:
    """The name to show for a file: the URL that it is a copy of, else its path."""
    return _urls.get(path, path)


def ordering_name(path: str) -> str:
    """The name that orders a file within its run: for a copy, the name of its object."""
    url = _urls.get(path)
    if url is None or not is_remote(url):
        return url or path
    place = place_of(url)
    return f"{place.store}/{place.key}"


def why_not_fetched(path: str) -> SourceError | None:
    """The error of the last attempt to fetch this file's object; None if it succeeded."""
    return _failures.get(path)


def stands_for(path: str, url: str) -> None:
    """Record that a file is, or will be, a copy of this URL."""
    _urls[path] = url


def note(path: str, failure: SourceError | None) -> None:
    """Record the error of fetching this file's object, or None if it succeeded."""
    if failure is None:
        _failures.pop(path, None)
    else:
        _failures[path] = failure


def forget(folder: str) -> None:
    """Forget the copies in this folder: they were deleted."""
    for path in [path for path in list(_urls) if path.startswith(folder)]:
        _urls.pop(path)
        _failures.pop(path, None)
