"""Writes files named by a log inside a folder that another user may control: it follows no link there."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tbq.errors import OutputError, existing
from tbq.export.target import make_folder


def place(root: Path, path: str, force: bool) -> Path:
    """The target for `path` below `root`; creates its folders, and refuses links among them.

    `root` itself may be a link: the user named it.
    """
    *folders, name = path.split("/")
    current = root
    make_folder(current)
    for folder in folders:
        current /= folder
        if _is_link(current):
            raise OutputError(
                "is a link, and tbq does not write through links",
                path=current,
                hint="remove the link, or write to a new folder",
            )
        make_folder(current)
    clear(current / name, force)
    return current / name


def clear(target: Path, force: bool) -> None:
    """Make way for a file: `force` removes a link, pipe or device instead of writing through it."""
    try:
        status = os.lstat(target)
    except OSError:
        return
    if stat.S_ISDIR(status.st_mode) or (stat.S_ISREG(status.st_mode) and not _is_link(target)):
        return  # the writer of the file reports these, or replaces them
    if not force:
        raise existing(target)
    target.unlink()


def _is_link(path: Path) -> bool:
    """Whether the path is a symbolic link, or a junction of Windows."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    junction = getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", None)
    return stat.S_ISLNK(status.st_mode) or (
        junction is not None and getattr(status, "st_reparse_tag", 0) == junction
    )
