"""The drop-ins compared with the classes that they replace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from benchmarks.harness import python
from benchmarks.peers import without_tensorflow

if TYPE_CHECKING:
    from benchmarks.harness import Bench


def _accumulator(ours: bool) -> Any:
    if ours:
        from tbq.compat import event_accumulator

        return event_accumulator
    without_tensorflow()
    from tensorboard.backend.event_processing import event_accumulator as theirs

    return theirs


def _events(path: str, ours: bool) -> Callable[[], Iterator[Any]]:
    """Everything of a log, tag by tag: scalars, and tensors, which include TF2's scalars."""
    module = _accumulator(ours)

    def load() -> Iterator[Any]:
        loaded = module.EventAccumulator(path, module.STORE_EVERYTHING_SIZE_GUIDANCE).Reload()
        yield from (loaded.Scalars(tag) for tag in loaded.Tags()["scalars"])
        yield from (loaded.Tensors(tag) for tag in loaded.Tags()["tensors"])

    return load


def reload(path: str, ours: bool) -> Callable[[], object]:
    """`Reload()`, all `Scalars`, and how many there are."""
    load = _events(path, ours)
    return lambda: {"rows": sum(map(len, load()))}


def frames(path: str, ours: bool) -> Callable[[], object]:
    """The same as data frames."""
    import pandas as pd

    load = _events(path, ours)
    return lambda: {"rows": sum(len(pd.DataFrame(events)) for events in load())}


def some_events(path: str, ours: bool) -> Callable[[], object]:
    """The same, and access to one in a thousand events."""
    load = _events(path, ours)

    def timed() -> object:
        return {
            "rows": len([events[place].step for events in load() for place in range(0, len(events), 1000)])
        }

    return timed


def pivot(path: str, kind: str, ours: bool) -> Callable[[], object]:
    """`SummaryReader(pivot=True)`."""
    if ours:
        from tbq.compat.tbparse import SummaryReader
    else:
        without_tensorflow()
        from tbparse import SummaryReader

    return lambda: {"rows": len(getattr(SummaryReader(path, pivot=True), kind))}


def run(bench: Bench) -> None:
    paths = {name: str(bench.corpus(name)) for name in "AC"}
    for name, path in paths.items():
        _beside(
            bench, f"compat: Reload and Scalars of {name}", "EventAccumulator", reload, (path,), ">= 300x"
        )
        _beside(bench, f"compat: some events of {name}", "EventAccumulator", some_events, (path,), ">= 100x")
    _beside(bench, "compat: data frames of A", "EventAccumulator", frames, (paths["A"],), ">= 300x")
    _beside(bench, "compat: pivot of A", "tbparse", pivot, (paths["A"], "scalars"), ">= 200x")
    _beside(bench, "compat: pivot of C", "tbparse", pivot, (paths["C"], "tensors"), ">= 200x")


def _beside(
    bench: Bench,
    title: str,
    peer: str,
    what: Callable[..., Callable[[], object]],
    arguments: tuple[str, ...],
    want: str,
) -> None:
    contestants = {"tbq": python(what, *arguments, True), peer: python(what, *arguments, False)}
    bench.faster(title, bench.time(title, contestants, once=(peer,)), "tbq", peer, want=want)
