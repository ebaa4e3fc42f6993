"""The queue of events whose values a device is still computing, in the order in which they were logged.

A call that logs such a value queues an event and returns. As long as the queue is not empty, all other events of the
writer go through it too. When the values of the first event have arrived, the flusher moves it to the native buffer.
Only the flusher does so: Ctrl-C does not reach its thread, so an event cannot be lost halfway. `flush()` and `close()`
check the queue, ask the flusher to move events, and wait until everything logged before has been moved.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from tbq import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Status bits of an append to the native buffer; see cpp/write/event_buffer.hpp. The binding adds CONVERT.
WAKE, FULL, NOTE, CLOSED, CONVERT, OVER = 1, 2, 4, 8, 16, 32

BATCH = 1024  # wake the flusher when this many events wait
_MAX_EVENTS = 1 << 16  # more than any device queues; beyond it, logging waits for the device
_MAX_BYTES = 64 << 20  # the same for payloads that wait in the queue
_MOVED = 32  # events to move at a time, while callers wait: some histograms take a few milliseconds
_PROBE_SECONDS = 1.0  # how long to poll only memory before querying the device
_POLL_SECONDS = (5e-5, 2e-3)


class Value:
    """A number, or an array of numbers, that a device is still computing."""

    __slots__ = ()

    def ready(self) -> bool:
        """Whether `result` returns at once."""
        return True

    def result(self) -> Any:
        """The number or numbers; called once. Raises if the value is lost."""
        raise NotImplementedError

    def probe(self) -> None:
        """Query the device: if it is idle or has failed, the value is ready from now on."""


class Failed(Value):
    """A value that the device could not deliver; reported with the other lost values."""

    def __init__(self, why: BaseException) -> None:
        self._why = why

    def result(self) -> Any:
        """Raises."""
        raise self._why


class Derived(Value):
    """A value that is computed from other values once they have arrived. Then only the result is kept.

    Several events may share it, even on several threads, as the lines of `add_scalars` do.
    """

    def __init__(self, compute: Callable[..., Any], *sources: Value) -> None:
        self.sources = sources
        self._compute = compute
        self._result: Any = None
        self._lock = threading.RLock()

    def ready(self) -> bool:
        """Whether all sources have arrived."""
        return all(source.ready() for source in self.sources)

    def result(self) -> Any:
        """The result. It is computed once, although several events may ask for it."""
        with self._lock:
            if self.sources:
                self._result = self._compute(*(source.result() for source in self.sources))
                self.sources = ()
            return self._result

    def probe(self) -> None:
        """Probe the sources."""
        for source in self.sources:
            source.probe()


class Lost(NamedTuple):
    """A value that did not arrive, and why."""

    tag: str
    step: int | None
    why: BaseException

    def __str__(self) -> str:
        at = "" if self.step is None else f" at step {self.step}"
        return f"tag {self.tag!r}{at}: {str(self.why).strip().splitlines()[0] or type(self.why).__name__}"


class QueuedEvent:
    """One event of the queue. This base class has all its values, and only waits for its turn."""

    def __init__(self, append: Callable[..., int], arguments: tuple[Any, ...], size: int = 0) -> None:
        self.append = append
        self.arguments = arguments
        self.size = size

    def values(self) -> Iterator[Value]:
        """The values that must arrive before the event can be written."""
        yield from ()

    def ready(self) -> bool:
        """Whether all values have arrived."""
        return all(value.ready() for value in self.values())

    def write(self, lost: list[Lost]) -> None:
        """Append to the native buffer; add lost values to `lost`."""
        del lost
        self.append(*self.arguments)


class QueuedScalar(QueuedEvent):
    """A scalar whose number, the second argument of `EventBuffer.scalar`, is a `Value`."""

    def values(self) -> Iterator[Value]:
        yield self.arguments[1]

    def ready(self) -> bool:
        return bool(self.arguments[1].ready())

    def write(self, lost: list[Lost]) -> None:
        tag, value, step, wall_time, style, metadata = self.arguments
        try:
            number = value.result()
        except Exception as why:
            lost.append(Lost(tag, step, why))
            return
        self.append(tag, number, step, wall_time, style, metadata)


class ScalarsEvent(QueuedEvent):
    """Many scalars, the first argument of `EventBuffer.scalars`; some of them are `Value`s."""

    def values(self) -> Iterator[Value]:
        for number in self.arguments[0].values():
            if not isinstance(number, (int, float)):
                yield number

    def write(self, lost: list[Lost]) -> None:
        metrics, step, wall_time, style = self.arguments
        numbers = {}
        for tag, number in metrics.items():
            try:
                numbers[tag] = number if isinstance(number, (int, float)) else number.result()
            except Exception as why:
                lost.append(Lost(tag, step, why))
        self.append(numbers, step, wall_time, style)


class EncodedEvent(QueuedEvent):
    """A Summary.Value that is encoded when its `Value` has arrived."""

    def __init__(
        self,
        append: Callable[..., int],
        value: Value,
        encode: Callable[[Any], bytes],
        arguments: tuple[str, int, bytes, int | None, float],
    ) -> None:
        super().__init__(append, arguments)
        self.value = value
        self.encode = encode

    def values(self) -> Iterator[Value]:
        yield self.value

    def write(self, lost: list[Lost]) -> None:
        tag, field, metadata, step, wall_time = self.arguments
        try:
            payload = self.encode(self.value.result())
        except Exception as why:
            lost.append(Lost(tag, step, why))
            return
        self.append(tag, field, payload, metadata, step, wall_time)


class Pending:
    """The queue of one writer. It has the buffer's methods `scalar`, `scalars`, `value`, `summary` and `fields`."""

    def __init__(self, buffer: _core.EventBuffer, max_queue: int | None = None) -> None:
        self.events: deque[QueuedEvent] = deque()
        self.buffer = buffer
        self.lost: list[Lost] = []
        self._batch = min(max_queue or BATCH, BATCH)
        self._added = self._moved = 0
        self._size = 0
        self._closed = False
        self._lock = threading.RLock()
        self._check = _core.EventBuffer(1 << 20, 1 << 20, 1 << 20)  # tells whether numbers fit; never written

    def forget(self) -> None:
        """In the child of a fork: drop the queue, because it and the device belong to the parent."""
        self._lock = threading.RLock()
        self.events.clear()
        self.lost.clear()
        self._moved = self._added
        self._size = 0

    def add(self, event: QueuedEvent) -> int:
        """Queue an event; returns status bits like the buffer's methods."""
        with self._lock:
            if self._closed:
                return CLOSED
            self.events.append(event)
            self._added += 1
            self._size += event.size
            count = len(self.events)
        status = WAKE if count == 1 else 0
        if count % self._batch == 0:
            status |= FULL
        return status | OVER if self.is_over() else status

    def is_over(self) -> bool:
        """Whether the queue exceeds its limits."""
        return len(self.events) > _MAX_EVENTS or self._size > _MAX_BYTES

    def close(self) -> None:
        """Accept no more events."""
        with self._lock:
            self._closed = True

    def settle(self, move: Callable[[], object], patience: float | None) -> bool:
        """Wait until all events that are in the queue now have left it; calls `move` when an event is ready.

        Returns False if nothing arrived for `patience` seconds. None waits for as long as the device computes.
        """
        until = self._added
        since = asked = time.monotonic()
        pause = _POLL_SECONDS[0]
        while self._moved < until:
            moved = self._moved
            if self.is_ready():
                move()
            now = time.monotonic()
            if self._moved != moved:
                since = asked = now
                pause = _POLL_SECONDS[0]
                continue
            if patience is not None and now - since >= patience:
                return False
            if now - asked >= _PROBE_SECONDS:
                asked = now
                self._probe()
            time.sleep(pause)
            pause = min(2 * pause, _POLL_SECONDS[1])
        return True

    def is_ready(self) -> bool:
        """Whether the next event can be moved."""
        with self._lock:
            return bool(self.events) and self.events[0].ready()

    def move(self) -> None:
        """Move the ready events that are in the queue now to the buffer. Only the flusher calls this."""
        for _ in range(len(self.events) // _MOVED + 1):
            if not self._move():
                return
            time.sleep(0)  # a caller may wait for the lock

    def _move(self) -> int:
        """Write some ready events from the head. Each leaves the queue after it is in the buffer, to keep the order."""
        count = 0
        with self._lock:
            while count < _MOVED and self.events and self.events[0].ready():
                event = self.events[0]
                try:
                    event.write(self.lost)
                finally:
                    self.events.popleft()
                    self._size -= event.size
                    self._moved += 1
                count += 1
            if self.lost:
                self.buffer.call_attention(True)
        return count

    def _probe(self) -> None:
        with self._lock:
            for event in self.events:
                for value in event.values():
                    if not value.ready():
                        value.probe()
                if not event.ready():
                    return  # the device is still computing it

    def take_lost(self) -> list[Lost]:
        """Return the lost values, and clear the list."""
        with self._lock:
            lost, self.lost = self.lost, []
        return lost

    # The methods of the native buffer, for events that wait only for their turn.

    def scalar(
        self,
        tag: Any,
        value: Any,
        step: Any,
        wall_time: Any,
        style: int = 0,
        metadata: bytes = b"",
    ) -> int:
        """`EventBuffer.scalar`."""
        with self._lock:
            if not self.events:
                return self.buffer.scalar(tag, value, step, wall_time, style, metadata)
            if self._check.scalar(tag, value, step, wall_time, style, metadata) & CONVERT:
                return CONVERT
            self._check.forget()
            arguments = (tag, value, step, _now(wall_time), style, metadata)
            return self.add(QueuedEvent(self.buffer.scalar, arguments))

    def check(self, metrics: dict[str, Any], step: Any, wall_time: Any, style: int) -> int:
        """CONVERT if the buffer would not accept these scalars."""
        with self._lock:
            status = self._check.scalars(metrics, step, wall_time, style) & CONVERT
            self._check.forget()
        return status

    def scalars(self, metrics: dict[str, Any], step: Any, wall_time: Any, style: int = 0) -> int:
        """`EventBuffer.scalars`."""
        with self._lock:
            if not self.events:
                return self.buffer.scalars(metrics, step, wall_time, style)
            if self.check(metrics, step, wall_time, style):
                return CONVERT
            return self.add(QueuedEvent(self.buffer.scalars, (dict(metrics), step, _now(wall_time), style)))

    def value(self, tag: str, field: int, payload: bytes, metadata: bytes, step: Any, wall_time: Any) -> int:
        """`EventBuffer.value`."""
        arguments = (tag, field, payload, metadata, step, _now(wall_time))
        return self._add_encoded(self.buffer.value, arguments, len(payload))

    def summary(self, summary: bytes, step: Any, wall_time: Any) -> int:
        """`EventBuffer.summary`."""
        return self._add_encoded(self.buffer.summary, (summary, step, _now(wall_time)), len(summary))

    def fields(self, fields: bytes, step: Any, wall_time: Any) -> int:
        """`EventBuffer.fields`."""
        return self._add_encoded(self.buffer.fields, (fields, step, _now(wall_time)), len(fields))

    def _add_encoded(self, append: Callable[..., int], arguments: tuple[Any, ...], size: int) -> int:
        with self._lock:
            return self.add(QueuedEvent(append, arguments, size)) if self.events else append(*arguments)


def _now(wall_time: float | None) -> float:
    return time.time() if wall_time is None else wall_time
