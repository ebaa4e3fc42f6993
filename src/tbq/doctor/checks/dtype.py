"""Scalars have a dtype that TensorBoard's default loader drops.

What it does
    Finds tags of the scalars plugin whose tensors are not float32.

Why it matters
    TensorBoard's default (Rust) loader takes float32 alone and drops the rest without a word; with
    `--load_fast=false` they show. tbq reads all of them.

What to do
    Start TensorBoard with `--load_fast=false`, or cast to float32 before logging.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ506", "dtype", "warning")


def check(look: Look) -> Iterator[Finding]:
    odd = look.is_kind("scalars") & look.is_plugin("scalars") & ~look.is_dtype("", "float32")
    for series in look.rows(odd):
        yield RULE.finding(
            f"is {look.dtype(series)}: TensorBoard shows none of its {look.series['count'][series]:,} points, "
            "unless started with --load_fast=false",
            run=look.run_of(series),
            tag=look.tags[series],
            hint="start TensorBoard with --load_fast=false, or log float32",
        )
