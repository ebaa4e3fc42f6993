"""A sample log directory: a sweep, a resumed run, a diverged run, and every kind of data."""

from __future__ import annotations

import contextlib
import math
import os
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from tbq import wire
from tbq.errors import OutputError, TbqWarning
from tbq.export.target import is_empty, make_folder, output_folder
from tbq.source.urls import refuse_remote
from tbq.write import image
from tbq.write.writer import SummaryWriter

_START = 1_767_607_200.0  # 2026-01-05 10:00 UTC: all times in the demo are fixed
_ORIGIN = "demo.1"  # replaces host and process in the file names, so that they never change
_STEPS = 200
_RATES = (0.1, 0.03, 0.01)
_SEEDS = (0, 1)


class _Recorder(SummaryWriter):
    """A writer whose clock starts at `start`."""

    def __init__(self, log_dir: Path, start: float) -> None:
        self._start = start
        super().__init__(log_dir, on_error="raise")

    def _open(self, directory: str, start: float | None = None, origin: str | None = None) -> None:
        super()._open(directory, start or self._start, origin or _ORIGIN)

    def at(self, step: int) -> float:
        """The wall time of a step: half a second each."""
        wall_time = self._start + 1 + step / 2
        self._file.end_time = wall_time
        return wall_time


def demo(dir: str | os.PathLike[str], *, force: bool = False) -> Path:  # noqa: A002
    """Write a sample log directory to `dir`, which must be new or empty; `force` replaces an earlier demo.

    The content is the same each time. Six runs of a sweep over learning rate and seed, with train and
    validation curves at different intervals and their hyperparameters; `diverged`, whose loss becomes NaN;
    `resumed`, which crashed at step 140 and continued from its checkpoint at step 100; `media`, with images,
    histograms, text, audio, tensors, precision-recall curves and a chart layout.

    >>> import tbq, tempfile
    >>> path = tbq.demo(tempfile.mkdtemp())
    >>> (path / "resumed").is_dir()
    True
    """
    refuse_remote(dir, OutputError)
    directory = Path(os.path.normpath(Path(dir).absolute()))
    if directory.exists() and not directory.is_dir():
        raise OutputError("is a file, want a directory", path=directory, hint="choose another DIR")
    if directory.is_dir() and not is_empty(directory):
        if not force:
            hint = "choose another DIR, or replace an earlier demo with --force (force=True)"
            raise OutputError("the directory is not empty", path=directory, hint=hint, code="exists")
        _remove_earlier(directory)
    if directory.is_dir() and any(directory.iterdir()):  # other files beside the earlier demo
        try:
            _write(directory)
        except BaseException:
            _remove_earlier(directory)
            raise
        return directory
    make_folder(directory.parent)
    with output_folder(directory) as folder:
        _write(folder)
    return directory


def _write(directory: Path) -> None:
    start = _START
    for rate in _RATES:
        for seed in _SEEDS:
            with _Recorder(directory / f"lr={rate:g}" / f"seed={seed}", start) as writer:
                _train(writer, rate, seed, range(_STEPS))
                _hparams(writer, rate, seed)
            start += 300
    with _Recorder(directory / "diverged", start) as writer:
        _train(writer, 1.0, 0, range(_STEPS))
        _hparams(writer, 1.0, 0)
    start += 300
    with _Recorder(directory / "resumed", start) as writer:
        _train(writer, 0.03, 7, range(140))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TbqWarning)  # the demo shows how a run goes back to its checkpoint
        resumed = _Recorder(directory / "resumed", start + 600)
        with resumed:
            _train(resumed, 0.03, 8, range(100, _STEPS))
    with _Recorder(directory / "media", start + 900) as writer:
        _media(writer)


def _remove_earlier(directory: Path) -> None:
    """Remove the files of an earlier demo, and the directories that are then empty."""
    files = list(directory.rglob(f"events.out.tfevents.*.{_ORIGIN}.*"))
    for file in files:
        file.unlink()
    for folder in sorted(
        {above for file in files for above in file.relative_to(directory).parents}, reverse=True
    ):
        with contextlib.suppress(OSError):  # it is not empty
            (directory / folder).rmdir()


def _loss(rate: float, step: int) -> float:
    """A curve that falls faster with a larger rate, but less far if the rate is too large."""
    floor = 0.08 + 0.9 * rate
    return floor + (2.3 - floor) * math.exp(-step * rate**0.5 / 12)


def _accuracy(loss: float) -> float:
    return max(0.1, math.exp(-loss))


def _train(writer: _Recorder, rate: float, seed: int, steps: range) -> None:
    """Log loss and accuracy at each step, the rate every 10 steps, validation every 20."""
    noise = random.Random(f"{rate} {seed}")
    for step in steps:
        loss = _loss(rate, step) * noise.uniform(0.9, 1.1)
        if rate >= 1:
            loss = _loss(rate, 0) * 1.05**step if step < 120 else math.nan
        wall_time = writer.at(step)
        writer.log({"train/loss": loss, "train/accuracy": _accuracy(loss)}, step, wall_time)
        if step % 10 == 0:
            writer.add_scalar("lr", rate * 0.5 ** (step // 50), step, wall_time)
        if step % 20 == 19:
            held_out = loss * noise.uniform(1.0, 1.2)
            writer.log({"val/loss": held_out, "val/accuracy": _accuracy(held_out)}, step, wall_time)


def _hparams(writer: _Recorder, rate: float, seed: int) -> None:
    """Log the hyperparameters and the final accuracy."""
    settings = {"lr": rate, "seed": seed, "optimizer": "adam" if rate < 0.1 else "sgd", "augment": seed == 1}
    final = math.nan if rate >= 1 else _accuracy(_loss(rate, _STEPS))
    with writer.step(_STEPS, writer.at(_STEPS)):
        writer.add_hparams(settings, {"hparam/accuracy": final}, run_name=".")


def _media(writer: _Recorder) -> None:
    """Log every kind that is not a scalar."""
    noise = random.Random(2)
    with writer.step(0, writer.at(0)):
        writer.add_custom_scalars({"losses": {"loss": ["Multiline", ["train/loss", "val/loss"]]}})
        writer.add_graph(_graph())
        writer.add_mesh("cube", *_cube())
    for step in (0, 50, 100):
        wall_time = writer.at(step)
        writer.add_image("samples", image.plain_png(_picture(step)), step, wall_time)
        weights = [noise.gauss(0, 1 + step / 100) for _ in range(1000)]
        writer.add_histogram("weights/layer1", weights, step, walltime=wall_time)
        writer.add_text("notes", f"**step {step}**: the picture turns, the weights spread", step, wall_time)
        tone = [0.5 * math.sin(2 * math.pi * (220 + 2 * step) * i / 8000) for i in range(2000)]
        writer.add_audio("tone", tone, step, sample_rate=8000, walltime=wall_time)
        writer.add_tensor("embedding", np.arange(12, dtype=np.float32).reshape(3, 4) + step, step, wall_time)
        labels = [noise.randrange(2) for _ in range(200)]
        scores = [min(1.0, max(0.0, noise.gauss(0.3 + 0.4 * label, 0.25))) for label in labels]
        writer.add_pr_curve("classifier", labels, scores, step, num_thresholds=21, walltime=wall_time)


def _picture(step: int) -> Any:
    """A colour wheel, rotated by `step` degrees: 32 × 32 × 3."""
    y, x = np.mgrid[-1:1:32j, -1:1:32j]
    turn = (np.arctan2(y, x) + math.radians(step)) / (2 * math.pi)
    wheel = [(np.cos(2 * math.pi * (turn + third)) + 1) / 2 for third in (0, 1 / 3, 2 / 3)]
    return (np.stack(wheel, axis=2) * (np.hypot(x, y) <= 1)[:, :, None] * 255).astype(np.uint8)


def _graph() -> bytes:
    """A GraphDef: a dense layer and its loss."""
    nodes = {
        "x": ("Placeholder", []),
        "dense/kernel": ("Const", []),
        "dense/MatMul": ("MatMul", ["x", "dense/kernel"]),
        "loss": ("Mean", ["dense/MatMul"]),
    }
    return b"".join(
        wire.message(1, wire.text(1, name), wire.text(2, op), *(wire.text(3, source) for source in inputs))
        for name, (op, inputs) in nodes.items()
    )


def _cube() -> tuple[Any, Any, Any]:
    """The corners of a cube, a colour for each, and its twelve triangles."""
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [half for a, b, c, d in sides for half in ((a, b, c), (a, c, d))]
    return corners[None] * 2.0 - 1, corners[None] * 255, np.array([faces])
