"""`SummaryWriter`: replaces the class of torch and tensorboardX; safe by default, and many times faster."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from tbq.arguments import choice, described
from tbq.errors import OutputError, TbqError, TbqWarning, caller, warn
from tbq.text import counted
from tbq.write import existing, histogram, options
from tbq.write.arguments import as_step, bad
from tbq.write.file import EventFile, logger
from tbq.write.flusher import live
from tbq.write.media import Media
from tbq.write.plugins import Plugins
from tbq.write.scalars import Scalars
from tbq.write.watch import Models

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
_FLUSH_SECONDS = 2.0
_WAIT_SECONDS = 60.0


class SummaryWriter(Scalars, Media, Plugins, Models):
    """Writes event files that TensorBoard shows.

    `log_dir` is the directory of the run, by default `runs/<date>_<host><comment>`; `run` names a run below it.
    Nothing is ever overwritten: with `resume="auto"` an existing run continues in a new file, `"new"` uses the
    next free directory (`exp-1`, `exp-2`, …), `"error"` raises.
    `purge_step` hides what an earlier, crashed session logged from that step on.
    Records are written every `flush_secs` seconds, when `max_queue` events or a megabyte are pending, on
    `flush()`, at exit, on SIGTERM and when the writer is garbage collected.
    If events come faster than the disk accepts them, calls wait while 64 MB are in memory and there is progress.
    After `max_wait` seconds (60) without progress, or if the disk fails, events are dropped with a warning.
    `on_error="raise"` raises if writing fails; by default that is a warning, and training continues.
    `exact=True` stores all scalars as float64 or int64.

    >>> import tbq, tempfile
    >>> with tbq.SummaryWriter(tempfile.mkdtemp(), run="exp1") as writer:
    ...     for step in range(3):
    ...         writer.add_scalar("loss", 1 / (step + 1), step)
    ...         writer.log({"lr": 0.1, "accuracy": step / 3}, step)
    """

    _reports_unclosed = True  # whether to warn if the user never closed it
    _began = 0.0  # when the session of the original began, if this is a copy of a writer that is open

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int | None = None,
        flush_secs: float = _FLUSH_SECONDS,
        filename_suffix: str = "",
        run: str | None = None,
        resume: Literal["auto", "new", "error"] = "auto",
        *,
        on_error: Literal["warn", "raise"] = "warn",
        max_wait: float = _WAIT_SECONDS,
        exact: bool = False,
        logdir: str | os.PathLike[str] | None = None,
        write_to_disk: bool = True,
        comet_config: dict[str, Any] | None = None,
    ) -> None:
        self._closed = True  # until all of this has succeeded
        directory = options.directory(log_dir if log_dir is not None else logdir, comment, run)
        self.purge_step = as_step(purge_step, "purge_step")
        self.max_queue = options.count(max_queue)
        self.flush_secs = options.seconds("flush_secs", flush_secs)
        self.max_wait = options.seconds("max_wait", max_wait, forever=True)
        if not isinstance(filename_suffix, str) or set(filename_suffix) & set("/\\\0"):
            raise bad("filename_suffix", f"got {described(filename_suffix)}, want a str without separators")
        self.filename_suffix = filename_suffix
        choice("resume", resume, ("auto", "new", "error"))
        choice("on_error", on_error, ("warn", "raise"))
        self._on_error: str = on_error
        self._exact = bool(exact)
        self._write_to_disk = bool(write_to_disk)
        self._lines: dict[str, Any] = {}
        self._watches = []
        if comet_config and not comet_config.get("disabled"):
            warn("comet_config: tbq does not log to Comet, only to event files; pass {'disabled': True}")
        self._open(options.resumed(directory, resume) if write_to_disk else directory)

    def _open(self, directory: str, start: float | None = None, origin: str | None = None) -> None:
        self.log_dir = directory
        files = existing.event_files(directory) if self._write_to_disk else []
        if files:
            self._report_second_writer(files)
        self._file = EventFile(
            directory,
            suffix=self.filename_suffix,
            max_queue=self.max_queue,
            flush_secs=self.flush_secs,
            max_wait=self.max_wait,
            purge_step=self.purge_step,
            opened_at=caller(),
            start=start,
            origin=origin,
            to_disk=self._write_to_disk,
            began=self._began,
        )
        self._scalar = self._file.buffer.scalar
        self._waiting = self._file.pending.events
        self._closed = False
        if files and self.purge_step is None:
            self._file.buffer.expect_after(existing.last_step(files))
        if self._write_to_disk:
            logger.info("logging to %s", self._file.path)

    def _report_second_writer(self, files: list[Path]) -> None:
        for other in live():
            if other.directory == self.log_dir and other.path is not None:
                warn(
                    f"{self.log_dir}: another SummaryWriter, opened at {other.opened_at}, writes to this "
                    "run; their points will mix. Close it first, or give each writer its own run"
                )
                return
        busy = existing.written_now(files)
        if busy is not None:
            warn(
                f"{self.log_dir}: {existing.process_of(busy)} is writing to this run ({busy.name}); their "
                "points will mix. Give each process its own run, or log from only one of them"
            )

    @property
    def path(self) -> Path | None:
        """The current event file; None until a forked child has written anything.

        >>> writer.path.name.startswith("events.out.tfevents.")
        True
        """
        return self._file.path

    @property
    def file_writer(self) -> Self:
        """The writer itself, which also has the methods of torch's `FileWriter`.

        >>> writer.file_writer.add_summary(b"", 100)
        """
        return self

    def _get_file_writer(self) -> Self:
        return self

    @property
    def logdir(self) -> str:
        """`log_dir` under its name in tensorboardX.

        >>> writer.logdir == writer.log_dir
        True
        """
        return self.log_dir

    @property
    def all_writers(self) -> dict[str, Any] | None:
        """This writer and those of `add_scalars`, by directory; None if it is closed, as in torch.

        >>> list(writer.all_writers) == [writer.log_dir]
        True
        """
        if self._closed or self._file.is_resting:
            return None
        return {each.log_dir: each for each in (self, *self._lines.values())}

    @property
    def default_bins(self) -> list[float]:
        """The edges of the bins of `add_histogram`.

        >>> len(writer.default_bins)
        1549
        """
        edges: list[float] = histogram.default_edges().tolist()
        return edges

    def get_logdir(self) -> str:
        """The absolute directory of the run.

        >>> writer.get_logdir() == writer.log_dir
        True
        """
        return self.log_dir

    def _sub_writer(self, name: str) -> SummaryWriter:
        """A writer of the run `name` below this one, with the same settings."""
        if Path(name).is_absolute() or ".." in Path(name).parts or "\0" in name:
            raise bad("run_name", f"got {described(name)}, want the name of a run below {self.log_dir}")
        return SummaryWriter(Path(self.log_dir, name), **self._settings())

    def _settings(self) -> dict[str, Any]:
        """The arguments that create a writer like this one."""
        return {
            "max_queue": self.max_queue,
            "flush_secs": self.flush_secs,
            "filename_suffix": self.filename_suffix,
            "on_error": self._on_error,
            "max_wait": self.max_wait,
            "exact": self._exact,
            "write_to_disk": self._write_to_disk,
        }

    def flush(self) -> None:
        """Wait until everything logged so far is in the file.

        >>> writer.add_scalar("loss", 0.25, 100)
        >>> writer.flush()
        """
        if self._file.finished:
            return
        failure = self._of_each_line(SummaryWriter.flush)
        self._file.flush()
        if failure is not None:
            raise failure
        self._report()

    def close(self) -> None:
        """Flush and close; closing again does nothing, or waits for the thread that is closing.

        >>> writer.close()
        >>> writer
        <tbq.SummaryWriter ..., closed>
        """
        if self._closed:
            self._file.flush()
            return
        self._closed = True
        self.unwatch()
        failure = self._of_each_line(SummaryWriter.close)
        self._file.failed_by = self._file.failed_by or self._file.failure_of_caller()
        self._file.close()
        if failure is not None:
            raise failure
        self._report_lost()

    def _of_each_line(self, action: Callable[[SummaryWriter], object]) -> TbqError | None:
        """Flush or close the writers of `add_scalars`, all of them, and return the first error."""
        first = None
        for line in list(self._lines.values()):
            try:
                action(line)
            except TbqError as failure:
                first = first or failure
        return first

    def _report_lost(self) -> None:
        file = self._file
        self._report_notes()
        self._report_missing()
        if file.lost == 0 and file.failure is None:
            return
        lost = counted(file.lost, "event") if file.lost else "some of the last events"
        message = f"closed, but {lost} could not be written: {file.cause}"
        if self._on_error == "raise":
            raise OutputError(message, path=file.path or self.log_dir, code="write")
        warn(f"{file.path or self.log_dir}: {message}. The file is valid")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        try:
            self.close()
        except TbqError:
            if error is None:
                raise

    def __del__(self) -> None:
        if getattr(self, "_closed", True) or self._file.closed or self._file.left:
            return
        used = self._file.path is not None
        # Without a caller, the interpreter is freeing the variables of a function that `sys.exit` ended.
        self._file.is_exiting = sys._getframe().f_back is None and not hasattr(sys, "ps1")
        self.close()
        if used and self._reports_unclosed:
            warn(
                f"{self.log_dir}: the SummaryWriter opened at {self._file.opened_at} was never closed; its "
                "data is written now. Call close(), or use a `with` block"
            )

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        return f"<tbq.SummaryWriter {self.log_dir!r}, {state}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy in another process is a writer of the same run with its own file."""
        from multiprocessing.context import get_spawning_popen

        watched = [watch.ranked for watch in self._watches if watch.model() is not None]
        original = None if get_spawning_popen() else self._file.path
        settings = {"log_dir": self.log_dir, **self._settings()}
        return _reopened, (type(self), settings, watched, self._file.began, original)


def _reopened(
    kind: type[SummaryWriter],
    settings: dict[str, Any],
    watched: list[bool],
    began: float,
    original: Path | None,
) -> SummaryWriter:
    """The copy of a writer. A pickle that is read when the `original` file is closed continues the run later."""
    writer = kind.__new__(kind)
    if original is None or existing.written_now([original]):
        writer._began = began
    with warnings.catch_warnings():  # the original writer is expected to be open
        warnings.simplefilter("ignore", TbqWarning)
        writer.__init__(**settings)  # type: ignore[misc]
    writer._file.is_copy = True
    writer._reports_unclosed = False  # no line of the user's program opened it
    writer._file.buffer.expect_after(None)  # a copy does not resume earlier steps
    writer._forgo(watched)
    return writer
