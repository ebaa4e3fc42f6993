"""The writer that `tbq.patch()` puts in the place of torch's and tensorboardX's: once closed, it opens again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tbq.write.file import failure_of_caller
from tbq.write.writer import SummaryWriter

if TYPE_CHECKING:
    import os


class Replacement(SummaryWriter):
    """`SummaryWriter` with the arguments of torch's and tensorboardX's classes, which reopen what was closed.

    Programs close their writer and go on logging, as Lightning does between `fit` and `test`. Here, as in those
    classes, the next event after `close()` begins a new file of the run. Threads, destructors and functions of `atexit`
    may log until the process is gone.
    """

    _hparams_in_run = False  # the program's runs keep the names that torch and tensorboardX give them
    _reports_unclosed = (
        False  # the program cannot be changed, and the classes of torch and tensorboardX do not
    )

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int | None = None,
        flush_secs: float = 2.0,
        filename_suffix: str = "",
        write_to_disk: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(
            log_dir,
            comment or "",
            purge_step,
            max_queue,
            flush_secs,
            filename_suffix or "",
            write_to_disk=write_to_disk,
            **options,
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
