"""A wrong argument raises a UsageError, also a ValueError, that names the argument and what it takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import logs
import numpy as np
import pytest

import tbq
from tbq.errors import OutputError, UsageError


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> tbq.LogDir:
    root = tmp_path_factory.mktemp("logs")
    return tbq.open(logs.write(root, {run: {"loss": logs.line(range(10))} for run in ("a", "b")}))


WRONG: list[tuple[str, Callable[[Any], object]]] = [
    (r"steps: got 5\.0 \(float\), want a step", lambda log: log.scalars(steps=5.0)),
    (r"steps: got \(1\.5, 2\)", lambda log: log.scalars(steps=(1.5, 2))),
    (r"steps: got array", lambda log: log.scalars(steps=np.array([1, 2, 3]))),
    (r"steps: got True, want", lambda log: log.scalars(steps=True)),
    (r"threads: got '2' \(str\), want a whole number, 1 or more", lambda log: log.scalars(threads="2")),
    (r"threads: got 0 ", lambda log: log.scalars(threads=0)),
    (r"threads: got 1\.5 ", lambda log: log.sql("select * from scalars", threads=1.5)),
    (r"progress: got 5 \(int\), want True, or a callable", lambda log: log.scalars(progress=5)),
    (r"restarts: got 'no'.*want one of resume", lambda log: log.scalars(restarts="no")),
    (r"restarts: got None, want one of resume", lambda log: log.images(restarts=None)),
    (r"on_error: got 'x'", lambda log: log.scalars(on_error="x")),
    (r"run: got 3 \(int\), want a name", lambda log: log.scalars(run=3)),
    (r"tag: got b'loss' \(bytes\), want a name", lambda log: log.scalars(tag=b"loss")),
    (r"tag: got None, want a name", lambda log: log.scalars(tag=["loss", None])),
    (r"log\.tensor has no argument 'stp'", lambda log: log.tensor("x", stp=1)),
    (r"log\.images has no argument 'step'", lambda log: log.images(step=1)),
    (r"log\.summary has no argument 'stat'", lambda log: log.summary(stat="last")),
    (r"log\.reduce has no argument 'steep'", lambda log: log.reduce(steep=1)),
    (r"log\.compare has no argument 'runs'", lambda log: log.compare("a", "b", runs=1)),
    (r"log\.scalars has no argument 'foo'", lambda log: log.table("scalars", foo=1)),
    (r"log\.tables has no argument 'foo'", lambda log: log.tables(foo=1)),
    (r"log\.write_media has no argument 'foo'", lambda log: log.write_media("out", foo=1)),
    (r"step: got 1\.5 \(float\), want a whole number", lambda log: log.image("x", step=1.5)),
    (r"query: got 5 \(int\), want a query", lambda log: log.sql(5)),
    (r"stats: got 'median' \(str\), want one of first", lambda log: log.summary(stats="median")),
    (r"stats: got 5 \(int\), want", lambda log: log.summary(stats=5)),
    (r"stats: got 'best'", lambda log: log.reduce(stats="mean,best")),
    (r"require: got 5 \(int\)", lambda log: log.summary(require=5)),
    (r"best: got 'loss' \(str\), want a mapping", lambda log: log.summary(best="loss")),
    (r"best\['loss'\]: got 'least'", lambda log: log.summary(best={"loss": "least"})),
    (r"every: got 0 ", lambda log: log.scalars().every(0)),
    (r"max_points: got 1\.5", lambda log: log.scalars().max_points(1.5)),
    (r"method: got 'x'", lambda log: log.scalars().max_points(3, method="x")),
    (r"weight: got 2 \(int\), want a number from 0 to 1", lambda log: log.scalars().smooth(2)),
    (r"path: got 3 \(int\), want a path", lambda log: log.scalars().write(3)),
    (r"path: got None, want a path", lambda log: log.scalars().write(None)),
    (r"format: got 3", lambda log: log.scalars().write("x.csv", format=3)),
    (r"time: got 'now'", lambda log: log.scalars().write("x.csv", time="now")),
    (r"path: got 3", lambda log: log.write_media(3)),
    (r"every: got 'x'", lambda log: log.write_media("out", every="x")),
    (r"kinds: got 'pictures'", lambda log: log.write_media("out", kinds=["pictures"])),
    (r"path: got 3 \(int\), want a path", lambda log: log.write_reduced(3)),
    (r"no table is called", lambda log: log.table(5)),
    (r"path: got 3", lambda _: tbq.read(3)),  # type: ignore[arg-type]
    (r"out: got 3", lambda log: tbq.rewrite(log.path, 3)),  # type: ignore[arg-type]
    (r"progress: got 'x'", lambda log: tbq.rewrite(log.path, "new", progress="x")),  # type: ignore[arg-type]
    (r"progress: got 'x'", lambda log: tbq.doctor(log.path, progress="x")),  # type: ignore[arg-type]
    (r"restarts: got 'x'.*want one of keep, resume", lambda log: tbq.rewrite(log.path, "new", restarts="x")),  # type: ignore[arg-type]
    (r"drop_kind: got 3 \(int\)", lambda log: tbq.rewrite(log.path, "new", drop_kind=3)),  # type: ignore[arg-type]
    (r"rename: got \['a'\] \(list\), want a mapping", lambda log: tbq.rewrite(log.path, "new", rename=["a"])),  # type: ignore[arg-type]
    (r"rename_run: got 3 \(int\), want names", lambda log: tbq.rewrite(log.path, "new", rename_run={"a": 3})),  # type: ignore[dict-item]
    (
        r"merge_runs: got 'a' \(str\), want A,B=NAME",
        lambda log: tbq.rewrite(log.path, "new", merge_runs="a"),
    ),  # type: ignore[arg-type]
    (r"select: got 3 \(int\), want codes", lambda log: tbq.doctor(log.path, select=3)),  # type: ignore[arg-type]
    (r"ignore: got \[3\] \(list\), want codes", lambda log: tbq.doctor(log.path, ignore=[3])),  # type: ignore[list-item]
    (r"code: got 104 \(int\), want a code", lambda log: tbq.explain(104)),  # type: ignore[arg-type]
    (r"task: got 'x'", lambda _: tbq.results.predictions([0.5], task="x")),  # type: ignore[arg-type]
    (r"classes: got 'ab'", lambda _: tbq.results.predictions([0.5], classes="ab")),
]


@pytest.mark.parametrize(("says", "call"), WRONG)
def test_a_wrong_argument_is_named(
    log: tbq.LogDir,
    says: str,
    call: Callable[[Any], object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=says):
        call(log)
    with pytest.raises(ValueError, match=says):
        call(log)


def test_numbers_of_numpy_are_numbers(log: tbq.LogDir) -> None:
    assert len(log.scalars(steps=np.int64(5))) == 2
    assert len(log.scalars(steps=(np.int32(5), None))) == 10
    assert len(log.scalars(steps=np.array([2, 3]))) == 4  # type: ignore[arg-type]
    assert len(log.scalars(threads=np.int64(2))) == 20  # type: ignore[arg-type]
    assert len(log.scalars().every(np.int8(5))) == 4  # type: ignore[arg-type]
    assert len(log.scalars().smooth(np.float32(0.5))) == 20  # type: ignore[arg-type]


def test_events_of_reduced_runs_need_a_place(log: tbq.LogDir, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    for place, says in (
        (tmp_path / "file", "is a file, want a new directory"),
        (tmp_path / "file" / "below", "cannot create the folder"),
        (tmp_path / "full", "exists and is not empty"),
    ):
        with pytest.raises(OutputError, match=says):
            log.write_reduced(place)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "full"]


# ---- progress ----


@pytest.mark.parametrize("runs", [1, 30])
def test_progress_ends_with_everything(tmp_path: Path, runs: int) -> None:
    root = logs.write(tmp_path / "runs", {f"r{i}": {"loss": logs.line(range(20))} for i in range(runs)})
    size = sum(path.stat().st_size for path in root.rglob("events*"))
    opened = tbq.open(root)
    for call in (
        lambda progress: opened.scalars(progress=progress),
        lambda progress: opened.texts(progress=progress),
        lambda progress: opened.summary(progress=progress),
        lambda progress: tbq.doctor(root, progress=progress),
        lambda progress: tbq.rewrite(root, tmp_path / "new", progress=progress, dry_run=True),
    ):
        reported: list[tuple[int, ...]] = []
        call(lambda *numbers: reported.append(numbers))  # noqa: B023
        assert reported[-1] == (size, size, runs, runs)
        assert all(done <= total for done, total, _, _ in reported)


def test_progress_true_works_on_logs_of_every_size(
    log: tbq.LogDir, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import sys

    from tbq import progress

    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    for terminal in (False, True):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)  # noqa: B023
        assert len(log.scalars(progress=True)) == 20
        assert len(log.scalars(progress=False)) == 20
        with progress.reporting(True) as call:
            if call is not None:
                for done in range(3):
                    call(done, 2, done, 2)


def test_a_large_log_is_told_of_while_it_is_read(tmp_path: Path) -> None:
    """Enough bytes for the core to call back before it ends."""
    import eventfile as ef

    record = ef.record(ef.scalar("loss", 1, 0.5))
    (tmp_path / "events.out.tfevents.1").write_bytes(ef.record(ef.version()) + record * 400_000)
    reported: list[tuple[int, ...]] = []
    log = tbq.open(tmp_path)
    assert len(log.scalars(progress=lambda *numbers: reported.append(numbers))) == 400_000
    assert len(log.scalars(progress=True)) == 400_000
    assert reported[-1][0] == reported[-1][1] == Path(log.files[0]).stat().st_size
