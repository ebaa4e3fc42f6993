"""add_scalars has made a run of each line.

What it does
    Finds runs that hold one tag and are named after it, as torch's and tensorboardX's `add_scalars` make them.

Why it matters
    `add_scalars("loss", {"train": …, "val": …})` opens a writer, a file and a run for each key. They crowd
    TensorBoard's list, and each costs a thread in the training process.

What to do
    Use `add_scalar("loss/train", …)`: TensorBoard draws tags with one prefix side by side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule
from tbq.doctor.look import Look, some

if TYPE_CHECKING:
    from collections.abc import Iterator

RULE = Rule("TBQ703", "add-scalars", "info")


def check(look: Look) -> Iterator[Finding]:
    import numpy as np

    run = look.series["run"]
    counts = np.bincount(run, minlength=len(look.runs))
    if len(look.runs) < 2 or not (counts == 1).any():
        return
    names = {one.name for one in look.runs}
    single = (counts == 1)[run] & look.is_kind("scalars")
    made: dict[str, list[str]] = {}
    for series in look.rows(single):
        name, tag = look.run_of(series), look.tags[series]
        if name == ".":
            continue
        torch = name.rpartition("/")[0] or "."
        if torch in names and name.rpartition("/")[2].startswith(
            tag.replace("/", "_").replace(" ", "_") + "_"
        ):
            made.setdefault(torch, []).append(name)
            continue
        above = f"/{name}".rpartition("/")[0]
        tbx = above.removesuffix(f"/{tag}").removeprefix("/") or "."
        if above.endswith(f"/{tag}") and tbx in names:
            made.setdefault(tbx, []).append(name)
    for parent, lines in made.items():
        yield RULE.finding(
            f"add_scalars made {len(lines):,} runs below it: {some(lines)}",
            run=parent,
            hint='use add_scalar("loss/train", …) instead',
        )
