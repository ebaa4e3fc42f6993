"""Which URL a file is a copy of: people read of the URL, wherever the core reads the file."""

from __future__ import annotations

_urls: dict[str, str] = {}
_failures: dict[str, str] = {}


def origin(path: str) -> str:
    """What people call a file: the URL that it is a copy of, else its path."""
    return _urls.get(path, path)


def why_not_fetched(url: str) -> str | None:
    """What went wrong when an object was last fetched; None if nothing did."""
    return _failures.get(url)


def stands_for(path: str, url: str) -> None:
    """A file is, or will be, a copy of this URL."""
    _urls[path] = url


def note(url: str, failure: str | None) -> None:
    """What went wrong with a URL, if anything did."""
    if failure is None:
        _failures.pop(url, None)
    else:
        _failures[url] = failure


def forget(folder: str) -> None:
    """The copies in this folder are gone."""
    for path in [path for path in list(_urls) if path.startswith(folder)]:
        _failures.pop(_urls.pop(path), None)
