"""An event file has a header and nothing else.

What it does
    Finds files whose records have no values: the writer was opened, but nothing was logged to it, or nothing reached
    the disk.

Why it matters
    "My event files are not saving": torch and tensorboardX keep events in a queue and write them every 120 seconds
    (`flush_secs`) and on `close()`. A script that ends with an exception, `os._exit` or SIGKILL loses all of
    it. If other files of the run have data, this is only a note; if `add_scalars` or `add_hparams` of the same writer
    created the runs below, it is not reported.

What to do
    Call `writer.flush()` after each epoch and `writer.close()` at the end, or use `with SummaryWriter(…) as writer:`.
    tbq's own `SummaryWriter` also flushes on SIGTERM.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.sub_runs import of_add_scalars
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ104", "header-only", "warning")


def check(survey: Survey) -> Findings:
    import numpy as np

    files = survey.files
    bare = (files["state"] == 0) & (files["values"] == 0) & (files["records"] > 0)
    bare &= (files["faults"] == 0) & (files["error"] == 0)
    if not bare.any():
        return
    filled = np.zeros(len(survey.runs), bool)
    filled[files["run"][files["values"] > 0]] = True
    used = {*of_add_scalars(survey), *survey.of_add_hparams}
    for index in survey.rows(bare):
        other = bool(filled[files["run"][index]])
        if not other and survey.run_of_file(index) in used:
            continue
        yield RULE.finding(
            "has a header but no values: nothing was logged, or nothing was flushed",
            run=survey.run_of_file(index),
            path=survey.paths[index],
            hint="call writer.flush() now and then, and writer.close() at the end",
            severity="info" if other else None,
        )
