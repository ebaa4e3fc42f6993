"""What every kind of summary goes through: the stamp, the record, and what the caller must be told."""

from __future__ import annotations

import contextlib
import time
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from tbq.errors import OutputError, UsageError
from tbq.write import wire
from tbq.write.arguments import as_number, as_step, as_tag, as_wall_time, bad, shown
from tbq.write.notices import warn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tbq.write.file import EventFile

# What an append of the native buffer reports; see cpp/write/encode.hpp.
WAKE, FULL, NOTE, CLOSED, CONVERT, OVER = 1, 2, 4, 8, 16, 32

# (step, wall time) that `writer.step()` set, by writer; a ContextVar so that threads and tasks do not mix.
_stamps: ContextVar[dict[int, tuple[int | None, float | None]] | None] = ContextVar(
    "tbq_stamps", default=None
)


class Core:
    """Appends events to one event file."""

    _file: EventFile
    _on_error: str
    log_dir: str

    def _stamp(self, step: Any, wall_time: Any) -> tuple[int | None, float | None]:
        """Step and wall time of an event: the caller's, else those of `step()`."""
        stamps = _stamps.get()
        if stamps is not None and id(self) in stamps:
            default = stamps[id(self)]
            step = default[0] if step is None else step
            wall_time = default[1] if wall_time is None else wall_time
        return as_step(step), as_wall_time(wall_time)

    @contextlib.contextmanager
    def step(self, step: Any, walltime: Any = None) -> Iterator[None]:
        """Stamp everything that is logged inside with this step, where the call names none.

        >>> import tbq, tempfile
        >>> with tbq.SummaryWriter(tempfile.mkdtemp()) as writer:
        ...     with writer.step(100):
        ...         writer.add_scalar("loss", 0.25)
        ...         writer.add_text("note", "halfway")
        """
        stamp = (as_step(step, "step"), as_wall_time(walltime))
        token = _stamps.set({**(_stamps.get() or {}), id(self): stamp})
        try:
            yield
        finally:
            _stamps.reset(token)

    def use_metadata(self, *, global_step: Any = None, walltime: Any = None) -> Any:
        """`step()`, by the name that tensorboardX has for it."""
        return self.step(global_step, walltime)

    def _add(self, tag: Any, field: int, payload: bytes, metadata: bytes, step: Any, wall_time: Any) -> None:
        """One event with one Summary.Value."""
        step, wall_time = self._stamp(step, wall_time)
        self._attend(self._file.buffer.value(as_tag(tag), field, payload, metadata, step, wall_time))

    def _add_number(
        self, tag: Any, value: Any, step: Any, wall_time: Any, style: int = 0, metadata: bytes = b""
    ) -> None:
        """One event with one scalar whose arguments need converting."""
        tag = as_tag(tag)
        value = as_number(value, "scalar_value")
        step, wall_time = self._stamp(step, wall_time)
        status = self._file.buffer.scalar(tag, value, step, wall_time, style, metadata)
        if status & CONVERT:
            raise UsageError(f"scalar_value: got {shown(value)}, which no scalar can hold", code="argument")
        self._attend(status)

    def add_summary(self, summary: Any, global_step: Any = None, walltime: Any = None) -> None:
        """Add a Summary: its encoded bytes, or a protobuf message of any library."""
        step, wall_time = self._stamp(global_step, walltime)
        self._attend(self._file.buffer.summary(serialized(summary, "summary"), step, wall_time))

    def add_event(self, event: Any, step: Any = None, walltime: Any = None) -> None:
        """Add an Event (a protobuf message or its bytes); `step` and `walltime` replace its own."""
        stamp = self._stamp(step, walltime)
        fields = serialized(event, "event")
        # A field that is there twice counts as its last: appended, these win over the message's own.
        if stamp[0] is not None:
            fields += wire.varint(2 << 3) + wire.varint(stamp[0])
        fields += wire.double(1, time.time() if stamp[1] is None else stamp[1])
        self._attend(self._file.buffer.fields(fields, None, 0.0))

    def _attend(self, status: int) -> None:
        """Do what an append reported."""
        if not status:
            return
        if status & CLOSED:
            raise UsageError(
                "this SummaryWriter is closed, nothing more can be logged",
                path=self.log_dir,
                hint="open a new one: it goes on in a new file of the same run",
                code="closed",
            )
        if status & (WAKE | FULL):
            self._file.signal(bool(status & FULL))
        if status & OVER:
            self._file.wait_for_room()
        if status & NOTE or self._file.failure is not None:
            self._tell()

    def _tell(self) -> None:
        """Say what the buffer noticed and what the disk refused."""
        file = self._file
        failure = file.failure
        where = file.path or self.log_dir
        for kind, tag, before, step in file.buffer.notes():
            if kind == "dropped" and (file.quiet or file.cause is None):
                continue
            words = {"tag": tag, "before": before, "step": step, "dir": self.log_dir, "where": where}
            warn(_NOTES[kind].format(**words, cause=file.cause))
        if failure is None:
            missed, file.missed = file.missed, 0
            file.buffer.call_attention(False)
            if missed:
                warn(f"{where}: writing again, but {missed} events were lost meanwhile: {file.cause}")
            return
        if self._on_error == "raise":
            raise OutputError(f"cannot write: {failure}", path=where, code="write") from failure
        file.buffer.call_attention(False)
        if not file.told:
            file.told = True
            warn(
                f"{where}: cannot write: {failure}. What was written stays valid; "
                "new events wait in memory and are written when the disk takes them again"
            )


_NOTES = {
    "backwards": "tag {tag!r}: step went back from {before} to {step}, so its line runs back and forth. "
    "To resume a run, open a new SummaryWriter with purge_step={step} (said once a tag)",
    "stuck": "tag {tag!r}: step {step} was logged twice; pass a global_step that grows with each call "
    "(said once a tag)",
    "behind": "{dir}: the first step logged, {step}, lies before step {before} that is already there. "
    "To replace the old points pass purge_step={step}; for a run of its own pass resume='new'",
    "dropped": "{where}: as much waits in memory as may (64 MB), and the disk does not take it: {cause}. "
    "Events are lost from here on, until it does",
}


def serialized(message: Any, argument: str) -> bytes:
    """Bytes of a protobuf message, given as such or as any library's message."""
    if isinstance(message, bytes):
        return message
    serialize = getattr(message, "SerializeToString", None)
    if serialize is None:
        raise bad(argument, f"got {shown(message)}, want a protobuf message or its bytes")
    data = serialize()
    assert isinstance(data, bytes)
    return data
