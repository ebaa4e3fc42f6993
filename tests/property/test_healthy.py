"""A healthy log gives no finding, whatever loop, logger and habits it comes from."""

from __future__ import annotations

import shutil
from functools import partial
from typing import TYPE_CHECKING, Any

import broken
import protolog as pl
import pytest
import training
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

import tbq

if TYPE_CHECKING:
    from pathlib import Path

STYLES = ["plain", "keras", "lightning", "huggingface", "rl", "epochs"]
HABITS = [
    "settings", "warm-up", "phases", "by epoch", "sanity", "final", "first batches", "evaluation first",
]  # fmt: skip


@st.composite
def loops(draw: Any) -> training.Loop:
    return training.Loop(
        seed=draw(st.integers(0, 1 << 16)),
        epochs=draw(st.sampled_from([1, 2, 3, 8, 15, 30])),
        batches=draw(st.sampled_from([5, 20, 40, 100])),
        every=draw(st.sampled_from([1, 1, 5, 7, 10])),
        first=draw(st.sampled_from([0, 0, 1, 1000])),
        seconds=draw(st.sampled_from([0.001, 0.1, 0.5, 30.0])),
        evaluation=draw(st.sampled_from([0.01, 5.0, 600.0])),
        style=draw(st.sampled_from(STYLES)),
        habits=draw(st.frozensets(st.sampled_from(HABITS), max_size=5)),
    )


@pytest.mark.long
@given(
    loops=st.lists(loops(), min_size=1, max_size=3),
    cuts=st.lists(st.floats(0.05, 0.95), max_size=2),
    form=st.sampled_from(["scalars", "tensors", "media"]),
    beside=st.sets(st.sampled_from(["monitor", "hparams", "add_scalars", "validation"])),
)
@examples(120)
def test_a_training_that_went_well_gives_no_finding(
    folder: Path, loops: list[training.Loop], cuts: list[float], form: str, beside: set[str]
) -> None:
    shutil.rmtree(folder / "runs", ignore_errors=True)
    make = training.tensors if form == "tensors" else partial(training.records, media=form == "media")
    for number, loop in enumerate(loops):
        run = folder / "runs" / f"exp{number}"
        events = loop.run()
        if "validation" in beside:  # as Keras: a directory for each
            apart = [event for event in events if event[2].startswith("val")]
            events = [event for event in events if not event[2].startswith("val")]
            training.write(run / "validation", apart, [], make)
            run = run / "train"
        training.write(run, events, cuts, make)
        if "monitor" in beside:  # another process, at the same time, with tags of its own
            rows = [
                pl.scalar(f"system/{name}", step, step % 7 + 0.5, events[0][0] + 3 * step)
                for step in range(30)
                for name in ("cpu", "memory")
            ]
            pl.write(run, pl.header(events[0][0] + 0.5), *rows, file=pl.name(events[0][0], pid=999, index=99))
        if "hparams" in beside:
            broken.hparams(run / f"{events[-1][0]:.3f}", events[-1][0])
        if "add_scalars" in beside:
            for line in ("train", "val"):
                pl.write(run / f"both_{line}", pl.header(), *pl.scalars(["both"], range(20)))
    # A training much shorter than the others beside it is taken for a crashed one.
    found = [finding for finding in tbq.doctor(folder / "runs") if finding.code != "TBQ409"]
    assert found == [], [f"{each.code} {each}" for each in found]
