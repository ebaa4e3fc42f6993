"""A file ends inside a record and is no longer written.

What it does
    Finds files whose last record is incomplete, with no valid record after it, that have not changed for a while and
    that no process has open for writing.

Why it matters
    The process was killed, its disk was full, or a copy was interrupted. All readers read everything before the last
    record; the unfinished record is lost, and so is whatever was still in the writer's queue.

What to do
    If the file is a copy, copy it again. Otherwise `tbq rewrite LOGDIR -o NEW --repair` removes the unfinished record.
    If a writer appends to such a file, only tbq can read what it appends.
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ202", "truncated", "warning")


def check(survey: Survey) -> Findings:
    for index in survey.rows(survey.unfinished):
        if survey.being_written(index):
            continue
        report = survey.reports[index]
        last = f", after step {report.last_step:,}" if report.values else ""
        yield RULE.finding(
            f"ends in an unfinished record of {report.truncated:,} bytes{last}: its writer or a copy was interrupted",
            run=survey.run_of_file(index),
            path=survey.paths[index],
            offset=report.resume,
            hint="copy it again, or remove the unfinished record: tbq rewrite LOGDIR -o NEW --repair",
        )
