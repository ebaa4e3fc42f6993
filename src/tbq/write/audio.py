"""Encodes audio: samples as WAV by the standard library, or a WAV file unchanged."""

from __future__ import annotations

import io
import wave
from typing import Any

import numpy as np

from tbq import wire
from tbq.arguments import described
from tbq.errors import warn
from tbq.write.arguments import as_array, bad, real


def encode(value: Any, sample_rate: Any, argument: str = "snd_tensor") -> bytes:
    """A Summary.Audio of samples in [-1, 1] (mono, or [frames, 2]), of int16 samples, or of a WAV file."""
    if isinstance(value, bytes | bytearray | memoryview):
        return _from_file(bytes(value), argument)
    if not isinstance(sample_rate, int | float) or not sample_rate > 0:
        raise bad("sample_rate", f"got {described(sample_rate)}, want samples per second")
    samples = _samples(value, argument)
    frames, channels = samples.shape
    out = io.BytesIO()
    with wave.open(out, "wb") as stream:
        stream.setnchannels(channels)
        stream.setsampwidth(2)
        stream.setframerate(sample_rate)
        stream.writeframes(samples.tobytes())
    return _summary(sample_rate, channels, frames, out.getvalue())


def _samples(value: Any, argument: str) -> Any:
    """[frames, channels] of int16."""
    array = real(as_array(value, argument), argument)
    if array.size == 0:
        raise bad(argument, f"got shape {array.shape}, which has no samples")
    if array.ndim != 2 or array.shape[1] != 2:
        array = array.squeeze()
    if array.ndim == 0:
        array = array.reshape(1)
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2 or array.shape[1] > 2:
        raise bad(argument, f"got shape {np.shape(value)}, want [frames], [1, frames] or [frames, 2]")
    if array.dtype == np.int16:
        return array.astype("<i2")
    if not np.isfinite(array).all():
        raise bad(argument, "has samples that are not finite")
    if abs(array).max() > 1:
        warn(f"{argument}: samples outside [-1, 1] are clipped")
        array = array.clip(-1, 1)
    return (array * np.iinfo(np.int16).max).astype("<i2")


def _from_file(data: bytes, argument: str) -> bytes:
    try:
        with wave.open(io.BytesIO(data)) as stream:
            rate, channels, frames = stream.getframerate(), stream.getnchannels(), stream.getnframes()
    except (wave.Error, EOFError) as error:
        raise bad(argument, f"got {len(data)} bytes that are not a WAV file: {error}") from None
    return _summary(rate, channels, frames, data)


def _summary(rate: float, channels: int, frames: int, data: bytes) -> bytes:
    head = wire.single(1, rate) + wire.integer(2, channels) + wire.integer(3, frames)
    return head + wire.text(4, data) + wire.text(5, "audio/wav")
