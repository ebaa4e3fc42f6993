"""However the files of runs and of add_hparams grow: a follower, a lake and `tbq.open` agree on what is one run."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from eventfile import event_file, image, record, scalar, session_log, version
from hypothesis import example, given
from hypothesis import strategies as st
from lakes import assert_same, exact_rows
from profiles import examples
from protos import add_hparams
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary

import tbq
import tbq.lake

pytestmark = pytest.mark.filterwarnings("ignore::tbq.TbqWarning")

WALL = 1_700_000_000.0
KINDS = ("scalars", "hparams", "images", "logs")
TAGS = ("loss", "hparam/loss", "hparam/hparam/loss", "acc")


def hparams_records(lr: float, wall: float, own_group: bool = False) -> list[bytes]:
    """What add_hparams writes: three entries, one record each."""
    values = add_hparams({"lr": lr})
    if own_group:
        data = values[1].metadata.plugin_data
        from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

        message = HParamsPluginData.FromString(data.content)
        message.session_start_info.group_name = "own"
        data.content = message.SerializeToString()
    order = sorted(values, key=lambda value: ("experiment", "session_start", "session_end").index(
        value.tag.removeprefix("_hparams_/").removesuffix("_info")))  # fmt: skip
    return [
        record(Event(wall_time=wall, summary=Summary(value=[value])).SerializeToString()) for value in order
    ]


FOLDERS = st.sampled_from(["exp", "exp", "exp", "exp/17.5", "exp/17.5", "exp/18", "exp/17.5/deep"])
CONTENT = st.one_of(
    st.tuples(st.just("scalar"), st.sampled_from(TAGS), st.integers(0, 3)),
    st.tuples(st.just("scalar"), st.sampled_from(TAGS), st.integers(0, 3)),
    st.tuples(st.just("hparams"), st.sampled_from([0.1, 0.1, 0.2]), st.booleans()),
    st.tuples(st.just("hparams"), st.just(0.1), st.just(False)),
    st.tuples(st.just("image"), st.sampled_from(TAGS), st.just(0)),
    st.tuples(st.just("start"), st.just(""), st.integers(0, 2)),
)
# A folder, what is appended to its file, and after how many parts of the bytes one looks; a new file or the last.
OPERATIONS = st.tuples(FOLDERS, CONTENT, st.integers(1, 4), st.booleans())
#: Mostly add_hparams as writers do it: an empty file, then the entries, then metrics.
CALLS = st.tuples(st.sampled_from(["exp/17.5", "exp/17.5", "exp/18"]), st.just(("hparams", 0.1, False)),
                  st.integers(1, 4), st.just(True))  # fmt: skip


class Log:
    """A log directory that grows by bytes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files: dict[str, list[Path]] = {}
        self.wall = WALL
        root.mkdir()

    def pieces(self, operation: Any) -> list[tuple[Path, bytes]]:
        folder, (what, tag, number), cuts, new = operation
        self.wall += 1
        files = self.files.setdefault(folder, [])
        data = b""
        if new or not files:
            files.append(self.root / folder / f"events.out.tfevents.{int(self.wall)}.host.1.{len(files)}")
            files[-1].parent.mkdir(parents=True, exist_ok=True)
            data = event_file([version(wall=self.wall)])
        if what == "scalar":
            data += event_file([scalar(tag, number, self.wall - WALL, wall=self.wall)])
        elif what == "image":
            data += event_file([image(tag, number, b"\x89PNG\r\n\x1a\n" + bytes(40), wall=self.wall)])
        elif what == "start":
            data += event_file([session_log(1, number, wall=self.wall)])
        else:
            data += b"".join(hparams_records(tag, self.wall, number))
        size = -(-len(data) // cuts)
        return [(files[-1], data[at : at + size]) for at in range(0, len(data), size)]

    def grow(self, operations: list[Any]) -> Iterator[None]:
        """Write one piece of the operations after the other; the run `exp` comes first."""
        for operation in [("exp", ("scalar", "loss", 0), 1, True), *operations]:
            for path, data in self.pieces(operation):
                with path.open("ab") as file:
                    file.write(data)
                yield


def assert_follows(follower: Any, root: Path) -> None:
    update = follower.poll()
    while update.left:
        update = follower.poll()
    log = tbq.open(root)
    for kind in KINDS:
        assert exact_rows(follower.table(kind).to_arrow()) == exact_rows(log.table(kind).to_arrow()), kind
    listed = set(log.runs)
    empty = listed - set(follower.runs)
    assert set(follower.runs) <= listed
    assert not empty or not {row["run"] for row in log.tags().to_dicts()} & empty


@examples(60)
@given(st.lists(st.one_of(OPERATIONS, CALLS), max_size=12))
@example(  # a run without a value yet has a sub-run
    [("exp/17.5/deep", ("hparams", 0.1, False), 4, False), ("exp/17.5", ("hparams", 0.1, False), 3, True)]
)
def test_a_follower_folds_as_open_does(
    tmp_path_factory: pytest.TempPathFactory, operations: list[Any]
) -> None:
    folder = tmp_path_factory.mktemp("sub")
    log = Log(folder / "log")
    try:
        with tbq.follow(log.root, kinds=KINDS, interval=0, on_error="ignore") as follower:
            for _ in log.grow(operations):
                assert_follows(follower, log.root)
    finally:
        shutil.rmtree(folder)


@pytest.mark.long
@examples(15)
@given(st.lists(st.one_of(OPERATIONS, CALLS), max_size=8))
def test_a_lake_folds_as_open_does(tmp_path_factory: pytest.TempPathFactory, operations: list[Any]) -> None:
    folder = tmp_path_factory.mktemp("sub")
    log = Log(folder / "log")
    try:
        for _ in log.grow(operations):
            tbq.lake.sync(log.root, folder / "lake")
            assert_same(folder / "lake", log.root)
    finally:
        shutil.rmtree(folder)


@examples(60)
@given(
    st.lists(st.one_of(OPERATIONS, CALLS), max_size=10),
    st.sampled_from(["resume", "keep", "last", "tensorboard"]),
)
def test_folding_changes_names_only(
    tmp_path_factory: pytest.TempPathFactory, operations: list[Any], restarts: Any
) -> None:
    """Rows of runs stay as they are; those of sub-runs move to the run above, under a tag that it does not have."""
    folder = tmp_path_factory.mktemp("sub")
    log = Log(folder / "log")
    try:
        for _ in log.grow(operations):
            pass
        folded, kept = tbq.open(log.root), tbq.open(log.root, sub_runs="keep")
        below = folded.sub_runs
        assert set(folded.runs) == set(kept.runs) - set(below)
        if len(below) > 1:
            return  # several sub-runs of one trial replace each other's rows, as sessions do
        own = {
            (row["run"], row["tag"])
            for row in kept.tags(restarts="keep").to_dicts()
            if row["run"] not in below
        }
        for kind in KINDS:
            want = []
            for row in kept.table(kind, restarts=restarts).to_dicts():
                run, tag = row["run"], row["tag"]
                if run in below:
                    run = below[run]
                    if (run, tag) in own:
                        logged = {
                            each["tag"] for each in kept.tags(run=row["run"], restarts="keep").to_dicts()
                        }
                        clash = sorted(each for each in logged if (run, each) in own)
                        taken = {*logged, *(each for name, each in own if name == run)}
                        for each in clash:
                            name = "hparam/" + each
                            while name in taken:
                                name = "hparam/" + name
                            taken.add(name)
                            if each == tag:
                                tag = name
                                break
                want.append({**row, "run": run, "tag": tag})
            got = folded.table(kind, restarts=restarts).to_dicts()
            assert sorted(map(repr, got)) == sorted(map(repr, want))
    finally:
        shutil.rmtree(folder)
