"""The files of the page, read once; the index names all modules, so that a browser loads them at once."""

from __future__ import annotations

import mimetypes
import posixpath
import re
from functools import cache, lru_cache, partial
from html import escape
from importlib import resources

from tbq.server.http.encoding import Answer, json_answer, known_by

#: An import of another module of the page: the words before the path, the quote, the path.
IMPORT = re.compile(r"""(\bfrom\s*|\bimport\s*)(["'])(\.{1,2}/[^"']+)\2""")
_TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".html": "text/html",
          ".svg": "image/svg+xml", ".json": "application/json", ".woff2": "font/woff2"}  # fmt: skip
_HEAD = "</head>"


@cache
def modules(first: str = "main.js") -> dict[str, str]:
    """The modules that this one needs by their path, in the order in which imports reach them."""
    texts: dict[str, str] = {}
    waiting = [first]
    folder = resources.files("tbq.server").joinpath("static")
    while waiting:
        name = waiting.pop(0)
        place = folder.joinpath(*name.split("/"))
        if name in texts or not place.is_file():
            continue
        texts[name] = place.read_text("utf-8")
        waiting += [target(name, match[3]) for match in IMPORT.finditer(texts[name])]
    return texts


def bare_modules(first: str = "main.js") -> dict[str, str]:
    """The same modules, which import each other as "tbq/PATH": for pages that are one file.

    >>> [line for line in bare_modules("notebook.js")["frame.js"].splitlines() if line.startswith("import")]
    ['import { unpack } from "tbq/packed.js";']
    """

    def bare(name: str, match: re.Match[str]) -> str:
        return f'{match[1]}"tbq/{target(name, match[3])}"'

    return {name: IMPORT.sub(partial(bare, name), source) for name, source in modules(first).items()}


def target(name: str, path: str) -> str:
    """The module that `name` imports by a relative path.

    >>> target("chart/paint.js", "../format.js")
    'format.js'
    """
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), path))


@cache
def index() -> Answer:
    """The page, with a preload link for each module."""
    plain = file("index.html")
    links = "".join(f'<link rel="modulepreload" href="static/{escape(name)}">\n' for name in modules())
    body = plain.body.decode().replace(_HEAD, links + _HEAD).encode()
    return Answer(body, plain.type, headers=known_by(body))


@lru_cache(maxsize=200)
def file(path: str) -> Answer:
    """A file of the page; files outside its folder are not found."""
    parts = path.split("/")
    if any(part in ("", ".", "..") or "\\" in part or ":" in part for part in parts):
        return json_answer({"error": "no such file", "hint": None}, 404)
    place = resources.files("tbq.server").joinpath("static", *parts)
    suffix = f".{parts[-1].rpartition('.')[2]}"
    kind = _TYPES.get(suffix) or mimetypes.guess_type(parts[-1])[0] or "application/octet-stream"
    try:
        body = place.read_bytes()
    except (OSError, ValueError):  # ValueError: a name with a NUL
        return json_answer({"error": "no such file", "hint": None}, 404)
    return Answer(body, kind, headers=known_by(body))
