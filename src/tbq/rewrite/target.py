"""The new directory: written under names that no reader takes for event files, then renamed."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from tbq.errors import OutputError
from tbq.export.target import check_folder, output_folder
from tbq.text import system_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: What a full disk leaves.
LEFT = "the source is as it was, and nothing half is left"


def check(out: str | os.PathLike[str], sources: Sequence[str]) -> Path:
    """The target, where it can be one: not there yet, in a folder that is, and neither in nor around its source."""
    target = Path(out)
    real = Path(os.path.realpath(target))
    for source in sources:
        mine = Path(os.path.realpath(source))
        folder = mine if mine.is_dir() else mine.parent
        if real in (mine, folder):
            raise OutputError("is the source itself", path=target, hint="choose a new directory")
        if folder in real.parents:
            raise OutputError(
                "lies inside of the source, which would then show both",
                path=target,
                hint="choose a directory beside it",
            )
    if os.path.lexists(target):
        raise OutputError(
            "is already there", path=target, hint="choose a new directory; nothing is ever overwritten"
        )
    check_folder(target)
    return target


class Scratch:
    """A directory that grows where no reader looks. `file` gives the place for one run's new file."""

    def __init__(self, target: Path, folder: Path) -> None:
        self.target = target
        self.folder = folder
        self._names: list[tuple[Path, str]] = []
        self._made = 0

    def file(self, run: str, name: str) -> Path:
        """Where to write the event file `name` of a run until all is done."""
        folder = self.folder if run == "." else self.folder.joinpath(*system_name(run).split("/"))
        folder.mkdir(parents=True, exist_ok=True)
        self._made += 1
        part = folder / f"{self._made}.part"
        self._names.append((part, name))
        return part

    def forget(self, part: Path) -> None:
        """Take back a file, and the folders that only it was in."""
        self._names = [(path, name) for path, name in self._names if path != part]
        part.unlink()
        folder = part.parent
        with contextlib.suppress(OSError):
            while folder != self.folder:
                folder.rmdir()
                folder = folder.parent

    def finish(self) -> None:
        """Give every file its name."""
        for part, name in self._names:
            part.rename(part.with_name(name))


@contextlib.contextmanager
def scratch(target: Path) -> Iterator[Scratch]:
    """A Scratch that becomes `target` when the block ends well, and else vanishes."""
    with output_folder(target, left=LEFT) as folder:
        made = Scratch(target, folder)
        yield made
        made.finish()
