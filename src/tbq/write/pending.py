"""Events behind values that a device still computes, kept in the order in which they were logged.

A call that logs such a value puts an event into the queue and returns. As long as the queue is not empty, all other
events of the writer go through it too. The flusher, and nobody else, moves events from its head to the native buffer
when their values have arrived: no Ctrl-C reaches its thread, which could lose an event halfway. `flush()` and
`close()` look, ask it to, and wait until all that was logged before has been moved.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from tbq import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# What an append of the native buffer reports; see cpp/write/event_buffer.hpp. CONVERT is the binding's.
WAKE, FULL, NOTE, CLOSED, CONVERT, OVER = 1, 2, 4, 8, 16, 32

BATCH = 1024  # wake the flusher when so many events wait
_MAX_EVENTS = 1 << 16  # more than any device queues; beyond it, logging waits for the device
_MAX_BYTES = 64 << 20  # the same for the payloads behind a value that does not arrive
_MOVED = 32  # events that are moved at a time, while callers wait: some histograms take a few milliseconds
_PROBE_SECONDS = 1.0  # how long to look at memory only, before the device is asked
_POLL_SECONDS = (5e-5, 2e-3)


class Value:
    """A number, or an array of numbers, that a device still computes."""

    __slots__ = ()

    def ready(self) -> bool:
        """Whether `result` returns at once."""
        return True

    def result(self) -> Any:
        """What arrived; called once. Raises if the value is lost."""
        raise NotImplementedError

    def probe(self) -> None:
        """Ask the device: if it is idle or has failed, the value is ready from now on."""


class Failed(Value):
    """A value that the device could not give; reported with the others that did not arrive."""

    def __init__(self, why: BaseException) -> None:
        self._why = why

    def result(self) -> Any:
        """Raises."""
        raise self._why


class Lost:
    """A value that did not arrive, and why."""

    def __init__(self, tag: str, step: int | None, why: BaseException) -> None:
        self.tag = tag
        self.step = step
        self.why = why

    def __str__(self) -> str:
        at = "" if self.step is None else f" at step {self.step}"
        return f"tag {self.tag!r}{at}: {str(self.why).strip().splitlines()[0] or type(self.why).__name__}"


class QueuedEvent:
    """One event of the queue; this one has all it needs, and only waits for its turn."""

    def __init__(self, append: Callable[..., int], arguments: tuple[Any, ...], size: int = 0) -> None:
        self.append = append
        self.arguments = arguments
        self.size = size

    def values(self) -> Iterator[Value]:
        """What must arrive before the event can be written."""
        yield from ()

    def ready(self) -> bool:
        """Whether all values have arrived."""
        return all(value.ready() for value in self.values())

    def write(self, lost: list[Lost]) -> None:
        """Append to the native buffer; values that did not arrive are added to `lost`."""
        del lost
        self.append(*self.arguments)


class QueuedScalar(QueuedEvent):
    """A scalar whose number is a `Value`: the second of the arguments of `EventBuffer.scalar`."""

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
    """Many scalars, some of them `Value`s: the first of the arguments of `EventBuffer.scalars`."""

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
    """The queue of one writer. Its `scalar`, `scalars`, `value`, `summary` and `fields` are the buffer's, in turn."""

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
        """In the child of a fork: the parent writes what waits, and the device is the parent's."""
        self._lock = threading.RLock()
        self.events.clear()
        self.lost.clear()
        self._moved = self._added
        self._size = 0

    def add(self, event: QueuedEvent) -> int:
        """Queue an event; what to do next, as the buffer's methods report it."""
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
        """Whether more waits than should."""
        return len(self.events) > _MAX_EVENTS or self._size > _MAX_BYTES

    def close(self) -> None:
        """Accept no more events."""
        with self._lock:
            self._closed = True

    def settle(self, move: Callable[[], object], patience: float | None) -> bool:
        """Wait until all that is in the queue now has left it; `move` is called when something can.

        False if nothing arrived for `patience` seconds. None waits for as long as the device computes.
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
        """Move what has arrived to the buffer, of what is in the queue now: only the flusher calls this."""
        for _ in range(len(self.events) // _MOVED + 1):
            if not self._move():
                return
            time.sleep(0)  # a caller may wait for the lock

    def _move(self) -> int:
        """Write some ready events at the head; each leaves the queue after it is in the buffer, to keep the order."""
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
                    return  # the device works on it

    def take_lost(self) -> list[Lost]:
        """The values that did not arrive, once."""
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
        """CONVERT if the buffer would not take these scalars."""
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
        with self._lock:
            if not self.events:
                return self.buffer.value(tag, field, payload, metadata, step, wall_time)
            arguments = (tag, field, payload, metadata, step, _now(wall_time))
            return self.add(QueuedEvent(self.buffer.value, arguments, len(payload)))

    def summary(self, summary: bytes, step: Any, wall_time: Any) -> int:
        """`EventBuffer.summary`."""
        with self._lock:
            if not self.events:
                return self.buffer.summary(summary, step, wall_time)
            return self.add(QueuedEvent(self.buffer.summary, (summary, step, _now(wall_time)), len(summary)))

    def fields(self, fields: bytes, step: Any, wall_time: Any) -> int:
        """`EventBuffer.fields`."""
        with self._lock:
            if not self.events:
                return self.buffer.fields(fields, step, wall_time)
            return self.add(QueuedEvent(self.buffer.fields, (fields, step, _now(wall_time)), len(fields)))


def _now(wall_time: float | None) -> float:
    return time.time() if wall_time is None else wall_time
