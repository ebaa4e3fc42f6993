"""`tbq.follow`: what it waits for, what it reports about runs and problems, and the ways to use it."""

from __future__ import annotations

import asyncio
import gc
import gzip
import os
import shutil
import threading
import weakref
from pathlib import Path
from typing import Any

import eventfile as ef
import pytest

import tbq
from tbq import _core
from tbq.errors import DamageError, SelectionError, SourceError, TbqWarning, UsageError
from tbq.select import MAX_STEP, MIN_STEP

NAME = "events.out.tfevents.1.host"
links = pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")


def log(folder: Path, *steps: int, tag: str = "loss", name: str = NAME, wall: float = ef.WALL) -> Path:
    """A run with a scalar at each of these steps."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(ef.event_file([ef.version(wall), *(ef.scalar(tag, s, s, wall + s) for s in steps)]))
    return path


def add(path: Path, *steps: int, tag: str = "loss", wall: float = ef.WALL) -> None:
    with path.open("ab") as file:
        file.write(ef.event_file(ef.scalar(tag, step, step, wall + step) for step in steps))


def steps(table: tbq.Table) -> list[int]:
    return [int(step) for step in table["step"]]


def runs(update: tbq.Update) -> dict[str, list[str]]:
    return {name: names for name, names in update.runs._asdict().items() if names}


def test_its_path_is_what_was_asked_for(tmp_path: Path) -> None:
    follower = tbq.follow([tmp_path / "a", tmp_path / "b"])
    follower.poll()
    assert follower.path == f"{tmp_path / 'a'}, {tmp_path / 'b'}"


def test_a_tag_that_is_called_as_a_pattern_takes_its_place(tmp_path: Path) -> None:
    first = log(tmp_path / "a", 1, 2, tag="loss0")
    follower = tbq.follow(tmp_path, tag="loss[0]")
    assert steps(follower.poll().table()) == [1, 2]
    exact = log(tmp_path / "b", 5, tag="loss[0]")
    update = follower.poll()
    assert steps(update.table()) == [5]
    assert update.retracted.to_dicts() == [
        {"run": "a", "tag": "loss0", "kind": "scalars", "first_step": 1, "count": 2}
    ]
    add(first, 3, tag="loss0")
    update = follower.poll()
    assert runs(update) == {"grown": ["a"]} and not len(update.table()) and not len(update.retracted)
    exact.unlink()
    update = follower.poll()
    assert steps(update.table()) == [1, 2, 3] and len(update.retracted_rows) == 1
    assert steps(follower.table()) == [1, 2, 3]


def test_a_poll_without_rows_says_which_runs_changed(tmp_path: Path) -> None:
    path = log(tmp_path / "a", 1, 2)
    follower = tbq.follow(tmp_path)
    update = follower.poll(rows=False)
    assert runs(update) == {"new": ["a"]} and not update.tables and len(update.table()) == 0
    add(path, 3)
    assert steps(follower.poll().table()) == [3]
    assert steps(follower.table()) == [1, 2, 3]


def test_much_that_is_new_can_be_read_in_pieces(tmp_path: Path) -> None:
    for run in "ab":
        with tbq.SummaryWriter(tmp_path / run) as writer:
            for step in range(100):
                writer.add_scalar("loss", step / 8, step)
    with tbq.follow(tmp_path) as follower:
        first = follower.poll(most=0)
        size = sum(path.stat().st_size for path in tmp_path.rglob("*tfevents*"))
        assert (first.left, follower.runs, first.runs.new) == (size, ["a", "b"], [])
        rows, left = 0, size
        while left:
            update = follower.poll(most=1000)
            assert update.left < left
            left = update.left
            rows += len(update.table())
        assert rows == 200 and follower.table().to_arrow().equals(tbq.open(tmp_path).scalars().to_arrow())
        assert not follower.poll(most=1000)
        with pytest.raises(UsageError, match="most"):
            follower.poll(most=-1)


def test_a_change_in_place_near_the_end_is_seen_while_the_file_grows(tmp_path: Path) -> None:
    path = log(tmp_path / "a", 1, 2, 3)
    follower = tbq.follow(tmp_path, on_error="ignore")
    follower.poll()
    data = bytearray(path.read_bytes())
    data[-20] ^= 4
    path.write_bytes(data + ef.event_file([ef.scalar("loss", 4, 4, ef.WALL + 4)]))
    assert runs(follower.poll()) == {"replaced": ["a"]}
    assert steps(follower.table()) == steps(tbq.open(tmp_path).scalars(on_error="ignore")) == [1, 2, 4]


def test_it_waits_for_what_is_not_there_and_sees_it_go_and_come_back(tmp_path: Path) -> None:
    root = tmp_path / "not" / "yet"
    follower = tbq.follow(root)
    assert not follower.poll() and follower.runs == []
    root.mkdir(parents=True)
    assert not follower.poll()
    log(root / "a", 1, 2)
    update = follower.poll()
    assert runs(update) == {"new": ["a"]} and steps(update.table()) == [1, 2]
    assert not follower.poll()
    shutil.rmtree(tmp_path / "not")
    update = follower.poll()
    assert runs(update) == {"gone": ["a"]}
    assert update.retracted.to_dicts() == [
        {"run": "a", "tag": "loss", "kind": "scalars", "first_step": 1, "count": 2}
    ]
    assert len(follower.table()) == 0 and follower.runs == []
    log(root / "a", 3)
    assert steps(follower.poll().table()) == [3]
    assert not follower.poll()


def test_what_became_of_runs(tmp_path: Path) -> None:
    path = log(tmp_path / "a", 1)
    follower = tbq.follow(tmp_path)
    assert runs(follower.poll()) == {"new": ["a"]}
    add(path, 2)
    assert runs(follower.poll()) == {"grown": ["a"]}
    log(tmp_path / "b", 1)
    more = log(tmp_path / "a", 3, name="events.out.tfevents.2.host", wall=ef.WALL + 100)
    assert runs(follower.poll()) == {"new": ["b"], "grown": ["a"]}
    more.unlink()
    assert runs(follower.poll()) == {"replaced": ["a"]}
    (tmp_path / "a").rename(tmp_path / "c")
    update = follower.poll()
    assert runs(update) == {"new": ["c"], "gone": ["a"]}
    assert len(update.retracted_rows) == len(update.table()) == 2
    assert repr(update) == "<tbq.Update: 2 scalars, 2 retracted, 1 run new, 1 run gone>"
    assert repr(follower.poll()) == "<tbq.Update: nothing new>"


def test_an_unfinished_record_is_waited_for(tmp_path: Path) -> None:
    path = log(tmp_path, 1)
    record = ef.record(ef.scalar("loss", 2, 0.5))
    follower = tbq.follow(tmp_path, on_error="raise")
    assert steps(follower.poll().table()) == [1]
    for byte in range(len(record)):
        with path.open("ab") as file:
            file.write(record[byte : byte + 1])
        update = follower.poll()
        assert steps(update.table()) == ([2] if byte == len(record) - 1 else [])
        assert update.problems == []
    assert len(update.retracted_rows) == 0


def test_rows_that_a_restart_overtakes_are_retracted(tmp_path: Path) -> None:
    log(tmp_path / "a", 1, 2, 3, 4)
    follower = tbq.follow(tmp_path)
    follower.poll()
    log(tmp_path / "a", 3, name="events.out.tfevents.2.host", wall=ef.WALL + 100)
    update = follower.poll()
    assert steps(update.retracted_rows) == [3, 4] and steps(update.table()) == [3]
    assert update.retracted_rows["value"].tolist() == [3.0, 4.0]
    assert steps(follower.table()) == [1, 2, 3]
    assert update.problems == []


def test_names_are_judged_as_they_appear(tmp_path: Path) -> None:
    follower = tbq.follow(tmp_path, run="b*", tag="val/*", steps="2:")
    log(tmp_path / "a", 1, 2, tag="val/loss")
    assert not follower.poll()
    path = log(tmp_path / "b1", 1, 2, tag="val/loss")
    assert steps(follower.poll().table()) == [2]
    add(path, 3, tag="train/loss")
    add(path, 3, tag="val/acc")
    assert follower.poll().table()["tag"].tolist() == ["val/acc"]
    assert follower.runs == ["b1"]


def test_what_is_there_already_can_be_left_out(tmp_path: Path) -> None:
    path = log(tmp_path, 1, 2)
    follower = tbq.follow(tmp_path, from_start=False)
    add(path, 3)
    first, second = follower.poll(), follower.poll()
    assert runs(first) == {"new": ["."]} and len(first.tables) == 0 and len(first.table()) == 0
    assert first.table().columns == ["run", "tag", "step", "wall_time", "value"]
    assert steps(second.table()) == [3]
    assert steps(follower.table()) == [1, 2, 3]
    log(tmp_path, 2, name="events.out.tfevents.2.host", wall=ef.WALL + 100)
    assert steps(follower.poll().retracted_rows) == [2, 3]


def test_a_compressed_file_is_unpacked_anew_when_it_changes(tmp_path: Path) -> None:
    plain = ef.event_file([ef.version(), *(ef.scalar("loss", step, 0.5) for step in range(500))])
    packed = gzip.compress(plain)
    path = tmp_path / f"{NAME}.gz"
    path.write_bytes(packed[: len(packed) // 2])
    follower = tbq.follow(tmp_path)
    with pytest.warns(TbqWarning, match="cut off"):
        update = follower.poll()
    assert update.problems[0].code == "unpacking"
    some = len(update.table())
    assert 0 < some < 500
    path.write_bytes(packed)
    update = follower.poll()
    assert len(update.retracted_rows) == some and len(follower.table()) == len(update.table()) == 500
    assert update.problems == []


def test_copies_of_compressed_files_go_with_them(tmp_path: Path) -> None:
    follower = tbq.follow(tmp_path / "log")
    for number in range(5):
        path = log(tmp_path / "log" / str(number), 1, 2)
        path.write_bytes(gzip.compress(path.read_bytes()))
        assert steps(follower.poll().table()) == [1, 2]
        if number:
            shutil.rmtree(path.parent)
            assert runs(follower.poll()) == {"gone": [str(number)]}
    assert steps(follower.table()) == [1, 2]
    scratch = follower._unpacked._scratch
    assert scratch is not None
    assert {path.name for path in scratch.folder.iterdir()} - {"lock"} == {"1"}


def test_problems_are_told_once(tmp_path: Path) -> None:
    path = log(tmp_path, *range(20))
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    follower = tbq.follow(tmp_path)
    with pytest.warns(TbqWarning, match="checksum") as warned:
        update = follower.poll()
    assert warned[0].filename == __file__
    assert [problem.code for problem in update.problems] == ["bad_payload"]
    for step in range(20, 25):
        add(path, step)
        assert follower.poll().problems == []
    assert follower.problems == update.problems
    path.unlink()
    follower.poll()
    path.write_bytes(data)
    with pytest.warns(TbqWarning, match="checksum"):
        assert len(follower.poll().problems) == 1  # it is another file


def test_damage_can_raise_and_loses_nothing(tmp_path: Path) -> None:
    path = log(tmp_path, *range(20))
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    follower = tbq.follow(tmp_path, on_error="raise")
    with pytest.raises(DamageError):
        follower.poll()
    update = follower.poll()
    assert len(update.table()) == 19 and len(update.problems) == 1
    add(path, 20)
    assert steps(follower.poll().table()) == [20]


@pytest.mark.skipif(os.name == "nt", reason="a named pipe")
def test_what_cannot_be_read_is_told_once_and_read_when_it_can(tmp_path: Path) -> None:
    log(tmp_path / "a", 1)
    os.mkfifo(tmp_path / "a" / "events.out.tfevents.9.host")
    follower = tbq.follow(tmp_path, on_error="ignore")
    assert [problem.code for problem in follower.poll().problems] == ["unreadable"]
    assert not follower.poll() and not follower.poll()
    (tmp_path / "a" / "events.out.tfevents.9.host").unlink()
    log(tmp_path / "a", 7, name="events.out.tfevents.9.host", wall=ef.WALL + 100)
    assert steps(follower.poll().table()) == [7]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="this user may read everything")
def test_a_file_that_may_be_read_later(tmp_path: Path) -> None:
    path = log(tmp_path / "a", 1)
    path.chmod(0)
    follower = tbq.follow(tmp_path, on_error="ignore")
    assert [problem.code for problem in follower.poll().problems] == ["unreadable"]
    assert not follower.poll()
    path.chmod(0o644)
    assert steps(follower.poll().table()) == [1]


@pytest.mark.skipif(os.name == "nt", reason="modes and links")
@pytest.mark.parametrize("packed", [False, True])
def test_a_file_with_another_mode_or_link_is_nothing_new(tmp_path: Path, packed: bool) -> None:
    """A backup made of links, or another reader of a shared cache of objects."""
    path = log(tmp_path / "runs" / "a", 1, 2)
    if packed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    follower = tbq.follow(tmp_path / "runs")
    follower.poll()
    for change in (
        lambda: path.chmod(0o600),
        lambda: os.link(path, tmp_path / "other"),
        lambda: (tmp_path / "other").unlink(),
    ):
        change()
        assert not follower.poll()
    assert steps(follower.table()) == [1, 2]


def test_what_was_stopped_goes_on() -> None:
    """A failing callback is like Ctrl-C: nothing that was read is lost, and the next poll returns the rest."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        paths = [log(Path(folder, name), *range(50)) for name in "ab"]
        fails = [True, True]

        def select(tag: str) -> bool:
            if fails:
                fails.pop()
                raise RuntimeError("stopped")
            return True

        store = _core.Store(["scalars"], select, MIN_STEP, MAX_STEP, "resume", 1, None)
        store.set_files(["a", "b"], [os.fsencode(path) for path in paths], [0, 1])
        rows = 0
        while fails:
            with pytest.raises(RuntimeError, match="stopped"):
                store.poll()
        for _ in range(2):
            update = store.poll()
            assert store.poll() is update
            rows += update.rows.get("scalars", 0)
            store.received(update)
        assert rows == store.everything(["scalars"]).scalar_rows == 100


def test_several_paths_of_which_one_comes_later(tmp_path: Path) -> None:
    log(tmp_path / "x" / "a", 1)
    follower = tbq.follow([tmp_path / "x", tmp_path / "y"])
    assert runs(follower.poll()) == {"new": ["x/a"]}
    log(tmp_path / "y", 2)
    assert runs(follower.poll()) == {"new": ["y"]}
    assert follower.runs == tbq.open([tmp_path / "x", tmp_path / "y"]).runs
    named = tbq.follow({"n": tmp_path / "x", "m": tmp_path / "z"})
    assert runs(named.poll()) == {"new": ["n/a"]}
    log(tmp_path / "z", 3)
    assert runs(named.poll()) == {"new": ["m"]}


def test_patterns_of_paths(tmp_path: Path) -> None:
    follower = tbq.follow(str(tmp_path / "exp*" / "train"))
    assert not follower.poll()
    log(tmp_path / "exp1" / "train", 1)
    log(tmp_path / "exp1" / "val", 1)
    assert len(follower.poll().table()) == 1
    log(tmp_path / "exp2" / "train", 2)
    follower.poll()
    assert follower.runs == tbq.open(str(tmp_path / "exp*" / "train")).runs == ["exp1/train", "exp2/train"]


@links
def test_links_that_come_and_turn(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    root.mkdir()
    log(tmp_path / "one", 1)
    log(tmp_path / "two", 2)
    follower = tbq.follow(root)
    follower.poll()
    (root / "latest").symlink_to(tmp_path / "one")
    assert steps(follower.poll().table()) == [1]
    (root / "new").symlink_to(tmp_path / "two")
    (root / "new").replace(root / "latest")
    update = follower.poll()
    assert steps(update.retracted_rows) == [1] and steps(update.table()) == [2]


def test_a_name_that_two_runs_have_is_a_problem_while_it_lasts(tmp_path: Path) -> None:
    log(tmp_path / "x" / "a", 1)
    (tmp_path / "y").mkdir()
    follower = tbq.follow([f"n:{tmp_path / 'x'}", f"n:{tmp_path / 'y'}"], on_error="ignore")
    assert runs(follower.poll()) == {"new": ["n/a"]}
    log(tmp_path / "y" / "a", 2)
    update = follower.poll()
    assert "two runs are called 'n/a'" in update.problems[0].message
    assert steps(follower.table()) == [1]
    shutil.rmtree(tmp_path / "y" / "a")
    log(tmp_path / "y" / "b", 3)
    follower.poll()
    assert follower.runs == ["n/a", "n/b"]


def test_iteration_ends_when_it_is_closed(tmp_path: Path) -> None:
    path = log(tmp_path, 1)
    seen: list[int] = []
    with tbq.follow(tmp_path, interval=0.001) as follower:
        for update in follower:
            seen += steps(update.table())
            if len(seen) == 5:
                break
            add(path, len(seen) + 1)
        assert seen == [1, 2, 3, 4, 5]
        threading.Timer(0.05, follower.close).start()
        assert list(follower) == []
    assert follower.closed and repr(follower).endswith("closed>")
    for use in (follower.poll, follower.table):
        with pytest.raises(UsageError, match="closed"):
            use()


def test_async_for(tmp_path: Path) -> None:
    path = log(tmp_path, 1)

    async def collect() -> list[int]:
        seen: list[int] = []
        async for update in tbq.follow(tmp_path, interval=0.001):
            seen += steps(update.table())
            if len(seen) == 4:
                return seen
            add(path, len(seen) + 1)
        return seen

    assert asyncio.run(collect()) == [1, 2, 3, 4]


def test_an_update_outlives_a_task_that_is_cancelled(tmp_path: Path) -> None:
    log(tmp_path, 1)
    follower = tbq.follow(tmp_path, interval=0.001)
    looked, go = threading.Event(), threading.Event()
    original = follower._read

    def slow(*args: Any) -> tbq.Update:
        update = original(*args)
        looked.set()
        go.wait(10)
        return update

    follower._read = slow  # type: ignore[method-assign]

    async def cancelled() -> None:
        async def forever() -> None:
            async for _ in follower:
                raise AssertionError("it was cancelled before")

        task = asyncio.create_task(forever())
        await asyncio.to_thread(looked.wait, 10)
        task.cancel()
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert steps(follower.poll().table()) == [1]


def test_large_values_stay_in_their_files_until_they_are_asked_for(tmp_path: Path) -> None:
    image = ef.image("sample", 1, b"\x89PNG" + bytes(100_000))
    path = tmp_path / NAME
    path.write_bytes(ef.event_file([ef.version(), image]))
    follower = tbq.follow(tmp_path, on_error="ignore")
    update = follower.poll()
    assert list(update.tables) == ["images"] and len(update.tables["images"]["data"][0]) == 100_004
    later = follower.table("images")
    assert later.to_arrow().equals(tbq.open(tmp_path).images(on_error="ignore").to_arrow())


def test_arguments_are_checked(tmp_path: Path) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"kinds": "scalar"}, "kinds"),
        ({"kinds": []}, "kinds"),
        ({"restarts": "no"}, "restarts"),
        ({"interval": -1}, "interval"),
        ({"interval": "1"}, "interval"),
        ({"on_error": "no"}, "on_error"),
        ({"threads": 0}, "threads"),
        ({"steps": "3:1"}, "steps"),
        ({"tag": "re:("}, "regular expression"),
    ]
    for given, said in wrong:
        with pytest.raises(UsageError, match=said):
            tbq.follow(tmp_path, **given)
    with pytest.raises(SelectionError, match="no run was selected"):
        tbq.follow(tmp_path, run=[])
    with pytest.raises(SourceError, match="is not supported"):
        tbq.follow("hdfs://bucket/runs").poll()
    follower = tbq.follow(tmp_path, kinds="images")
    with pytest.raises(UsageError, match="one that is followed: images"):
        follower.table("scalars")
    with pytest.raises(UsageError, match="kind"):
        follower.poll().table("nothing")


def test_tables_of_updates_are_a_mapping(tmp_path: Path) -> None:
    log(tmp_path, 1)
    update = tbq.follow(tmp_path).poll()
    assert list(update.tables) == ["scalars"] and "images" not in update.tables
    assert repr(update.tables) == "{'scalars': 1 value}"
    with pytest.raises(KeyError):
        update.tables["images"]
    assert update.tables["scalars"] is update.table("scalars")
    assert len(update.table("images")) == 0


def test_the_rows_of_an_update_are_freed_with_it(tmp_path: Path) -> None:
    log(tmp_path, 1, 2)
    follower = tbq.follow(tmp_path)
    update = follower.poll()
    freed = [weakref.ref(follower), weakref.ref(update), weakref.ref(update.table())]
    gc.disable()  # the memory of many rows must not wait for the next collection
    try:
        del update
        assert [ref() is None for ref in freed] == [False, True, True]
        del follower
        assert freed[0]() is None
    finally:
        gc.enable()
