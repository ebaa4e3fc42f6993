"""Weights & Biases: the `.wandb` file in the folder of each run, offline or online."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from typing import Any

from tbq import _core
from tbq.problems import Problem
from tbq.source.formats.interface import Format, Log, Reached
from tbq.source.formats.messages import fields, items, media, seconds, submessage, text
from tbq.source.formats.sink import Sink, flat, inside
from tbq.source.formats.translation import unfinished

HEAD = b":W&B\xe1\xbe\x00"

_PIECE = 1 << 22
_MOST_PIECE = 1 << 29
_MOST_MEDIA = 1 << 26  # bytes of one file
# Fields of wandb's `Record`.
_HISTORY, _CONFIG, _TENSORBOARD, _RUN, _EXIT = 2, 5, 9, 17, 18
_FAULTS = {
    "bad_length": "bytes that are not a record",
    "bad_payload": "a record's data does not match its checksum",
    "torn": "a record without its beginning or its end",
    "bad_event": "a valid record that cannot be decoded",
    "too_long": "a record longer than 256 MiB",
}


class WandbFormat(Format):
    """Recognised by the first bytes of the file."""

    def logs(self, path: str) -> Iterable[Log]:
        with open(path, "rb") as file:
            return [Log("wandb", path)] if file.read(len(HEAD)) == HEAD else []

    def translator(self, log: Log) -> _Wandb:
        return _Wandb(log.path)


class _Wandb:
    def __init__(self, path: str) -> None:
        self._path = path
        self._media = os.path.join(os.path.dirname(path), "files")
        self._reader: _core.WandbReader | None = None
        self._reached = Reached()
        self._config: dict[str, Any] = {}
        self._group = ""
        self._began = 0.0
        self._notes: list[Problem] = []
        self.problems: list[Problem] = []

    def read(self, sink: Sink) -> None:
        reader = self._reader = self._reader or _core.WandbReader(sink.exact)
        with open(self._path, "rb") as file:
            size = self._reached.check(file)
            piece = _PIECE
            while (position := reader.position) < size:
                file.seek(position)
                data = file.read(piece)
                self._take(reader, data, position, sink)
                if reader.position > position:
                    piece = _PIECE
                elif position + len(data) >= size or piece >= _MOST_PIECE:
                    break
                else:
                    piece *= 2  # a long record
            self._reached.advance(file, min(reader.position, size))
        lost = [
            Problem(code, "error", f"{_FAULTS[code]}: {length:,} bytes lost", path=self._path, offset=offset)
            for code, offset, length in reader.faults()
        ]
        self.problems = [*lost, *self._notes, *unfinished(self._path, reader.position, size)]

    def _take(self, reader: _core.WandbReader, data: bytes, offset: int, sink: Sink) -> None:
        while True:
            before = reader.position
            other = reader.read(data, offset, _PIECE, sink.buffer)
            if other is not None:
                self._other(*other, sink)
            if sink.buffer.pending_bytes >= _PIECE:
                sink.flush()
            elif other is None or reader.position == before:
                return

    def _other(self, record: int, step: int, wall_time: float, message: bytes, sink: Sink) -> None:
        if record == _HISTORY:
            for name, value in media(items(message, 1)):
                self._value(name, value, step, wall_time, sink)
        elif record == _RUN:
            self._run(message, sink)
        elif record == _CONFIG:
            self._config.update(items(message, 1))
            sink.hparams(flat(self._config, ["_wandb"]), self._began, self._group)
        elif record == _EXIT:
            of = {number: value for number, value in fields(message) if isinstance(value, int)}
            ended = self._began + of.get(2, 0) if self._began else 0.0
            sink.end(of.get(1, 0) != 0, step, max(ended, wall_time))
        elif record == _TENSORBOARD:
            folder = next((text(value) for number, value in fields(message) if number == 1), "")
            self._notes.append(
                Problem(
                    "two_formats",
                    "info",
                    f"W&B synced the event files of {folder}: the same numbers are in both",
                    path=self._path,
                    hint="to read one of them: source='events', --source events",
                )
            )

    def _run(self, message: bytes, sink: Sink) -> None:
        for number, value in fields(message):
            if number == 4:
                self._config.update(items(submessage(value), 1))
            elif number == 6:
                self._group = text(value)
            elif number == 17:
                self._began = seconds(submessage(value))
        sink.hparams(flat(self._config, ["_wandb"]), self._began, self._group)

    def _value(self, name: str, value: Any, step: int, wall_time: float, sink: Sink) -> None:
        if isinstance(value, str):
            sink.text(name, value, step, wall_time)
            return
        kind = value.get("_type")
        if kind == "histogram":
            edges, counts = value.get("bins"), value.get("values")
            packed = value.get("packedBins")
            if (
                isinstance(packed, dict)
                and _numbers([packed.get("min"), packed.get("size")])
                and _numbers(counts)
            ):
                edges = [packed["min"] + i * packed["size"] for i in range(len(counts) + 1)]
            if _numbers(edges) and _numbers(counts) and len(edges) == len(counts) + 1:
                sink.histogram(name, edges, counts, step, wall_time)
        elif kind in ("image-file", "images/separated"):
            several = value.get("filenames") if kind != "image-file" else [value.get("path")]
            size = value.get("width"), value.get("height")
            if not isinstance(several, list) or not all(
                isinstance(side, int) and 0 < side < 1 << 31 for side in size
            ):
                return
            for place, file in enumerate(several):
                path = inside(self._media, file)
                if path is not None and os.path.getsize(path) <= _MOST_MEDIA:
                    tag = name if len(several) == 1 else f"{name}/{place}"
                    with open(path, "rb") as image:
                        sink.image(tag, image.read(), (size[0], size[1]), step, wall_time)


def _numbers(values: Any) -> bool:
    """Whether this is a list of finite numbers."""
    return isinstance(values, list) and all(
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        for value in values
    )
