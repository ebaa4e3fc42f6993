"""`log.diagnose`: what it says of generated curves is true of them, whatever the noise; and of any damaged log."""

from __future__ import annotations

import json
import math
from pathlib import Path

import eventfile as ef
import numpy as np
import pytest
import started
from hypothesis import given
from hypothesis import strategies as st

import tbq
from tbq.diagnosis.before import changes
from tbq.diagnosis.course import departure, pauses
from tbq.diagnosis.history import RunHistory, restarts_of
from tbq.table.scalars import Series


def series(values: list[float] | np.ndarray, every: float = 1.0) -> Series:
    count = len(values)
    return Series(np.arange(count), 1e9 + every * np.arange(count), np.asarray(values, np.float64))


@given(st.integers(30, 200), st.integers(5, 25), st.floats(0, 0.03), st.integers(0, 2**32 - 1), st.booleans())
def test_a_loss_that_explodes(count: int, left: int, noise: float, seed: int, ends_nan: bool) -> None:
    begin = count - left
    steps = np.arange(count)
    values = 0.5 + 2 * np.exp(-steps / 10) + noise * np.random.default_rng(seed).standard_normal(count)
    values[begin:] = 3 * 2.0 ** np.arange(1, left + 1)
    if ends_nan:
        values[-2:] = math.nan
    found = departure("loss", series(values))
    assert found is not None
    assert found.step < begin and np.isfinite(found.value)
    assert found.broken == (count - 2 if ends_nan else None)
    assert found.end >= begin or left < 3


@given(st.integers(2, 300), st.floats(0, 0.2), st.integers(0, 2**32 - 1), st.floats(-5, 5))
def test_a_loss_that_goes_down_stays_on_course(count: int, noise: float, seed: int, offset: float) -> None:
    values = (
        offset
        + 2 * np.exp(-np.arange(count) / 20)
        + noise * np.random.default_rng(seed).standard_normal(count)
    )
    assert departure("loss", series(values)) is None


@pytest.mark.parametrize(
    ("rates", "says"),
    [
        ([0.1 * (1 - i / 100) for i in range(100)], "lr went from 0.064 to 0.001, ÷ 64"),
        ([0.1] * 50 + [0.01] * 50, "lr went from 0.1 to 0.01 at step 50, ÷ 10"),
    ],
    ids=["a schedule", "a drop"],
)
def test_a_schedule_has_no_step_at_which_it_changed(rates: list[float], says: str) -> None:
    history = RunHistory("a", "finished", {"lr": series(rates)})
    assert changes(history, 45, 99)[0].message == says


@given(st.lists(st.floats(), max_size=30), st.integers(-5, 40), st.integers(-5, 40))
def test_any_values(values: list[float], step: int, end: int) -> None:
    found = departure("loss", series(values))
    if found is not None:
        assert "loss left its course" in found.message
    of_run = {tag: series(values) for tag in ("loss", "lr", "grad_norm", "fps", "val/loss")} if values else {}
    history = RunHistory("a", "finished", of_run)
    assert all(change.message for change in changes(history, step, end))
    pauses(history)


def test_what_changed_and_what_did_not() -> None:
    lr = np.where(np.arange(100) < 60, 0.001, 0.01)
    norm = np.where(np.arange(100) < 62, 1.0, 50.0)
    history = RunHistory("a", None, {
        "lr": series(lr), "grad_norm": series(norm), "weight_decay": series([0.1] * 100), "loss": series([1.0] * 100),
    })  # fmt: skip
    said = [each.message for each in changes(history, 63, 70)]
    assert said == [
        "lr went from 0.001 to 0.01 at step 60, × 10",
        "grad_norm went from 1 to 50 at step 62, × 50",
        "weight_decay did not change (0.1)",
        "steps per second did not change (1)",
    ]
    assert not any(each.changed for each in changes(history, 40, 45))


def test_one_loss_that_breaks(tmp_path: Path) -> None:
    with tbq.SummaryWriter(tmp_path / "run") as writer:
        for step in range(50):
            writer.add_scalar("train/loss", 1 / (1 + step), step)
            writer.add_scalar("aux/loss", 0.5 if step < 30 else math.nan, step)
    found = tbq.open(tmp_path).diagnose("run")
    assert found.state == "diverged" and found.step == 29
    assert found.happened == [
        "aux/loss left its course after step 29 (0.5), and is not finite from step 30 on (20 values)",
        "train/loss: best 0.02 at step 49",
    ]


def test_restarts_are_counted_once() -> None:
    places = {"a": [(10, 5.0), (20, 9.0)], "b": [(12, 5.5), (22, 9.5)], "rare": [(30, 9.9)]}
    assert [each.step for each in restarts_of(places)] == [10, 20]
    assert restarts_of({}) == []


@pytest.mark.long
def test_the_command_and_the_library_agree(tmp_path: Path) -> None:
    runs = tbq.demo(tmp_path / "runs")
    log = tbq.open(runs)
    for run in log.runs:
        found = log.diagnose(run, on_error="ignore")
        done = started.tbq("diagnose", runs, run, "--json")
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert {name: told[name] for name in ("run", "state", "happened", "before", "missing", "step")} == {
            name: getattr(found, name) for name in ("run", "state", "happened", "before", "missing", "step")
        }
        states = {row["run"]: row["state"] for row in log.table("runs").to_dicts()}
        assert found.state == states[run]
        assert {each.run for each in found.findings} <= {run}
    assert "no run" in started.tbq("diagnose", runs, "divergd").stderr


def test_odd_runs(tmp_path: Path) -> None:
    (tmp_path / "runs/empty").mkdir(parents=True)
    (tmp_path / "runs/empty/events.out.tfevents.1.h").write_bytes(ef.event_file([ef.version(1e9)]))
    (tmp_path / "runs/torn").mkdir()
    torn = ef.event_file([ef.version(1e9), *(ef.scalar("loss", step, 1.0, 1e9 + step) for step in range(9))])
    (tmp_path / "runs/torn/events.out.tfevents.1.h").write_bytes(torn[:-7])
    log = tbq.open(tmp_path / "runs")
    assert log.diagnose("empty").verdict == "nothing is logged yet"
    found = log.diagnose("torn", on_error="ignore")
    assert any(each.code.startswith("TBQ2") for each in found.findings), found
    for wrong in (None, 3):
        with pytest.raises(tbq.errors.UsageError):
            log.diagnose(wrong)  # type: ignore[arg-type]
    with pytest.raises(tbq.errors.SelectionError, match="2 runs match"):
        log.diagnose("*")


def test_a_lake_has_no_findings(tmp_path: Path) -> None:
    pytest.importorskip("deltalake")
    runs = tbq.demo(tmp_path / "runs")
    tbq.lake.sync(runs, tmp_path / "lake")
    here, there = (
        tbq.open(place).diagnose("diverged", on_error="ignore") for place in (runs, tmp_path / "lake")
    )
    assert there.happened == here.happened and there.before == here.before
    assert here.findings and not there.findings
