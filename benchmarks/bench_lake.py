"""Issue 15: what a lake costs. A sync with nothing new, the first one beside an export, and one tag of all runs."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.harness import python, seconds

if TYPE_CHECKING:
    from benchmarks.harness import Bench, Timing


def first(path: str) -> Callable[[], object]:
    """A lake made anew."""
    import tbq.lake

    root = Path(tempfile.mkdtemp())

    def timed() -> object:
        shutil.rmtree(root / "lake", ignore_errors=True)
        return {"rows": tbq.lake.sync(path, root / "lake").rows}

    return timed


def export(path: str) -> Callable[[], object]:
    """The same scalars as one Parquet file."""
    import tbq

    target = Path(tempfile.mkdtemp(), "scalars.parquet")

    def timed() -> object:
        table = tbq.open(path).scalars()
        table.write(target, force=True)
        return table

    return timed


def again(path: str) -> Callable[[], object]:
    """A sync with nothing new."""
    import tbq.lake

    lake = Path(tempfile.mkdtemp(), "lake")
    tbq.lake.sync(path, lake)
    return lambda: {"rows": tbq.lake.sync(path, lake).rows}


def _tag(path: str) -> str:
    import tbq

    log = tbq.open(path)
    return str(log.tags(log.runs[0])["tag"][0])


def tag_of_lake(path: str) -> Callable[[], object]:
    """One tag of all runs out of a lake."""
    import tbq
    import tbq.lake

    lake = Path(tempfile.mkdtemp(), "lake")
    tbq.lake.sync(path, lake)
    tag = _tag(path)
    return lambda: tbq.open(lake).scalars(tag=tag)


def tag_of_log(path: str) -> Callable[[], object]:
    """The same, decoded."""
    import tbq

    tag = _tag(path)
    return lambda: tbq.open(path).scalars(tag=tag)


def run_of_lake(path: str) -> Callable[[], object]:
    """Everything of one run out of a lake."""
    import tbq
    import tbq.lake

    lake = Path(tempfile.mkdtemp(), "lake")
    tbq.lake.sync(path, lake)
    name = tbq.open(path).runs[0]
    return lambda: tbq.open(lake).scalars(name)


def run(bench: Bench) -> None:
    many = "runs1000" if bench.quick else "runs10000"
    title = f"lake: nothing new in {many}"
    _within(bench, title, bench.time(title, {"tbq": python(again, bench.corpus(many))}), 0.5)
    for name in ("B", many):
        path = bench.corpus(name)
        title = f"lake: first sync of {name}"
        times = bench.time(title, {"sync": python(first, path), "export": python(export, path)})
        if {"sync", "export"} <= set(times):
            ours, theirs = times["sync"].seconds(), times["export"].seconds()
            bench.add(title, f"sync {seconds(ours)}", f"export {seconds(theirs)}", ours / theirs, "<= 3x")
        title = f"lake: one tag of {name}"
        times = bench.time(title, {"lake": python(tag_of_lake, path), "decode": python(tag_of_log, path)})
        bench.faster(title, times, "lake", "decode", want=">= 20x")
    title = f"lake: one run of {many}"
    _within(bench, title, bench.time(title, {"tbq": python(run_of_lake, bench.corpus(many))}), 0.1)


def _within(bench: Bench, title: str, times: Mapping[str, Timing], limit: float) -> None:
    """A row: CPU seconds beside what they may be."""
    if "tbq" in times:
        cpu = times["tbq"].seconds()
        bench.add(title, f"tbq {seconds(cpu)}", f"limit {seconds(limit)}", cpu / limit, "<= 1x")
