"""Lists what a web server has below a directory, from the pages of links that servers generate."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from tbq.errors import SourceError
from tbq.source.store import MissingObjectError, Object, Store, unknown
from tbq.source.walk import is_event_file

_MOST_PAGES = 100_000  # a limit for servers that generate endless directories
_LARGEST = 64 << 20
_TOGETHER = 16


class Crawled(NamedTuple):
    """The objects below a directory, and the directories that could not be listed, each with the reason."""

    objects: list[Object]
    unlisted: dict[str, str]


def crawl(store: Store, key: str) -> Crawled | None:
    """Every file below a directory; None if there is no such page. Asks the size of event files only."""
    files: dict[str, None] = {}
    unlisted: dict[str, str] = {}
    pages = {key: None}
    page = store.head(key)
    if page is None or page.size > _LARGEST:
        return None
    with ThreadPoolExecutor(_TOGETHER, "tbq-web") as pool:
        level = [key]
        while level:
            listed = list(pool.map(lambda folder: _listed(store, folder, folder == key), level))
            if level == [key] and listed[0] is None:
                return None
            folders = []
            for folder, links in zip(level, listed, strict=True):
                if isinstance(links, SourceError):
                    unlisted[folder] = links.message
                    continue
                for name, is_folder in links or ():
                    path = f"{folder}/{name}" if folder else name
                    if not is_folder:
                        files[path] = None
                    elif path not in pages and len(pages) < _MOST_PAGES:
                        pages[path] = None
                        folders.append(path)
            level = folders
        return Crawled(list(pool.map(lambda path: _head(store, path), files)), unlisted)


def _head(store: Store, path: str) -> Object:
    """The version of a listed file. If the server does not tell, fetching finds out or reports a problem."""
    if not is_event_file(path.rpartition("/")[2]):
        return Object(path, 0, "", 0.0)
    try:
        return store.head(path) or unknown(path)
    except SourceError:
        return unknown(path)


def _listed(store: Store, folder: str, is_top: bool) -> list[tuple[str, bool]] | SourceError | None:
    """The links of a page, or the error if there are none. Below the top, an error concerns only this directory."""
    try:
        return _links(store, folder)
    except MissingObjectError as nothing:
        return None if is_top else nothing
    except SourceError as failure:
        if is_top:
            raise
        return failure


def _links(store: Store, folder: str) -> list[tuple[str, bool]] | None:
    """The names that a page links to in its own directory, and whether each is a directory."""
    data = store.get(folder)
    if not re.search(rb"<a\s", data[:1_000_000], re.IGNORECASE):
        return None
    parser = _Anchors()
    parser.feed(data.decode("utf-8", "replace"))
    names: dict[tuple[str, bool], None] = {}
    for link in parser.links:
        parts = urlsplit(link)
        if parts.query or parts.scheme not in ("", "http", "https"):
            continue
        path = unquote(parts.path, errors="surrogateescape")
        if parts.netloc or path.startswith("/"):  # an absolute link: only the same directory counts
            inside = f"/{folder}/" if folder else "/"
            if not path.startswith(inside) or (parts.netloc and not store.url.endswith(f"//{parts.netloc}")):
                continue
            path = path[len(inside) :]
        path = path.removeprefix("./")
        name = path.removesuffix("/")
        if name and "/" not in name and name not in (".", ".."):
            names[name, path.endswith("/")] = None
    return list(names)


class _Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.links += [value for name, value in attrs if name == "href" and value]
