"""An event file holds its header and nothing else.

What it does
    Finds files whose only records carry no value: the writer was opened, but nothing was logged to it, or what was
    logged never reached the disk.

Why it matters
    "My event files are not saving": torch and tensorboardX keep events in a queue and write it every 120 seconds
    (`flush_secs`) and on `close()`. A script that ends by an exception, `os._exit` or SIGKILL loses all of it.
    In a run whose other files hold data this is only information, and where `add_scalars` or `add_hparams` of the
    same writer made the runs below, it is nothing at all.

What to do
    Call `writer.flush()` after each epoch and `writer.close()` at the end, or use `with SummaryWriter(…) as writer:`.
    tbq's own `SummaryWriter` flushes when the process is told to stop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule
from tbq.doctor.sub_runs import of_add_hparams, of_add_scalars

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ104", "header-only", "warning")


def check(look: Look) -> Iterator[Finding]:
    import numpy as np

    files = look.files
    bare = (files["state"] == 0) & (files["values"] == 0) & (files["records"] > 0)
    bare &= (files["faults"] == 0) & (files["error"] == 0)
    if not bare.any():
        return
    filled = np.zeros(len(look.runs), bool)
    filled[files["run"][files["values"] > 0]] = True
    used = {*of_add_scalars(look), *of_add_hparams(look)}
    for index in look.rows(bare):
        other = bool(filled[files["run"][index]])
        if not other and look.run_of_file(index) in used:
            continue
        yield RULE.finding(
            "holds a header and no values: nothing was logged, or it was never flushed",
            run=look.run_of_file(index),
            path=look.paths[index],
            hint="call writer.flush() now and then, and writer.close() at the end",
            severity="info" if other else None,
        )
