"""What a writer may be told, and what it knows of the table's origin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from tbq.errors import UsageError

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
