"""A file does not say its version.

What it does
    Finds event files with values but without a `file_version` record.

Why it matters
    The first record is missing (the file was cut at its start), or an old writer (tensorboard-pytorch of 2017) never
    wrote one. TensorBoard's Python loader then takes any step back, of any tag, for a restart and drops points.

What to do
    Nothing where steps only grow. Else use TensorBoard's default loader, or tbq.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ702", "file-version", "warning")


def check(look: Look) -> Iterator[Finding]:
    bare = (look.files["versioned"] == 0) & (look.files["values"] > 0)
    for index in look.rows(bare):
        yield RULE.finding(
            "has no file_version record: it was cut at its start, or an old writer made it; TensorBoard's Python "
            "loader drops points wherever steps go back",
            run=look.run_of_file(index),
            path=look.paths[index],
            hint="use TensorBoard's default loader, or tbq",
        )
