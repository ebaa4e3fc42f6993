"""From a path to the answer of a query, and logdirs of many runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from benchmarks.bench_read import tbq_scalars
from benchmarks.harness import python

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.harness import Bench

BY_TAG = "select tag, avg(value), max(step) from scalars group by tag"
ONE_TAG = "select avg(value), max(step) from scalars where tag = 'loss/train'"


def tbq_sql(path: str, query: str) -> Callable[[], object]:
    import tbq
    import tbq.query.sql  # imports are not timed

    return lambda: tbq.open(path).sql(query, threads=1).to_arrow()


def tbq_reduce(path: str) -> Callable[[], object]:
    import pyarrow  # noqa: F401

    import tbq

    return lambda: tbq.open(path).reduce(threads=1).to_arrow()


def tbq_ls(path: str) -> Callable[[], object]:
    import pyarrow  # noqa: F401

    import tbq

    return lambda: tbq.open(path).table("runs").to_arrow()


def tbq_summary(path: str) -> Callable[[], object]:
    import pyarrow.compute  # noqa: F401

    import tbq

    return lambda: tbq.open(path).summary(media=False, threads=1).to_arrow()


def tbq_best(path: str) -> Callable[[], object]:
    """The question of the README: the best of each group of runs."""
    import tbq
    import tbq.query.sql

    query = """select split_part(run, '/', 1) as which, avg(best) from
        (select run, min(value) as best from scalars where tag = 'loss/val' group by run) group by which"""
    return lambda: {"groups": len(tbq.open(path).sql(query, threads=1))}


def tbq_max_points(path: str) -> Callable[[], object]:
    import tbq

    table = tbq.open(path).scalars(threads=1)
    return lambda: {"kept": len(table.max_points(1000))}


def read_bytes(path: str) -> Callable[[], object]:
    """Every byte of every file, read and forgotten."""

    def read() -> dict[str, int]:
        total = 0
        for folder, _, names in os.walk(path):
            for name in names:
                file = os.open(f"{folder}/{name}", os.O_RDONLY)
                while block := os.read(file, 1 << 18):
                    total += len(block)
                os.close(file)
        return {"bytes": total}

    return read


def run(bench: Bench) -> None:
    on_one_file(bench)
    many_runs(bench)


def on_one_file(bench: Bench) -> None:
    path = bench.corpus("A")
    times = bench.time(
        "query A",
        {
            "decode": python(tbq_scalars, path),
            "group by tag": python(tbq_sql, path, BY_TAG),
            "where tag =": python(tbq_sql, path, ONE_TAG),
            "max_points": python(tbq_max_points, path),
        },
        rounds=25,
    )
    bench.cost("SQL, group by tag, A", times, "group by tag", "decode", want="<= 1.5x")
    bench.cost("SQL, where tag = 'x', A", times, "where tag =", "decode", want="<= 1x")
    bench.cost("max_points(1000) of the table of A", times, "max_points", "decode")


def many_runs(bench: Bench) -> None:
    each: dict[int, dict[str, float]] = {}
    for count in (100, 1000, 10_000):
        path = bench.corpus(f"runs{count}")
        times = bench.time(
            f"{count:,} runs",
            {
                "read bytes": python(read_bytes, path),
                "ls": python(tbq_ls, path),
                "summary": python(tbq_summary, path),
                "best of each group": python(tbq_best, path),
                "reduce": python(tbq_reduce, path),
            },
            rounds=9,
            warmup=1,
        )
        each[count] = {name: timing.seconds() for name, timing in times.items()}
        want = "<= 1.5x" if count == 10_000 else ""
        for name in ("ls", "summary"):
            bench.cost(f"{name} of {count:,} runs", times, name, "read bytes", want=want)
    for name in ("ls", "summary", "best of each group", "reduce"):
        if name in each[100] and name in each[10_000]:
            small, large = each[100][name] / 100, each[10_000][name] / 10_000
            bench.add(
                f"{name}: a run of 10,000, as against of 100",
                f"{large * 1e6:.0f} µs",
                f"{small * 1e6:.0f} µs",
                large / small,
                "<= 1.5x",
            )
