"""A compressed event file cannot be unpacked to the end.

What it does
    Reports gzip and zlib streams that are damaged or truncated, or that unpack to more than tbq accepts: 256 MiB and a
    hundred times their size.

Why it matters
    tbq does not read what comes after that place. A small file that unpacks to many gigabytes may be an attempt to fill
    the disk.

What to do
    Copy a damaged file again. If you trust a large one, raise the limit: `--max-unpacked 20GB` (`max_unpacked=` in
    Python).
"""

from __future__ import annotations

from tbq.diagnosis.finding import Findings, Rule
from tbq.diagnosis.survey import Survey

RULE = Rule("TBQ110", "unpacking", "error")


def check(survey: Survey) -> Findings:
    for index in survey.rows(survey.files["compressed"] > 0):
        why = survey.unpacked.failures.get(survey.reports[index].path)
        if why is not None:
            yield RULE.finding(
                why,
                run=survey.run_of_file(index),
                path=survey.paths[index],
                hint="copy it again if it is damaged; raise the limit (--max-unpacked) if you trust it",
            )
