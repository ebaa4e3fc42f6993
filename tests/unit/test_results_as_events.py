"""Metrics files that are named explicitly are opened like a logdir."""

from __future__ import annotations

import gc
import math
import tempfile
from pathlib import Path

import pytest

import tbq
from tbq.errors import SourceError


@pytest.fixture
def metrics(tmp_path: Path) -> Path:
    path = tmp_path / "version_0" / "metrics.csv"
    path.parent.mkdir()
    path.write_text("epoch,step,train_loss,val_loss\n0,10,0.5,\n0,10,,0.6\n1,20,0.1234567890123,\n")
    return path


def test_a_named_file_is_a_log(metrics: Path) -> None:
    log = tbq.open(metrics)
    assert log.runs == ["version_0"]
    series = log.series("train_loss")
    assert series.values.tolist() == [0.5, 0.1234567890123]
    assert series.steps.tolist() == [10, 20]
    assert all(map(math.isnan, series.wall_times))
    rows = log.sql("select min(value) as least from scalars where tag = 'train_loss'").to_arrow().to_pylist()
    assert rows == [{"least": 0.1234567890123}]
    assert log.summary().to_arrow()["val_loss"].to_pylist() == [0.6]


def test_a_named_file_beside_a_logdir(metrics: Path, tmp_path: Path) -> None:
    with tbq.SummaryWriter(tmp_path / "runs") as writer:
        writer.add_scalar("train_loss", 1.0, 1)
    assert tbq.open([metrics, f"other:{tmp_path / 'runs'}"]).runs == ["other", "version_0"]
    assert tbq.open({"a": metrics, "b": tmp_path / "runs"}).runs == ["a", "b"]


def test_a_file_in_a_logdir_is_a_run_if_it_is_a_log(metrics: Path) -> None:
    assert tbq.open(metrics.parent).series("train_loss").values.tolist() == [0.5, 0.1234567890123]
    metrics.unlink()
    metrics.with_name("table.csv").write_text("step,x\n0,1\n1,2\n")
    with pytest.raises(SourceError, match="no event files here"):
        tbq.open(metrics.parent)


def test_nothing_stays_behind(metrics: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    log = tbq.open(metrics)
    assert len(list(scratch.iterdir())) == 1
    del log
    gc.collect()
    assert list(scratch.iterdir()) == []
    metrics.write_text("{}")
    with pytest.raises(tbq.TbqError):
        tbq.open(metrics)
    assert list(scratch.iterdir()) == []
