"""The first event of a file: its version and its writer."""

from __future__ import annotations

from tbq.compat.log import logger

_LONGEST_WRITER = 128


def file_version(data: bytes) -> float:
    """The number in "brain.Event:2"; -1 if there is none."""
    try:
        return float(data.decode("utf-8", "replace").split("brain.Event:")[-1])
    except ValueError:
        return -1


def source_writer(name: str) -> str | None:
    """The name of a writer; None if it is empty or too long."""
    if len(name) > _LONGEST_WRITER:
        logger.error(
            "Source writer name `%s` is too long, maximum allowed length is %d.", name, _LONGEST_WRITER
        )
        return None
    return name or None
