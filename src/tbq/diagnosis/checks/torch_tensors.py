"""torch's add_tensor wrote a dtype that TensorBoard cannot decode.

What it does
    Finds tensors of the `tensor` plugin of dtype float16, bfloat16 or uint8.

Why it matters
    torch writes float32 bit patterns instead of half floats, and uint8 into the field of uint32. TensorBoard's
    decoder raises on both; other tools return zeros. tbq decodes what torch meant.

What to do
    Cast to float32 before `add_tensor`. For existing logs: `tbq.open(…).tensor(tag)`.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ701", "torch-tensors", "warning")


def check(survey: Survey) -> Findings:
    odd = survey.is_plugin("tensor") & survey.is_dtype("float16", "half", "bfloat16", "uint8")
    for series in survey.rows(odd):
        yield RULE.finding(
            f"is {survey.dtype(series)} as torch's add_tensor writes it, which TensorBoard cannot decode",
            run=survey.run_of(series),
            tag=survey.tags[series],
            hint="cast to float32 before add_tensor; tbq decodes existing logs",
        )
