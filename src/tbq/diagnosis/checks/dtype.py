"""Scalars have a dtype that TensorBoard's default loader drops.

What it does
    Finds tags of the scalars plugin whose tensors are not float32.

Why it matters
    TensorBoard's default (Rust) loader accepts only float32 and drops the rest without a message; with
    `--load_fast=false` they are shown. tbq reads all of them.

What to do
    Start TensorBoard with `--load_fast=false`, or cast to float32 before logging.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ506", "dtype", "warning")


def check(survey: Survey) -> Findings:
    odd = survey.is_kind("scalars") & survey.is_plugin("scalars") & ~survey.is_dtype("", "float32")
    for series in survey.rows(odd):
        if survey.run_of(series) in survey.of_other_trackers:
            continue  # TensorBoard cannot read the log anyway
        yield RULE.finding(
            f"is {survey.dtype(series)}: TensorBoard shows none of its {survey.series['count'][series]:,} points, "
            "unless started with --load_fast=false",
            run=survey.run_of(series),
            tag=survey.tags[series],
            hint="start TensorBoard with --load_fast=false, or log float32",
        )
