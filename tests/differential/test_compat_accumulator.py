"""The same calls on TensorBoard's EventAccumulator, EventMultiplexer and loaders, and on tbq's, give the same."""

from __future__ import annotations

import random
import shutil
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pytest
from compatlog import KINDS, files, logged, outcome, plain, state
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from protolog import event, header, number, record, scalar, tensor_value
from tensorboard.backend.event_processing import event_accumulator as theirs
from tensorboard.backend.event_processing import event_file_loader as their_loaders
from tensorboard.backend.event_processing.event_multiplexer import EventMultiplexer as TheirMultiplexer

from tbq.compat import event_accumulator as ours
from tbq.compat import event_file_loader as our_loaders
from tbq.compat.event_multiplexer import EventMultiplexer

SIZES = st.one_of(
    st.none(),
    st.just(theirs.DEFAULT_SIZE_GUIDANCE),
    st.dictionaries(st.sampled_from([*KINDS, "unknown"]), st.integers(0, 4), min_size=1),
)


def both(path: Any, size_guidance: Any = None, **options: Any) -> tuple[Any, Any]:
    """Tbq's accumulator, and TensorBoard's with the same guidance, or with all points."""
    return ours.EventAccumulator(path, size_guidance, **options), theirs.EventAccumulator(
        path, size_guidance or theirs.STORE_EVERYTHING_SIZE_GUIDANCE, **options
    )


def reload_both(ours: Any, other: Any) -> None:
    with logged() as expected:
        other.Reload()
    with logged() as messages:
        assert ours.Reload() is ours
    assert messages == expected
    assert state(ours) == state(other)


@pytest.mark.long
@examples(120)
@given(st.lists(files(), min_size=1, max_size=3), SIZES, st.booleans(), st.data())
def test_every_answer_is_the_same_while_a_log_grows(
    tmp_path_factory: pytest.TempPathFactory,
    logs: list[list[bytes]],
    sizes: Any,
    purge: bool,
    data: st.DataObject,
) -> None:
    """Files that are written piece by piece, one after another, with reloads in between."""
    folder = tmp_path_factory.mktemp("run")
    ours, other = both(str(folder), sizes, purge_orphaned_data=purge)
    early = data.draw(st.booleans(), label="first event before any reload")
    for place, records in enumerate(logs):
        path = folder / f"events.out.tfevents.{place}"
        cuts = sorted(data.draw(st.lists(st.integers(0, len(records)), max_size=2), label="cuts"))
        for start, end in zip([0, *cuts], [*cuts, len(records)], strict=True):
            with path.open("ab") as file:
                file.write(b"".join(records[start:end]))
            if early:
                early = False
                assert outcome(ours.FirstEventTimestamp) == outcome(other.FirstEventTimestamp)
                assert outcome(ours.GetSourceWriter) == outcome(other.GetSourceWriter)
                assert state(ours) == state(other)
            if data.draw(st.booleans(), label="reload"):
                reload_both(ours, other)
    reload_both(ours, other)
    reload_both(ours, other)
    shutil.rmtree(folder)
    assert outcome(ours.Reload) == outcome(other.Reload)


@pytest.mark.long
@examples(40)
@given(files(), SIZES)
def test_one_file_by_its_path(
    tmp_path_factory: pytest.TempPathFactory, records: list[bytes], sizes: Any
) -> None:
    path = tmp_path_factory.mktemp("run") / "a.tfevents.v2"
    path.write_bytes(b"".join(records))
    reload_both(*both(str(path), sizes))


@pytest.mark.long
@pytest.mark.parametrize("size", [0, 1, 2, 7, 100])
def test_long_series_have_the_same_survivors(tmp_path: Path, size: int) -> None:
    """Thousands of points of tags that come in any order, with restarts, in several reloads."""
    chance = random.Random(size)
    records = [header()]
    step = 0
    for _ in range(4000):
        step += 1
        tag = chance.choice("abct")
        value = chance.random()
        tensor = event(step, 5.0, tensor_value(tag, number(value)))
        records.append(tensor if tag == "t" else scalar(tag, step, value))
        if chance.random() < 0.002:
            step = max(0, step - 300)
            records.append(_start(step))
    path = tmp_path / "events.out.tfevents.1"
    ours, other = both(str(tmp_path), {"scalars": size, "tensors": size})
    for end in (1500, 1501, len(records)):
        path.write_bytes(b"".join(records[:end]))
        reload_both(ours, other)
    assert len(ours.Scalars("a")) <= (size or 4000)


def _start(step: int) -> bytes:
    from protolog import session_start

    return session_start(step, 5.0)


@pytest.mark.parametrize("path", ["", None])
def test_no_path(path: Any) -> None:
    assert outcome(ours.EventAccumulator, path) == outcome(theirs.EventAccumulator, path)


@pytest.mark.parametrize("size", [-1, 1.5])
def test_sizes_that_are_none(tmp_path: Path, size: Any) -> None:
    sizes = {"scalars": size}
    assert outcome(ours.EventAccumulator, str(tmp_path), sizes) == outcome(
        theirs.EventAccumulator, str(tmp_path), sizes
    )


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    ours, other = both(str(tmp_path / "absent"))
    for name in ("Reload", "FirstEventTimestamp"):
        assert outcome(getattr(ours, name)) == outcome(getattr(other, name))
    with pytest.raises(_theirs_deleted()):
        ours.Reload()


def _theirs_deleted() -> type[Exception]:
    from tensorboard.backend.event_processing.directory_watcher import DirectoryDeletedError

    error: type[Exception] = DirectoryDeletedError
    return error


def test_constants() -> None:
    for name in dir(theirs):
        if name.isupper():
            assert getattr(ours, name) == getattr(theirs, name), name


def test_events_that_are_given_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Anything with `Load` in place of `_GeneratorFromPath`, as in TensorBoard's own tests."""
    from tensorboard.compat.proto import event_pb2

    class Generator:
        def __init__(self) -> None:
            self.events: list[Any] = []

        def Load(self) -> Any:  # noqa: N802
            while self.events:
                yield self.events.pop(0)

    generators = [Generator(), Generator()]
    accumulators = []
    for module, generator in zip((ours, theirs), generators, strict=True):
        monkeypatch.setattr(module, "_GeneratorFromPath", lambda path: path)
        accumulators.append(module.EventAccumulator(generator))
    assert state(accumulators[0]) == state(accumulators[1])
    for steps in ([100, 200, 300], [101, 201, 301]):
        for generator in generators:
            for step in steps:
                event = event_pb2.Event(wall_time=step, step=step)
                event.summary.value.add(tag="loss", simple_value=step)
                generator.events.append(event)
        assert accumulators[0].FirstEventTimestamp() == accumulators[1].FirstEventTimestamp() == 100
        reload_both(*accumulators)
    assert [event.step for event in accumulators[0].Scalars("loss")] == [100, 101, 201, 301]


@pytest.mark.long
@examples(60)
@given(files(), st.data())
def test_loaders_give_the_same_events(
    tmp_path_factory: pytest.TempPathFactory, records: list[bytes], data: st.DataObject
) -> None:
    """TensorBoard's loaders are read in one go: what a caller leaves of one `Load()`, only tbq's give in the next."""
    path = tmp_path_factory.mktemp("run") / "any.name"
    cut = data.draw(st.integers(0, len(records)))
    for name in (
        "RawEventFileLoader",
        "LegacyEventFileLoader",
        "EventFileLoader",
        "TimestampedEventFileLoader",
    ):
        path.write_bytes(b"".join(records[:cut]))
        ours, other = getattr(our_loaders, name)(str(path)), getattr(their_loaders, name)(str(path))
        pieces = [list(islice(ours.Load(), data.draw(st.integers(0, 2)))) for _ in range(2)]
        ours.Load()
        assert _canonical([*chain(*pieces), *ours.Load()]) == _canonical([*other.Load()])
        with path.open("ab") as file:
            file.write(b"".join(records[cut:]))
        assert _canonical([*ours.Load()]) == _canonical([*other.Load()])
        assert list(ours.Load()) == []


def _canonical(event: Any) -> Any:
    """Events as bytes that do not depend on the order of fields."""
    if isinstance(event, list | tuple):
        return [*map(_canonical, event)]
    if hasattr(event, "to_protobuf"):
        event = event.to_protobuf()
    return event.SerializeToString() if hasattr(event, "SerializeToString") else event


@pytest.mark.long
@examples(25)
@given(st.dictionaries(st.sampled_from([".", "a", "b", "a/c", "a/d e"]), files(8), max_size=4), st.data())
def test_multiplexers(
    tmp_path_factory: pytest.TempPathFactory, logs: dict[str, list[bytes]], data: st.DataObject
) -> None:
    root = tmp_path_factory.mktemp("logs")
    ours, other = EventMultiplexer(), TheirMultiplexer(size_guidance=theirs.STORE_EVERYTHING_SIZE_GUIDANCE)
    name = data.draw(st.sampled_from([None, "exp"]))
    early = data.draw(st.booleans())
    if early:
        assert ours.Reload() is ours
        other.Reload()
    for run, records in logs.items():
        folder = root / run
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "events.out.tfevents.1").write_bytes(b"".join(records))
        if data.draw(st.booleans()):
            assert ours.AddRunsFromDirectory(str(root), name) is ours
            other.AddRunsFromDirectory(str(root), name)
            _same_runs(ours, other)
    ours.AddRunsFromDirectory(str(root), name).Reload()
    other.AddRunsFromDirectory(str(root), name).Reload()
    _same_runs(ours, other)
    if logs:
        gone = sorted(logs)[-1]
        shutil.rmtree(root / gone)
        with logged() as expected:
            other.Reload()
        with logged() as messages:
            ours.Reload()
        assert sorted(messages) == sorted(expected)
        _same_runs(ours, other)


def _same_runs(ours: Any, other: Any) -> None:
    assert ours.Runs() == other.Runs()
    assert ours.RunPaths() == other.RunPaths()
    assert ours.PluginRunToTagToContent("mine") == other.PluginRunToTagToContent("mine")
    for run, tags in other.Runs().items():
        assert outcome(ours.FirstEventTimestamp, run) == outcome(other.FirstEventTimestamp, run)
        assert outcome(ours.GetSourceWriter, run) == outcome(other.GetSourceWriter, run)
        assert outcome(ours.Graph, run) == outcome(other.Graph, run)
        for kind, method in KINDS.items():
            for tag in tags[kind]:
                events = [plain(event) for event in getattr(ours, method)(run, tag)]
                assert events == [plain(event) for event in getattr(other, method)(run, tag)]
    for call in ("Scalars", "Tensors", "SummaryMetadata"):
        assert outcome(getattr(ours, call), "absent", "x") == outcome(getattr(other, call), "absent", "x")


def test_multiplexer_runs_by_path(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.tfevents").write_bytes(header() + scalar(name, 1, 2.0))
    paths = {"first": str(tmp_path / "one")}
    ours, other = EventMultiplexer(paths).Reload(), TheirMultiplexer(paths).Reload()
    for multiplexer in (ours, other):
        before = multiplexer.GetAccumulator("first")
        assert multiplexer.AddRun(str(tmp_path / "one"), "first") is multiplexer
        assert multiplexer.GetAccumulator("first") is before
        multiplexer.AddRun(str(tmp_path / "two"), "first").AddRun(str(tmp_path / "two"))
        assert multiplexer.GetAccumulator("first") is not before
    _same_runs(ours, other)
    assert outcome(ours.AddRunsFromDirectory, str(tmp_path / "one" / "x.tfevents")) == outcome(
        other.AddRunsFromDirectory, str(tmp_path / "one" / "x.tfevents")
    )


def test_plugin_assets(tmp_path: Path) -> None:
    folder = tmp_path / "plugins" / "projector"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("hello")
    ours, other = both(str(tmp_path))
    for plugin in ("projector", "absent"):
        assert ours.PluginAssets(plugin) == other.PluginAssets(plugin)
        assert outcome(ours.RetrievePluginAsset, plugin, "a.txt") == outcome(
            other.RetrievePluginAsset, plugin, "a.txt"
        )


def test_record_is_what_the_loader_reads(tmp_path: Path) -> None:
    path = tmp_path / "records"
    path.write_bytes(record(b"one") + record(b"two" * 3000))
    assert list(our_loaders.RawEventFileLoader(str(path)).Load()) == [b"one", b"two" * 3000]
