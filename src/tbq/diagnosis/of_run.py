"""`log.diagnose`: reads what a diagnosis needs of a log, and makes it."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Unpack

from tbq.arguments import bad, keywords
from tbq.columns.codes import values_of
from tbq.decode.options import READING
from tbq.decode.takeovers import takeovers_of
from tbq.diagnosis import findings_of_run
from tbq.diagnosis.diagnosis import Diagnosis, diagnosed
from tbq.diagnosis.history import RunHistory, Sibling, restarts_of
from tbq.kinds.overview import overview
from tbq.select import several
from tbq.summary.per_run import hyperparameters
from tbq.table.scalars import Series, read_scalars

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.decode.options import Reading
    from tbq.decode.reader import Reader
    from tbq.diagnosis.finding import Finding


def diagnose(reader: Reader, run: str, **reading: Unpack[Reading]) -> Diagnosis:
    """What happened to a run; see `log.diagnose`."""
    keywords("log.diagnose", reading, READING)
    if not isinstance(run, str):
        raise bad("run", run, "the name of a run")
    names = [each.name for each in reader.choose(run)]
    if len(names) > 1:
        raise several("run", names)
    (name,) = names
    rows = {row["run"]: row for row in overview(reader, "runs", **reading).to_pylist()}
    table, result = read_scalars(reader, None, name, session_tables=True, **reading)
    takeovers = {tag: places for (_, tag), places in takeovers_of(result, [name]).items()}
    hparams = hyperparameters(reader, list(rows))
    own = rows[name]
    return diagnosed(
        RunHistory(
            name,
            own["state"],
            _series(table.to_arrow()),
            restarts_of(takeovers),
            [each.message for each in reader.problems if each.run == name and each.code == "restart"],
            hparams[name],
            _findings(reader, name, reading.get("threads")),
            [
                Sibling(other, row["state"], row["last_step"], hparams[other])
                for other, row in rows.items()
                if other != name
            ],
            math.inf if own["last_wall_time"] is None else max(time.time() - own["last_wall_time"], 0.0),
            own["last_step"],
        )
    )


def _series(table: pa.Table) -> dict[str, Series]:
    """The scalars by tag; the rows of a table are ordered by tag."""
    series: dict[str, Series] = {}
    tags = values_of(table["tag"])
    columns = [table[name].to_numpy() for name in ("step", "wall_time", "value")]
    begin = 0
    for end in range(1, len(tags) + 1):
        if end == len(tags) or tags[end] != tags[begin]:
            series[tags[begin]] = Series(*(column[begin:end] for column in columns))
            begin = end
    return series


def _findings(reader: Reader, run: str, threads: int | None) -> list[Finding]:
    """The doctor's findings about a run; none for a lake, which has no event files."""
    if reader.stored_overview("runs") is not None:
        return []
    return findings_of_run(reader.found, run, reader.unpacked, threads)
