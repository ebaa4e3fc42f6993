"""File names for runs and tags: valid on every file system, whatever their names, and no two alike."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping

_UNSAFE = re.compile(
    r'[\x00-\x1f\x7f-\x9f<>:"\\|?*\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff]'
)
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(\.|$)", re.IGNORECASE)
# These would make a file hidden, a home directory, an option, or a formula in a spreadsheet that lists the files.
_LEADING = (".", "~", "-", "=", "+", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_LONGEST = 80  # bytes of one part
_LONGEST_PATH = 160  # bytes of all parts of a tag or run


def folder(name: str) -> str:
    """A run's or tag's name as a safe relative path with `/`; not yet unique.

    >>> folder("../../etc/passwd")
    '_/_/etc/passwd'
    >>> folder("CON/a:b")
    '_CON/a_b'
    """
    parts = [part(each) for each in name.split("/") if each] or ["root" if name in ("", ".") else "_"]
    if name == ".":
        parts = ["root"]
    path = "/".join(parts)
    if len(path.encode()) > _LONGEST_PATH:
        path = f"{_cut(path.replace('/', '_'), _LONGEST)}-{mark(name)}"
    return path


def mark(name: str) -> str:
    """Eight characters that distinguish names that are cut or differ only by case."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def part(name: str, longest: int = _LONGEST) -> str:
    """A name as one part of a path, without anything that a system forbids, hides or interprets."""
    text = _UNSAFE.sub("_", unicodedata.normalize("NFC", name).encode("utf-8", "replace").decode())
    text = text.rstrip(" .").lstrip(" ")
    if not text:
        return "_"
    if _RESERVED.match(text) or text.startswith(_LEADING):
        text = f"_{text}"
    if len(text.encode()) > longest:
        text = f"{_cut(text, longest - 9).rstrip(' .')}-{mark(name)}"
    return text


def _cut(text: str, most: int) -> str:
    return text.encode()[:most].decode("utf-8", "ignore")


class Tree:
    """The paths of one output folder: hands out each path once, ignoring case and Unicode forms."""

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._folders: dict[str, str] = {}  # key -> the folder's spelling
        self._owner: dict[str, tuple[str, str]] = {}

    def folders(self, pairs: Mapping[tuple[str, str], str]) -> dict[tuple[str, str], str]:
        """A folder for each (run, tag), named by the value in `pairs`; no two share one."""
        out: dict[tuple[str, str], str] = {}
        for (run, tag), shown in pairs.items():
            path = self._spelled(f"{folder(run)}/{folder(shown)}")
            if self._owner.get(_key(path), (run, tag)) != (run, tag):
                path = f"{path}-{mark(run + chr(0) + tag)}"
            self._owner[_key(path)] = run, tag
            self._keep(path)
            out[run, tag] = path
        return out

    def _spelled(self, path: str) -> str:
        """The path, with a mark on each part that exists already in another spelling."""
        done = ""
        for part in path.split("/"):
            head = f"{done}/{part}" if done else part
            if self._folders.get(_key(head), head) != head:
                head = f"{head}-{mark(part)}"
            done = head
        return done

    def _keep(self, path: str) -> None:
        parts = path.split("/")
        for i in range(1, len(parts) + 1):
            head = "/".join(parts[:i])
            self._folders.setdefault(_key(head), head)

    def file(self, parent: str, stem: str, ending: str) -> str:
        """A path in that folder that no other file or folder has."""
        path, n = f"{parent}/{stem}{ending}", 2
        while _key(path) in self._files or _key(path) in self._folders:
            path, n = f"{parent}/{stem}-{n}{ending}", n + 1
        self._files.add(_key(path))
        return path


def _key(path: str) -> str:
    return unicodedata.normalize("NFKC", path).casefold()
