"""What the writer wrote, read by TensorBoard's own loaders."""

from __future__ import annotations

import io
import sys
import types
import wave

import numpy as np
import pytest

# TensorBoard's readers without TensorFlow, even if that is installed: it takes seconds to import.
sys.modules.setdefault("tensorboard.compat.notf", types.ModuleType("tensorboard.compat.notf"))

import ml_dtypes  # noqa: E402
from tensorboard.backend.event_processing import plugin_event_accumulator  # noqa: E402
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # noqa: E402
from tensorboard.plugins.hparams import plugin_data_pb2  # noqa: E402
from tensorboard.util import tensor_util  # noqa: E402

import tbq  # noqa: E402

ALL = dict.fromkeys(("scalars", "tensors", "images", "audio", "histograms", "compressedHistograms"), 0)


def load(directory):
    return EventAccumulator(str(directory), size_guidance=ALL).Reload()


def load_tensors(directory):
    guidance = {plugin_event_accumulator.TENSORS: 0}
    return plugin_event_accumulator.EventAccumulator(str(directory), size_guidance=guidance).Reload()


def test_scalars(tmp_path):
    with tbq.SummaryWriter(tmp_path) as writer:
        for step in range(2000):
            writer.add_scalar("a", step / 3, step, walltime=float(step))
            writer.log({"b": -step, "c/d e": float("nan")}, step, float(step))
    got = load(tmp_path)
    want = [(float(step), step, float(np.float32(step / 3))) for step in range(2000)]
    assert [(event.wall_time, event.step, event.value) for event in got.Scalars("a")] == want
    assert [event.value for event in got.Scalars("b")] == [-step for step in range(2000)]
    assert np.isnan([event.value for event in got.Scalars("c/d e")]).all()
    tensors = load_tensors(tmp_path)
    assert [tensor_util.make_ndarray(e.tensor_proto).item() for e in tensors.Tensors("b")] == [
        -step for step in range(2000)
    ]


def test_exact_scalars(tmp_path):
    with tbq.SummaryWriter(tmp_path, exact=True) as writer:
        writer.add_scalar("float", 0.1, 1)
        writer.add_scalar("int", 2**60 + 1, 1)
    got = load_tensors(tmp_path)
    values = {
        tag: tensor_util.make_ndarray(got.Tensors(tag)[0].tensor_proto).item() for tag in ("float", "int")
    }
    assert values == {"float": 0.1, "int": 2**60 + 1}
    assert got.PluginTagToContent("scalars").keys() == {"float", "int"}


DTYPES = [
    *(
        np.dtype(name)
        for name in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
    ),
    np.dtype(ml_dtypes.bfloat16),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_tensors_of_every_dtype(tmp_path, dtype):
    arrays = {}
    for shape in [(), (0,), (3,), (2, 3)]:
        values = np.random.default_rng(1).integers(-100, 100, shape)
        arrays[str(shape)] = np.asarray(abs(values) if dtype.kind == "u" else values).astype(dtype)
    with tbq.SummaryWriter(tmp_path) as writer:
        for tag, array in arrays.items():
            writer.add_tensor(tag, array, 3)
    accumulator = load(tmp_path)
    for tag, array in arrays.items():
        (event,) = accumulator.Tensors(tag)
        _compare_tensor(event.tensor_proto, array)


def _compare_tensor(proto, array):
    dtype = array.dtype
    assert [dim.size for dim in proto.tensor_shape.dim] == list(array.shape)
    unreadable = {"uint32": (22, "uint32_val"), "uint64": (23, "uint64_val"), "bfloat16": (14, "half_val")}
    if dtype.name in unreadable:  # TensorBoard's decoder does not know these
        number, field = unreadable[dtype.name]
        bits = array.reshape(-1).view(np.uint16) if dtype.name == "bfloat16" else array.reshape(-1)
        assert (proto.dtype, list(getattr(proto, field))) == (number, bits.tolist())
    else:
        got = tensor_util.make_ndarray(proto)
        assert got.dtype == dtype
        assert np.array_equal(got, array)


def test_float8_tensors_keep_their_bits(tmp_path, read_events):
    array = np.array([1.5, -2.0], dtype=ml_dtypes.float8_e5m2)
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_tensor("t", array, 3)
    (value,) = read_events(tmp_path)[1].summary.value
    assert value.tensor.dtype == 24
    assert b"".join([value.tensor.float8_val]) == array.tobytes()


def test_histograms(tmp_path):
    values = np.random.default_rng(1).normal(size=500)
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_histogram("h", values, 3)
    (event,) = load(tmp_path).Histograms("h")
    histogram = event.histogram_value
    assert (histogram.min, histogram.max, histogram.num) == (values.min(), values.max(), 500)
    counts, _ = np.histogram(values, [-np.inf, *histogram.bucket_limit])
    assert counts.tolist() == histogram.bucket
    buckets = tensor_util.make_ndarray(load_tensors(tmp_path).Tensors("h")[0].tensor_proto)
    assert buckets[:, 2].sum() == 500


def test_media_and_text(tmp_path):
    picture = np.random.default_rng(1).integers(0, 255, (3, 4, 5), dtype=np.uint8)
    sound = np.sin(np.arange(100) / 5)
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_image("i", picture, 1)
        writer.add_audio("a", sound, 1, sample_rate=8000)
        writer.add_text("t", "words", 1)
    got = load(tmp_path)
    (image,) = got.Images("i")
    assert (image.width, image.height) == (5, 4)
    (audio,) = got.Audio("a")
    assert (audio.sample_rate, audio.length_frames, audio.content_type) == (8000, 100, "audio/wav")
    with wave.open(io.BytesIO(audio.encoded_audio_string)) as stream:
        samples = np.frombuffer(stream.readframes(100), dtype="<i2")
        assert (stream.getnchannels(), stream.getframerate()) == (1, 8000)
    assert np.array_equal(samples, (sound * 32767).astype(np.int16))
    (text,) = got.Tensors("t/text_summary")
    assert tensor_util.make_ndarray(text.tensor_proto).tolist() == [b"words"]
    assert got.SummaryMetadata("t/text_summary").plugin_data.plugin_name == "text"


def test_hparams_in_the_same_run(tmp_path):
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", 0.5, 1)
        writer.add_hparams(
            {"lr": 0.1, "bn": True, "name": "x"}, {"accuracy": 0.9}, {"lr": [0.1, 0.2]}, ".", 5
        )
    assert [path.is_file() for path in tmp_path.iterdir()] == [True]
    got = load_tensors(tmp_path)
    content = got.PluginTagToContent("hparams")
    session = plugin_data_pb2.HParamsPluginData.FromString(content["_hparams_/session_start_info"])
    assert dict(session.session_start_info.hparams.items())["lr"].number_value == 0.1
    assert session.session_start_info.hparams["bn"].bool_value is True
    assert session.session_start_info.hparams["name"].string_value == "x"
    experiment = plugin_data_pb2.HParamsPluginData.FromString(content["_hparams_/experiment"]).experiment
    assert [info.name for info in experiment.hparam_infos] == ["lr", "bn", "name"]
    assert [v.number_value for v in experiment.hparam_infos[0].domain_discrete.values] == [0.1, 0.2]
    assert [info.name.tag for info in experiment.metric_infos] == ["accuracy"]
    assert got.Tensors("accuracy")[0].step == 5


def test_a_purge_hides_the_old_points(tmp_path):
    for begin, end, options in ((0, 20, {}), (10, 15, {"purge_step": 10})):
        with tbq.SummaryWriter(tmp_path, **options) as writer:
            for step in range(begin, end):
                writer.add_scalar("x", begin, step, walltime=float(100 * begin + step))
    points = [(event.step, event.value) for event in load(tmp_path).Scalars("x")]
    assert points == [(step, 0.0) for step in range(10)] + [(step, 10.0) for step in range(10, 15)]


def test_graph_curves_meshes_and_layouts(tmp_path):
    from tensorboard.compat.proto.graph_pb2 import GraphDef

    graph = GraphDef()
    graph.node.add(name="x", op="Placeholder")
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_graph(graph)
        writer.add_pr_curve("pr", [0, 1, 1], [0.1, 0.6, 0.9], 1, num_thresholds=5)
        writer.add_mesh("m", np.zeros((1, 4, 3)), global_step=1)
        writer.add_custom_scalars_multilinechart(["a", "b"])
    got = load(tmp_path)
    assert got.Graph().node[0].name == "x"
    curve = tensor_util.make_ndarray(got.Tensors("pr")[0].tensor_proto)
    assert curve.shape == (6, 5)
    assert curve[0].tolist() == [2, 2, 2, 1, 0]
    assert got.SummaryMetadata("m_VERTEX").plugin_data.plugin_name == "mesh"
    assert got.SummaryMetadata("custom_scalars__config__").plugin_data.plugin_name == "custom_scalars"


def test_the_demo(tmp_path):
    directory = tbq.demo(tmp_path / "runs")
    resumed = load(directory / "resumed")
    assert len(resumed.Scalars("train/loss")) == 240
    assert np.isnan(load(directory / "diverged").Scalars("train/loss")[-1].value)
    tags = load(directory / "media").Tags()
    assert tags["images"] == ["samples"]
    assert tags["audio"] == ["tone"]
    assert tags["histograms"] == ["weights/layer1"]
    assert {"notes/text_summary", "embedding", "classifier", "custom_scalars__config__"} <= set(
        tags["tensors"]
    )
