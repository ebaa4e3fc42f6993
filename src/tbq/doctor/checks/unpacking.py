"""A compressed event file cannot be unpacked to its end.

What it does
    Reports gzip and zlib streams that are damaged or cut, or that unpack to more than tbq takes: 256 MiB and a hundred
    times their size.

Why it matters
    What comes after that place is not read. A small file that unpacks to many gigabytes was made to fill a disk.

What to do
    Copy a damaged file again. If you trust a large one, raise the limit: `--max-unpacked 20GB` (`max_unpacked=` in
    Python).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tbq.doctor.finding import Finding, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.doctor.look import Look

RULE = Rule("TBQ110", "unpacking", "error")


def check(look: Look) -> Iterator[Finding]:
    for index in look.rows(look.files["compressed"] > 0):
        why = look.unpacked.failures.get(os.fsencode(look.paths[index]))
        if why is not None:
            yield RULE.finding(
                why,
                run=look.run_of_file(index),
                path=look.paths[index],
                hint="copy it again if it is damaged; raise the limit (--max-unpacked) if you trust it",
            )
