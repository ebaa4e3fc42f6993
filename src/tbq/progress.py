"""Progress of a read: the caller's callable, or a bar with bytes, files, rate and time left."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING

from tbq.arguments import bad

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Called as `progress(bytes_done, bytes_total, files_done, files_total)`.
Call = Callable[[int, int, int, int], object]
#: What `progress=` accepts: such a callable, or True for a bar on the terminal.
Progress = Call | bool

# A read that ends sooner is not worth a bar, nor the import of rich.
_PATIENCE = 0.4
_PAUSE = 0.1  # seconds between two drawings of a bar in a notebook


@contextlib.contextmanager
def reporting(progress: Progress | None, what: str = "reading") -> Iterator[Call | None]:
    """The callable to report to while reading: the caller's, a bar for True, or None."""
    if progress is True:
        with progress_bar(what) as bar:
            yield bar
        return
    if not (progress is None or progress is False or callable(progress)):
        raise bad("progress", progress, "True, or a callable that takes four numbers")
    yield progress or None


class Parts:
    """Progress of a read in several parts, reported as one."""

    def __init__(self, call: Call | None, size: int, files: int) -> None:
        self._call, self._size, self._files = call, size, files
        self._done = self._files_done = 0

    def part(self, size: int, files: int) -> Call | None:
        """The callable for the progress of the next part."""
        if self._call is None:
            return None
        call, before, files_before = self._call, self._done, self._files_done
        self._done += size
        self._files_done += files

        def report(done: int, total: int, files_done: int, _all: int) -> None:
            share = size * done // total if total else size
            call(before + share, self._size, files_before + files_done, self._files)

        return report


@contextlib.contextmanager
def progress_bar(what: str = "reading") -> Iterator[_Bar | None]:
    """A `progress=` callback that draws a bar on stderr or in a notebook, or None if stderr is not a terminal."""
    notebook = _in_notebook()
    if not notebook and (not sys.stderr.isatty() or os.environ.get("TERM") == "dumb"):
        yield None
        return
    bar = _NotebookBar(what) if notebook else _Bar(what)
    try:
        yield bar
    finally:
        bar.stop()


def _in_notebook() -> bool:
    """Whether a Jupyter kernel runs this program."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


class _Bar:
    def __init__(self, what: str) -> None:
        self._what = what
        self._start = time.monotonic()
        self._stop: Callable[[], None] | None = None
        self._update: Callable[[int, int, str], None] | None = None

    def __call__(self, done: int, total: int, files: int, all_files: int) -> None:
        if self._update is None:
            if done >= total or time.monotonic() - self._start < _PATIENCE:
                return
            self._begin(total)
        assert self._update is not None
        self._update(done, total, f"{files:,}/{all_files:,} files")

    def _begin(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(binary_units=False),
            TextColumn("{task.fields[files]}"),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True, force_jupyter=False),  # draw the bar as text, even in a notebook
            transient=True,
        )
        task = bar.add_task(self._what, total=total, files="")
        bar.start()
        self._update = lambda done, total, files: bar.update(task, completed=done, total=total, files=files)
        self._stop = bar.stop

    def stop(self) -> None:
        if self._stop is not None:
            self._stop()
            self._stop = None


class _NotebookBar(_Bar):
    """A bar as an output of the cell, which is empty in the end."""

    def _begin(self, total: int) -> None:
        from IPython.display import display

        shown = time.monotonic()
        handle = display(self._drawn(0, total, ""), raw=True, display_id=True)  # type: ignore[no-untyped-call]

        def update(done: int, total: int, files: str) -> None:
            nonlocal shown
            if time.monotonic() - shown > _PAUSE:
                shown = time.monotonic()
                handle.update(self._drawn(done, total, files), raw=True)

        self._update = update
        self._stop = lambda: handle.update({"text/html": "", "text/plain": ""}, raw=True)

    def _drawn(self, done: int, total: int, files: str) -> dict[str, str]:
        from tbq.numbers import duration, sized

        words = f"{self._what}: {sized(done)} of {sized(total)}, {files}".rstrip(", ")
        seconds = time.monotonic() - self._start
        if done:
            words += f", {duration(max(total - done, 0) * seconds / done)} left"
        bar = f'<progress value="{done}" max="{total}"></progress>'
        return {"text/html": f"<div>{bar} {escape(words)}</div>", "text/plain": words}
