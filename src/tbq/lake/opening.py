"""`tbq.lake.open`: a lake as if it were the log directory."""

from __future__ import annotations

import os
from functools import partial

from tbq.errors import SourceError
from tbq.lake.layout import read_config
from tbq.lake.location import Location, location_of
from tbq.logdir import LogDir
from tbq.storage import Storage


def open(lake: str | os.PathLike[str], *, storage: Storage | None = None) -> LogDir:  # noqa: A001
    """Open a lake as a `LogDir` that reads from the lake's tables. `tbq.open` opens lakes too.

    Each table is read as of the first time it is needed.

    >>> done = tbq.lake.sync("runs", "lake")
    >>> tbq.lake.open("lake").scalars(tag="val/loss").shape
    (80, 5)
    """
    place = location_of(lake, storage)
    if read_config(place) is None:
        raise SourceError(
            "is not a lake", path=place.url, hint="tbq sync LOGDIR LAKE creates one", code="lake"
        )
    return open_location(place)


def open_location(place: Location) -> LogDir:
    """Open the lake at this place, which must have one."""
    from tbq.lake.reader import LakeReader

    return LogDir(LakeReader(place), partial(open_location, place))
