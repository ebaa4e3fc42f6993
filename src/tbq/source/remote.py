"""`Remote`: finds the objects of a log below URLs, by the same rules as for directories."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any

from tbq.arguments import StrPath
from tbq.errors import SourceError
from tbq.problems import Problem
from tbq.progress import Call
from tbq.source.cache import Cache
from tbq.source.mirror import Mirror
from tbq.source.origin import why_not_fetched
from tbq.source.store import Object, Store
from tbq.source.urls import LAKE, ObjectURL, is_above, is_remote, place_of, remember_users, user_of, users_of
from tbq.source.walk import is_event_file
from tbq.storage import Storage, cache_folder, cache_limit, chosen

_MAGIC = re.compile(r"[*?[]")


class Remote:
    """The remote part of one log or one follower: listings, the objects in them, and local copies of those."""

    def __init__(
        self, storage: Storage | None = None, cache: StrPath | None = None, live: bool = False
    ) -> None:
        self._storage = chosen(storage)
        self._cache = os.fspath(cache_folder(cache))
        self.live = live
        self._stores: dict[tuple[str, str | None], Store] = {}
        self._listings: dict[ObjectURL, dict[str, Object]] = {}
        self._before: dict[ObjectURL, dict[str, Object]] = {}  # the listings before the last `forget`
        self.objects: dict[str, Object] = {}
        #: what could not be listed
        self.problems: list[Problem] = []
        self._mirror = Mirror(Cache(cache_folder(cache), cache_limit()), live)

    def __reduce__(self) -> tuple[Any, ...]:
        users = users_of(place_of(url).store for url in self.objects)
        return _restored, (self._storage, self._cache, self.live, self.objects, users)

    def forget(self) -> None:
        """Forget all listings, so that the store is asked again."""
        self._before |= self._listings
        self._listings = {}
        self.objects.clear()
        self.problems.clear()
        self._mirror.begin()

    #: a new version of an object may have another path
    moves = True

    def expand(self, url: str) -> list[str]:
        """The URLs that a URL stands for: itself if it exists, else the matches of its pattern."""
        place = place_of(url)
        if self._is_file(place) or self._below(place):
            return [place.url]
        if not place.is_http and _MAGIC.search(place.key):
            matches = self._matches(place)
            if matches:
                return matches
            raise SourceError("no directory or event file matches this pattern", path=url)
        for problem in self.problems:
            raise SourceError(problem.message, path=problem.path, code=problem.code)
        raise SourceError("nothing is here", path=url, hint=None if self.live else self._nearby(place))

    def is_file(self, url: str) -> bool:
        """Whether the URL names an object, and not a directory."""
        return self._is_file(place_of(url))

    def walk(self, url: str, seen: set[str]) -> Iterator[tuple[str, str, list[str], int]]:
        """Each directory from the URL down: its URL, its name below it, its event files, and the number of other files.

        Skips directories in `seen`.
        """
        top = place_of(url)
        cut = len(top.key) + 1 if top.key else 0
        folders: dict[str, tuple[list[str], list[int]]] = {}
        for key, version in self._below(top).items():
            folder, _, name = key.rpartition("/")
            files, others = folders.setdefault(folder, ([], [0]))
            if is_event_file(name):
                files.append(self._note(ObjectURL(top.store, key), version))
            else:
                others[0] += 1
        for folder, (files, others) in folders.items():
            folder_url = ObjectURL(top.store, folder).url
            if folder_url not in seen:
                seen.add(folder_url)
                yield folder_url, folder[cut:], files, others[0]

    def is_lake(self, url: str) -> bool:
        """Whether a URL names a folder that `tbq sync` created."""
        place = place_of(url)
        return not place.is_http and place.below(LAKE).key in self._below(place)

    def file(self, url: str) -> str:
        """Note an object that the source names directly."""
        place = place_of(url)
        version = self._listings[place][place.key]
        return self._note(place, version)

    def fetch(self, urls: Iterable[str], progress: Call | None = None, most: int | None = None) -> int:
        """Fetch these objects, about `most` bytes at once; returns how many bytes are left."""
        wanted = {}
        for url in urls:
            version = self.objects.get(url)
            if version is not None:
                wanted[url] = (self._store(place_of(url)), version)
        left = self._mirror.fetch(wanted, progress, most)
        for url in wanted:
            version = self._mirror.version(url)
            if version is not None and not self.live:  # it may be newer than the listed version
                self.objects[url] = version
        return left

    def failed(self, urls: Iterable[str]) -> dict[str, SourceError]:
        """The objects that could not be fetched the last time, each with its error."""
        failures = ((url, why_not_fetched(self._mirror.path(url))) for url in urls)
        return {url: failure for url, failure in failures if failure is not None}

    def doubt(self, url: str) -> None:
        """Note that an object's file is damaged. A later version of the object may repair it."""
        self._mirror.doubt(url)

    def path(self, url: str) -> str:
        """The path of an object's file, which exists if the object could be fetched."""
        return self._mirror.path(url)

    def has(self, path: str) -> bool:
        """Whether a path is the URL of an object, and not that of a file of this machine."""
        return is_remote(path)

    def problems_of(self, _paths: Iterable[str], _run: str) -> list[Problem]:
        """What was lost of objects, besides what their files show: nothing."""
        return []

    def size(self, url: str) -> int:
        """The bytes of an object."""
        version = self.objects.get(url)
        return max(version.size, 0) if version is not None else 0

    def read_beside(self, url: str, most: int) -> bytes | None:
        """The first `most` bytes of an object; None if it does not exist or is empty."""
        place = place_of(url)
        store = self._store(place)
        above = ObjectURL(place.store, place.key.rpartition("/")[0])
        listed = next((objects for top, objects in self._listings.items() if is_above(top, above)), None)
        if listed is not None and place.key not in listed:
            return None
        version = store.head(place.key)
        return (
            store.get(place.key, 0, min(most, version.size)) if version is not None and version.size else None
        )

    def _note(self, place: ObjectURL, version: Object) -> str:
        self.objects[place.url] = version
        return place.url

    def _store(self, place: ObjectURL) -> Store:
        user = user_of(place)
        if (place.store, user) not in self._stores:
            self._stores[place.store, user] = Store(ObjectURL(place.store, ""), self._storage, user)
        return self._stores[place.store, user]

    def _is_file(self, place: ObjectURL) -> bool:
        if not place.key:
            return False
        if place in self._listings:
            return list(self._listings[place]) == [place.key]
        # Ask for the object if its name is that of an event file. Else list first: for a directory, that is enough.
        if is_event_file(place.key.rpartition("/")[2]) or not self._below(place):
            version = self._store(place).head(place.key)
            if version is not None:
                self._listings[place] = {place.key: version}
                return True
        return False

    def _below(self, place: ObjectURL) -> dict[str, Object]:
        """The objects below a directory, by key. Reuses an earlier listing if possible."""
        if place in self._listings:
            return self._listings[place]
        prefix = f"{place.key}/" if place.key else ""
        for listed, objects in self._listings.items():
            if is_above(listed, place):
                below = {key: each for key, each in objects.items() if key.startswith(prefix)}
                break
        else:
            below = self._list(place)
        self._listings[place] = below
        return below

    def _list(self, place: ObjectURL) -> dict[str, Object]:
        store = self._store(place)
        if place.is_http:
            from tbq.source.web import crawl

            crawled = crawl(store, place.key)
            if crawled is None:
                return {}
            found = {each.key: each for each in crawled.objects}
            for folder, reason in crawled.unlisted.items():
                url = ObjectURL(place.store, folder).url
                self.problems.append(Problem("unreadable", "error", f"cannot be listed: {reason}", path=url))
                # Assume that the objects of the last listing still exist.
                known = self._before.get(place, {}).items()
                found |= {key: each for key, each in known if key.startswith(f"{folder}/")}
            return found
        marker = place.below(LAKE).key
        objects: dict[str, Object] = {}
        above = place.below("").key if place.key else ""
        for page in store.list(place.key):
            objects.update((each.key, each) for each in page if each.key.startswith(above))
            if marker in objects:  # a lake has no runs below it, but maybe thousands of data files
                break
        return objects

    def _matches(self, place: ObjectURL) -> list[str]:
        """The directories and event files that a pattern matches, as `glob` does."""
        first = _MAGIC.search(place.key)
        assert first is not None
        above = place.key[: first.start()].rpartition("/")[0]
        pattern = re.compile(_translated(place.key), re.DOTALL)
        paths: dict[str, None] = {}
        for key in self._below(ObjectURL(place.store, above)):
            parts = key.split("/")
            for end in range(1, len(parts) + 1):
                path = "/".join(parts[:end])
                if pattern.fullmatch(path) and (end < len(parts) or is_event_file(parts[-1])):
                    paths[path] = None
        return [ObjectURL(place.store, path).url for path in sorted(paths)]

    def _nearby(self, place: ObjectURL) -> str | None:
        import difflib

        if place.is_http:
            return "want a directory with a listing, or the URL of an event file"
        above, _, name = place.key.rpartition("/")
        try:
            siblings = self._store(place).folders(above)
        except SourceError:
            return None
        close = difflib.get_close_matches(name, siblings, n=3)
        urls = [ObjectURL(place.store, above).below(each).url for each in close]
        return f"closest: {', '.join(urls)}" if urls else None


def _restored(
    storage: dict[str, str],
    cache: str,
    live: bool,
    objects: dict[str, Object],
    users: dict[ObjectURL, str],
) -> Remote:
    remember_users(users)
    remote = Remote(storage, cache, live)
    remote.objects.update(objects)
    return remote


def _translated(pattern: str) -> str:
    """A glob as a regular expression: `*` stays in its directory, `**` does not.

    >>> bool(re.fullmatch(_translated("runs/*/x[0-9]"), "runs/a/x1"))
    True
    """
    out = ""
    at = 0
    while at < len(pattern):
        if pattern.startswith("**/", at):
            out, at = out + "(?:.*/)?", at + 3
            continue
        letter = pattern[at]
        close = pattern.find("]", at + 2) if letter == "[" else -1
        if pattern.startswith("**", at):
            out, at = out + ".*", at + 2
        elif letter == "*":
            out, at = out + "[^/]*", at + 1
        elif letter == "?":
            out, at = out + "[^/]", at + 1
        elif close > 0:
            inside = pattern[at + 1 : close].replace("\\", "\\\\")
            inside = "^" + inside[1:] if inside.startswith("!") else inside
            out, at = f"{out}[{inside}]", close + 1
        else:
            out, at = out + re.escape(letter), at + 1
    return out
