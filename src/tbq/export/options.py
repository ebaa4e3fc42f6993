"""What a writer may be told, and what it knows of the table's origin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from tbq.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

Time = Literal["unix", "iso", "relative"]
JsonNan = Literal["null", "string"]


@dataclass(frozen=True)
class Options:
    """`time`: how wall times are written. `csv_safe`: no cell a spreadsheet runs. `json_nan`: NaN in JSON.

    `format`, `kind` and `logdir` say what is written and what it came from.
    """

    time: Time = "unix"
    csv_safe: bool = False
    json_nan: JsonNan = "null"
    format: str = "csv"
    kind: str = "table"
    logdir: str | None = None

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("time", self.time, get_args(Time)),
            ("json_nan", self.json_nan, get_args(JsonNan)),
        ):
            if value not in allowed:
                raise UsageError(f"{name}={value!r}", hint=f"want one of {', '.join(allowed)}")


def with_origin(table: pa.Table, options: Options) -> pa.Table:
    """The table with its origin in the schema's metadata: `tbq.version`, `tbq.kind`, `tbq.logdir`."""
    from tbq import __version__

    origin = {"tbq.version": __version__, "tbq.kind": options.kind}
    if options.logdir is not None:
        origin["tbq.logdir"] = options.logdir
    return table.replace_schema_metadata({**(table.schema.metadata or {}), **origin})
