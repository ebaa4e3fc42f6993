"""`DataProvider` of `tbq.compat` compared with TensorBoard's `MultiplexerDataProvider`, on random growing logs."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import eventfile as ef
import pytest
from boards import everything
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from protolog import event, header, write
from protolog import number as number_tensor
from tensorboard.compat.proto import summary_pb2

from tbq.compat.data_provider import DataProvider

EVERY = 10**9
METHODS = ("list_scalars", "list_tensors", "list_blob_sequences", "read_last_scalars")
READS = ("read_scalars", "read_tensors", "read_blob_sequences")


class Both:
    """The two providers over one log directory, with every point."""

    def __init__(self, logdir: Path) -> None:
        from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
        from tensorboard.context import RequestContext

        self._logdir = str(logdir)
        self._multiplexer = plugin_event_multiplexer.EventMultiplexer(
            size_guidance={"tensors": 0}, tensor_size_guidance={}
        )
        self._theirs = data_provider.MultiplexerDataProvider(self._multiplexer, self._logdir)
        self._ours = DataProvider(self._logdir)
        self._ctx = RequestContext()

    def compare(self) -> int:
        """Load what is new, and compare all answers; returns the number of blobs read."""
        self._multiplexer.AddRunsFromDirectory(self._logdir)
        self._multiplexer.Reload()
        self._ours.reload()
        self._same("experiment_metadata")
        plugins = self._same("list_plugins")
        runs = [
            sorted(provider.list_runs(self._ctx, experiment_id="e"), key=lambda run: run.run_id)
            for provider in (self._theirs, self._ours)
        ]
        assert runs[1] == runs[0]
        blobs = 0
        for plugin in sorted(plugins | {"none"}):
            for method in METHODS:
                self._same(method, plugin_name=plugin)
            for method in READS:
                found = self._same(method, plugin_name=plugin, downsample=EVERY)
                if method == "read_blob_sequences":
                    blobs += self._same_blobs(found)
        return blobs

    def _same(self, method: str, **arguments: Any) -> Any:
        theirs, ours = (
            getattr(provider, method)(self._ctx, experiment_id="e", **arguments)
            for provider in (self._theirs, self._ours)
        )
        if ours != theirs:  # NaN is not equal to itself
            assert shown(ours) == shown(theirs), (method, arguments)
        return ours

    def _same_blobs(self, found: dict[str, dict[str, Any]]) -> int:
        count = 0
        for run in found.values():
            for data in run.values():
                for key in [value.blob_key for datum in data for value in datum.values]:
                    ours = self._ours.read_blob(self._ctx, blob_key=key)
                    assert ours == self._theirs.read_blob(self._ctx, blob_key=key)
                    count += 1
        return count


def shown(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {key: shown(each) for key, each in answer.items()}
    if isinstance(answer, list):
        return [shown(each) for each in answer]
    if type(answer).__name__ == "ScalarDatum":  # an integer is a float here
        return repr((answer.step, answer.wall_time, float(answer.value)))
    return repr(answer)


def test_every_kind(tmp_path: Path) -> None:
    both = Both(everything(tmp_path))
    assert both.compare() > 100


def _custom(tag: str, data_class: int, dtype: str, dims: tuple[int, ...], step: int, wall: float) -> bytes:
    count = 1
    for dim in dims:
        count *= dim
    meta = ef.metadata("mine", content=b"c", data_class=data_class)
    values: list[Any] = [b"x" * (step % 9)] * count if dtype == "string" else [step % 100] * count
    return ef.event(
        ef.summary(ef.value(tag, ef.tensor(dtype, values, dims=dims), meta)), step=step, wall=wall
    )


def _value(which: int, step: int, wall: float, number: float, large: bytes) -> bytes:
    """One event; each kind has a tag of its own."""
    makers: list[Any] = [
        lambda: ef.scalar("simple", step, number, wall),
        lambda: ef.tensor_scalar("double", step, number, dtype="float64", wall=wall),
        lambda: ef.tensor_scalar("int", step, step, dtype="int32", dims=(1,), wall=wall),
        lambda: ef.image("image", step, large, width=3, height=step, wall=wall),
        lambda: ef.tensor_images("images", step, large, b"second", wall=wall),
        lambda: ef.histo("histo", step, [-1.0, 0.0, step], [0.0, 1.0, step % 3], wall),
        lambda: ef.audio("audio", step, large, wall),
        lambda: ef.text("text", step, large, wall),
        lambda: _custom("custom/scalar", 1, "float32", (), step, wall),
        lambda: _custom("custom/tensor", 2, "float64", (2, step % 3), step, wall),
        lambda: _custom("custom/blob", 3, "string", (2,), step, wall),
        lambda: ef.event(ef.bytes_field(4, large), step=step, wall=wall),  # graph_def
        lambda: _custom("custom/none", 0, "float32", (), step, wall),
    ]
    made: bytes = makers[which]()
    return made


@st.composite
def events(draw: Any) -> list[bytes]:
    """Events of a session, whose steps rise as those of one writer do."""
    made = []
    step = 0
    for _ in range(draw(st.integers(0, 12))):
        step += draw(st.integers(1, 3))
        wall = float(draw(st.integers(1, 2**20)))
        number = draw(st.floats(width=32))
        large = bytes(draw(st.sampled_from([3, 5000])))
        made.append(_value(draw(st.integers(0, 12)), step, wall, number, large))
    return made


@pytest.mark.long
@examples(60)
@given(st.lists(st.tuples(st.sampled_from(["a", "b/c", "."]), events(), st.integers(0, 30)), max_size=5))
def test_random_logs_that_grow(writes: list[tuple[str, list[bytes], int]]) -> None:
    """Each write appends a session to the file of its run, the last record perhaps in two halves."""
    with tempfile.TemporaryDirectory() as folder:
        both = Both(Path(folder))
        for run, payloads, cut in writes:
            path = Path(folder) / run / "events.out.tfevents.1.host"
            path.parent.mkdir(exist_ok=True, parents=True)
            data = ef.event_file([ef.version(), *payloads])
            with path.open("ab") as file:
                file.write(data[: len(data) - cut])
                file.flush()
                both.compare()
                file.write(data[len(data) - cut :])
            both.compare()


def test_sessions_of_several_files(tmp_path: Path) -> None:
    """TensorBoard's Python loader keeps every point of a resumed run, in the order of files."""
    for number, steps in enumerate([range(10), range(6, 14), range(3, 8)]):
        payloads = [ef.version(10.0 + 100 * number)]
        payloads += [ef.scalar("loss", step, step + number, 11.0 + 100 * number + step) for step in steps]
        (tmp_path / f"events.out.tfevents.{number}.host").write_bytes(ef.event_file(payloads))
    Both(tmp_path).compare()


def test_values_that_are_not_one_number(tmp_path: Path) -> None:
    payloads = [ef.version()]
    for step in range(3):
        held = ef.tensor("float32", [1.0] * 10, dims=(10,))
        payloads.append(ef.event(ef.summary(ef.value("ten", held, ef.SCALARS)), step=step))
    (tmp_path / "events.out.tfevents.1.host").write_bytes(ef.event_file(payloads))
    both = Both(tmp_path)
    both._multiplexer.AddRunsFromDirectory(str(tmp_path)).Reload()
    for provider in (both._theirs, both._ours):
        with pytest.raises(ValueError, match="can only convert an array of size 1 to a Python scalar"):
            provider.read_scalars(both._ctx, experiment_id="e", plugin_name="scalars", downsample=9)
    both._same("list_scalars", plugin_name="scalars")


def _named_value(form: str, names: tuple[str, str] | None) -> Any:
    """A value of the tag `t`, with a display name and a description in its metadata, or without any."""
    value = summary_pb2.Summary.Value(tag="t")
    if form == "simple":
        value.simple_value = 0.5
    elif form == "tensor":
        value.tensor.CopyFrom(number_tensor(0.5))
    elif form == "image":
        value.image.CopyFrom(summary_pb2.Summary.Image(width=1, height=2, encoded_image_string=b"png"))
    else:
        value.histo.CopyFrom(summary_pb2.HistogramProto(max=1, num=1, bucket_limit=[1.0], bucket=[1.0]))
    if names is not None or form == "tensor":
        value.metadata.display_name, value.metadata.summary_description = names or ("", "")
        if form in ("simple", "tensor"):
            value.metadata.plugin_data.plugin_name = "scalars"
    return value


@examples(60)
@given(
    st.sampled_from([["simple", "tensor"], ["image"], ["histogram"]]).flatmap(
        lambda forms: st.lists(
            st.tuples(st.sampled_from(forms), st.none() | st.tuples(*[st.sampled_from(["", "A", "B"])] * 2)),
            min_size=1,
            max_size=4,
        )
    ),
    st.integers(0, 4),
)
def test_names_and_descriptions(values: list[tuple[str, Any]], cut: int) -> None:
    """Those of the first value count, whatever metadata comes later, in any file."""
    with tempfile.TemporaryDirectory() as folder:
        events = [event(step, 100.0 + step, _named_value(*each)) for step, each in enumerate(values)]
        write(Path(folder, "run"), header(1.0), *events[:cut], file="events.out.tfevents.1")
        write(Path(folder, "run"), header(2.0), *events[cut:], file="events.out.tfevents.2")
        Both(Path(folder)).compare()
