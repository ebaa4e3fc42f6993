"""Text, images or audio are not made of strings.

What it does
    Finds tags of the text, images and audio plugins whose tensors are of another dtype than string.

Why it matters
    These plugins store encoded strings. TensorBoard's dashboard fails on numbers there.

What to do
    Use the writer's own call (`add_text`, `tf.summary.image`), which encodes for you.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ508", "text-dtype", "warning")


def check(look: Look) -> Iterator[Finding]:
    wrong = look.is_plugin("text", "images", "audio") & look.is_kind("texts", "images", "audio")
    for series in look.rows(wrong & ~look.is_dtype("", "string")):
        yield RULE.finding(
            f"is of kind {look.kind(series)}, but its tensors are {look.dtype(series)}: TensorBoard refuses them",
            run=look.run_of(series),
            tag=look.tags[series],
            hint="use the writer's own call for this kind, which encodes for you",
        )
