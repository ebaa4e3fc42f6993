"""`DataProvider`: fewer points, filters, refusals, logs that change under it, and life without TensorBoard."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import eventfile as ef
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard import errors
from tensorboard.context import RequestContext
from tensorboard.data.provider import RunTagFilter

import tbq
from tbq.compat.data_provider import DataProvider, MultiplexerDataProvider
from tbq.compat.event_multiplexer import EventMultiplexer
from tbq.compat.provider.requests import encode_key
from tbq.compat.provider.values import spread, thin
from tbq.errors import UsageError
from tbq.following.listing import Points

CTX = RequestContext()


def scalars(provider: DataProvider, **arguments: Any) -> dict[str, dict[str, list[float]]]:
    arguments = {"downsample": 10**9, **arguments}
    found = provider.read_scalars(CTX, experiment_id="", plugin_name="scalars", **arguments)
    return {run: {tag: [d.value for d in data] for tag, data in tags.items()} for run, tags in found.items()}


def write(folder: Path, values: list[float], tag: str = "loss", first: int = 0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "events.out.tfevents.1.host"
    payloads = [] if path.exists() else [ef.version()]
    payloads += [ef.scalar(tag, first + i, value, ef.WALL + i) for i, value in enumerate(values)]
    with path.open("ab") as file:
        file.write(ef.event_file(payloads))
    return path


# Values that are not finite pass through, but are never the extremes.
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), max_size=60), st.integers(0, 70))
def test_fewer_points_keep_the_extremes_and_the_last(values: list[float], most: int) -> None:
    count = len(values)
    points = Points(np.arange(count), np.arange(count, dtype=float), np.array(values, float))
    kept = thin(points, most)
    assert len(kept.steps) <= most and (np.diff(kept.steps) > 0).all()
    assert len(kept.steps) == count or most < count
    if count and most:
        assert kept.steps[-1] == count - 1
    if count and most >= 3:
        assert max(kept.values) == max(values) and min(kept.values) == min(values)
    assert all(kept.values == np.array(values, float)[kept.steps])


@given(st.lists(st.integers(), max_size=40), st.integers(0, 50))
def test_fewer_values_are_spread(items: list[int], most: int) -> None:
    numbered = list(enumerate(items))
    kept = spread(numbered, most)
    assert (
        len(kept) == min(most, len(items)) and kept == sorted(kept) and len({i for i, _ in kept}) == len(kept)
    )
    if items and most:
        assert kept[-1] == numbered[-1]


def test_filters(tmp_path: Path) -> None:
    for run in "abc":
        write(tmp_path / run, [1.0, 2.0])
        write(tmp_path / run, [3.0], tag="other")
    provider = DataProvider(tmp_path)
    assert scalars(provider).keys() == {"a", "b", "c"}
    chosen = RunTagFilter(runs=["a", "none"], tags=["other", "none"])
    assert scalars(provider, run_tag_filter=chosen) == {"a": {"other": [3.0]}}
    assert scalars(provider, run_tag_filter=RunTagFilter(runs=[])) == {}
    assert scalars(provider, run_tag_filter=RunTagFilter(tags=["none"])) == {}
    listed = provider.list_scalars(CTX, experiment_id="", plugin_name="scalars", run_tag_filter=chosen)
    assert {run: list(tags) for run, tags in listed.items()} == {"a": ["other"]}
    assert scalars(provider, downsample=0)["a"] == {"loss": [], "other": []}
    assert scalars(provider, downsample=1)["a"] == {"loss": [2.0], "other": [3.0]}


def test_answers_are_the_caller_s_own(tmp_path: Path) -> None:
    write(tmp_path / "a", [1.0])
    provider = DataProvider(tmp_path)
    for _ in range(2):
        listed = provider.list_scalars(CTX, experiment_id="", plugin_name="scalars")
        assert list(listed["a"]) == ["loss"]
        listed["a"].clear()
        listed.clear()


def test_a_look_that_is_interrupted_is_taken_in_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "a", [1.0])
    provider = DataProvider(tmp_path, reload_interval=0.0)
    assert scalars(provider) == {"a": {"loss": [1.0]}}
    write(tmp_path / "a", [2.0], "acc", 1)

    def interrupt(_run: str) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(provider, "_shown", interrupt)
        with pytest.raises(KeyboardInterrupt):
            provider.reload()
    provider.reload()
    assert scalars(provider) == {"a": {"acc": [2.0], "loss": [1.0]}}


def test_refusals(tmp_path: Path) -> None:
    write(tmp_path, [1.0])
    provider = DataProvider(tmp_path)
    with pytest.raises(TypeError, match="ctx must be a RequestContext"):
        provider.list_runs(experiment_id="")
    with pytest.raises(TypeError, match="experiment_id must be"):
        provider.list_runs(CTX, experiment_id=7)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="required but not given"):
        provider.read_scalars(CTX, experiment_id="", plugin_name="scalars")
    with pytest.raises(TypeError, match="must be an int"):
        provider.read_scalars(CTX, experiment_id="", plugin_name="scalars", downsample="9")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="reload_interval"):
        DataProvider(tmp_path, reload_interval=-1)


def test_blobs_that_are_not_there(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1.host"
    path.write_bytes(ef.event_file([ef.version(), ef.image("i", 3, bytes(9000)), ef.scalar("s", 1, 1.0)]))
    provider = DataProvider(tmp_path)
    found = provider.read_blob_sequences(CTX, experiment_id="", plugin_name="images", downsample=9)
    key = found["."]["i"][0].values[2].blob_key
    assert provider.read_blob(CTX, blob_key=key) == bytes(9000)
    for parts in (
        ("x", "i", 3, 0),
        (".", "x", 3, 0),
        (".", "i", 4, 0),
        (".", "i", 3, 7),
        (".", "i", 3, -1),
        (".", "s", 1, 0),
    ):
        with pytest.raises(errors.NotFoundError) as raised:
            provider.read_blob(CTX, blob_key=encode_key("", "images", *parts))
        assert isinstance(raised.value, KeyError)
    for bad in ("", "x", "e30", "W10", "é", encode_key("", "", 1, "", 0, 0)):
        with pytest.raises(errors.InvalidArgumentError):
            provider.read_blob(CTX, blob_key=bad)
    path.write_bytes(bytes(100_000))  # overwritten while it is looked at
    with pytest.raises(errors.NotFoundError):
        provider._interval = 0
        provider.read_blob(CTX, blob_key=key)


def test_a_log_that_changes(tmp_path: Path) -> None:
    logdir = tmp_path / "logs"
    provider = DataProvider(logdir)
    assert scalars(provider) == {} and provider.list_runs(CTX, experiment_id="") == []
    path = write(logdir / "a", [1.0])
    provider.reload()
    assert scalars(provider) == {"a": {"loss": [1.0]}}
    write(logdir / "a", [2.0], first=1)
    write(logdir / "b", [5.0])
    provider.reload()
    assert scalars(provider) == {"a": {"loss": [1.0, 2.0]}, "b": {"loss": [5.0]}}
    assert [run.run_name for run in provider.list_runs(CTX, experiment_id="")] == ["a", "b"]
    data = path.read_bytes()
    path.unlink()
    provider.reload()
    assert scalars(provider).keys() == {"b"}
    path.write_bytes(data[:-20])  # a shorter file of the same name
    provider.reload()
    assert scalars(provider)["a"] == {"loss": [1.0]}
    shutil.rmtree(logdir)
    provider.reload()
    assert scalars(provider) == {} and provider.list_plugins(CTX, experiment_id="") == frozenset()
    write(logdir / "c", [9.0])
    provider.reload()
    assert scalars(provider) == {"c": {"loss": [9.0]}}


def test_calls_look_by_themselves(tmp_path: Path) -> None:
    write(tmp_path, [1.0])
    once, always = DataProvider(tmp_path, reload_interval=0), DataProvider(tmp_path, reload_interval=1e-9)
    assert scalars(once) == scalars(always)
    write(tmp_path, [2.0], first=1)
    always._follower._idle_cost = 0
    assert scalars(always)["."]["loss"] == [1.0, 2.0] and scalars(once)["."]["loss"] == [1.0]


def test_damage_is_logged_and_nothing_else_lost(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(tmp_path / "bad", [1.0, 2.0, 3.0])
    data = bytearray(path.read_bytes())
    data[len(data) - 60] ^= 0xFF
    path.write_bytes(data)
    write(tmp_path / "good", [7.0])
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "events.out.tfevents.2").write_bytes(b"not an event file, but called like one")
    with caplog.at_level("WARNING", logger="tensorboard"):
        found = scalars(DataProvider(tmp_path))
    assert found["good"] == {"loss": [7.0]} and len(found["bad"]["loss"]) == 2
    assert any(str(path) in record.getMessage() for record in caplog.records)


def test_hostile_names(tmp_path: Path) -> None:
    names = ["../up", "<script>alert(1)</script>", "a\nb", "\u202e", "x" * 3000, "%2e%2e/", "", "\x00"]
    payloads = [ef.version()]
    payloads += [ef.scalar(name, 1, float(i)) for i, name in enumerate(names)]
    payloads += [ef.scalar(b"\xff\xfe", 1, 99.0), ef.image("../../etc/passwd", 1, bytes(9000))]
    (tmp_path / "r\nun").mkdir()
    (tmp_path / "r\nun" / "events.out.tfevents.1").write_bytes(ef.event_file(payloads))
    provider = DataProvider(tmp_path)
    found = scalars(provider)
    assert len(found) == 1
    tags = next(iter(found.values()))
    assert all(tags[name] == [float(i)] for i, name in enumerate(names)) and [99.0] in tags.values()
    blobs = provider.read_blob_sequences(CTX, experiment_id="", plugin_name="images", downsample=9)
    (run,) = blobs
    key = blobs[run]["../../etc/passwd"][0].values[2].blob_key
    assert key.isascii() and provider.read_blob(CTX, blob_key=key) == bytes(9000)


def test_names_of_directories(tmp_path: Path) -> None:
    write(tmp_path / "x", [1.0])
    write(tmp_path / "x" / "sub", [2.0])
    write(tmp_path / "y", [3.0])
    provider = DataProvider({"one": str(tmp_path / "x"), "two": str(tmp_path / "y")})
    values = {run: tags["loss"] for run, tags in scalars(provider).items()}
    assert values == {"one/.": [1.0], "one/sub": [2.0], "two/.": [3.0]}


def test_restarts(tmp_path: Path) -> None:
    for number, steps in enumerate([range(4), range(2, 5)]):
        payloads = [ef.version(10.0 + 100 * number)]
        payloads += [
            ef.scalar("loss", step, step + 10 * number, 11.0 + 100 * number + step) for step in steps
        ]
        (tmp_path / f"events.out.tfevents.{number}").write_bytes(ef.event_file(payloads))
    assert scalars(DataProvider(tmp_path))["."]["loss"] == [0, 1, 2, 3, 12, 13, 14]
    for rule in ("tensorboard", "resume", "last"):
        assert scalars(DataProvider(tmp_path, restarts=rule))["."]["loss"] == [0, 1, 12, 13, 14]


def test_many_threads_ask_while_a_log_grows(tmp_path: Path) -> None:
    for run in range(20):
        write(tmp_path / str(run), [0.0])
    provider = DataProvider(tmp_path, reload_interval=1e-6)
    wrong: list[BaseException] = []

    def ask() -> None:
        try:
            for _ in range(15):
                for values in scalars(provider).values():
                    assert values["loss"] == [float(i) for i in range(len(values["loss"]))]
                assert len(provider.list_scalars(CTX, experiment_id="", plugin_name="scalars")) == 20
        except BaseException as failure:
            wrong.append(failure)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for step in range(1, 40):
        write(tmp_path / str(step % 20), [float(1 + (step - 1) // 20)], first=step)
    for thread in threads:
        thread.join()
    assert not wrong


def test_without_tensorboard(tmp_path: Path) -> None:
    """Look-alikes of TensorBoard's classes, equal and hashable as those are."""
    tbq.demo(tmp_path / "runs")
    code = f"""
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("tensorboard", "google"): raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Block())
from tbq.compat.data_provider import DataProvider, MultiplexerDataProvider
from tbq.compat.event_multiplexer import EventMultiplexer
from tbq.compat.provider.classes import provider
class RequestContext: pass
ctx = RequestContext()
ours = DataProvider({str(tmp_path / "runs")!r})
chosen = provider().RunTagFilter(runs=["media"])
for plugin in ours.list_plugins(ctx, experiment_id=""):
    for method in ("list_scalars", "list_tensors", "list_blob_sequences", "read_last_scalars"):
        a, b = (getattr(ours, method)(ctx, experiment_id="", plugin_name=plugin) for _ in "ab")
        assert a == b or plugin == "scalars"
        {{each for tags in a.values() for each in tags.values()}}
    for method in ("read_scalars", "read_tensors", "read_blob_sequences"):
        wanted = dict(experiment_id="", plugin_name=plugin, downsample=9, run_tag_filter=chosen)
        a, b = (getattr(ours, method)(ctx, **wanted) for _ in "ab")
        assert a == b, method
        repr(a)
try: ours.read_blob(ctx, blob_key="W10")
except ValueError: print("refused")
try: provider().RunTagFilter(runs="media")
except TypeError as wrong: print(wrong)
print(ours.list_hyperparameters(ctx, experiment_ids=[]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "refused",
        "runs: expected `None` or collection of strings; got <class 'str'>: 'media'",
        "ListHyperparametersResult(hyperparameters=[], session_groups=[])",
    ]


ODD_PLUGINS = ("scalars", "histograms", "images", "audio", "text", "hparams", "mesh", "graphs", "mine", "")


@pytest.mark.parametrize("data_class", [0, 1, 2, 3, 9])
def test_a_tag_whose_metadata_is_odd_does_not_hide_the_others(tmp_path: Path, data_class: int) -> None:
    """Metadata may claim any plugin and class for any value; the dashboards must work without it."""
    from protolog import event, header, number, scalar, tensor_value
    from protolog import write as write_log

    for plugin in ODD_PLUGINS:
        odd = tensor_value("odd", number(0.5), plugin)
        odd.metadata.data_class = data_class
        later = tensor_value("odd", number(0.25))
        rows = [scalar("loss", 1, 0.5), event(1, 5.0, odd), event(2, 6.0, later), scalar("odd", 3, 0.125)]
        (tmp_path / f"of {plugin}").mkdir()
        write_log(tmp_path / f"of {plugin}", header(), *rows)
    provider = DataProvider(tmp_path)
    assert {run: tags["loss"] for run, tags in scalars(provider).items()} == {
        f"of {plugin}": [0.5] for plugin in ODD_PLUGINS
    }
    for name in ODD_PLUGINS:
        wanted: Any = {"experiment_id": "", "plugin_name": name}
        for kind in ("scalars", "tensors", "blob_sequences"):
            getattr(provider, f"list_{kind}")(CTX, **wanted)
            getattr(provider, f"read_{kind}")(CTX, downsample=100, **wanted)
        provider.read_last_scalars(CTX, **wanted)


def test_a_scalar_that_becomes_a_tensor_without_metadata(tmp_path: Path) -> None:
    from protolog import event, header, number, scalar, tensor_value
    from protolog import write as write_log

    write_log(tmp_path, header(), scalar("loss", 1, 0.5), event(2, 6.0, tensor_value("loss", number(0.25))))
    assert scalars(DataProvider(tmp_path))["."]["loss"][0] == 0.5


@pytest.mark.parametrize(
    ("wanted", "error"),
    [
        ({"experiment_id": ""}, "plugin_name"),
        ({"plugin_name": "scalars"}, "experiment_id"),
        ({"experiment_id": "", "plugin_name": "scalars", "other": 3}, "other"),
        ({"experiment_id": 3, "plugin_name": "scalars"}, "experiment_id"),
    ],
)
def test_arguments_that_are_missing_or_unknown(tmp_path: Path, wanted: Any, error: str) -> None:
    provider = DataProvider(write(tmp_path, [0.5]).parent)
    for name in ("list_scalars", "read_scalars", "read_last_scalars", "list_tensors", "read_blob_sequences"):
        with pytest.raises(TypeError, match=error):
            getattr(provider, name)(CTX, **wanted)


def test_the_runs_of_a_multiplexer(tmp_path: Path) -> None:
    for run in ("a", "a/b", "c"):
        write(tmp_path / "logs" / run, [0.5], first=7)
    (tmp_path / "logs" / "empty").mkdir()
    (tmp_path / "logs" / "empty" / "x.tfevents").touch()
    logdir = str(tmp_path / "logs")
    multiplexer = EventMultiplexer().AddRunsFromDirectory(logdir).Reload()
    provider, plain = MultiplexerDataProvider(multiplexer, logdir), DataProvider(logdir)
    wanted = {"experiment_id": "", "plugin_name": "scalars"}
    assert provider.experiment_metadata(CTX, experiment_id="").data_location == logdir
    assert provider.list_plugins(CTX, experiment_id="") == {"scalars"}
    assert {run.run_id: run.start_time for run in provider.list_runs(CTX, experiment_id="")} == {
        "a": ef.WALL, "a/b": ef.WALL, "c": ef.WALL, "empty": None
    }  # fmt: skip
    assert provider.list_scalars(CTX, **wanted) == plain.list_scalars(CTX, **wanted)
    assert provider.read_scalars(CTX, **wanted, downsample=9) == plain.read_scalars(
        CTX, **wanted, downsample=9
    )


def test_a_multiplexer_with_runs_of_its_own_names(tmp_path: Path) -> None:
    for run in ("a", "b", "c"):
        write(tmp_path / run, [0.5], first=7)
    multiplexer = EventMultiplexer({"first": str(tmp_path / "a"), "x/second": str(tmp_path / "b")}).Reload()
    provider = MultiplexerDataProvider(multiplexer, str(tmp_path))
    listed = provider.list_scalars(CTX, experiment_id="", plugin_name="scalars")
    assert sorted(listed) == ["first", "x/second"]
    chosen = MultiplexerDataProvider(EventMultiplexer({"b": str(tmp_path / "b")}), str(tmp_path))
    assert list(chosen.list_scalars(CTX, experiment_id="", plugin_name="scalars")) == ["b"]
