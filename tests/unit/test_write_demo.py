"""The demo: the same each time, complete, and never over existing files."""

from __future__ import annotations

import pytest

import tbq
from tbq.errors import OutputError


def content(directory):
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def test_it_is_the_same_each_time_also_over_itself(tmp_path):
    first = content(tbq.demo(tmp_path / "a"))
    assert content(tbq.demo(tmp_path / "b")) == first
    assert content(tbq.demo(tmp_path / "a", force=True)) == first
    assert len(first) == 10


def test_every_run_has_its_parts(tmp_path, read_events):
    directory = tbq.demo(tmp_path / "new" / "runs")
    runs = {path.parent.relative_to(directory).as_posix() for path in directory.rglob("*tfevents*")}
    sweep = {f"lr={rate}/seed={seed}" for rate in ("0.1", "0.03", "0.01") for seed in (0, 1)}
    assert runs == sweep | {"diverged", "resumed", "media"}
    steps = {}
    for event in read_events(directory / "lr=0.1" / "seed=0"):
        for value in event.summary.value:
            steps.setdefault(value.tag, []).append(event.step)
    assert steps["train/loss"] == list(range(200))
    assert steps["val/loss"] == list(range(19, 200, 20))
    assert steps["lr"] == list(range(0, 200, 10))
    assert "_hparams_/session_start_info" in steps


def test_it_refuses_a_directory_that_is_not_empty(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(OutputError, match="the directory is not empty") as caught:
        tbq.demo(tmp_path)
    assert "--force" in caught.value.hint
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    tbq.demo(tmp_path, force=True)
    assert (tmp_path / "mine.txt").read_text() == "mine"
    with pytest.raises(OutputError, match="is a file"):
        tbq.demo(tmp_path / "mine.txt")


def test_it_writes_to_this_machine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OutputError, match="must be a local path, not a URL"):
        tbq.demo("s3://bucket/runs")
    assert not list(tmp_path.iterdir())
