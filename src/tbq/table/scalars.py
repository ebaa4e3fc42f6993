"""Scalars of a log: their table, and one tag of one run as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Unpack

from tbq.arguments import keywords
from tbq.arrow import arrow_of, to_pyarrow, values_of
from tbq.decode.options import READING, DecodeOptions
from tbq.select import Names, Selection, Steps, several
from tbq.select import steps as _steps
from tbq.table.table import Table
from tbq.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from tbq._core import Result
    from tbq.arrow import Arrow
    from tbq.decode.options import Reading
    from tbq.decode.reader import Reader


class Series(NamedTuple):
    """One scalar tag of one run, as arrays of the same length.

    >>> steps, wall_times, values = log.series("val/loss", run="lr=0.1/seed=0")
    >>> int(steps[-1]), round(float(values[-1]), 3)
    (199, 0.194)
    """

    steps: NDArray[np.int64]
    wall_times: NDArray[np.float64]
    values: NDArray[np.float64]

    def _repr_html_(self) -> str:
        import numpy as np

        from tbq.numbers import number
        from tbq.table.sparks import spark_svg

        parts = [counted(len(self.values), "point")]
        if len(self.values):
            parts.append(
                f"steps {self.steps[0]:,} to {self.steps[-1]:,}, last {number(float(self.values[-1]))}"
            )
        finite = self.values[np.isfinite(self.values)]
        if len(finite) > 1:
            parts.append(f"min {number(float(finite.min()))}, max {number(float(finite.max()))}")
        curve = spark_svg(self.steps.astype(np.float64), self.values) if len(finite) > 1 else ""
        return f"<div>series: {', '.join(parts)} {curve}</div>"


def scalars(
    reader: Reader, tag: Names = None, run: Names = None, steps: Steps = None, **reading: Unpack[Reading]
) -> Table:
    """The table of scalars; `log.scalars` explains the options."""
    return read_scalars(reader, tag, run, steps, **reading)[0]


def read_scalars(
    reader: Reader,
    tag: Names = None,
    run: Names = None,
    steps: Steps = None,
    session_tables: bool = False,
    also: Sequence[str] = (),
    **reading: Unpack[Reading],
) -> tuple[Table, Result]:
    """The table of scalars, and the result it came from; with `session_tables`, the result includes the sessions.

    `also` names tags to read in addition to the selected ones, if they exist.
    """
    runs = reader.choose(run)
    tags = Selection.of(tag)
    wider = Selection.of([*(tags.items or ()), *also]) if also and not tags.everything else tags
    options = DecodeOptions.of(reading, tag=wider, steps=_steps(steps))
    result = reader.read(runs, ["scalars"], options, reading.get("on_error", "warn"), session_tables)
    arrow = reader.scalars(result, runs)
    if tags.everything:
        return Table(arrow, "scalars", logdir=reader.path, began=reader.began), result
    known = result.tags("scalars")
    names = [*reader.require(tags, known, result), *also]
    if any(name not in names for name in known if wider.matches(name)):  # `loss[0]` is an exact name here
        from tbq.columns.rows import having

        arrow = having(to_pyarrow(arrow), "tag", names)
    table = Table(arrow, "scalars", tags=tags.columns(known), logdir=reader.path, began=reader.began)
    return table, result


def series(
    reader: Reader, tag: str, run: str | None = None, steps: Steps = None, **reading: Unpack[Reading]
) -> Series:
    """One scalar tag of one run."""
    keywords("log.series", reading, ("run", "steps", *READING))
    table = to_pyarrow(one_series(reader, tag, run, steps, **reading))
    return Series(*(table[name].to_numpy() for name in ("step", "wall_time", "value")))


def one_series(reader: Reader, tag: str, run: str | None, steps: Steps, **reading: Unpack[Reading]) -> Arrow:
    """The rows of one scalar tag of one run; several runs or tags are an error."""
    table = arrow_of(scalars(reader, tag, run, steps, **reading))
    for name in ("run", "tag"):
        names = sorted(set(values_of(table[name])))
        if len(names) > 1:
            raise several(name, names)
    return table
