"""The layouts of a scalar table, from path to answer and from a table in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks import peers
from benchmarks.harness import python

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.harness import Bench


def tbq_wide(path: str) -> Callable[[], object]:
    import pyarrow  # noqa: F401  (imports are not timed)

    import tbq

    return lambda: tbq.open(path).scalars(threads=1).wide().to_arrow()


def tbq_layout(path: str, layout: str) -> Callable[[], object]:
    """A layout of a table that is in memory."""
    import tbq

    table = tbq.open(path).scalars(threads=1)
    return lambda: getattr(table, layout)().to_arrow()


def run(bench: Bench) -> None:
    path = bench.corpus("A")
    times = bench.time("wide of A", {"tbq": python(tbq_wide, path)}, rounds=9)
    times |= bench.time(
        "wide of A", {"tbparse, pivot": python(peers.tbparse_scalars, path, True)}, once=("tbparse, pivot",)
    )
    bench.faster("wide of A", times, "tbq", "tbparse, pivot", want=">= 200x")
    for name in ("A", "B"):
        for layout in ("wide", "summary"):
            title = f"{layout} of {name}, in memory"
            bench.time(title, {"tbq": python(tbq_layout, bench.corpus(name), layout)})
