"""Files whose names come from a log, written inside a folder that may be anybody's: no link in it is followed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tbq.errors import OutputError
from tbq.export.target import make_folder


def place(root: Path, path: str, force: bool) -> Path:
    """The target for `path`, which lies below `root`; its folders are made, and none of them is a link.

    `root` itself may be one: the user named it.
    """
    *folders, name = path.split("/")
    here = root
    make_folder(here)
    for folder in folders:
        here /= folder
        if _is_link(here):
            raise OutputError(
                "is a link to another place, and tbq does not write through it",
                path=here,
                hint="remove the link, or write to a new folder",
            )
        make_folder(here)
    clear(here / name, force)
    return here / name


def clear(target: Path, force: bool) -> None:
    """Make way for a file: with `force` a link, pipe or device is removed, and not written through."""
    try:
        found = os.lstat(target)
    except OSError:
        return
    if stat.S_ISDIR(found.st_mode) or (stat.S_ISREG(found.st_mode) and not _is_link(target)):
        return  # what writes the file says what is wrong with these, or replaces them
    if not force:
        raise OutputError("is already there", path=target, hint="use --force (force=True) to replace it")
    target.unlink()


def _is_link(path: Path) -> bool:
    """Whether something is a symbolic link, or what Windows has for one (a junction)."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    junction = getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", None)
    return stat.S_ISLNK(found.st_mode) or (
        junction is not None and getattr(found, "st_reparse_tag", 0) == junction
    )
