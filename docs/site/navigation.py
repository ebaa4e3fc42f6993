"""Where each page is in the navigation of the site; a page that no section names is at the end of the guides."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from docs.site.pages import title

#: Guides by subject. A new page in docs/ needs no entry here: it is listed under "More".
GUIDES: dict[str, tuple[str, ...]] = {
    "Read": ("tables", "select", "formats", "kinds", "restarts", "remote", "sources", "compat"),
    "Compare and decide": ("statistics", "sweeps", "sql", "plot"),
    "Watch": ("live", "watch", "page", "serve", "notebook", "board", "mcp"),
    "Diagnose and repair": ("doctor", "diagnose", "rewrite"),
    "Write": (
        "writer",
        "training",
        "training/script",
        "training/loop",
        "training/lightning",
        "training/transformers",
        "training/keras",
        "training/accelerate",
        "training/optuna",
        "training/ray-tune",
        "training/others",
        "results",
    ),
    "Scale": ("lake", "scale"),
}
REFERENCE = (
    "reference/commands/index", "reference/python/index", "reference/tables", "sql", "formats", "environment",
    "reference/errors", "reference/findings/index", "reference/http",
)  # fmt: skip
INSIDE = (
    "how-it-works", "speed", "architecture", "differences", "stability", "benchmarks", "security", "decisions/README",
    "contributing", "changelog",
)  # fmt: skip

#: Folders with a section of their own.
SECTIONS = ("decisions", "how", "notebooks", "reference")


def nav(folder: Path) -> str:
    """The navigation as zensical's configuration has it."""
    entries: list[dict[str, Any]] = [
        {"Home": "index.md"},
        {"Start here": ["start.md", "install.md"]},
        {"How do I …": ["how/index.md", *listed(folder / "how" / "index.md")]},
        {"Guides": guides(folder)},
        {"Reference": reference(folder)},
        {"Coming from": "coming-from.md"},
        {"Gallery": "gallery.md"},
        {"Notebooks": ["notebooks/index.md", *listed(folder / "notebooks" / "index.md")]},
        {"How it works": [*pages(folder, INSIDE), *rest(folder, "decisions", "decisions/README")]},
    ]
    return toml(entries)


def listed(index: Path) -> list[str]:
    """The pages of a folder, in the order in which its index links to them."""
    folder = index.parent
    names = [
        name
        for name in re.findall(r"\]\(([\w-]+\.md)[)#]", index.read_text("utf-8"))
        if (folder / name).exists()
    ]
    absent = sorted({path.name for path in folder.glob("*.md")} - {*names, "index.md"})
    if absent:
        raise SystemExit(f"{folder.name}/index.md does not link to {', '.join(absent)}")
    return [f"{folder.name}/{name}" for name in dict.fromkeys(names)]


def guides(folder: Path) -> list[dict[str, Any]]:
    """The guides by subject, and every other page of docs/."""
    placed = {stem for stems in GUIDES.values() for stem in stems}
    placed |= {"index", "start", "install", "coming-from", "gallery", *REFERENCE, *INSIDE}
    stems = (path.relative_to(folder).with_suffix("").as_posix() for path in sorted(folder.rglob("*.md")))
    more = [stem for stem in stems if stem not in placed and stem.split("/")[0] not in SECTIONS]
    sections = {**GUIDES, "More": tuple(more)}
    return [{name: pages(folder, stems)} for name, stems in sections.items() if stems]


def reference(folder: Path) -> list[Any]:
    """The reference; its lists of commands, classes and findings are sections."""
    entries: list[Any] = []
    for stem in REFERENCE:
        if stem.endswith("/index"):
            within = stem.removesuffix("/index")
            heading = title((folder / f"{stem}.md").read_text("utf-8"))
            entries.append({heading: [f"{stem}.md", *rest(folder, within, stem)]})
        else:
            entries += pages(folder, (stem,))
    return [*entries, {"For assistants": "reference/assistant.md"}]


def pages(folder: Path, stems: tuple[str, ...]) -> list[Any]:
    """Pages by name; a name without a page is an error."""
    for stem in stems:
        if not (folder / f"{stem}.md").exists():
            raise SystemExit(f"docs/site/navigation.py names {stem}.md, which does not exist")
    return [f"{stem}.md" for stem in stems]


def rest(folder: Path, within: str, index: str) -> list[str]:
    """The other pages of a folder, by name."""
    found = (path.relative_to(folder).as_posix() for path in sorted((folder / within).glob("*.md")))
    return [name for name in found if name != f"{index}.md"]


def toml(value: Any) -> str:
    """Lists, tables and strings as TOML."""
    if isinstance(value, dict):
        return (
            "{ "
            + ", ".join(
                f"{json.dumps(key, ensure_ascii=False)} = {toml(each)}" for key, each in value.items()
            )
            + " }"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
