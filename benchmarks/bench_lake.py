"""The cost of a lake: a sync with nothing new, the first sync compared with an export, and one tag of all runs.

One tag is read three times: with everything in the page cache, with none of the files' bytes there, and from an S3
server on this machine.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import corpora
from benchmarks.bench_remote import BUCKET, KEYS, counted, served
from benchmarks.harness import python, seconds

if TYPE_CHECKING:
    from benchmarks.harness import Bench, Timing


def first(path: str) -> Callable[[], object]:
    """A new lake."""
    import tbq.lake

    root = Path(tempfile.mkdtemp())

    def timed() -> object:
        return {"rows": tbq.lake.sync(path, root / "lake").rows}

    timed.before = lambda: shutil.rmtree(root / "lake", ignore_errors=True)  # type: ignore[attr-defined]
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
    return str(log.tags(run=log.runs[0])["tag"][0])


def lake_of(path: str | Path) -> Path:
    """A lake of a log directory."""
    import tbq.lake

    lake = Path(tempfile.mkdtemp(), "lake")
    tbq.lake.sync(path, lake)
    return lake


def many_tags(root: Path) -> Path:
    """As many scalars as B, of 50 tags instead of 10."""
    tags = [f"{tag}/{part}" for tag in corpora.TAGS[:10] for part in ("a", "b", "c", "d", "e")]
    for run in range(1000):
        path = root / f"exp{run // 100}" / f"run_{run:04d}" / "events.out.tfevents.1.h"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(corpora.file_version(corpora.TORCH_WRITER) + corpora.training(tags, 0, 40, seed=run))
    return root


def tag_of(path: str, tag: str, cold: bool = False) -> Callable[[], object]:
    """One tag of all runs from a lake or a log directory; `cold`: from files that are not in the page cache."""
    import deltalake  # noqa: F401  (imports are not timed)
    import pyarrow.parquet  # noqa: F401

    import tbq

    def timed() -> object:
        return tbq.open(path).scalars(tag=tag)

    if cold:
        timed.before = lambda: forget(path)  # type: ignore[attr-defined]
    return timed


def forget(path: str) -> None:
    """Drop these files from the page cache."""
    for folder, _, names in os.walk(path):
        for name in names:
            file = os.open(Path(folder, name), os.O_RDONLY)
            os.fsync(file)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)


def tag_by_duckdb(lake: str, tag: str) -> Callable[[], object]:
    """The same by DuckDB, which gets the data files of the table from deltalake."""
    import duckdb
    from deltalake import DeltaTable

    columns = "run, tag, step, wall_time, value"

    def timed() -> object:
        files = DeltaTable(f"{lake}/scalars").file_uris()
        query = f"select {columns} from read_parquet($files) where tag = $tag"
        return {"rows": duckdb.execute(query, {"files": files, "tag": tag}).to_arrow_table().num_rows}

    return timed


def tag_by_polars(lake: str, tag: str) -> Callable[[], object]:
    """The same by polars."""
    import polars as pl

    columns = ["run", "tag", "step", "wall_time", "value"]
    return lambda: pl.scan_delta(f"{lake}/scalars").filter(pl.col("tag") == tag).select(columns).collect()


def run_of_lake(path: str) -> Callable[[], object]:
    """Everything of one run from a lake."""
    import tbq

    lake = lake_of(path)
    name = tbq.open(path).runs[0]
    return lambda: tbq.open(lake).scalars(run=name)


def remote_lake(url: str) -> Callable[[], object]:
    """A lake in the bucket of the log, kept up to date."""
    import tbq.lake

    storage = {**KEYS, "aws_endpoint": url}
    with tempfile.TemporaryDirectory() as cache:
        tbq.lake.sync(f"s3://{BUCKET}/runs", f"s3://{BUCKET}/lake", storage=storage, cache=cache)
    return dict


def remote_tag(url: str, what: str, tag: str) -> Callable[[], object]:
    """One tag of all runs from the server; nothing of it was fetched before."""
    import deltalake  # noqa: F401
    import obstore  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    import tbq

    cache = tempfile.mkdtemp()
    storage = {**KEYS, "aws_endpoint": url}

    def timed() -> object:
        return tbq.open(f"s3://{BUCKET}/{what}", storage=storage, cache=cache).scalars(tag=tag)

    timed.before = lambda: shutil.rmtree(cache, ignore_errors=True)  # type: ignore[attr-defined]
    return timed


def run(bench: Bench) -> None:
    many = "runs1000" if bench.quick else "runs10000"
    title = f"lake: nothing new in {many}"
    _within(bench, title, bench.time(title, {"tbq": python(again, bench.corpus(many))}), 0.5)
    for name in ("B", many):
        _first(bench, name)
        _one_tag(bench, name, bench.corpus(name))
    if not bench.quick:
        _first(bench, "runs100000", rounds=3, warmup=0)
    with tempfile.TemporaryDirectory() as folder:
        _one_tag(bench, "1,000 runs with 50 tags", many_tags(Path(folder, "log")))
    _one_tag_remote(bench, "runs100" if bench.quick else "B")
    title = f"lake: one run of {many}"
    _within(bench, title, bench.time(title, {"tbq": python(run_of_lake, bench.corpus(many))}), 0.1)


def _first(bench: Bench, name: str, *, rounds: int = 9, warmup: int = 2) -> None:
    """The first sync of a log directory, beside its export to Parquet."""
    path, title = bench.corpus(name), f"lake: first sync of {name}"
    contestants = {"sync": python(first, path), "export": python(export, path)}
    times = bench.time(title, contestants, rounds=rounds, warmup=warmup)
    bench.cost(title, times, "sync", "export", want="<= 3x")


def _one_tag(bench: Bench, name: str, path: Path) -> None:
    """One tag of all runs: from the lake, by decoding, and by other tools."""
    lake, tag = lake_of(path), _tag(str(path))
    title = f"lake: one tag of {name}"
    contestants = {"lake": python(tag_of, lake, tag), "decode": python(tag_of, path, tag)}
    others = {"DuckDB": python(tag_by_duckdb, lake, tag), "polars": python(tag_by_polars, lake, tag)}
    times = bench.time(title, {**contestants, **others})
    bench.faster(title, times, "lake", "decode", want=">= 20x")
    for other in others:
        bench.faster(f"{title}, {other}", times, other, "decode")
    if hasattr(os, "posix_fadvise"):
        title = f"{title}, not in memory"
        times = bench.time(
            title,
            {"lake": python(tag_of, lake, tag, True), "decode": python(tag_of, path, tag, True)},
            rounds=3,
            warmup=1,
        )
        bench.faster(title, times, "lake", "decode", want=">= 20x", clock="wall")
    shutil.rmtree(lake.parent)


def _one_tag_remote(bench: Bench, name: str) -> None:
    path = bench.corpus(name)
    tag = _tag(str(path))
    with served(path) as url:
        if "tbq" not in bench.time("lake: made on S3", {"tbq": python(remote_lake, url)}, rounds=1, warmup=0):
            return
        title = f"lake: one tag of {name} on S3"
        contestants = {
            "lake": python(remote_tag, url, "lake", tag),
            "decode": python(remote_tag, url, "runs", tag),
        }
        times = bench.time(title, contestants, rounds=3, warmup=1)
        bench.faster(title, times, "lake", "decode", want=">= 20x", clock="wall")
        counted(url)
        bench.time(f"{title}, requests", {"lake": contestants["lake"]}, rounds=1, warmup=0)
        asked = sum(counted(url).values())
        files = sum(1 for _ in path.rglob("*tfevents*"))
        bench.add(f"{title}, requests", f"{asked} of the lake", f"{files:,} objects", files / max(asked, 1))


def _within(bench: Bench, title: str, times: Mapping[str, Timing], limit: float) -> None:
    """A row: CPU seconds and their limit."""
    if "tbq" in times:
        cpu = times["tbq"].seconds()
        bench.add(title, f"tbq {seconds(cpu)}", f"limit {seconds(limit)}", cpu / limit, "<= 1x")
