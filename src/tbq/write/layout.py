"""Encodes the layout of custom charts of scalars."""

from __future__ import annotations

from typing import Any

from tbq import wire
from tbq.arguments import described
from tbq.write.arguments import as_tag, bad

TAG = "custom_scalars__config__"
METADATA = wire.metadata("custom_scalars")


def encode(layout: Any) -> bytes:
    """A TensorProto with the Layout {category: {chart: ["Multiline" | "Margin", tags]}}."""
    if not isinstance(layout, dict):
        raise bad("layout", f"got {described(layout)}, want a dict of categories")
    categories = b""
    for category, charts in layout.items():
        if not isinstance(charts, dict):
            raise bad(f"layout[{category!r}]", f"got {described(charts)}, want a dict of charts")
        content = wire.text(1, as_tag(category, "layout"))
        for title, chart in charts.items():
            content += wire.message(2, _chart(title, chart, f"layout[{category!r}][{title!r}]"))
        categories += wire.message(2, content)
    return wire.string_tensor([categories], [])


def _chart(title: Any, chart: Any, where: str) -> bytes:
    if not isinstance(chart, list | tuple) or len(chart) != 2 or chart[0] not in ("Multiline", "Margin"):
        raise bad(where, f"got {described(chart)}, want ['Multiline' or 'Margin', tags]")
    kind, tags = chart
    if isinstance(tags, str) or not hasattr(tags, "__iter__"):
        raise bad(where, f"got {described(tags)}, want a list of tags")
    tags = [as_tag(tag, where) for tag in tags]
    head = wire.text(1, as_tag(title, where))
    if kind == "Multiline":
        return head + wire.message(2, *(wire.text(1, tag) for tag in tags))
    if len(tags) != 3:
        raise bad(where, f"got {len(tags)} tags, want 3: value, lower, upper")
    return head + wire.message(
        3, wire.message(1, *(wire.text(i, tag) for i, tag in enumerate(tags, start=1)))
    )
