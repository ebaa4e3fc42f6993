"""Writes a report: the page with its data in one file, which needs neither a server nor a network."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tbq.arguments import StrPath, bad, choice
from tbq.decode.options import ON_ERROR
from tbq.decode.problems import tell
from tbq.errors import SelectionError, SourceError, UsageError, collected_warnings, warn
from tbq.export.target import check_free, output
from tbq.progress import reporting
from tbq.select import Selection
from tbq.server.answers.groups import BANDS
from tbq.server.answers.runs import tag_entry
from tbq.server.http.page_files import bare_modules
from tbq.server.live_log import LiveLog
from tbq.server.report.embedded import Embedded
from tbq.table.smooth import check_weight
from tbq.text import counted, shell_word

if TYPE_CHECKING:
    from tbq.decode.options import OnError
    from tbq.decode.reader import Reader
    from tbq.progress import Progress
    from tbq.select import Names
    from tbq.source.discover import Found

MOST_TAGS = 24  # unless the caller selects tags
_LONGEST = 1_000_000  # characters of the text


def write_report(
    reader: Reader,
    path: StrPath,
    *,
    title: str | None = None,
    text: str = "",
    tag: Names = None,
    by: str | None = None,
    band: str = "std",
    smooth: float = 0.0,
    force: bool = False,
    progress: Progress | None = None,
    on_error: OnError = "warn",
    **options: Any,
) -> str:
    """Write the report; `options` are passed to `LiveLog`."""
    if Path(path).suffix.lower() not in ("", ".html", ".htm"):
        raise UsageError(
            f"{str(path)!r}: a report is an HTML file",
            hint="e.g. report.html; a browser prints it as a PDF",
        )
    check_free(path, force)
    choice("on_error", on_error, ON_ERROR)
    check_weight(smooth)
    choice("band", band, BANDS)
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise bad("text", type(text).__name__, f"a text of at most {_LONGEST:,} characters")
    Selection.of(options.get("run"), "run").require(reader.names, where=reader.path)
    log = LiveLog(reader.found.paths, title=title, max_unpacked=None, **options)
    try:
        log.follower.discovery = Known(reader.found)  # type: ignore[assignment]
        log.follower.reader.unpacked = reader.unpacked
        with reporting(progress) as call:
            log.read_everything(call)
        tell(log.follower.problems, on_error, reader.warned)
        if not log.states:
            raise SourceError("nothing to report: no event files", path=reader.path)
        with collected_warnings():
            page, left_out = _page(log, _chosen(log, tag, reader.path), text, by, band, smooth)
    finally:
        log.close()
    for each in left_out:
        warn(f"report: {each}")
    with output(path, force) as stream:
        stream.write(page.encode("utf-8", "replace"))
    return str(path)


class Known:
    """Runs that are already known, in place of `Discovery`."""

    def __init__(self, found: Found) -> None:
        self.found = found

    @property
    def paths(self) -> list[str]:
        """The paths as the caller wrote them."""
        return self.found.paths

    def exists(self) -> bool:
        """True: the caller has found them."""
        return True

    def search(self) -> None:
        """Nothing to do."""


def _page(
    log: LiveLog, chosen: tuple[list[str], list[str]], text: str, by: str | None, band: str, smooth: float
) -> tuple[str, list[str]]:
    tags, left_out = chosen
    embedded = Embedded(log)
    embedded.left_out += left_out
    for path in ("state", "runs", "hparams"):
        embedded.ask(path)
    embedded.json("tags", {"version": log.version, "tags": _listed(log, tags)})
    if by is not None:
        embedded.ask("groups", by=by)
    embedded.metrics(tags, by)
    embedded.curves(tags, by, band, smooth)
    embedded.images()
    embedded.texts()
    embedded.health()
    facts = {
        "title": log.title, "text": text, "tags": tags, "by": by, "band": band, "smooth": smooth,
        "views": embedded.views, "made": time.time(), "left_out": embedded.left_out,
        "commands": _commands(log, tags, by, band, smooth),
    }  # fmt: skip
    embedded.json("report", facts)
    return html(log.title, embedded.blocks), embedded.left_out


def _chosen(log: LiveLog, tag: Names, where: str) -> tuple[list[str], list[str]]:
    """The tags with curves in the report, and the remarks on tags that it leaves out."""
    with log.lock:
        known = [name for name, kinds, _ in log.index.totals() if "scalars" in kinds]
    wanted = Selection.of(tag)
    if not wanted.everything:
        return wanted.require(known, where=where), []
    left = len(known) - MOST_TAGS
    said = [f"{counted(left, 'more tag')}; choose by tag=, --tag"] if left > 0 else []
    return known[:MOST_TAGS], said


def _listed(log: LiveLog, tags: Sequence[str]) -> list[dict[str, Any]]:
    """The tags that appear in the report."""
    with log.lock:
        totals = log.index.totals()
    return [
        tag_entry(name, kinds, rows)
        for name, kinds, rows in totals
        if name in tags or kinds.keys() & {"images", "texts"}
    ]


def _commands(
    log: LiveLog, tags: Sequence[str], by: str | None, band: str, smooth: float
) -> list[dict[str, str]]:
    """The commands that reproduce this report and its figures."""
    from tbq.server.answers.plot_command import logdirs

    where = logdirs(log)
    grouped = ["--by", by, "--band", band] if by is not None else []
    smoothed = ["--smooth", str(smooth)] if smooth else []
    few = [word for tag in tags[:12] for word in ("--tag", tag)]
    lines = [
        ("this report", ["tbq", "report", *where, *few, *grouped, *smoothed, "-o", "report.html"]),
        ("its figures", ["tbq", "plot", *where, *few, *grouped, *smoothed, "-o", "figures.svg"]),
        ("the table of runs", ["tbq", "summary", *where]),
        ("the findings", ["tbq", "doctor", *where]),
        ("this page, live", ["tbq", "serve", *where]),
    ]
    return [{"what": what, "command": " ".join(map(shell_word, words))} for what, words in lines]


def html(title: str, blocks: Sequence[str]) -> str:
    """The server's page as one file: modules in an import map of data: URLs, data in blocks."""
    folder = resources.files("tbq.server").joinpath("static")
    scripts = bare_modules()
    if "main.js" not in scripts:
        raise SelectionError("this installation has no page", hint="reinstall tbq")
    imports = {f"tbq/{name}": _data_url(name, source) for name, source in scripts.items()}
    mapping = json.dumps({"imports": imports})
    start = 'import "tbq/main.js";'
    first = folder.joinpath("first.js")
    early = first.read_text("utf-8") if first.is_file() else ""
    style = folder.joinpath("page.css").read_text("utf-8")
    # Scripts are allowed by their hashes, modules as data: URLs. Nothing is loaded from elsewhere.
    allowed = " ".join(f"'{_hash(script)}'" for script in (early, mapping, start) if script)
    policy = (
        f"default-src 'none'; script-src {allowed} data:; style-src '{_hash(style)}'; img-src data: blob:; "
        "media-src data: blob:; connect-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
    )
    return "\n".join(
        [
            "<!doctype html>",
            f'<html lang="en" data-report="{escape(title)}">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            '<meta name="referrer" content="no-referrer">',
            f'<meta name="generator" content="tbq {_version()}">',
            f"<title>{escape(title)}</title>",
            f"<style>{style}</style>",
            *([f"<script>{early}</script>"] if early else []),
            f'<script type="importmap">{mapping}</script>',
            "</head>",
            "<body>",
            '<div id="app"><noscript>This report needs JavaScript.</noscript></div>',
            *blocks,
            f'<script type="module">{start}</script>',
            "</body>",
            "</html>",
            "",
        ]
    )


def _data_url(_name: str, source: str) -> str:
    return f"data:text/javascript;base64,{base64.b64encode(source.encode()).decode()}"


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _version() -> str:
    from tbq import __version__

    return __version__
