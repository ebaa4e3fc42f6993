"""The drop-ins on files that TensorBoard's classes cannot handle: damage, unfinished records, gzip, deleted files."""

from __future__ import annotations

import gc
import gzip
import logging
import os
import sys
import threading
import weakref
import zlib
from pathlib import Path
from types import FrameType
from typing import Any

import eventfile as ef
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from protolog import header, image, record, scalar, session_start, write

from tbq.compat.directory_watcher import DirectoryDeletedError
from tbq.compat.event_accumulator import EventAccumulator
from tbq.compat.event_file_loader import (
    EventFileLoader,
    LegacyEventFileLoader,
    RawEventFileLoader,
    TimestampedEventFileLoader,
)
from tbq.compat.event_multiplexer import EventMultiplexer
from tbq.compat.summary_iterator import summary_iterator

GRAPH = record(bytes.fromhex("09000000000000f03f2200"))  # becomes two events
SCALARS = [scalar("loss", step, step / 2) for step in range(20)]


def steps(accumulator: EventAccumulator, tag: str = "loss") -> list[int]:
    return [event.step for event in accumulator.Scalars(tag)] if tag in accumulator.Tags()["scalars"] else []


@given(st.lists(st.integers(0, 1500), max_size=6))
def test_bytes_may_come_in_any_pieces(tmp_path_factory: pytest.TempPathFactory, cuts: list[int]) -> None:
    data = header() + b"".join(SCALARS) + image("i", 1, b"x" * 300)
    path = tmp_path_factory.mktemp("run") / "a.tfevents"
    path.touch()
    accumulator, loader = EventAccumulator(str(path.parent)), RawEventFileLoader(str(path))
    loaded = []
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(data)], strict=True):
        with path.open("ab") as file:
            file.write(data[start:end])
        accumulator.Reload()
        loaded += list(loader.Load())
    assert steps(accumulator) == list(range(20))
    assert len(accumulator.Images("i")) == 1
    assert len(loaded) == 22


@given(st.integers(0, 19), st.integers(0, 40), st.integers(0, 20))
def test_only_what_is_damaged_is_lost(
    tmp_path_factory: pytest.TempPathFactory, number: int, place: int, reload_at: int
) -> None:
    """TensorBoard stops at damage; tbq keeps what follows, however the read is split."""
    records = [header(), *SCALARS]
    damaged = bytearray(records[number + 1])
    damaged[place % len(damaged)] ^= 0x55
    records[number + 1] = bytes(damaged)
    path = tmp_path_factory.mktemp("run") / "a.tfevents"
    accumulator = EventAccumulator(str(path.parent))
    for part in (records[:reload_at], records[reload_at:]):
        with path.open("ab") as file:
            file.write(b"".join(part))
        accumulator.Reload()
    assert steps(accumulator) == [step for step in range(20) if step != number]
    assert [event.step for event in LegacyEventFileLoader(str(path)).Load()][1:] == steps(accumulator)


@examples(150)
@given(
    st.lists(st.tuples(st.integers(0, 1400), st.sampled_from(["flip", "cut", "zeros", "junk"])), max_size=3),
    st.lists(st.integers(0, 1500), max_size=4),
    st.sampled_from([0, 3]),
)
def test_damaged_files_give_the_same_however_they_grow(
    tmp_path_factory: pytest.TempPathFactory, damage: list[tuple[int, str]], cuts: list[int], size: int
) -> None:
    """With a restart in the middle, and with sampling."""
    data = bytearray(header() + b"".join([*SCALARS[:12], session_start(6, 1.0), *SCALARS[6:]]))
    for place, what in damage:
        at = place % len(data)
        if what == "flip":
            data[at] ^= 0x10
        elif what == "cut":
            del data[at : at + 7]
        else:
            data[at:at] = bytes(20) if what == "zeros" else b"junk" * 5
    path = tmp_path_factory.mktemp("run") / "a.tfevents"
    pieces = EventAccumulator(str(path.parent), {"scalars": size})
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(data)], strict=True):
        with path.open("ab") as file:
            file.write(data[start:end])
        pieces.Reload()
    whole = EventAccumulator(str(path.parent), {"scalars": size}).Reload()
    assert steps(pieces) == steps(whole)


def test_damage_is_logged_where_tensorboard_logs_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    damaged = SCALARS[3][:-1] + b"\x00"
    path = write(tmp_path, header(), *SCALARS[:3], damaged, *SCALARS[4:], SCALARS[0][:-3])
    with caplog.at_level(logging.DEBUG, "tensorboard"):
        EventAccumulator(str(tmp_path)).Reload()
    text = caplog.text
    assert f"Corrupted record in {path} (bad_payload: {len(damaged)} bytes at" in text
    assert f"Truncated record in {path}" in text


def test_a_record_that_is_no_event(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path, header(), SCALARS[0], record(b"\x09\x01"), SCALARS[1])
    accumulator = EventAccumulator(str(tmp_path)).Reload()
    assert steps(accumulator) == [0, 1]
    assert "not an event" in caplog.text


class Interrupt:
    """Raises KeyboardInterrupt after the loader's n-th call, where Python checks for signals."""

    def __init__(self, number: int) -> None:
        self._left = number

    def __call__(self, frame: FrameType, event: str, _arg: Any) -> None:
        if event == "c_return" and Path(frame.f_code.co_filename).name == "event_file_loader.py":
            self._left -= 1
            if self._left == 0:
                raise KeyboardInterrupt

    @property
    def came(self) -> bool:
        return self._left <= 0


@pytest.mark.parametrize(
    "kind", [RawEventFileLoader, LegacyEventFileLoader, EventFileLoader, TimestampedEventFileLoader]
)
@pytest.mark.parametrize("replaced", [False, True])
def test_an_interrupt_loses_no_record(tmp_path: Path, kind: type[RawEventFileLoader], replaced: bool) -> None:
    path = write(tmp_path, header(), *SCALARS[:6], GRAPH, SCALARS[6])

    def text(given: Any) -> str:
        return str(given[1] if isinstance(given, tuple) else given)

    whole = [text(given) for given in kind(str(path)).Load()]
    number, interrupts = 1, 0
    while True:
        loader, given, interrupt = kind(str(path), replaced), [], Interrupt(number)
        before = sys.getprofile()
        sys.setprofile(interrupt)
        try:
            given.extend(loader.Load())  # what came before an interrupt is there
        except KeyboardInterrupt:
            interrupts += 1
        finally:
            sys.setprofile(before)
        given += loader.Load()
        assert list(map(text, given)) == whole, number
        if not interrupt.came:
            break
        number += 1
    assert interrupts > 10


def test_what_a_caller_leaves_comes_next(tmp_path: Path) -> None:
    """An event with a graph becomes two events; TensorBoard's loader forgets the second if only one is taken."""
    path = write(tmp_path, header(), GRAPH, GRAPH)
    whole, pieces = EventFileLoader(str(path)), EventFileLoader(str(path))
    given = [next(pieces.Load()) for _ in range(4)]
    assert list(map(str, [*given, *pieces.Load()])) == list(map(str, whole.Load()))


def test_a_record_that_is_no_event_is_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path, header(), SCALARS[0], record(b"\x0f\x01"), SCALARS[1])
    loader = LegacyEventFileLoader(str(path), protobuf=True)
    given: list[Any] = []
    with pytest.raises(Exception, match=r"(?i)parsing"):
        given.extend(loader.Load())
    given += loader.Load()
    assert given[-1].step == 1


def test_an_interrupt_while_notes_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, header(), *SCALARS)
    accumulator = EventAccumulator(str(tmp_path))

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(accumulator, "_take_file_version", interrupt)
        with pytest.raises(KeyboardInterrupt):
            accumulator.Reload()
    assert accumulator.Reload().file_version == 2.0
    assert steps(accumulator) == list(range(20))


def test_damage_then_a_restart_then_growth(tmp_path: Path) -> None:
    path = write(tmp_path, header(), *SCALARS[:10], b"\0" * 40)
    accumulator = EventAccumulator(str(tmp_path), {"scalars": 4}).Reload()
    assert steps(accumulator)[-1] == 9
    with path.open("ab") as file:
        file.write(session_start(5, 1.0) + b"".join(SCALARS[5:8]))
    assert steps(accumulator.Reload())[-1] == 7
    assert all(step < 8 for step in steps(accumulator))


def test_compressed_files_are_unpacked(tmp_path: Path) -> None:
    data = header() + b"".join(SCALARS)
    path = tmp_path / "a.tfevents.gz"
    path.write_bytes(gzip.compress(data))
    assert steps(EventAccumulator(str(tmp_path)).Reload()) == list(range(20))
    assert len(list(EventFileLoader(str(path)).Load())) == 21
    accumulator = EventAccumulator(str(path)).Reload()
    path.write_bytes(gzip.compress(data + scalar("loss", 20, 1.0)))
    assert steps(accumulator.Reload()) == list(range(21))
    path.write_bytes(path.read_bytes()[:-30])
    assert len(steps(EventAccumulator(str(path)).Reload())) < 21


def test_the_core_says_what_is_compressed(tmp_path: Path) -> None:
    """Covers zlib with any window, and plain files whose first length looks like zlib (78 9c) or gzip (1f 8b)."""
    path = tmp_path / "a.tfevents"
    for window in range(9, 16):
        pack = zlib.compressobj(wbits=window)
        path.write_bytes(pack.compress(header() + b"".join(SCALARS)) + pack.flush())
        assert steps(EventAccumulator(str(path)).Reload()) == list(range(20)), window
        assert len(list(EventFileLoader(str(path)).Load())) == 21
    for length in (0x9C78, 0x8B1F):
        first = scalar("loss", 0, 1.0)[12:-4]
        first += ef.bytes_field(15, bytes(length - len(first) - 4))
        path.write_bytes(ef.record(first) + b"".join(SCALARS[1:]))
        assert path.read_bytes()[:2] == length.to_bytes(2, "little")
        assert steps(EventAccumulator(str(path)).Reload()) == list(range(20))


def test_empty_folders_and_other_files(tmp_path: Path) -> None:
    accumulator = EventAccumulator(str(tmp_path)).Reload()
    assert not any(accumulator.Tags().values())
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "a.tfevents").touch()
    (tmp_path / "b.tfevents").mkdir()
    write(tmp_path, header(), SCALARS[0], file="c.tfevents")
    write(tmp_path, header(), SCALARS[1], file="d.tfevents.profile-empty")
    assert steps(accumulator.Reload()) == [0]
    assert EventAccumulator(tmp_path).Reload().Tags() == accumulator.Tags()
    assert EventAccumulator(tmp_path).path == tmp_path


def test_a_file_that_is_not_one_of_events_is_nothing_to_talk_about(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "notes.txt").write_text("x")
    assert not any(EventAccumulator(str(tmp_path / "notes.txt")).Reload().Tags().values())
    assert caplog.records == []


def test_a_file_that_goes_does_not_stop_the_rest(tmp_path: Path) -> None:
    first = write(tmp_path, header(), SCALARS[0], file="a.tfevents")
    accumulator = EventAccumulator(str(tmp_path)).Reload()
    first.unlink()
    write(tmp_path, header(), SCALARS[1], file="b.tfevents")
    assert steps(accumulator.Reload()) == [0, 1]
    assert steps(accumulator.Reload()) == [0, 1]


def test_a_folder_that_goes(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    path = write(folder, header(), SCALARS[0])
    accumulator = EventAccumulator(str(folder)).Reload()
    path.unlink()
    folder.rmdir()
    with pytest.raises(DirectoryDeletedError, match="permanently deleted"):
        accumulator.Reload()
    assert steps(accumulator) == [0]


@pytest.mark.parametrize("make", [LegacyEventFileLoader, summary_iterator, EventAccumulator])
def test_a_file_that_is_not_there(tmp_path: Path, make: type) -> None:
    with pytest.raises(FileNotFoundError):
        make(str(tmp_path / "absent.tfevents"))


def test_a_file_that_is_replaced(tmp_path: Path) -> None:
    path = write(tmp_path, header(), *SCALARS[:3])
    plain, detecting = RawEventFileLoader(path), RawEventFileLoader(path, detect_file_replacement=True)
    assert len(list(plain.Load())) == len(list(detecting.Load())) == 4
    longer = tmp_path / "new"
    longer.write_bytes(path.read_bytes() + b"".join(SCALARS[3:5]))
    os.replace(longer, path)
    assert list(plain.Load()) == []
    assert len(list(detecting.Load())) == 2
    shorter = tmp_path / "new"
    shorter.write_bytes(header() + SCALARS[0])
    os.replace(shorter, path)
    assert list(detecting.Load()) == []
    with path.open("ab") as file:
        file.write(b"".join(SCALARS[1:7]))
    assert len(list(detecting.Load())) == 2


def test_nothing_is_taken_before_it_is_looked_at(tmp_path: Path) -> None:
    path = write(tmp_path, header(), *SCALARS[:3])
    for make in (RawEventFileLoader, LegacyEventFileLoader, EventFileLoader, TimestampedEventFileLoader):
        loader = make(path)
        loader.Load()
        assert next(loader.Load())
        assert len(list(loader.Load())) == 3


def test_threads_may_read_while_others_load(tmp_path: Path) -> None:
    path = write(tmp_path, header(), *SCALARS)
    accumulator = EventAccumulator(str(tmp_path)).Reload()
    failures: list[BaseException] = []
    ended = threading.Event()

    def read() -> None:
        try:
            while not ended.is_set():
                events = accumulator.Scalars("loss")
                assert [event.step for event in events][:20] == list(range(20))
                accumulator.Tags()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for step in range(20, 60):
        with path.open("ab") as file:
            file.write(scalar("loss", step, 1.0))
        accumulator.Reload()
    ended.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(accumulator.Scalars("loss")) == 60


def test_links_that_lead_back_are_followed_once(tmp_path: Path) -> None:
    write(tmp_path / "run", header(), SCALARS[0])
    (tmp_path / "run" / "up").symlink_to(tmp_path, target_is_directory=True)
    assert list(EventMultiplexer().AddRunsFromDirectory(str(tmp_path)).Runs()) == ["run"]


def test_names_that_are_not_text(tmp_path: Path) -> None:
    """protobuf refuses such an event; tbq shows its tag as everywhere."""
    raw = scalar("ab", 1, 2.0)[12:-4].replace(b"ab", b"a\xff")
    write(tmp_path, header(), record(raw), record(raw))
    accumulator = EventAccumulator(str(tmp_path)).Reload()
    (tag,) = accumulator.Tags()["scalars"]
    assert len(accumulator.Scalars(tag)) == 2


def test_many_large_values_stay_in_their_files(tmp_path: Path) -> None:
    """Gigabytes of images do not fill the memory; a value that changed since is an error, never other bytes."""
    pictures = [bytes([step]) * 50_000 for step in range(6)]
    path = write(tmp_path, header(), *(image("i", step, data) for step, data in enumerate(pictures)))
    accumulator = EventAccumulator(str(tmp_path))
    accumulator._core.set_most_kept(120_000)
    events = accumulator.Reload().Images("i")
    assert [event.encoded_image_string for event in events] == pictures
    again = accumulator.Images("i")
    data = path.read_bytes()
    path.write_bytes(data[:-100] + b"?" + data[-99:])
    assert again[4].encoded_image_string == pictures[4]
    with pytest.raises(OSError, match="has changed or gone"):
        again[5]
    path.unlink()
    assert again[0].encoded_image_string == pictures[0]
    with pytest.raises(OSError, match="step 3"):
        again[3]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    write(tmp_path, header(), SCALARS[0], file="a.tfevents")
    os.mkfifo(tmp_path / "b.tfevents")
    write(tmp_path, header(), SCALARS[1], file="c.tfevents")
    assert steps(EventAccumulator(str(tmp_path)).Reload()) == [0, 1]


@pytest.mark.parametrize("tag", [None, 3, b"loss", "\ud800"])
def test_tags_that_cannot_be_there(tmp_path: Path, tag: str) -> None:
    write(tmp_path, header(), SCALARS[0])
    with pytest.raises(KeyError):
        EventAccumulator(str(tmp_path)).Reload().Scalars(tag)


def test_an_accumulator_is_freed_with_its_last_reference(tmp_path: Path) -> None:
    """It may hold gigabytes, which must not wait for the garbage collector."""
    write(tmp_path / "run", header(), *SCALARS, image("i", 1, b"x"))
    gc.disable()
    try:
        accumulator = EventAccumulator(tmp_path / "run").Reload()
        accumulator.Scalars("loss"), accumulator.Images("i")[0]
        runs = EventMultiplexer().AddRunsFromDirectory(str(tmp_path)).Reload()
        alive = [weakref.ref(accumulator), weakref.ref(runs), weakref.ref(runs.GetAccumulator("run"))]
        del accumulator, runs
        assert [each() for each in alive] == [None, None, None]
    finally:
        gc.enable()
