"""The part of the writer that all kinds of summaries share: step and wall time, the record, and reports."""

from __future__ import annotations

import contextlib
import time
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from tbq import wire
from tbq.arguments import described
from tbq.errors import OutputError, UsageError, warn
from tbq.text import counted
from tbq.write import device
from tbq.write.arguments import as_step, as_tag, as_wall_time, bad
from tbq.write.pending import CLOSED, CONVERT, FULL, NOTE, OVER, WAKE, QueuedEvent, QueuedScalar, Value

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Iterator

    from tbq._core import EventBuffer
    from tbq.write.file import EventFile
    from tbq.write.pending import Pending

# (step, wall time) that `writer.step()` set, by writer; a ContextVar so that threads and tasks do not mix.
_stamps: ContextVar[dict[int, tuple[int | None, float | None]] | None] = ContextVar(
    "tbq_stamps", default=None
)


class Core:
    """Appends events to one event file."""

    _file: EventFile
    _waiting: deque[QueuedEvent]
    _on_error: str
    log_dir: str

    def _sub_writer(self, name: str) -> Any:
        raise NotImplementedError

    @property
    def _sink(self) -> EventBuffer | Pending:
        """The target of events: the native buffer, or the queue if earlier events wait for a device."""
        return self._file.pending if self._waiting else self._file.buffer

    def _stamp(self, step: Any, wall_time: Any) -> tuple[int | None, float | None]:
        """Step and wall time of an event: the caller's, or those of `step()`."""
        stamps = _stamps.get()
        if stamps is not None and id(self) in stamps:
            default = stamps[id(self)]
            step = default[0] if step is None else step
            wall_time = default[1] if wall_time is None else wall_time
        return as_step(step), as_wall_time(wall_time)

    @contextlib.contextmanager
    def step(self, step: Any, walltime: Any = None) -> Iterator[None]:
        """Use this step for everything that is logged inside without a step.

        >>> with writer.step(100):
        ...     writer.add_scalar("loss", 0.25)
        ...     writer.add_text("note", "halfway")
        """
        stamp = (as_step(step, "step"), as_wall_time(walltime))
        token = _stamps.set({**(_stamps.get() or {}), id(self): stamp})
        try:
            yield
        finally:
            _stamps.reset(token)

    def use_metadata(self, *, global_step: Any = None, walltime: Any = None) -> Any:
        """`step()` under its name in tensorboardX.

        >>> with writer.use_metadata(global_step=100):
        ...     writer.add_scalar("loss", 0.25)
        """
        return self.step(global_step, walltime)

    def _add(self, tag: Any, field: int, payload: bytes, metadata: bytes, step: Any, wall_time: Any) -> None:
        """Add one event with one Summary.Value."""
        step, wall_time = self._stamp(step, wall_time)
        self._attend(self._sink.value(as_tag(tag), field, payload, metadata, step, wall_time))

    def _add_number(
        self, tag: Any, value: Any, step: Any, wall_time: Any, style: int = 0, metadata: bytes = b""
    ) -> None:
        """Convert the arguments and add one event with one scalar."""
        device.step_aside()
        tag = as_tag(tag)
        step, wall_time = self._stamp(step, wall_time)
        try:
            value = device.captured(value, "scalar_value")
        except UsageError as error:
            if device.is_on_device(value):  # it may be logged far from where it was computed
                error.message = f"{error.message} (tag {tag!r}, step {step})"
            raise
        if isinstance(value, Value):
            arguments = (tag, value, step, time.time() if wall_time is None else wall_time, style, metadata)
            self._attend(self._file.pending.add(QueuedScalar(self._file.buffer.scalar, arguments)))
            return
        status = self._sink.scalar(tag, value, step, wall_time, style, metadata)
        if status & CONVERT:
            raise UsageError(
                f"scalar_value: got {described(value)}, which does not fit a scalar", code="argument"
            )
        self._attend(status)

    def add_summary(self, summary: Any, global_step: Any = None, walltime: Any = None) -> None:
        """Add a Summary: its encoded bytes, or a protobuf message of any library.

        >>> writer.add_summary(b"", 100)  # or a Summary message of TensorFlow or TensorBoard
        """
        step, wall_time = self._stamp(global_step, walltime)
        self._attend(self._sink.summary(serialized(summary, "summary"), step, wall_time))

    def add_event(self, event: Any, step: Any = None, walltime: Any = None) -> None:
        """Add an Event (a protobuf message or its bytes); `step` and `walltime` replace its own.

        >>> writer.add_event(b"", step=100)  # or an Event message of TensorFlow or TensorBoard
        """
        stamp = self._stamp(step, walltime)
        fields = serialized(event, "event")
        # The last occurrence of a field wins, so these override the fields of the message.
        if stamp[0] is not None:
            fields += wire.varint(2 << 3) + wire.varint(stamp[0])
        fields += wire.double(1, time.time() if stamp[1] is None else stamp[1])
        self._attend(self._sink.fields(fields, None, 0.0))

    def _attend(self, status: int) -> None:
        """Act on the status of an append."""
        if not status:
            return
        if status & CLOSED:
            raise UsageError(
                "this SummaryWriter is closed and cannot log more",
                path=self.log_dir,
                hint="open a new SummaryWriter: it continues the run in a new file",
                code="closed",
            )
        if status & (WAKE | FULL):
            self._file.signal(bool(status & FULL))
        if status & OVER:
            self._file.wait_for_room()
        if status & NOTE or self._file.failure is not None:
            self._report()

    def _report_missing(self) -> None:
        """Report the values that did not arrive from a device."""
        lost = self._file.pending.take_lost()
        if not lost:
            return
        self._file.buffer.call_attention(False)
        more = f" (and {counted(len(lost) - 3, 'more value')})" if len(lost) > 3 else ""
        message = "; ".join(str(value) for value in lost[:3]) + more
        if self._on_error == "raise":
            raise OutputError(
                f"lost: {message}", path=self._file.path or self.log_dir, code="device"
            ) from lost[0].why
        warn(
            f"{self._file.path or self.log_dir}: a value could not be logged: {message}. The others are written"
        )

    def _report_notes(self) -> None:
        """Report what the buffer noticed."""
        file = self._file
        where = file.path or self.log_dir
        for kind, tag, before, step in file.buffer.notes():
            if kind == "dropped" and (file.quiet or file.cause is None):
                continue
            fields = {"tag": tag, "before": before, "step": step, "dir": self.log_dir, "where": where}
            warn(_NOTES[kind].format(**fields, cause=file.cause))

    def _report(self) -> None:
        """Report what the buffer noticed and what could not be written."""
        file = self._file
        failure = file.failure
        where = file.path or self.log_dir
        self._report_missing()
        self._report_notes()
        if failure is None:
            missed, file.missed = file.missed, 0
            file.buffer.call_attention(False)
            if missed:
                warn(f"{where}: writing again, but {missed} events were lost in the meantime: {file.cause}")
            return
        if self._on_error == "raise":
            raise OutputError(f"cannot write: {failure}", path=where, code="write") from failure
        file.buffer.call_attention(False)
        if not file.reported:
            file.reported = True
            warn(
                f"{where}: cannot write: {failure}. The file stays valid; new "
                "events are kept in memory and written when the disk accepts data again"
            )


_NOTES = {
    "backwards": "tag {tag!r}: the step decreased from {before} to {step}, so its line runs back and forth. "
    "To resume a run, open a new SummaryWriter with purge_step={step} (reported once per tag)",
    "stuck": "tag {tag!r}: step {step} was logged twice; pass a global_step that increases with each call "
    "(reported once per tag)",
    "behind": "{dir}: the first logged step, {step}, is before step {before}, which the run already has. "
    "To replace the old points pass purge_step={step}; for a separate run pass resume='new'",
    "dropped": "{where}: the limit of 64 MB in memory is reached, and the disk accepts no data: {cause}. "
    "Events are lost until it does",
}


def serialized(message: Any, argument: str) -> bytes:
    """The bytes of a protobuf message, given as bytes or as a message of any library."""
    if isinstance(message, bytes):
        return message
    serialize = getattr(message, "SerializeToString", None)
    if serialize is None:
        raise bad(argument, f"got {described(message)}, want a protobuf message or its bytes")
    data = serialize()
    assert isinstance(data, bytes)
    return data
