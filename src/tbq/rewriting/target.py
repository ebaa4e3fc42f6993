"""The new directory: its files have names that no reader takes for event files until all are written."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from tbq.errors import OutputError
from tbq.export.target import check_folder, output_folder
from tbq.source.urls import is_remote
from tbq.text import system_name

#: What remains after a failure.
LEFT = "the source is unchanged, and no partial output is left"


def check(out: str | os.PathLike[str], sources: Sequence[str]) -> Path:
    """The target. Raises if it exists, its folder does not, or it is the source or inside it."""
    target = Path(out)
    real = Path(os.path.realpath(target))
    for source in sources:
        if is_remote(source):
            continue
        origin = Path(os.path.realpath(source))
        folder = origin if origin.is_dir() else origin.parent
        if real in (origin, folder):
            raise OutputError("is the source itself", path=target, hint="choose a new directory")
        if folder in real.parents:
            raise OutputError(
                "is inside the source, which would then contain both",
                path=target,
                hint="choose a directory outside it",
            )
    if os.path.lexists(target):
        raise OutputError(
            "already exists", path=target, hint="choose a new directory; tbq rewrite never overwrites"
        )
    check_folder(target)
    return target


class UnfinishedTarget:
    """The directory while it is written; `file` gives the path for a run's new file."""

    def __init__(self, target: Path, folder: Path) -> None:
        self.target = target
        self.folder = folder
        self._names: list[tuple[Path, str]] = []
        self._count = 0

    def file(self, run: str, name: str) -> Path:
        """The temporary path of the event file `name` of a run."""
        folder = self.folder if run == "." else self.folder.joinpath(*system_name(run).split("/"))
        folder.mkdir(parents=True, exist_ok=True)
        self._count += 1
        part = folder / f"{self._count}.part"
        self._names.append((part, name))
        return part

    def forget(self, part: Path) -> None:
        """Remove a file, and the folders that are then empty."""
        self._names = [(path, name) for path, name in self._names if path != part]
        part.unlink()
        folder = part.parent
        with contextlib.suppress(OSError):
            while folder != self.folder:
                folder.rmdir()
                folder = folder.parent

    def finish(self) -> None:
        """Give every file its final name."""
        for part, name in self._names:
            part.rename(part.with_name(name))


@contextlib.contextmanager
def scratch(target: Path) -> Iterator[UnfinishedTarget]:
    """A Scratch that becomes `target` if the block succeeds, and is removed if not."""
    with output_folder(target, left=LEFT) as folder:
        unfinished = UnfinishedTarget(target, folder)
        yield unfinished
        unfinished.finish()
