"""Many curves in few bytes: what the page unpacks differs from the data by less than can be seen, whatever the data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from served import Asked, unpack

import tbq
from tbq.server.answers.packed_curves import pack
from tbq.server.http.encoding import frame

_SHAPE = (12, 200)


def _some(make: Any) -> np.ndarray[Any, Any]:
    """Four values of each column; a part of the columns has none."""
    rng = np.random.default_rng(5)
    values = np.asarray(make(rng, (*_SHAPE, 4)), np.float64)
    values[rng.random(_SHAPE) < 0.1] = np.nan
    return values


CASES: dict[str, Any] = {
    "usual": lambda rng, shape: rng.normal(size=shape),
    "constant": lambda rng, shape: np.full(shape, 0.1),
    "zero": lambda rng, shape: np.zeros(shape),
    "none": lambda rng, shape: np.full(shape, np.nan),
    "negative": lambda rng, shape: -1 - rng.random(shape),
    "mixed": lambda rng, shape: rng.choice([-1.0, 0.0, 1e-3, 5.0], shape),
    "far apart": lambda rng, shape: rng.choice([-3e38, 3e38, 0.0, 1.0], shape),
    "very far apart": lambda rng, shape: rng.choice([-1.7e308, 1.7e308, 0.0, 1.0], shape),
    "subnormal": lambda rng, shape: rng.random(shape) * 1e-40,
    "offset": lambda rng, shape: 1e6 + rng.random(shape),
    "large offset": lambda rng, shape: 1.7e9 + 0.25 * rng.integers(0, 100, shape),
    "small ripple": lambda rng, shape: 1 + 1e-9 * rng.random(shape),
    "past 1e38": lambda rng, shape: 1e39 * (1 + rng.random(shape)),
    "below 1e-45": lambda rng, shape: 1e-60 * (1 + rng.random(shape)),
    "many sizes": lambda rng, shape: 10 ** rng.uniform(-30, 30, shape),
    "diverged": lambda rng, shape: np.where(rng.random(shape) < 0.001, 3e38, rng.random(shape)),
    "diverged and small": lambda rng, shape: np.where(
        rng.random(shape) < 0.001, 3e38, rng.random(shape) * 1e-9
    ),
}


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_what_is_unpacked_is_what_was_packed(case: str, log: bool, tmp_path: Path) -> None:
    values = _some(CASES[case])
    with np.errstate(all="ignore"):
        plain = {"first": values[..., 0], "last": values[..., 3], "min": values.min(2), "max": values.max(2)}
        columns, facts = pack(plain["first"], plain["last"], plain["min"], plain["max"], log)
    given = frame(columns, packed=facts, width=_SHAPE[1], series=[0] * _SHAPE[0])
    unpacked = unpack(given.body, tmp_path)
    there = np.isfinite(plain["min"])
    least, largest = (_axis(plain[name][there], log) for name in ("min", "max"))
    everything = np.concatenate([least, largest])
    everything = everything[np.isfinite(everything)]
    # With all values, and without 1 % at either end.
    low, high = np.quantile(everything, [0.01, 0.99]) if len(everything) else (0.0, 0.0)
    for name, exact in plain.items():
        got = unpacked[name].astype(np.float64).reshape(_SHAPE)
        assert np.array_equal(~np.isnan(got), there)
        with np.errstate(all="ignore"):
            want = _axis(exact[there], log)
            wrong = np.abs(_axis(got[there], log) - want)
            seen = np.isfinite(want) & (want >= low) & (want <= high)
            coarse = (largest - least) / 15 if name in ("first", "last") else np.zeros(len(least))
            coarse = np.where(np.isfinite(coarse), coarse, np.inf)
            allowed = coarse + (high - low) / 400 + np.abs(want) * 4e-16
        assert (wrong[seen] <= allowed[seen]).all()
        if log:
            assert np.array_equal(got[there] > 0, exact[there] > 0)


def _axis(values: np.ndarray[Any, Any], log: bool) -> np.ndarray[Any, Any]:
    with np.errstate(all="ignore"):
        return np.where(values > 0, np.log10(values), np.nan) if log else values


def test_many_runs_of_which_none_has_a_point_there(tmp_path: Path) -> None:
    for run in range(3):
        with tbq.SummaryWriter(tmp_path / f"run{run}") as writer:
            for step in range(3):
                writer.add_scalar("loss", -1.0 - step, step)
                writer.add_scalar("broken", float("nan"), step)
    made = Asked(tmp_path)
    many = ",".join(["0-2"] * 20)
    for params in (
        {"tag": "loss", "log": "y"}, {"tag": "loss", "low": 100, "high": 200}, {"tag": "broken"},
    ):  # fmt: skip
        header, _ = made.frame("curves", runs=many, width=4096, **params)
        assert header["series"]
    made.log.close()
