"""What the doctor says TensorBoard shows, compared with TensorBoard: its Python loaders and its Rust server."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

import broken
import oracles
import protolog as pl
import pytest

import tbq
from tbq.diagnosis.readers import shown
from tbq.diagnosis.survey import Survey

sys.modules.setdefault(
    "tensorboard.compat.notf", types.ModuleType("tensorboard.compat.notf")
)  # without TensorFlow

data_server = pytest.importorskip("tensorboard_data_server", reason="there is no Rust server for this system")
if not Path(data_server.server_binary() or "").is_file():
    pytest.skip("there is no Rust server for this system", allow_module_level=True)


def rust_points(root: Path, scratch: Path) -> dict[tuple[str, str], list[int]]:
    """The steps of each (run, tag) that the Rust server has."""
    with oracles.rust_server(root, scratch) as provider:
        runs = oracles.scalars_of_server(provider)
    return {
        (run, tag): [step for step, *_ in points]
        for run, tags in runs.items()
        for tag, points in tags.items()
    }


def python_points(root: Path) -> dict[tuple[str, str], list[int]]:
    """The same for the loader of `tensorboard --load_fast=false`."""
    from tensorboard.backend.event_processing import plugin_event_multiplexer

    multiplexer = plugin_event_multiplexer.EventMultiplexer(tensor_size_guidance={"scalars": 0})
    multiplexer.AddRunsFromDirectory(str(root))
    multiplexer.Reload()
    return {
        (run, tag): [event.step for event in multiplexer.Tensors(run, tag)]
        for run, data in multiplexer.Runs().items()
        for tag in data["tensors"]
    }


SHOWN = [
    "restart", "marked_restart", "overlap", "name_order", "many_files", "duplicate_steps",
    "backward_steps", "no_steps", "gap",
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", SHOWN)
def test_counts_are_those_of_tensorboard(name: str, tmp_path: Path) -> None:
    (case,) = [case for case in broken.CASES if case.name == name]
    root = broken.make(case, tmp_path)
    survey = Survey(root)
    rust, python = rust_points(root, tmp_path), python_points(root)
    for series in range(len(survey.tags)):
        if survey.kind(series) != "scalars":
            continue
        key = (survey.run_of(series), survey.tags[series])
        ours = shown(survey, series)
        assert ours.rust == len(rust[key]), key
        assert ours.python == len(python[key]), key
        kept = tbq.open(root).scalars(tag=key[1], run=key[0], on_error="ignore").to_arrow()
        assert ours.tbq == len(kept), key
        assert ours.logged == int(survey.series["count"][series])


def test_counts_with_several_restarts_and_marks(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    for place, (steps, mark) in enumerate(
        [(range(60), True), (range(40, 90), False), (range(70, 80), True), (range(10, 20), True)]
    ):
        wall = pl.T0 + 1000 * place
        start = [pl.session_start(steps.start, wall + 0.5)] if mark else []
        pl.write(root, pl.header(wall), *start, *pl.scalars(["loss", "acc"], steps, wall), file=pl.name(wall))
    survey = Survey(root)
    rust, python = rust_points(root, tmp_path), python_points(root)
    for series, tag in enumerate(survey.tags):
        if tag != "session_log":
            ours = shown(survey, series)
            assert (ours.rust, ours.python) == (len(rust[".", tag]), len(python[".", tag]))
    (found,) = tbq.doctor(root)
    assert found.code == "TBQ403" and "was resumed 3 times" in found.message
    numbers = [int(number.replace(",", "")) for number in re.findall(r"[\d,]*\d", found.message)][1:]
    total = [
        sum(len(points) for (_, tag), points in side.items() if tag in ("loss", "acc"))
        for side in (rust, python)
    ]
    assert (numbers[-3], numbers[-2]) == tuple(
        total
    )  # after them what tbq shows, before them all that was logged


def test_nothing_of_other_dtypes_shows(tmp_path: Path) -> None:
    for name in ("dtype", "not_scalar"):
        (case,) = [case for case in broken.CASES if case.name == name]
        root = broken.make(case, tmp_path)
        (tmp_path / name / "scratch").mkdir()
        assert sum(map(len, rust_points(root, tmp_path / name / "scratch").values())) == 0
    assert len(python_points(tmp_path / "dtype/runs")[".", "loss"]) == 10


@pytest.mark.long
@pytest.mark.parametrize("name", ["bad_length", "zeros", "garbage", "bad_event"])
def test_damage_hides_the_rest_until_it_is_repaired(name: str, tmp_path: Path) -> None:
    (case,) = [case for case in broken.CASES if case.name == name]
    root = broken.make(case, tmp_path)
    whole = {
        tag: tbq.open(root).scalars(tag=tag, on_error="ignore").to_arrow()["step"].to_pylist()
        for tag in ("loss", "train/acc")
    }
    before = rust_points(root, tmp_path)
    assert any(len(before.get((".", tag), [])) < len(steps) for tag, steps in whole.items())
    tbq.rewrite(root, tmp_path / "sound", repair=True)
    (tmp_path / "scratch").mkdir()
    for points in (rust_points(tmp_path / "sound", tmp_path / "scratch"), python_points(tmp_path / "sound")):
        assert {tag: points[".", tag] for tag in whole} == whole


def test_bad_data_is_shown_by_one_loader_and_hides_the_rest_in_the_other(tmp_path: Path) -> None:
    (case,) = [case for case in broken.CASES if case.name == "bad_data"]
    root = broken.make(case, tmp_path)
    assert len(rust_points(root, tmp_path)[".", "loss"]) == 50
    assert len(python_points(root)[".", "loss"]) == 20


def test_a_lossless_rewrite_shows_the_same(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    broken.every_kind(root / "a")
    (case,) = [case for case in broken.CASES if case.name == "marked_restart"]
    case.make(root / "b")
    tbq.rewrite(root, tmp_path / "new")
    (tmp_path / "scratch").mkdir()
    assert rust_points(root, tmp_path) == rust_points(tmp_path / "new", tmp_path / "scratch") != {}
    assert python_points(root) == python_points(tmp_path / "new") != {}


def test_merging_in_order_of_time_brings_points_back(tmp_path: Path) -> None:
    (case,) = [case for case in broken.CASES if case.name == "name_order"]
    root = broken.make(case, tmp_path)
    assert len(rust_points(root, tmp_path)[".", "loss"]) < 240
    tbq.rewrite(root, tmp_path / "new")
    (tmp_path / "scratch").mkdir()
    assert rust_points(tmp_path / "new", tmp_path / "scratch")[".", "loss"] == list(range(240))


def test_header_only_files_show_nothing(tmp_path: Path) -> None:
    pl.write(tmp_path / "runs", pl.header())
    assert python_points(tmp_path / "runs") == {}
