"""The pages of the tree, copied for the site, with links that hold there."""

from __future__ import annotations

import posixpath
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
#: Pages outside docs/ that the site has too, and what they are called there.
OUTSIDE = {
    "ARCHITECTURE.md": "architecture.md",
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/README.md": "benchmarks.md",
}
#: The head of a page that the search leaves out, because it repeats what other pages say.
UNSEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_BAR = re.compile(r"\|(?=[^`]*(?:`[^`]*`[^`]*)*$)")  # outside code
_CODE = re.compile(r"`[^`\n]+`")
_LINK = re.compile(r"(?<!\!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(\s*([^)\s]+)\s*\)")


def copy(folder: Path) -> None:
    """Copy docs/ and the pages of `OUTSIDE` into a folder."""
    unwanted = shutil.ignore_patterns("site", "*.ipynb", "*.py", "__pycache__")
    shutil.copytree(DOCS, folder, ignore=unwanted, dirs_exist_ok=True)
    shutil.copy(Path(__file__).with_name("site.css"), folder)
    for page in sorted(folder.rglob("*.md")):
        name = page.relative_to(folder).as_posix()
        write(page, linked(page.read_text("utf-8"), f"docs/{name}", name))
    for source, name in OUTSIDE.items():
        if (folder / name).exists():
            raise SystemExit(f"docs/{name} and {source} would be the same page of the site")
        write(folder / name, linked((ROOT / source).read_text("utf-8"), source, name))
    for name in ("index.md", "how/index.md", "changelog.md"):
        write(folder / name, UNSEARCHED + (folder / name).read_text("utf-8"))


def linked(text: str, source: str, name: str) -> str:
    """The text of a page of the tree, with links to other pages of the site; other files are only named."""

    def target(found: re.Match[str]) -> str:
        label, link = found.groups()
        path, mark, anchor = link.partition("#")
        if "://" in link or link.startswith("mailto:") or not path:
            return found[0]
        place = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if not (ROOT / place).exists() and not place.startswith("docs/reference/"):
            raise SystemExit(f"{source}: the link to {link} leads nowhere")
        page = OUTSIDE.get(place, place.removeprefix("docs/") if place.startswith("docs/") else None)
        page = re.sub(r"\.ipynb$", ".md", page) if page else None
        if page is None or not page.endswith((".md", ".png", ".gif", ".html")):
            return (
                label if label.startswith("`") else f"{label} (`{place}`)" if label != place else f"`{label}`"
            )
        way = posixpath.relpath(page, posixpath.dirname(name) or ".")
        return f"[{label}]({way}{mark}{anchor})"

    return outside_fences(text, lambda prose: _CODE.sub(bars, _LINK.sub(target, prose)))


def bars(code: re.Match[str]) -> str:
    """Code in a table with its `|` as they are: on the site they need no backslash, unlike elsewhere."""
    return code[0].replace("\\|", "|")


def outside_fences(text: str, change: Callable[[str], str]) -> str:
    """The text with a change to everything except blocks of code."""
    parts = _FENCED.split(text)
    return "".join(part if part.startswith("```") else change(part) for part in parts)


def write(path: Path, text: str) -> None:
    """Write a page, in a folder that may be missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def title(text: str) -> str:
    """The first heading of a page, without its marks."""
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    if found is None:
        raise SystemExit(f"a page without a heading: {text[:60]!r}")
    return found[1].replace("`", "")


def table(header: str, rows: Sequence[tuple[str, ...]]) -> str:
    """A Markdown table; `|` outside code is escaped."""
    columns = header.split("|")
    lines = [columns, ["---"] * len(columns), *([_BAR.sub(r"\|", cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
