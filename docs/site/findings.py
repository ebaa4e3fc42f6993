"""The findings of `tbq doctor`: one page per code, with what `tbq doctor --explain` prints."""

from __future__ import annotations

import re
from collections.abc import Iterator

from docs.site.pages import table

from tbq.diagnosis import codes, explain


def pages() -> Iterator[tuple[str, str]]:
    """The list of findings, and one page per code."""
    listed = [(f"[{code}]({code}.md)", title) for code, title in codes().items()]
    intro = "[`tbq doctor`](../../doctor.md) reports these. The meaning of a code never changes."
    parts = ["# Findings of tbq doctor", intro, table("code|what it finds", listed)]
    yield "reference/findings/index.md", "\n\n".join(parts) + "\n"
    for code, title in codes().items():
        yield f"reference/findings/{code}.md", page(code, title)


def page(code: str, title: str) -> str:
    """The page of a finding."""
    heading, _, text = explain(code).partition("\n\n")
    severity = heading.rpartition("(")[2].rstrip(")")
    body = text.partition("\n\n")[2]
    sections = re.sub(r"^(\S.*)$", r"## \1\n", body, flags=re.MULTILINE)
    sections = re.sub(r"^    ", "", sections, flags=re.MULTILINE).strip()
    said = f"Severity: {severity}. `tbq doctor --explain {code}` prints this text."
    return "\n\n".join([f"# {code}: {title.rstrip('.')}", said, sections]) + "\n"
