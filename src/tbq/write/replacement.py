"""The writer that `tbq.patch()` substitutes for torch's and tensorboardX's: after `close()`, logging reopens it."""

from __future__ import annotations

from typing import Any

from tbq.write.file import failure_of_caller
from tbq.write.writer import SummaryWriter

_ORDER = ("log_dir", "comment", "purge_step", "max_queue", "flush_secs", "filename_suffix", "write_to_disk")


class Replacement(SummaryWriter):
    """`SummaryWriter` with the arguments of torch's and tensorboardX's classes, and their way of reopening.

    Programs close their writer and go on logging, as Lightning does between `fit` and `test`. Here, as in those
    classes, the next event after `close()` begins a new file of the run. Threads, destructors and `atexit` functions
    may log until the process ends.
    """

    _hparams_in_run = False  # the program's runs keep the names that torch and tensorboardX give them
    # The user may not be able to change the program, and the classes of torch and tensorboardX do not warn either.
    _reports_unclosed = False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """The arguments of tensorboardX's class, whose seventh is `write_to_disk`; None stands for a default."""
        if len(arguments) > len(_ORDER):
            raise TypeError(f"SummaryWriter takes {len(_ORDER)} positional arguments, got {len(arguments)}")
        named = dict(zip(_ORDER, arguments, strict=False))
        super().__init__(
            **{name: value for name, value in named.items() if value is not None},
            **{name: value for name, value in options.items() if value is not None},
        )

    def _open(self, directory: str, start: float | None = None, origin: str | None = None) -> None:
        super()._open(directory, start, origin)
        self._file.outlives_exit = True

    def _sub_writer(self, name: str) -> SummaryWriter:
        line = super()._sub_writer(name)
        line._file.outlives_exit = True
        return line

    def close(self) -> None:
        """Flush and close the file; logging again opens another one."""
        if self._file.closed:
            super().close()
            return
        self.unwatch()
        failure = self._of_each_line(SummaryWriter.close)
        self._lines.clear()
        self._file.rest(failure_of_caller())
        if failure is not None:
            raise failure
        self._report()
