"""Ray on two local workers: a table as a Dataset, a sync by tasks, and a worker that dies."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import eventfile as ef
import pytest

import tbq
import tbq.lake
import tbq.ray
from tbq.errors import TbqError

ray = pytest.importorskip("ray")
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    path = os.pathsep.join([str(Path(tbq.__file__).parent.parent), str(Path(__file__).parent)])
    environment = {"env_vars": {"PYTHONPATH": os.pathsep.join([path, os.environ.get("PYTHONPATH", "")])}}
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env=environment)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root: Path = tmp_path_factory.mktemp("ray") / "runs"
    for number in range(12):
        folder = root / f"run{number:02}"
        folder.mkdir(parents=True)
        events = [
            ef.scalar(tag, step, step / 2, 100.0 + step)
            for step in range(50 * (1 + number))
            for tag in ("a", "b")
        ]
        (folder / "events.out.tfevents.1.h").write_bytes(
            b"".join(map(ef.record, [ef.version(99.0), *events]))
        )
    tbq.demo(root / "demo")
    return root


def sorted_rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, frame.itertuples(index=False)))


def test_a_dataset_has_the_rows_of_the_table(cluster: None, runs: Path) -> None:
    log = tbq.open(runs)
    for selected in ({"tag": ["a", "b"]}, {"tag": "a"}, {"run": "run0*", "steps": (10, 20)}):
        found = tbq.ray.read(runs, **selected).to_pandas()
        assert sorted_rows(found) == sorted(map(tuple, log.scalars(**selected)))  # type: ignore[arg-type]
    images = tbq.ray.read(runs, table="images", columns=["run", "width", "data"]).to_pandas()
    assert images["data"].tolist() == log.images()["data"].tolist()
    assert list(images.columns) == ["run", "width", "data"]


def test_runs_are_not_torn_apart(cluster: None, runs: Path) -> None:
    blocks = tbq.ray.read(runs, run="run*", parallelism=4).materialize()
    seen: set[str] = set()
    sizes = []
    for reference in blocks.to_arrow_refs():
        table = ray.get(reference)
        here = set(table["run"].to_pylist())
        assert not here & seen
        seen |= here
        sizes.append(len(table))
    assert len(seen) == 12 and len([size for size in sizes if size]) >= 3


def test_what_ray_leaves_out_is_not_read(
    cluster: None, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray passes its columns and filters to the source; the rows are those that Ray itself would keep."""
    from ray.data.expressions import col

    tbq.lake.sync(runs, tmp_path / "lake")
    original = tbq.ray._memory
    asked: list[tuple[set[str], Any]] = []

    def noting(log: Any, of_runs: Any, table: str, columns: Any) -> int:
        listed = list(of_runs)
        asked.append(({run.name for run in listed}, columns))
        return int(original(log, listed, table, columns))

    monkeypatch.setattr("tbq.ray._memory", noting)
    frame = tbq.open(runs).scalars().to_pandas()
    for path in (runs, tmp_path / "lake"):
        asked.clear()
        found = (
            tbq.ray.read(path)
            .filter(
                expr=(col("run") < "run04") & (col("tag") == "a") & (col("step") >= 7) & (col("value") < 20)
            )
            .select_columns(["step", "run"])
            .to_pandas()
        )
        want = frame.query("run < 'run04' and tag == 'a' and 7 <= step and value < 20")[["step", "run"]]
        assert sorted_rows(found) == sorted_rows(want) and len(want)
        last_runs, last_columns = asked[-1]
        assert last_columns is not None and set(last_columns) <= {"step", "run", "tag", "value"}
        assert last_runs and all(name < "run04" for name in last_runs)
        assert (
            tbq.ray.read(path, tag="b").select_columns(["value"]).sum("value")
            == frame.query("tag == 'b'")["value"].sum()
        )
        assert tbq.ray.read(path, tag="b", steps=(3, 5)).filter(expr=col("step") > 4).count() == 12
        assert tbq.ray.read(path).filter(expr=col("run") == "nobody").count() == 0
        assert (
            tbq.ray.read(path).filter(expr=col("run").str.starts_with("run0") & (col("tag") == "a")).count()
            == frame.query("run.str.startswith('run0') and tag == 'a'").shape[0]
        )
        assert tbq.ray.read(path).count() == len(frame)


def test_a_dataset_of_a_lake(cluster: None, runs: Path, tmp_path: Path) -> None:
    tbq.lake.sync(runs, tmp_path / "lake")
    found = tbq.ray.read(tmp_path / "lake", tag="b").to_pandas()
    assert sorted_rows(found) == sorted(map(tuple, tbq.open(runs).scalars(tag="b")))


def test_a_sync_by_tasks(cluster: None, runs: Path, tmp_path: Path) -> None:
    from lakes import assert_same

    done = tbq.lake.sync(runs, tmp_path / "lake", engine="ray")
    assert done.added == len(tbq.open(runs).runs)
    assert_same(tmp_path / "lake", runs)
    assert not tbq.lake.sync(runs, tmp_path / "lake", engine="ray")


def dying(flag: str) -> Any:
    """A task whose first worker is killed in the middle of it."""
    from tbq.lake import cluster as module

    original = module._task

    def task(*args: Any) -> Any:
        written = original(*args)
        if not os.path.exists(flag):
            Path(flag).write_text("died here")
            os.kill(os.getpid(), signal.SIGKILL)
        return written

    return task


def test_a_worker_that_dies(
    cluster: None, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its task runs again elsewhere; the files that it wrote are not part of the lake."""
    from lakes import assert_same

    flag = tmp_path / "flag"
    monkeypatch.setattr("tbq.lake.cluster._task", dying(str(flag)))
    tbq.lake.sync(runs, tmp_path / "lake", engine="ray")
    assert flag.exists()
    assert_same(tmp_path / "lake", runs)


def test_an_object_that_a_worker_cannot_read(cluster: None, tmp_path: Path) -> None:
    """The lake keeps the rows of its run, and the next sync tries again."""
    from webserver import scripted

    def events(count: int, wall: float) -> bytes:
        return ef.event_file([ef.version(wall), *(ef.scalar("loss", i, i, wall + i) for i in range(count))])

    def counts() -> dict[str, int]:
        return {row["run"]: row["events"] for row in tbq.open(tmp_path / "lake").table("runs").to_dicts()}

    def sync() -> tbq.lake.Synced:
        return tbq.lake.sync(f"{web.url}/logs", tmp_path / "lake", engine="ray", cache=tmp_path / "cache")

    with scripted() as web:
        for run in "ab":
            web.put(f"logs/{run}/events.out.tfevents.1.h", events(10, 100.0))
        sync()
        web.put("logs/b/events.out.tfevents.1.h", events(15, 50.0))
        web.put("logs/c/events.out.tfevents.1.h", events(5, 100.0))
        web.answer = lambda asked: 403 if asked.method == "GET" and "/b/events" in asked.path else None
        done = sync()
        assert (done.unread, done.added, counts()) == (1, 1, {"a": 10, "b": 10, "c": 5})
        web.answer = lambda asked: None
        assert sync().replaced == 1
        assert counts() == {"a": 10, "b": 15, "c": 5}
        assert not sync()


def test_a_task_that_fails(
    cluster: None, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def task(*_: Any) -> Any:
        raise ValueError("no luck")

    monkeypatch.setattr("tbq.lake.cluster._task", task)
    with pytest.raises(TbqError, match="no luck"):
        tbq.lake.sync(runs, tmp_path / "lake", engine="ray")
    monkeypatch.undo()
    tbq.lake.sync(runs, tmp_path / "lake")
    assert len(tbq.open(tmp_path / "lake").scalars()) == len(tbq.open(runs).scalars())


def test_a_name_that_is_a_pattern(cluster: None, tmp_path: Path) -> None:
    """Each task sees some of the runs, and only one run has a tag that equals the pattern."""
    for number in range(4):
        folder = tmp_path / "log" / f"run{number}"
        folder.mkdir(parents=True)
        tags = ["loss0"] if number != 2 else ["loss0", "loss[0]"]
        events = [ef.scalar(tag, step, 1.0) for tag in tags for step in range(50)]
        (folder / "events.out.tfevents.1.h").write_bytes(ef.event_file([ef.version(), *events]))
    tbq.lake.sync(tmp_path / "log", tmp_path / "lake")
    for path in (tmp_path / "log", tmp_path / "lake"):
        log = tbq.open(path)
        for tag in ("loss[0]", "loss*", "loss[1]*", ["loss[0]", "loss0"]):
            try:
                want = sorted(map(tuple, log.scalars(tag=tag)))
            except TbqError:
                want = []
            found = tbq.ray.read(path, tag=tag, parallelism=4).to_pandas()
            assert sorted_rows(found) == want, tag
