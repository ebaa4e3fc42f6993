"""Audio clips: WAV bytes to samples, with NumPy alone."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from tbq.errors import DamageError
from tbq.table.table import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE


class AudioTable(Table):
    """The `audio` table; `waveform(row)` returns one clip as `(rate, samples)`."""

    def waveform(self, row: int) -> tuple[int, NDArray[Any]]:
        """One clip: its rate, and its samples as an array of (frames, channels).

        >>> rate, samples = log.audio().waveform(0)
        >>> rate, samples.shape
        (8000, (2000, 1))
        """
        return waveform(self.to_arrow()["data"][self._row(row)].as_py())


def waveform(data: bytes) -> tuple[int, NDArray[Any]]:
    """The rate and the samples (frames, channels) of a WAV file: integers as stored, or floats.

    8-bit samples are unsigned; 24-bit samples become int32.
    """
    import numpy as np

    fmt, body = _chunks(data)
    if len(fmt) < 16:
        raise _bad("no format chunk")
    code, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", fmt)
    if code == _EXTENSIBLE and len(fmt) >= 26:
        code = struct.unpack_from("<H", fmt, 24)[0]
    if channels == 0 or (code, bits) not in (
        (_PCM, 8), (_PCM, 16), (_PCM, 24), (_PCM, 32), (_FLOAT, 32), (_FLOAT, 64),
    ):  # fmt: skip
        raise _bad(f"tbq cannot decode format {code} with {bits} bits and {channels} channels")
    width = bits // 8
    frames = len(body) // (width * channels)
    body = body[: frames * width * channels]
    if bits == 24:
        wide = np.zeros((frames * channels, 4), np.uint8)
        wide[:, 1:] = np.frombuffer(body, np.uint8).reshape(-1, 3)
        samples: NDArray[Any] = wide.view("<i4")[:, 0] >> 8
    else:
        letter = "f" if code == _FLOAT else "u" if bits == 8 else "i"
        samples = np.frombuffer(body, f"<{letter}{width}").copy()
    return rate, samples.reshape(frames, channels)


def _chunks(data: bytes) -> tuple[bytes, bytes]:
    """The format chunk and the data chunk; a data chunk that claims too many bytes ends with the file."""
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise _bad("no RIFF header")
    fmt = b""
    at = 12
    while at + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, at)
        if name == b"data":
            return fmt, data[at + 8 : at + 8 + size]
        if name == b"fmt ":
            fmt = data[at + 8 : at + 8 + size]
        at += 8 + size + size % 2
    raise _bad("no samples")


def _bad(why: str) -> DamageError:
    return DamageError(
        f"cannot read the audio clip as WAV: {why}",
        code="bad_audio",
        hint="log.audio() has its bytes; tbq media writes it as a file",
    )
