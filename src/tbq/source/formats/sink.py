"""`Sink`: writes what a format's reader found as an event file, which grows by appending."""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tbq import _core, wire
from tbq.source.formats.interface import TooLargeError
from tbq.text import is_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SIMPLE, _EXACT = 0, 3  # styles of the core: float32, and what keeps float64 and int64
_FULL = 1 << 22  # pending bytes
_END = 1000  # the field of an Event that says how its writer ended
_SOURCE = 10  # the field of an Event that names its writer
_DOUBLE = 2  # DataType
_SUCCESS, _FAILURE = 1, 2
_DEPTH = 32

Hparam = str | bool | float


class Sink:
    """The event file of one run. If not `exact`, every TensorBoard shows all of it: numbers are float32, and what has
    no wall time gets the `untimed` one, because TensorBoard stops at an event whose time is NaN."""

    def __init__(self, path: Path, writer: str, most: int, exact: bool = True, untimed: float = 0.0) -> None:
        self.path = path
        self.most = most
        self.exact = exact
        self._untimed = math.nan if exact else untimed
        self._style = _EXACT if exact else _SIMPLE
        self._size = 0
        self._hparams: dict[str, Hparam] | None = None
        self.buffer = _core.EventBuffer(_FULL, 1 << 62, 1 << 62, watch_steps=False)
        self.buffer.fields(wire.text(3, "brain.Event:2"), None, 0.0)
        self.buffer.fields(wire.message(_SOURCE, wire.text(1, writer)), None, 0.0)

    def scalars(self, values: Mapping[str, float], step: int, wall_time: float) -> None:
        """One event. Integers stay exact; those beyond 64 bits become float64."""
        known = {tag: _fitting(value) for tag, value in values.items() if tag}
        time = self._time(wall_time)
        if known and self.buffer.scalars(known, step, time, self._style) & 16:
            plain = {_text(tag): float(value) for tag, value in known.items()}
            self.buffer.scalars(plain, step, time, self._style)
        self._relieve()

    def columns(
        self,
        steps: NDArray[np.int64],
        wall_times: NDArray[np.float64],
        columns: Mapping[str, tuple[NDArray[np.float64], NDArray[np.uint8]]],
    ) -> None:
        """One event per row; each column has values, and 1 for each cell that is present."""
        tags = [tag for tag in columns if tag]
        _core.add_columns(
            self.buffer,
            [_text(tag) for tag in tags],
            steps,
            self._times(wall_times),
            [columns[tag][0] for tag in tags],
            [columns[tag][1] for tag in tags],
            self.exact,
        )
        self._relieve()

    def rows(
        self,
        tags: Sequence[str],
        codes: NDArray[np.int32],
        steps: NDArray[np.int64],
        wall_times: NDArray[np.float64],
        values: NDArray[np.float64],
    ) -> None:
        """One event per value; `codes` are indices of `tags`."""
        named = [_text(tag) for tag in tags]
        _core.add_rows(self.buffer, named, codes, steps, self._times(wall_times), values, self.exact)
        self._relieve()

    def text(self, tag: str, text: str, step: int, wall_time: float) -> None:
        """A text."""
        payload = wire.string_tensor([_text(text).encode()], [1])
        self.buffer.value(
            _text(tag), wire.TENSOR, payload, wire.metadata("text"), step, self._time(wall_time)
        )
        self._relieve()

    def image(self, tag: str, data: bytes, size: tuple[int, int], step: int, wall_time: float) -> None:
        """An encoded image of this width and height."""
        payload = (
            wire.integer(1, size[1]) + wire.integer(2, size[0]) + wire.integer(3, 3) + wire.text(4, data)
        )
        self.buffer.value(_text(tag), wire.IMAGE, payload, b"", step, self._time(wall_time))
        self._relieve()

    def histogram(
        self, tag: str, edges: Sequence[float], counts: Sequence[float], step: int, wall_time: float
    ) -> None:
        """Counts between edges; there is one edge more than counts."""
        rows = [number for row in zip(edges[:-1], edges[1:], counts, strict=True) for number in row]
        content = struct.pack(f"<{len(rows)}d", *rows)
        payload = wire.integer(1, _DOUBLE) + wire.shape([len(counts), 3]) + wire.text(4, content)
        self.buffer.value(
            _text(tag), wire.TENSOR, payload, wire.metadata("histograms"), step, self._time(wall_time)
        )
        self._relieve()

    def hparams(self, values: Mapping[str, Hparam], wall_time: float, group: str = "") -> None:
        """Hyperparameters; a later call adds those that are new or have changed."""
        named = {
            _text(name): _text(value) if isinstance(value, str) else value for name, value in values.items()
        }
        if self._hparams is not None:
            before = self._hparams
            named = {name: value for name, value in named.items() if repr(before.get(name)) != repr(value)}
            if not named:
                return
        self._hparams = {**(self._hparams or {}), **named}
        for tag, metadata in wire.hparams(named, group=group):
            self.buffer.value(tag, 0, b"", metadata, None, self._time(wall_time))

    def end(self, failed: bool, step: int, wall_time: float) -> None:
        """How the run ended."""
        status = _FAILURE if failed else _SUCCESS
        wall_time = self._time(wall_time)
        self.buffer.value("_hparams_/session_end_info", 0, b"", wire.hparams_end(status), step, wall_time)
        self.buffer.fields(wire.message(_END, wire.integer(1, status)), None, wall_time)

    def flush(self) -> None:
        """Append what is pending to the file."""
        if not self.buffer.pending_bytes:
            return
        data, _ = self.buffer.take()
        self._size += len(data)
        if self._size > self.most:
            raise TooLargeError
        with open(self.path, "ab", buffering=0) as file:
            view = memoryview(data)
            while view:
                view = view[file.write(view) :]

    def _time(self, wall_time: float) -> float:
        return self._untimed if math.isnan(wall_time) else wall_time

    def _times(self, wall_times: NDArray[np.float64]) -> NDArray[np.float64]:
        gaps = wall_times != wall_times
        if not self.exact and gaps.any():
            wall_times = wall_times.copy()
            wall_times[gaps] = self._untimed
        return wall_times

    def _relieve(self) -> None:
        if self.buffer.pending_bytes > _FULL:
            self.flush()


def _text(text: str) -> str:
    return text if is_text(text) else text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _fitting(value: float) -> float:
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int):
        if -(2**53) <= value <= 2**53:
            return float(value)
        if not -(2**63) <= value < 2**63:
            try:
                return float(value)
            except OverflowError:
                return math.inf if value > 0 else -math.inf
    return value


def flat(values: Mapping[str, Any], leave_out: Iterable[str] = ()) -> dict[str, Hparam]:
    """A configuration as hyperparameters: nested objects as `outer/inner`, lists as JSON, without nulls.

    >>> flat({"lr": 0.1, "opt": {"name": "adam", "betas": [0.9, 0.99]}, "seed": None})
    {'lr': 0.1, 'opt/name': 'adam', 'opt/betas': '[0.9, 0.99]'}
    """
    out: dict[str, Hparam] = {}
    hidden = set(leave_out)

    def add(part: Mapping[str, Any], prefix: str, depth: int) -> None:
        for key, value in part.items():
            name = f"{prefix}{key}"
            if getattr(value, "shape", None) == ():  # a number of NumPy or torch
                value = value.item()
            if not name or value is None or (not prefix and key in hidden):
                continue
            if isinstance(value, Mapping) and depth < _DEPTH:
                add(value, f"{name}/", depth + 1)
            elif isinstance(value, bool | str | float):
                out[name] = value
            elif isinstance(value, int):
                out[name] = _fitting(value)
            elif isinstance(value, list | tuple | Mapping):
                out[name] = json.dumps(value, default=str)
            else:
                out[name] = str(value)

    add(values, "", 0)
    return out


def inside(folder: str, name: object) -> str | None:
    """The path of a file that a log names below a folder; None if it leads out of the folder."""
    if not isinstance(name, str) or not name or "\0" in name:
        return None
    top = os.path.realpath(folder)
    path = os.path.realpath(os.path.join(top, name))
    return path if path.startswith(top + os.sep) and os.path.isfile(path) else None
