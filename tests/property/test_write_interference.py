"""Interference with an event file while it is written (cut, delete, replace, append) loses only what was removed."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

import tbq
from tbq import _core

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows does not let others touch an open file so")

ACTIONS = st.one_of(
    st.tuples(st.just("log"), st.integers(1, 30)),
    st.tuples(st.just("flush"), st.just(0)),
    st.tuples(st.just("empty"), st.just(0)),
    st.tuples(st.just("cut"), st.integers(0, 100)),
    st.tuples(st.just("cut at a record"), st.integers(0, 100)),
    st.tuples(st.just("delete"), st.just(0)),
    st.tuples(st.just("replace"), st.just(0)),
    st.tuples(st.just("move"), st.just(0)),
    st.tuples(st.just("add"), st.integers(0, 40)),
)


def sound_steps(path: Path) -> list[int]:
    """The steps of the whole records from the beginning of a file: what every reader gets."""
    from tensorboard.compat.proto.event_pb2 import Event

    data, at, found = path.read_bytes(), 0, []
    whole = _core.whole_records(data, len(data))
    while at < whole:
        length = int.from_bytes(data[at : at + 8], "little")
        event = Event.FromString(data[at + 12 : at + 12 + length])
        found += [event.step for _ in event.summary.value]
        at += 16 + length
    return found


class Interference:
    def __init__(self, root: Path, writer: tbq.SummaryWriter) -> None:
        self.root, self.writer = root, writer
        self.step = 0
        self.safe: list[int] = []  # steps that were logged after the last interference
        self.moved = 0

    def log(self, count: int) -> None:
        for _ in range(count):
            self.writer.add_scalar("x", 1.0, self.step)
            self.safe.append(self.step)
            self.step += 1

    def do(self, action: str, how: int) -> None:
        path = self.writer.path
        assert path is not None
        if action == "log":
            self.log(how)
            return
        self.writer.flush()
        if action == "flush":
            return
        if action != "add":
            self.safe.clear()
        if not path.exists():  # moved away, and still written there
            return
        size = path.stat().st_size
        if action == "empty":
            path.write_bytes(b"")
        elif action == "cut":
            os.truncate(path, size * how // 100)
        elif action == "cut at a record":
            data = path.read_bytes()[: size * how // 100]
            os.truncate(path, _core.whole_records(data, len(data)))
        elif action == "delete":
            path.unlink()
        elif action == "replace":
            other = self.root / "other"
            shutil.copy(path, other)
            other.replace(path)
        elif action == "move":
            self.moved += 1
            path.rename(path.with_name(f"{path.name}.moved{self.moved}"))
        else:
            with path.open("ab") as stream:
                stream.write(bytes(how))


@examples(150)
@given(st.lists(ACTIONS, max_size=15))
def test_everything_logged_after_it_can_be_read(actions: list[tuple[str, int]]) -> None:
    root = Path(tempfile.mkdtemp())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with tbq.SummaryWriter(root / "run", flush_secs=3600) as writer:
                it = Interference(root, writer)
                for action, how in actions:
                    it.do(action, how)
                it.log(3)
            log = tbq.open(root / "run")
            got = log.scalars(restarts="keep").to_arrow()["step"].to_pylist()
        assert set(it.safe) <= set(got)
        assert len(got) == len(set(got)) or any(action == "replace" for action, _ in actions)
        if not any(action == "add" for action, _ in actions):
            # Nor does anything stand in the way of readers that stop at damage, as TensorBoard does.
            readable = [step for file in (root / "run").iterdir() for step in sound_steps(file)]
            assert set(it.safe) <= set(readable)
    finally:
        shutil.rmtree(root)


def test_a_log_that_is_rotated_by_copy_and_truncate(tmp_path, read_events, caplog):
    with tbq.SummaryWriter(tmp_path / "run", flush_secs=3600) as writer:
        for step in range(100):
            writer.add_scalar("x", 1.0, step)
        writer.flush()
        shutil.copy(writer.path, tmp_path / "events.out.tfevents.rotated")
        os.truncate(writer.path, 0)
        for step in range(100, 200):
            writer.add_scalar("x", 1.0, step)
    (file,) = (tmp_path / "run").iterdir()
    header, *events = read_events(file)  # fails on zeros, or on anything but whole records
    assert header.file_version == "brain.Event:2"
    assert [event.step for event in events] == list(range(100, 200))
    assert "was truncated to 0 bytes while it was being written; continuing after them" in caplog.text


def test_a_log_that_is_cut_inside_a_record_goes_on_in_a_new_file(tmp_path, read_events, caplog):
    with tbq.SummaryWriter(tmp_path, flush_secs=3600) as writer:
        for step in range(100):
            writer.add_scalar("x", 1.0, step)
        writer.flush()
        first = writer.path
        os.truncate(first, 1000)
        cut = first.read_bytes()
        for step in range(100, 200):
            writer.add_scalar("x", 1.0, step)
    assert first.read_bytes() == cut  # files of other programs are not changed
    assert [event.step for event in read_events(writer.path)[1:]] == list(range(100, 200))
    assert "was truncated to 1000 bytes while it was being written; continuing in a new file" in caplog.text


def test_a_file_that_is_replaced_is_not_written_to_nowhere(tmp_path, read_events):
    with tbq.SummaryWriter(tmp_path, flush_secs=3600) as writer:
        writer.add_scalar("x", 1.0, 1)
        writer.flush()
        shutil.copy(writer.path, tmp_path / "copy")
        (tmp_path / "copy").replace(writer.path)
        writer.add_scalar("x", 1.0, 2)
    assert [e.step for e in read_events(tmp_path) if e.HasField("summary")] == [1, 2]


def test_a_file_system_without_appending(tmp_path, monkeypatch, read_events):
    import errno

    real = os.open

    def refuse(path, flags, *rest, **more):
        if flags & os.O_APPEND:
            raise OSError(errno.EINVAL, "Invalid argument")
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", refuse)
    with tbq.SummaryWriter(tmp_path, flush_secs=3600) as writer:
        writer.add_scalar("x", 1.0, 1)
        writer.flush()
        os.truncate(writer.path, 0)
        writer.add_scalar("x", 1.0, 2)
        writer.flush()
        writer.add_scalar("x", 1.0, 3)
    assert [event.step for event in read_events(tmp_path)[1:]] == [2, 3]


def test_a_file_system_that_does_not_know_the_size_of_an_open_file(tmp_path, monkeypatch, read_events):
    real = os.fstat
    with tbq.SummaryWriter(tmp_path, flush_secs=3600) as writer:

        class Status:
            st_size, st_nlink = 0, 1

        monkeypatch.setattr(os, "fstat", lambda _: Status())
        writer._file._seen = 0
        for step in range(5):
            writer.add_scalar("x", 1.0, step)
            writer.flush()
        monkeypatch.setattr(os, "fstat", real)
    assert [event.step for event in read_events(tmp_path)[1:]] == list(range(5))
