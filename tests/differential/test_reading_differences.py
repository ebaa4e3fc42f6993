"""What tbq reads differently from TensorBoard's loaders and tbparse, on purpose; see docs/differences.md."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path
from typing import Any

import protolog as pl
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import tbq


def accumulated(folder: Path, **options: Any) -> EventAccumulator:
    return EventAccumulator(str(folder), **options).Reload()


def parsed(folder: Path, kind: str = "scalars", **options: Any) -> Any:
    """A table of tbparse, which warns about its own future."""
    import tbparse

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(tbparse.SummaryReader(str(folder), **options), kind)


def steps(folder: Path, **options: Any) -> list[int]:
    found: list[int] = tbq.open(folder).scalars(**options).to_arrow()["step"].to_pylist()
    return found


def test_nothing_is_sampled(tmp_path: Path) -> None:
    pl.write(tmp_path, pl.header(), *pl.scalars(["loss"], range(12_000)))
    assert len(accumulated(tmp_path).Scalars("loss")) == 10_000
    assert steps(tmp_path) == list(range(12_000))


def test_a_damaged_record_hides_only_itself(tmp_path: Path) -> None:
    records = [pl.header(), *pl.scalars(["loss"], range(100))]
    records[50] = records[50][:-1] + bytes([records[50][-1] ^ 1])
    pl.write(tmp_path, *records)
    assert len(accumulated(tmp_path).Scalars("loss")) == len(parsed(tmp_path)) == 49
    with pytest.warns(tbq.TbqWarning, match="checksum"):
        assert steps(tmp_path) == [step for step in range(100) if step != 49]


def test_scalars_of_tensorflow_2_are_scalars(tmp_path: Path) -> None:
    value = pl.tensor_value("loss", pl.number(0.5), "scalars")
    pl.write(tmp_path, pl.header(), pl.event(0, pl.T0, value))
    assert accumulated(tmp_path).Tags()["scalars"] == []
    assert parsed(tmp_path).empty
    assert tbq.open(tmp_path).scalars().to_arrow()["value"].to_pylist() == [0.5]


def test_an_unmarked_restart_replaces_the_points_it_repeats(tmp_path: Path) -> None:
    pl.healthy(tmp_path, steps=range(50))
    pl.healthy(tmp_path, pl.T0 + 1000, steps=range(30, 60))
    assert len(accumulated(tmp_path).Scalars("loss")) == 80
    assert len(parsed(tmp_path).query("tag == 'loss'")) == 80
    with pytest.warns(tbq.TbqWarning, match="restarts='keep'"):
        assert steps(tmp_path, tag="loss") == list(range(60))
    assert len(steps(tmp_path, tag="loss", restarts="keep")) == 80


def test_files_are_read_in_order_of_time(tmp_path: Path) -> None:
    for number in range(12):
        wall = pl.T0 + 100 * number
        pl.write(tmp_path, pl.header(wall), *pl.scalars(["loss"], [number], wall), file=pl.name(index=number))
    names = [event.step for event in accumulated(tmp_path).Scalars("loss")]
    assert names == [0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9]
    assert steps(tmp_path) == list(range(12))


def test_compressed_files_are_read(tmp_path: Path) -> None:
    path = pl.healthy(tmp_path)
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert accumulated(tmp_path).Tags()["scalars"] == []
    assert steps(tmp_path, tag="loss") == list(range(50))


def test_two_values_at_one_step_of_a_wide_table_are_the_last(tmp_path: Path) -> None:
    pl.write(tmp_path, pl.header(), pl.scalar("loss", 0, 1.0), pl.scalar("loss", 0, 2.0))
    assert parsed(tmp_path, pivot=True)["loss"].tolist() == [[1.0, 2.0]]
    with pytest.warns(tbq.TbqWarning, match="1 value"):
        assert tbq.open(tmp_path).scalars().wide().to_arrow()["loss"].to_pylist() == [2.0]


def test_every_row_names_its_run(tmp_path: Path) -> None:
    for run in ("a", "b"):
        pl.healthy(tmp_path / run, steps=range(2))
    assert list(parsed(tmp_path).columns) == ["step", "tag", "value"]
    assert tbq.open(tmp_path).scalars(tag="loss").to_arrow()["run"].to_pylist() == ["a", "a", "b", "b"]


def test_rows_are_in_the_order_of_logging(tmp_path: Path) -> None:
    pl.write(tmp_path, pl.header(), *pl.scalars(["loss"], [5, 3, 4]))
    assert parsed(tmp_path)["step"].tolist() == [3, 4, 5]
    assert steps(tmp_path) == [5, 3, 4]


def test_texts_keep_their_tags_and_are_selected_without_the_suffix(tmp_path: Path) -> None:
    value = pl.tensor_value("note/text_summary", pl.strings(b"hello"), "text")
    pl.write(tmp_path, pl.header(), pl.event(0, pl.T0, value))
    assert parsed(tmp_path, "text")["tag"].tolist() == ["note"]
    texts = tbq.open(tmp_path).texts(tag="note").to_arrow()
    assert (texts["tag"].to_pylist(), texts["text"].to_pylist()) == (["note/text_summary"], ["hello"])
