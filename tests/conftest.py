"""Fixtures that several kinds of tests share."""

from __future__ import annotations

import itertools
import signal
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import profiles
import pytest
from framing import masked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from buckets import Bucket, S3Server

    import tbq


_numbers = itertools.count()

profiles.load()

# The process that starts the tests may ignore signals (`nohup`, a shell's background), and children would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


#: How the last event of tbq's writer begins after its time: it says how the run ended, and has no values.
END = b"\xc2\x3e\x02\x08"


def _read_events(path: str | Path) -> list[Any]:
    """Every Event of a file, or of the files of a run in order of name; any damage fails the test."""
    from tensorboard.compat.proto.event_pb2 import Event

    path = Path(path)
    if path.is_dir():
        return [event for file in sorted(path.glob("*tfevents*")) for event in _read_events(file)]
    data = path.read_bytes()
    events, at = [], 0
    while at < len(data):
        assert at + 12 <= len(data), f"truncated header at {at} of {path}"
        length, length_crc = struct.unpack_from("<QI", data, at)
        assert length_crc == masked(data[at : at + 8]), f"bad length at {at} of {path}"
        payload = data[at + 12 : at + 12 + length]
        (payload_crc,) = struct.unpack_from("<I", data, at + 12 + length)
        assert payload_crc == masked(payload), f"bad payload at {at} of {path}"
        if END not in payload:
            events.append(Event.FromString(payload))
        at += 16 + length
    return events


@pytest.fixture(scope="session")
def read_events() -> Callable[[str | Path], list[Any]]:
    """A function that returns a file's (or a run's) events, and checks both CRCs of each."""
    return _read_events


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of `tbq demo`, for tests that only read it."""
    import tbq

    return tbq.demo(tmp_path_factory.mktemp("demo") / "runs")


@pytest.fixture(scope="module")
def log(runs: Path) -> tbq.LogDir:
    """The same, open."""
    import tbq

    return tbq.open(runs)


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """A real S3 server on the loopback."""
    from buckets import S3Server

    server = S3Server()
    yield server
    server.close()


@pytest.fixture
def bucket(s3_server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """A new bucket, reached by the usual environment variables, and an empty cache."""
    made = s3_server.bucket(f"logs-{next(_numbers)}")
    for name, value in made.storage.items():
        monkeypatch.setenv(name.upper(), value)
    monkeypatch.setenv("TBQ_CACHE", str(tmp_path / "cache"))
    return made
