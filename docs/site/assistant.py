"""`llms.txt`, and one page with everything that an assistant needs to use tbq."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from docs.site import library
from docs.site.commands import command, options
from docs.site.pages import UNSEARCHED, title

from tbq.cli import COMMANDS
from tbq.schema import KINDS, schema


def pages(folder: Path) -> Iterator[tuple[str, str]]:
    """The page for assistants, and the list of all pages for programs."""
    yield "reference/assistant.md", UNSEARCHED + everything()
    yield "llms.txt", links(folder)


def everything() -> str:
    """The text of assistant.md, then tables, commands with their options, and signatures."""
    parts = [
        Path(__file__).with_suffix(".md").read_text("utf-8").rstrip(),
        "## Tables",
        "\n".join(f"- `{kind}`: {', '.join(schema(kind).names)}" for kind in KINDS),
        "## Commands",
    ]
    for name, (_, purpose) in COMMANDS.items():
        records = [record for group in options(*command(name)).values() for record in group]
        names = ", ".join(f"`{each}`" for each, _ in records if each != "-h, --help" and each != "--help")
        parts.append(f"**tbq {name}** {purpose} {names}")
    parts.append("## Python")
    for each in library.public():
        short = each.name.rpartition(".")[2]
        if isinstance(each.value, type):
            lines = [library.signature(f"{short}.{name}", value) for name, value in library.members(each.value)
                     if not isinstance(value, library.PROPERTIES)]  # fmt: skip
        else:
            lines = [library.signature(each.name, each.value)]
        about = library.first_line(each.value)
        code = "\n".join(re.sub(r"\s*\n\s*", " ", line) for line in lines)
        parts += [f"`{each.name}`: {about}", f"```python\n{code}\n```" if code else ""]
    return "\n\n".join(part for part in parts if part) + "\n"


def links(folder: Path) -> str:
    """`llms.txt`: what tbq is, and an address for each page."""
    lines = [
        "# tbq",
        "",
        "> jq for training logs, TensorBoard's first: tables, fast and complete. Command line and Python.",
        "",
        "- [Everything on one page](reference/assistant.html): commands, options, tables, Python, ten examples",
    ]
    for section, pattern in (
        ("How do I", "how/*.md"),
        ("Guides", "*.md"),
        ("Reference", "reference/**/*.md"),
    ):
        lines += ["", f"## {section}", ""]
        for path in sorted(folder.glob(pattern)):
            name = path.relative_to(folder).with_suffix(".html").as_posix()
            lines.append(f"- [{title(path.read_text('utf-8'))}]({name})")
    return "\n".join(lines) + "\n"
