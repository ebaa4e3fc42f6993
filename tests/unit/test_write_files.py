"""Where a writer writes: directories, names, resuming, purging, a second writer, and the end of its life."""

from __future__ import annotations

import gc
import logging
import os
import pickle
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from waiting import wait_for

import tbq
from tbq.errors import OutputError, TbqWarning
from tbq.write import existing


def steps(events):
    return [event.step for event in events if event.HasField("summary")]


def test_the_directory_is_absolute_and_told_once(tmp_path, monkeypatch, caplog, read_events):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with caplog.at_level(logging.INFO, "tbq"), tbq.SummaryWriter("runs/../runs/a") as writer:
        monkeypatch.chdir(tmp_path / "elsewhere")
        writer.add_scalar("x", 1.0, 1)
        writer.add_scalars("y", {"z": 1.0}, 1)
    assert writer.log_dir == writer.get_logdir() == str(tmp_path / "runs" / "a")
    assert steps(read_events(tmp_path / "runs" / "a")) == [1]
    reported = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    assert [str(tmp_path / "runs" / "a") + os.sep in line for line in reported].count(True) >= 1
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_the_default_directory_is_torchs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with tbq.SummaryWriter(comment="_lr0.1") as writer:
        pass
    assert re.fullmatch(r"[A-Z][a-z]{2}\d\d_\d\d-\d\d-\d\d_.*_lr0\.1", Path(writer.log_dir).name)
    assert Path(writer.log_dir).parent == tmp_path / "runs"


def test_run_is_below_log_dir_and_logdir_is_an_alias(tmp_path):
    with tbq.SummaryWriter(logdir=tmp_path, run="exp/1") as writer:
        assert writer.log_dir == str(tmp_path / "exp" / "1")


def test_many_writers_at_once_never_share_a_file(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TbqWarning)
        writers = [tbq.SummaryWriter(tmp_path, filename_suffix=".x") for _ in range(20)]
    names = {writer.path.name for writer in writers}
    assert len(names) == 20
    assert all(
        re.fullmatch(rf"events\.out\.tfevents\.\d{{10}}\..+\.{os.getpid()}\.\d+\.x", name) for name in names
    )
    for writer in writers:
        writer.close()


def test_a_name_that_is_taken_is_left_alone(tmp_path, monkeypatch):
    import itertools

    from tbq.write import file

    monkeypatch.setattr(file, "_counter", itertools.count())
    with tbq.SummaryWriter(tmp_path) as writer:
        first = writer.path
    before = first.read_bytes()
    monkeypatch.setattr(file, "_counter", itertools.count())
    monkeypatch.setattr(file.time, "time", lambda: float(first.name.split(".")[3]))
    with tbq.SummaryWriter(tmp_path) as writer:
        assert writer.path != first
    assert first.read_bytes() == before


def test_resume_auto_goes_on_in_a_new_file(tmp_path, read_events):
    for begin in (0, 10):
        with tbq.SummaryWriter(tmp_path) as writer:
            for step in range(begin, begin + 10):
                writer.add_scalar("x", 1.0, step)
    assert len(list(tmp_path.iterdir())) == 2
    assert sorted(steps(read_events(tmp_path))) == list(range(20))


def test_resume_auto_tells_when_the_first_step_lies_before(tmp_path):
    with tbq.SummaryWriter(tmp_path) as writer:
        for step in range(100):
            writer.add_scalar("x", 1.0, step)
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_text("config", "no step, no claim")
        with pytest.warns(TbqWarning, match=r"first logged step, 50, is before step 99.*purge_step=50"):
            writer.add_scalar("x", 1.0, 50)
        writer.add_scalar("x", 1.0, 51)


def test_purge_step_is_written_only_when_asked(tmp_path, read_events):
    with tbq.SummaryWriter(tmp_path / "a") as writer:
        writer.add_scalar("x", 1.0, 10)
    assert not any(event.HasField("session_log") for event in read_events(tmp_path / "a"))
    with tbq.SummaryWriter(tmp_path / "a", purge_step=5) as writer:
        writer.add_scalar("x", 1.0, 5)  # and says nothing about going back
        path = writer.path
    header, restart, scalar = read_events(path)
    assert header.file_version == "brain.Event:2"
    assert (restart.step, restart.session_log.status) == (5, restart.session_log.START)
    assert scalar.step == 5


def test_resume_error_and_new(tmp_path):
    with tbq.SummaryWriter(tmp_path / "a", resume="error") as writer:
        writer.add_scalar("x", 1.0, 1)
    with pytest.raises(OutputError, match="the run exists: 1 event file") as caught:
        tbq.SummaryWriter(tmp_path / "a", resume="error")
    assert caught.value.code == "exists"
    for want in ("a-1", "a-2"):
        with tbq.SummaryWriter(tmp_path / "a", resume="new") as writer:
            assert writer.log_dir == str(tmp_path / want)
    with tbq.SummaryWriter(tmp_path / "b", resume="new") as writer:
        assert writer.log_dir == str(tmp_path / "b")


def test_last_step_of_a_large_or_damaged_file(tmp_path):
    with tbq.SummaryWriter(tmp_path) as writer:
        for step in range(20_000):
            writer.add_scalar("x", 1.0, step)
        path = writer.path
    assert existing.last_step([path]) == 19_999
    with path.open("ab") as file:
        file.write(bytes(1000))
    assert existing.last_step([path]) == 19_999
    with tbq.SummaryWriter(tmp_path / "image") as writer:
        writer.add_image("noise", os.urandom(0) or _png(1 << 20), 77)
    assert existing.last_step(existing.event_files(str(tmp_path / "image"))) == 77
    assert existing.last_step([tmp_path / "none"]) is None


def test_what_is_not_an_event_file_is_not_continued(tmp_path):
    """The writer follows the readers' rule: marker files of profilers and SageMaker are not event files."""
    for name in ("events.out.tfevents.1.h.sagemaker-uploaded", "events.out.tfevents.1.h.profile-empty"):
        (tmp_path / name).touch()
    assert existing.event_files(str(tmp_path)) == []
    with tbq.SummaryWriter(tmp_path, resume="error") as writer:
        writer.add_scalar("x", 1.0, 1)
    assert existing.event_files(str(tmp_path)) == [writer.path]


def _png(size):
    """A valid PNG header before bytes that do not compress."""
    import numpy as np

    from tbq.write.image import plain_png

    side = int((size / 3) ** 0.5)
    return plain_png(np.frombuffer(os.urandom(side * side * 3), dtype=np.uint8).reshape(side, side, 3))


def test_a_second_writer_in_this_process_is_told(tmp_path):
    with tbq.SummaryWriter(tmp_path) as first:
        with pytest.warns(TbqWarning, match=rf"another SummaryWriter, opened at .*{Path(__file__).name}:\d+"):
            second = tbq.SummaryWriter(tmp_path)
        second.close()
        first.add_scalar("x", 1.0, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tbq.SummaryWriter(tmp_path).close()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no advisory locks to tell by")
def test_a_second_writer_in_another_process_is_told(tmp_path):
    code = "import sys, tbq; w = tbq.SummaryWriter(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "open\n"
        with pytest.warns(TbqWarning, match=rf"pid {other.pid} on .* is writing to this run"):
            tbq.SummaryWriter(tmp_path).close()
        other.communicate("")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tbq.SummaryWriter(tmp_path).close()


def test_flushed_by_time(tmp_path, read_events):
    with tbq.SummaryWriter(tmp_path, flush_secs=0.05) as writer:
        writer.add_scalar("x", 1.0, 1)
        wait_for(lambda: steps(read_events(writer.path)) == [1])
        writer.add_scalar("x", 1.0, 2)
        wait_for(lambda: steps(read_events(writer.path)) == [1, 2])


def test_flushed_by_count(tmp_path, read_events):
    with tbq.SummaryWriter(tmp_path, flush_secs=3600, max_queue=5) as writer:
        for step in range(5):
            writer.add_scalar("x", 1.0, step)
        wait_for(lambda: len(steps(read_events(writer.path))) == 5)


def test_flushed_by_size(tmp_path):
    with tbq.SummaryWriter(tmp_path, flush_secs=3600) as writer:
        writer.add_text("x", "y" * (2 << 20), 1)
        wait_for(lambda: writer.path.stat().st_size > 2 << 20)


def test_flush_waits_for_the_file(tmp_path, read_events):
    with tbq.SummaryWriter(tmp_path, flush_secs=3600) as writer:
        assert read_events(writer.path)[0].file_version  # the header is there from the beginning
        for step in range(100):
            writer.add_scalar("x", 1.0, step)
            writer.add_scalars("y", {"z": 1.0}, step)
        writer.flush()
        assert steps(read_events(writer.path)) == list(range(100))
        assert steps(read_events(tmp_path / "y_z")) == list(range(100))


def test_garbage_collection_flushes_and_tells_where_it_was_opened(tmp_path, read_events):
    writer = tbq.SummaryWriter(tmp_path, flush_secs=3600)
    writer.add_scalar("x", 1.0, 1)
    with pytest.warns(TbqWarning, match=rf"opened at .*{Path(__file__).name}:\d+ was never closed"):
        del writer
        gc.collect()
    assert steps(read_events(tmp_path)) == [1]


def test_a_failed_constructor_leaves_nothing_to_collect(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        tbq.SummaryWriter(tmp_path / "file")
    gc.collect()


def test_a_file_that_is_deleted_goes_on_in_a_new_one(tmp_path, read_events, caplog):
    with tbq.SummaryWriter(tmp_path / "run") as writer:
        writer.add_scalar("x", 1.0, 1)
        writer.flush()
        writer.path.unlink()
        writer.add_scalar("x", 1.0, 2)
        writer.flush()
    assert steps(read_events(tmp_path / "run")) == [2]
    assert "was deleted while it was being written" in caplog.text


def test_pickled_to_another_process_it_is_a_writer_of_the_same_run(tmp_path, read_events):
    with tbq.SummaryWriter(tmp_path, flush_secs=9, exact=True) as writer:
        copy = pickle.loads(pickle.dumps(writer))
        assert (copy.log_dir, copy.flush_secs) == (writer.log_dir, 9.0)
        assert copy.path != writer.path
        copy.add_scalar("x", 0.1, 1)
        copy.close()
    (value,) = (value for event in read_events(tmp_path) for value in event.summary.value)
    assert list(value.tensor.double_val) == [0.1]


def test_torchs_file_writer_methods(tmp_path, read_events):
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary

    with tbq.SummaryWriter(tmp_path) as writer:
        summary = Summary(value=[Summary.Value(tag="x", simple_value=2)])
        writer._get_file_writer().add_summary(summary, 3, 4.0)
        writer.file_writer.add_event(Event(step=1, wall_time=1, summary=summary), step=5, walltime=6.0)
        writer.file_writer.add_event(Event(step=7, summary=summary))
        assert writer.file_writer.get_logdir() == str(tmp_path)
    first, second, third = read_events(tmp_path)[1:]
    assert (first.step, first.wall_time, first.summary) == (3, 4.0, summary)
    assert (second.step, second.wall_time, second.summary) == (5, 6.0, summary)
    assert third.step == 7 and third.wall_time > 1e9


def test_repr(tmp_path):
    writer = tbq.SummaryWriter(tmp_path)
    assert repr(writer) == f"<tbq.SummaryWriter {str(tmp_path)!r}, open>"
    writer.close()
    assert repr(writer).endswith("closed>")
