"""`restarts="tensorboard"` against TensorBoard's own data server, on every kind of restart."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import eventfile as ef
import oracles
import pytest

import tbq
from tbq.errors import TbqWarning

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def session(steps: Sequence[int], wall: float, tag: str = "loss", start: int | None = None) -> list[bytes]:
    begin = [ef.version(wall)] + ([ef.session_log(1, start, wall)] if start is not None else [])
    return begin + [ef.scalar(tag, step, wall + step, wall + i) for i, step in enumerate(steps)]


def random_run(seed: int) -> dict[str, list[bytes]]:
    chance = random.Random(seed)
    files = {}
    for n in chance.sample(range(12), chance.randint(1, 4)):
        payloads = []
        for _ in range(chance.randint(1, 2)):
            steps = [chance.randint(0, 12) for _ in range(chance.randint(0, 9))]
            if chance.random() < 0.6:
                steps.sort()
            payloads += session(steps, chance.uniform(1, 100), chance.choice(["loss", "acc"]))
        files[f"events.out.tfevents.{n}.host"] = payloads
    return files


RUNS: dict[str, dict[str, list[bytes]]] = {
    "plain": {"tfevents.1": session(range(10), 10)},
    "resumed": {"tfevents.1": session(range(10), 10), "tfevents.2": session(range(6, 14), 50)},
    "resumed_twice": {
        "tfevents.1": session(range(10), 10),
        "tfevents.2": session(range(6, 14), 50),
        "tfevents.3": session(range(3, 8), 90),
    },
    "merged": {"tfevents.1": session(range(10), 10) + session(range(4, 7), 50)},
    "start": {"tfevents.1": session(range(10), 10), "tfevents.2": session(range(8, 9), 50, start=3)},
    "parallel": {"tfevents.1": session(range(0, 20, 2), 10), "tfevents.2": session(range(1, 20, 2), 10.5)},
    "clock_set_back": {"tfevents.1": session(range(10), 100), "tfevents.2": session(range(6, 14), 5)},
    "step_zero_only": {"tfevents.1": session([0] * 7, 10)},
    "anew": {f"tfevents.1.host.{i}": session([i], 10 + 10 * i) for i in range(30)},
    "two_tags": {
        "tfevents.1": session(range(5), 1) + session(range(9), 20, "acc"),
        "tfevents.2": session(range(3, 6), 50),
    },
    **{f"random_{seed}": random_run(seed) for seed in range(30)},
}


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logdir")
    for run, files in RUNS.items():
        (folder / run).mkdir()
        for name, payloads in files.items():
            (folder / run / name).write_bytes(ef.event_file(payloads))
    return folder


@pytest.fixture(scope="module")
def server(logdir: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, oracles.Points]:
    with oracles.rust_server(logdir, tmp_path_factory.mktemp("server"), "--checksum") as provider:
        return oracles.scalars_of_server(provider)


def table_of(logdir: Path) -> Any:
    log = tbq.open(logdir)
    with pytest.warns(TbqWarning, match="dropped"):
        return log.scalars(restarts="tensorboard").to_arrow()


def test_the_tensorboard_policy_is_the_servers(logdir: Path, server: dict[str, oracles.Points]) -> None:
    got: dict[str, oracles.Points] = {}
    for row in table_of(logdir).to_pylist():
        point = (row["step"], row["wall_time"], row["value"])
        got.setdefault(row["run"], {}).setdefault(row["tag"], []).append(point)
    assert set(got) == set(server)
    for run, points in server.items():
        assert (run, got[run]) == (run, points)
