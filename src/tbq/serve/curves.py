"""Curves as columns of pixels: of each column the first, last, least and largest value of all points in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tbq.serve.params import NotFoundError
from tbq.serve.wire import Answer, frame

if TYPE_CHECKING:
    from tbq.serve.params import Params
    from tbq.serve.state import LiveLog

WIDEST = 4096


def curves(log: LiveLog, params: Params) -> Answer:
    """The curves of one tag, one per run."""
    tag = params.text("tag")
    runs = params.runs(log)
    x = params.choice("x", ("step", "relative", "wall"))
    width = params.whole("width", 800, 1, WIDEST)
    smooth = params.number("smooth", 0.0) or 0.0
    low, high = params.number("low"), params.number("high")
    span = (low, high) if low is not None and high is not None else None
    with log.lock:
        version = log.version
        having = log.index.having("scalars", tag, runs)
        if not having and log.index.code(tag) < 0:
            raise NotFoundError(f"no run has the tag {tag[:100]!r}")
    pairs = [(run, tag) for run in having]
    made = log.view.curves(pairs, x=x, range=span, width=width, smooth=smooth)  # type: ignore[arg-type]
    columns: dict[str, Any] = {
        "first": made.first, "last": made.last, "min": made.least, "max": made.largest,
    }  # fmt: skip
    if smooth:
        raw = log.view.curves(pairs, x=x, range=(made.low, made.high), width=width)  # type: ignore[arg-type]
        columns |= {"raw_min": raw.least, "raw_max": raw.largest}
    with log.lock:
        series = [
            {
                "id": log.id_of(run),
                "points": int(np.isfinite(made.least[i]).sum()),
                "broken": float(made.broken[i]),
                "takeovers": [step for step, _ in log.index.takeovers(run, tag)] if x == "step" else [],
            }
            for i, run in enumerate(having)
        ]
    packed = {name: column.astype("<f4").ravel() for name, column in columns.items()}
    return frame(
        packed, version=version, tag=tag, x=x, low=made.low, high=made.high, width=width, series=series
    )
