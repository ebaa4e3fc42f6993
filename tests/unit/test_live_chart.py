"""What a live chart sends: of odd logs, of large ones, and while runs come and go."""

from __future__ import annotations

import gzip
import json
import math
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from eventfile import event_file, scalar
from oddnames import ODD
from waiting import wait_for

import tbq
from tbq.notebook.curves import MOST_RUNS, MOST_TAGS, LiveCurves
from tbq.server.http.encoding import unframe


@pytest.fixture
def live() -> Iterator[Callable[..., LiveCurves]]:
    started: list[LiveCurves] = []

    def start(path: Path, tag: Any = None, run: Any = None, smooth: float = 0.0) -> LiveCurves:
        started.append(LiveCurves(path, tag, run, None, smooth))
        assert started[-1].read.wait(30)
        return started[-1]

    yield start
    for each in started:
        each.close()


def points(curves: LiveCurves) -> dict[str, dict[str, int]]:
    """The number of points of each run, by tag, as the browser decodes it."""
    runs = curves.facts()["runs"]
    frames = {tag: unframe(gzip.decompress(frame))[0] for tag, frame in curves.frames().items()}
    return {
        tag: {runs[str(each["id"])]["name"]: each["points"] for each in facts["series"]}
        for tag, facts in frames.items()
    }


def write(path: Path, steps: range, **values: Callable[[int], float]) -> None:
    with tbq.SummaryWriter(path) as writer:
        for step in steps:
            writer.log({tag: value(step) for tag, value in values.items()}, step)


def test_every_name_is_json_and_keeps_its_curve(tmp_path: Path, live: Callable[..., LiveCurves]) -> None:
    folder = tmp_path / "<img src=x onerror=alert(1)>"
    folder.mkdir()
    for batch, tags in enumerate(ODD[at : at + 10] for at in range(0, len(ODD), 10)):
        path = folder / f"batch {batch}"
        path.mkdir()
        rows = [scalar(tag, step, step / 3) for tag in tags for step in range(3)]
        (path / "events.out.tfevents.1.x").write_bytes(event_file(rows))
        known = set(tbq.open(path).tags()["tag"].tolist())
        curves = live(path)
        found = points(curves)
        assert set(found) <= known and len(found) == min(len(known), MOST_TAGS)
        assert all(series == {".": 3} for series in found.values())
        json.dumps(curves.facts(), allow_nan=False).encode()
        if batch % 3 == 0:
            assert (curves.picture() or b"").startswith(b"\x89PNG")


def test_many_runs_and_tags_are_limited_and_the_note_says_so(
    tmp_path: Path, live: Callable[..., LiveCurves]
) -> None:
    for run in range(MOST_RUNS + 20):
        write(
            tmp_path / f"run{run}",
            range(2),
            **{f"m{tag}": lambda step: step / 3 for tag in range(MOST_TAGS + 3)},
        )
    curves = live(tmp_path)
    found = points(curves)
    assert len(found) == MOST_TAGS and {len(series) for series in found.values()} == {MOST_RUNS}
    assert "run0" not in found["m0"] and f"run{MOST_RUNS + 19}" in found["m0"]  # the newest
    note = curves.facts()["note"]
    assert note == "12 of 15 tags: choose with tag= · the newest 100 of 120 runs: choose with run="
    assert sum(map(len, curves.frames().values())) < 200_000


def test_the_picture_has_the_extremes_and_where_nan_begins(
    tmp_path: Path, live: Callable[..., LiveCurves]
) -> None:
    peak = 70_001
    write(tmp_path / "a", range(100_000), loss=lambda step: 50.0 if step == peak else math.sin(step))
    write(tmp_path / "b", range(100), loss=lambda step: math.nan if step >= 60 else 1.0)
    curves = live(tmp_path)
    rows = curves._points(["loss"], ["a", "b"]).to_pandas()
    assert len(rows) < 4 * 601 + 101
    assert rows.value.max() == 50 and abs(rows.step[rows.value.idxmax()] - peak) < 100_000 / 600
    assert rows[rows.run == "a"].step.is_monotonic_increasing
    assert rows[rows.value.isna()].run.tolist() == ["b"]


def test_losses_of_validation_come_first_and_single_values_last(
    tmp_path: Path, live: Callable[..., LiveCurves], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, range(1), **{"hparam/loss": float})
    write(tmp_path, range(3), **{"a": float, "train/loss": float, "val/loss": float})
    curves = live(tmp_path)
    assert curves.tags() == (["val/loss", "train/loss", "a", "hparam/loss"], 4)
    drawn: list[Any] = []
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda figure, *_, **__: drawn.append(figure))
    curves.picture()
    assert [ax.get_title(loc="left") for ax in drawn[0].axes] == [
        "val/loss",
        "train/loss",
        "a",
        "hparam/loss",
    ]
    heads = re.findall("<th[^>]*>([^<]*)", tbq.open(tmp_path)._repr_html_())
    assert heads[-3:] == ["val/loss", "train/loss", "a"]


def test_runs_that_come_grow_and_go(tmp_path: Path, live: Callable[..., LiveCurves]) -> None:
    curves = live(tmp_path / "later")
    assert curves.frames() == {} and curves.picture() is None
    assert curves.facts()["note"] == "Waiting for event files in later."
    write(tmp_path / "later" / "a", range(5), loss=float)
    wait_for(lambda: points(curves) == {"loss": {"a": 5}})
    write(tmp_path / "later" / "b", range(7), loss=float)
    wait_for(lambda: points(curves) == {"loss": {"a": 5, "b": 7}})
    shutil.rmtree(tmp_path / "later" / "a")
    wait_for(lambda: points(curves) == {"loss": {"b": 7}})
    shutil.rmtree(tmp_path / "later")
    wait_for(lambda: points(curves) == {})
    assert curves.picture() is None


def test_asking_while_the_log_changes_and_closes(tmp_path: Path) -> None:
    """No thread dies of a run that goes between two questions."""
    curves = LiveCurves(tmp_path, None, None, None, 0.0)
    stop, errors = threading.Event(), []

    def ask() -> None:
        while not stop.is_set():
            try:
                for question in (curves.frames, curves.facts, curves.words, curves.picture):
                    question()
            except Exception as error:
                errors.append(error)
                return

    asking = threading.Thread(target=ask)
    asking.start()
    for turn in range(12):
        write(tmp_path / f"run{turn % 3}", range(20), loss=float)
        time.sleep(0.1)
        shutil.rmtree(tmp_path / f"run{(turn + 1) % 3}", ignore_errors=True)
    stop.set()
    asking.join()
    curves.close()
    assert errors == []


@pytest.mark.parametrize("smooth", [-1, 2, "much"])
def test_a_wrong_weight_is_refused_before_anything_starts(tmp_path: Path, smooth: Any) -> None:
    before = threading.active_count()
    with pytest.raises(ValueError, match="smooth: got"):
        LiveCurves(tmp_path, None, None, None, smooth)
    assert threading.active_count() == before
