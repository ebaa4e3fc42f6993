"""Texts of a log as Markdown and HTML: opening the file loads nothing, runs nothing, and shows what was logged."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import eventfile as ef
import pyarrow as pa
import pytest
from escapes import raw
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from profiles import examples

import tbq
from tbq.export import write
from tbq.export.markdown import inert, literal

SCHEMES = ("http:", "https:", "mailto:")
ATTACKS = [
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](javascript&colon;alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](java\\script\\:alert(1))",
    "[x](<javascript:alert(1)>)",
    "[x](<java\tscript:alert(1)>)",
    "[x](  javascript:alert(1))",
    "[x](\njavascript:alert(1) 'title')",
    "[x](" + " " * 5000 + "javascript:alert(1))",
    "[x](java" + "&Tab;" * 2000 + "script:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:msgbox(1))",
    "[x](file:///etc/passwd)",
    "[x][r]\n\n[r]: javascript:alert(1)",
    "[r]\n\n[r]:\njavascript:alert(1)",
    "> [r]\n>\n> [r]:\n> javascript:alert(1)",
    "- [r]\n\n  [r]: <javascript:alert(1)>",
    "<javascript:alert(1)>",
    "<https://tracker.example/>",
    "![x](https://tracker.example/x.png)",
    "![x][r]\n\n[r]: https://tracker.example/x.png",
    "![r]\n\n[r]: //tracker.example/x.png",
    "[![x](https://tracker.example/x.png)](javascript:alert(1))",
    "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    "![x](\\\\host\\share\\x.png)",
    "<img src=https://tracker.example/x.png>",
    "<script>alert(1)</script>",
    "<a href='javascript:alert(1)'>x</a>",
    "<svg onload=alert(1)>",
    "</td></tr></table><script>alert(1)</script>",
    "<!-- --><iframe src=x>",
    "<?php ?><b>",
    "a | b\n| --- | ---",
    "`code` <b>",
    "```\n![x](https://tracker.example/x.png)\n```\n![x](https://tracker.example/x.png)",
    "\\![x](https://tracker.example/x.png)",
    "!\\[x](javascript:alert(1))",
    "&lt;script&gt; &amp; &copy; AT&T",
    "*a* _b_ **c** ~~d~~ train/loss_mean __init__",
]


class Page(HTMLParser):
    """The elements of a page that load, link to or run something, and its text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.active: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in {"p", "table", "thead", "tbody", "tr", "td", "th", "br", "em", "strong", "code", "pre", "s",
                       "ul", "ol", "li", "blockquote", "hr", *(f"h{n}" for n in range(1, 7))}:  # fmt: skip
            self.active.append((tag, dict(attrs)))
        if tag == "br":
            self.text.append("\n")

    def handle_comment(self, data: str) -> None:
        self.active.append(("comment", {"data": data}))

    def handle_decl(self, decl: str) -> None:
        self.active.append(("declaration", {"data": decl}))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def rendered(markdown: str, preset: str = "commonmark") -> Page:
    """The result of a Markdown reader that allows everything: HTML, and links of any kind."""
    reader = MarkdownIt(preset, {"html": True}).enable("table").enable("strikethrough")
    reader.validateLink = lambda _url: True  # type: ignore[method-assign]
    page = Page()
    page.feed(reader.render(markdown))
    page.close()
    return page


def dangers(page: Page) -> list[Any]:
    """Everything that is not a link to the web, or to a place nearby."""
    found = []
    for tag, attributes in page.active:
        href = re.sub(r"[\x00-\x20]", "", attributes.get("href") or "").lower()
        scheme = re.match(r"[a-z][a-z0-9+.-]*:", href)
        if tag != "a" or set(attributes) - {"href", "title"} or (scheme and scheme[0] not in SCHEMES):
            found.append((tag, attributes))
    return found


pieces = st.lists(
    st.one_of(
        st.sampled_from(ATTACKS),
        st.sampled_from(
            ["[", "]", "(", ")", "!", "<", ">", "\\", ":", "`", "&", ";", "#", "\n", " ", "\t", "\n\n", "> "]
        ),
        st.sampled_from(
            ["javascript:", "[a]", "](", "]:", "data:", "https://x.example", "&#58;", "&colon;", "&Tab;"]
        ),
        st.sampled_from(
            ["x", "\\(", "\\]", "<a", "</a>", "'", '"', "\x01", "\x9b", "\u202e", "\ufeff", "|", "---"]
        ),
    ),
    max_size=10,
).map("".join)


@pytest.mark.long
@given(pieces)
@example("".join(f"{each}\n\n" for each in ATTACKS))
@examples(600)
def test_a_document_of_a_text_starts_nothing(text: str) -> None:
    made = inert(text)
    assert raw(made) == []
    assert dangers(rendered(made)) == []


def test_the_attacks_work_on_what_was_logged() -> None:
    """Otherwise the tests above could not fail."""
    harmless = (
        "a | b",
        "`code`",
        "&lt;",
        "*a*",
        "\\![x](https",
        "!\\[x]",
        "[x](java\\script",
        "[x](java&Tab;",
        "[x](<java\t",  # readers write it as %09, but a sloppy one might not
    )
    for text in ATTACKS:
        if not text.startswith(harmless):
            assert dangers(rendered(text)) or "<https:" in text, text


def test_markdown_that_is_harmless_is_kept_as_it_was() -> None:
    text = (
        "# Run 3\n\n*lr* = **0.1**, see [the paper](https://arxiv.org/abs/1706.03762) or [notes](../notes.md#top)\n\n"
        "| a | b |\n| - | -: |\n| 1 < 2 | x |\n\n```python\nif a < b: print(x[0](1))\n```\n\n"
        "mail [me](mailto:a@b.example) · [^1]\n\n[^1]: a note\n[home]: https://a.example 'Home'\n"
    )
    assert inert(text) == text


def _cells(markdown: str) -> list[str]:
    """The texts of the cells of a table's one row, as a reader shows them."""
    reader = MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough")
    page = reader.render(markdown)
    return [
        "".join(re.sub("<br>", "\n", html.unescape(re.sub(r"<(?!br>)[^>]*>", "", cell))))
        for cell in re.findall(r"<td[^>]*>(.*?)</td>", page, re.DOTALL)
    ]


@pytest.mark.long
@given(pieces)
@example("".join(f"{each}\n\n" for each in ATTACKS))
@examples(600)
def test_a_cell_shows_its_text_and_nothing_else(text: str) -> None:
    table = f"| head |\n| --- |\n| {literal(text)} |\n"
    assert dangers(rendered(table)) == [] and not rendered(table).active
    assert _words("".join(_cells(table))) == _words(text)


def _words(text: str) -> list[str]:
    """The words of a text; unprintable characters separate words."""
    return "".join(each if each.isprintable() and each != "\ufffd" else " " for each in text).split()


@pytest.mark.parametrize("format", ["md", "html"])
def test_tables_of_attacks(tmp_path: Path, format: str) -> None:
    target = tmp_path / f"out.{format}"
    write(pa.table({"text": ATTACKS, "[x](javascript:y)<script>": ATTACKS}), target)
    content = target.read_text(encoding="utf-8")
    if format == "md":
        assert rendered(content).active == []
    else:
        page = Page()
        page.feed(content)
        page.close()
        tags = {tag for tag, _ in page.active}
        assert tags <= {"html", "head", "meta", "title", "style", "body", "declaration"}


def test_media_writes_texts_that_start_nothing(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    rows = [ef.text("note", step, each.encode(), ef.WALL + step) for step, each in enumerate(ATTACKS)]
    (tmp_path / "log" / "events.out.tfevents.1").write_bytes(ef.event_file([ef.version(), *rows]))
    log = tbq.open(tmp_path / "log")
    log.write_media(tmp_path / "out")
    files = sorted((tmp_path / "out").rglob("*.md"))
    assert len(files) == len(ATTACKS)
    for file in files:
        assert dangers(rendered(file.read_text(encoding="utf-8"))) == []
    assert log.texts().to_arrow()["text"].to_pylist() == ATTACKS
