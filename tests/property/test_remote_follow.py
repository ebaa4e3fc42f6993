"""Whatever happens to the objects of a bucket: readers and followers have what `tbq.open` gives on a directory with the
same bytes, and fetch nothing twice."""

from __future__ import annotations

import itertools
import os
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest
from buckets import Bucket, S3Server
from hypothesis import given
from hypothesis import strategies as st
from livelog import OPERATIONS, LiveLog, New, Simple
from tables import examples

import tbq
from tbq import _core
from tbq.errors import TbqError
from tbq.source import fetch, mirror

KINDS = ["scalars", *(name for name in _core.tables() if _core.kind_of_table(name) == name)]
pytestmark = pytest.mark.filterwarnings("ignore::tbq.TbqWarning")
_numbers = itertools.count()


def exact(value: Any) -> Any:
    """A value of a table that equals itself, also if it is NaN."""
    if isinstance(value, float):
        return struct.pack("<d", value)
    return tuple(map(exact, value)) if isinstance(value, list) else value


def rows_of(table: tbq.Table) -> list[tuple[Any, ...]]:
    return [tuple(exact(value) for value in row.values()) for row in table.to_arrow().to_pylist()]


def opened(path: Any) -> dict[str, list[tuple[Any, ...]]]:
    """Every table; without rows if there is nothing to open."""
    try:
        log = tbq.open(path)
    except TbqError:
        return {kind: [] for kind in KINDS}
    tables = {}
    for kind in KINDS:
        try:
            tables[kind] = rows_of(log.table(kind, on_error="ignore"))
        except TbqError:
            tables[kind] = []
    return tables


class Synced:
    """A bucket that is made equal to a directory, object by object."""

    def __init__(self, bucket: Bucket, root: Path) -> None:
        self.bucket, self.root = bucket, root
        self._there: dict[str, bytes] = {}

    def sync(self) -> None:
        here = {
            f"log/{path.relative_to(self.root).as_posix()}": path.read_bytes()
            for path in self.root.rglob("*")
            if path.is_file()
        }
        self.bucket.put_many({key: data for key, data in here.items() if self._there.get(key) != data})
        for key in self._there.keys() - here.keys():
            self.bucket.delete(key)
        self._there = here


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("remote")


@pytest.mark.long
@examples(15)
@given(
    operations=st.lists(OPERATIONS, min_size=5, max_size=25),
    settled=st.sampled_from([-1.0, 3600.0]),  # whether files are links to the cache, or copies
    most=st.sampled_from([None, None, 1, 5000]),
    piece=st.sampled_from([100, 10_000, 8 << 20]),
    limit=st.sampled_from(["1", "20000", "1GB"]),  # of the cache
)
def test_a_bucket_is_read_as_a_directory(
    operations: list[Any],
    settled: float,
    most: int | None,
    piece: int,
    limit: str,
    folder: Path,
    s3_server: S3Server,
) -> None:
    root, cache = folder / "log", folder / "cache"
    for each in (root, cache):
        shutil.rmtree(each, ignore_errors=True)
    bucket = s3_server.bucket(f"property-{next(_numbers)}")
    with pytest.MonkeyPatch.context() as patched:
        for name, value in bucket.storage.items():
            patched.setenv(name.upper(), value)
        patched.setenv("TBQ_CACHE", str(cache))
        patched.setenv("TBQ_CACHE_SIZE", limit)
        patched.setattr(mirror, "_SETTLED", settled)
        patched.setattr(fetch, "PIECE", piece)
        log = LiveLog(root)
        synced = Synced(bucket, root)
        with tbq.follow(bucket.url("log"), on_error="ignore") as follower:
            assert not follower.poll()

            def agree() -> None:
                synced.sync()
                while follower.poll(most=most).left:
                    pass
                want = opened(root)
                for kind in KINDS:
                    assert rows_of(follower.table(kind)) == want[kind], kind
                bucket.requests.clear()
                assert not follower.poll()
                # If nothing is listed, there may be an object of that very name.
                assert bucket.count() == ({"list": 1} if any(root.rglob("*.h")) else {"list": 1, "head": 1})
                assert opened(bucket.url("log")) == want

            log.apply(New(0, 1, 1.0))
            for operation in operations:
                if operation == "poll":
                    agree()
                    continue
                # A bit that turns is seen if it is all that happened to the object.
                alone = isinstance(operation, Simple) and operation.what == "flip"
                if alone:
                    agree()
                log.apply(operation)
                if alone:
                    agree()
            agree()
            kept = [path.stat().st_size for path in (cache / "objects").rglob("*.events")]
            assert sum(kept) <= tbq.limits.size_of(os.environ["TBQ_CACHE_SIZE"])
