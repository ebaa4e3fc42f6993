"""Sparklines of a log: one tag, a few characters per run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.arguments import keywords
from tbq.columns.codes import names_in
from tbq.decode.options import READING
from tbq.select import Names, Selection, Steps, several
from tbq.table.scalars import scalars
from tbq.table.sparks import spark_texts

if TYPE_CHECKING:
    from tbq.decode.options import Reading
    from tbq.decode.reader import Reader


def sparklines(
    reader: Reader, tag: str, run: Names, width: int, steps: Steps, reading: Reading
) -> dict[str, str]:
    """The sparkline of each run."""
    keywords("log.sparklines", reading, READING)
    table = scalars(reader, tag, run, steps, **reading).to_arrow()
    tags = Selection.of(tag).require(names_in(table["tag"]), where=reader.path)
    if len(tags) > 1:
        raise several("tag", tags)
    return spark_texts(table, tags[0], [each.name for each in reader.choose(run)], width)
