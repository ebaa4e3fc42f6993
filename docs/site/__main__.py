"""`python -m docs.site [FOLDER]`: gathers the pages, writes the reference, runs the notebooks, builds the site."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from docs.site import assistant, commands, findings, library, navigation, notebooks, pages, tables

#: The configuration of zensical, besides the navigation. Nothing here is fetched when the site is built or read.
CONFIGURATION = """\
[project]
site_name = "tbq"
site_description = "jq for training logs, TensorBoard's first: tables, fast and complete."
docs_dir = "pages"
site_dir = "site"
use_directory_urls = false
extra_css = ["site.css"]
nav = {nav}

[project.theme]
font = false
features = [
  "content.code.copy", "navigation.footer", "navigation.indexes", "navigation.path", "navigation.tabs",
  "navigation.top", "search.highlight", "toc.follow",
]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"
toggle.icon = "lucide/sun"
toggle.name = "Dark mode"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"
toggle.icon = "lucide/moon"
toggle.name = "Light mode"

[project.markdown_extensions]
attr_list = {{}}
md_in_html = {{}}
tables = {{}}
toc.permalink = true
pymdownx.highlight.pygments_lang_class = true
pymdownx.superfences = {{}}
"""


def gather(folder: Path) -> None:
    """Write every page of the site into a folder: those of the tree, and the generated ones."""
    pages.copy(folder)
    for each in (commands, library, tables, findings, notebooks):
        for name, text in each.pages():
            pages.write(folder / name, text)
    for name, text in assistant.pages(folder):
        pages.write(folder / name, text)


def build(folder: Path) -> Path:
    """Build the site in a folder; returns where it is. Any warning is an error."""
    shutil.rmtree(folder, ignore_errors=True)
    gather(folder / "pages")
    nav = navigation.nav(folder / "pages")
    (folder / "zensical.toml").write_text(CONFIGURATION.format(nav=nav), encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", "zensical.toml"]
    subprocess.run(command, cwd=folder, check=True)
    understand_questions(folder / "site" / "assets" / "javascripts" / "workers")
    return folder / "site"


def understand_questions(workers: Path) -> None:
    """Put search.js before the search of zensical, which it needs."""
    (engine,) = workers.glob("search.*.js")
    moved = engine.rename(engine.with_name(engine.name.replace("search", "engine", 1)))
    # The page to put first is often not among the engine's first ten results.
    more, changed = re.subn(r"(handler:\w+),size:10\b", r"\1,size:200", moved.read_text("utf-8"))
    assert changed == 1, "zensical's search has another limit now"
    moved.write_text(more, encoding="utf-8")
    text = Path(__file__).with_name("search.js").read_text("utf-8")
    engine.write_text(text.replace("ENGINE", moved.name), encoding="utf-8")


if __name__ == "__main__":
    site = build(Path(*sys.argv[1:2] or ["build/docs"]))
    print(f"the site is in {site}")
