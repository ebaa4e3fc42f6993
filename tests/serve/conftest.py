"""A demo log, what it answers, and `tbq serve` as a process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from served import Asked, Served

import tbq


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demo") / "runs"
    tbq.demo(path)
    return path


@pytest.fixture(scope="module")
def asked(demo: Path) -> Iterator[Asked]:
    made = Asked(demo)
    yield made
    made.log.close()


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    started: list[Served] = []

    def start(*args: Any, **options: Any) -> Served:
        started.append(Served(*map(str, args), **options))
        return started[-1]

    yield start
    for each in started:
        each.stop()
