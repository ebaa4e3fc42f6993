"""Text, images or audio are not stored as strings.

What it does
    Finds tags of the text, images and audio plugins whose tensors are not strings.

Why it matters
    These plugins store encoded strings. TensorBoard's dashboard fails on numbers.

What to do
    Use the writer's own call (`add_text`, `tf.summary.image`), which encodes the values.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ508", "text-dtype", "warning")


def check(survey: Survey) -> Findings:
    wrong = survey.is_plugin("text", "images", "audio") & survey.is_kind("texts", "images", "audio")
    for series in survey.rows(wrong & ~survey.is_dtype("", "string")):
        yield RULE.finding(
            f"is of kind {survey.kind(series)}, but its tensors are {survey.dtype(series)}: TensorBoard rejects them",
            run=survey.run_of(series),
            tag=survey.tags[series],
            hint="use the writer's own call for this kind, which encodes the values",
        )
