"""Each kind that tensorboardX and TensorBoard's own summaries write is read back unchanged."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image
from protos import hparams_value, session_end, session_start, strings, tensor, value, wav, write
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary
from tensorboard.data_compat import migrate_value
from tensorboard.util.tensor_util import make_ndarray, make_tensor_proto
from tensorboardX import SummaryWriter

import tbq
from tbq.schema import schema

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> tuple[tbq.LogDir, dict[str, Any]]:
    """A run with every kind that tensorboardX can log, and what was logged."""
    rng = np.random.default_rng(5)
    root = tmp_path_factory.mktemp("kinds")
    data: dict[str, Any] = {
        "image": rng.integers(0, 255, (3, 9, 12), dtype=np.uint8),
        "values": rng.normal(size=500),
        "sound": rng.integers(-32000, 32000, (800, 1)).astype(np.int16),
        "labels": rng.integers(0, 2, 60),
        "predictions": rng.random(60),
        "vertices": rng.random((1, 6, 3)).astype(np.float32),
        "faces": rng.integers(0, 6, (1, 4, 3), dtype=np.int32),
        "colors": rng.integers(0, 255, (1, 6, 3), dtype=np.uint8),
    }
    with SummaryWriter(str(root / "run")) as writer:
        writer.add_scalar("loss", 0.5, 1)
        writer.add_image("picture", data["image"], 3)
        writer.add_histogram("weights", data["values"], 3)
        writer.add_text("notes", "grüße **dich**", 3)
        writer.add_pr_curve("curve", data["labels"], data["predictions"], 3, num_thresholds=11)
        writer.add_mesh("cube", data["vertices"], data["colors"], data["faces"], global_step=3)
        writer.add_hparams({"lr": 0.1, "name": "adam", "depth": 3}, {"accuracy": 0.9})
    audio = Summary.Audio(
        sample_rate=8000,
        num_channels=1,
        length_frames=800,
        encoded_audio_string=wav(data["sound"]),
        content_type="audio/wav",
    )
    write(root, value("sound", audio=audio), run="sounds", first_step=3)
    return tbq.open(root), data


def test_every_table_has_its_schema(logged: tuple[tbq.LogDir, dict[str, Any]]) -> None:
    from tbq import _core

    for name in _core.tables():
        table = logged[0].table(name).to_arrow()
        table.validate(full=True)
        assert table.schema == schema(name), name


def test_images(logged: tuple[tbq.LogDir, dict[str, Any]]) -> None:
    log, data = logged
    picture = log.image("picture", step=3)
    assert np.array_equal(np.asarray(picture), data["image"].transpose(1, 2, 0))
    row = log.images().to_arrow().to_pylist()[0]
    assert (row["width"], row["height"], row["format"], row["colorspace"], row["index"]) == (
        12,
        9,
        "png",
        3,
        0,
    )


def test_images_v2_several_to_an_event(tmp_path: Path) -> None:
    encoded = []
    for kind in ("PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF"):
        out = io.BytesIO()
        Image.new("RGB", (7, 5), (200, 10, 30)).save(out, kind)
        encoded.append(out.getvalue())
    write(tmp_path, value("x", "images", tensor=strings((8,), b"7", b"5", *encoded)))
    log = tbq.open(tmp_path)
    rows = log.images().to_arrow()
    assert rows["format"].to_pylist() == ["png", "jpeg", "gif", "bmp", "webp", "tiff"]
    assert rows["index"].to_pylist() == list(range(6))
    assert rows["data"].to_pylist() == encoded
    for i, each in enumerate(encoded):
        assert log.image("x", index=i).tobytes() == Image.open(io.BytesIO(each)).tobytes()
    with pytest.raises(tbq.TbqError, match="6 images"):
        log.image("x", index=6)


def test_sizes_are_read_from_the_image_where_the_event_lacks_them(tmp_path: Path) -> None:
    values = []
    for kind in ("PNG", "JPEG", "GIF", "BMP", "WEBP"):
        out = io.BytesIO()
        Image.new("RGB", (17, 15)).save(out, kind)
        values.append(value("x", image=Summary.Image(encoded_image_string=out.getvalue())))
    table = tbq.open(write(tmp_path, *values)).images().to_arrow()
    assert set(zip(table["width"].to_pylist(), table["height"].to_pylist(), strict=True)) == {(17, 15)}


def test_histograms_v1_as_tensorboard_migrates_them(logged: tuple[tbq.LogDir, dict[str, Any]]) -> None:
    log, data = logged
    row = log.histograms().to_arrow().to_pylist()[0]
    assert row["num"] == 500
    assert row["min"] == data["values"].min()
    assert sum(row["count"]) == 500
    assert log.histogram("weights").quantiles([0, 1]).tolist() == [data["values"].min(), data["values"].max()]


HISTOGRAMS = [
    HistogramProto(
        min=-1, max=4, num=6, sum=3, sum_squares=9, bucket_limit=[0, 1, 2, 1.7e308], bucket=[0, 2, 0, 4]
    ),
    HistogramProto(min=0, max=0, num=0, bucket_limit=[1, 2], bucket=[0, 0]),
    HistogramProto(min=3, max=3, num=1, bucket_limit=[1e308], bucket=[1]),
    HistogramProto(),
]


@pytest.mark.parametrize("proto", HISTOGRAMS)
def test_histogram_edges_like_data_compat(proto: Any, tmp_path: Path) -> None:
    one = value("h", histo=proto)
    row = tbq.open(write(tmp_path, one)).histograms().to_arrow().to_pylist()[0]
    migrated = make_ndarray(migrate_value(one).tensor)
    got = np.array([row["left"], row["right"], row["count"]], np.float32).T.reshape(-1, 3)
    assert np.array_equal(got, migrated)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.float16])
def test_histograms_v2_of_any_dtype(dtype: Any, tmp_path: Path) -> None:
    buckets = np.array([[0, 1, 5], [1, 3, 2]], dtype)
    write(tmp_path, value("h", "histograms", tensor=make_tensor_proto(buckets)))
    row = tbq.open(tmp_path).histograms().to_arrow().to_pylist()[0]
    assert (row["left"], row["right"], row["count"]) == ([0, 1], [1, 3], [5, 2])
    assert row["min"] is None and row["num"] is None


def test_audio(logged: tuple[tbq.LogDir, dict[str, Any]]) -> None:
    log, data = logged
    rate, samples = log.waveform("sound")
    assert (rate, samples.shape) == (8000, (800, 1))
    assert np.array_equal(samples, data["sound"])
    row = log.audio().to_arrow().to_pylist()[0]
    assert (row["sample_rate"], row["channels"], row["frames"], row["content_type"]) == (
        8000,
        1,
        800,
        "audio/wav",
    )


def test_audio_v2(logged: tuple[tbq.LogDir, dict[str, Any]], tmp_path: Path) -> None:
    clip = wav(logged[1]["sound"])
    write(tmp_path, value("a", "audio", tensor=strings((2, 2), clip, b"one", clip, b"two")))
    log = tbq.open(tmp_path)
    table = log.audio().to_arrow()
    assert table["label"].to_pylist() == ["one", "two"]
    assert table["frames"].to_pylist() == [800, 800]
    assert log.waveform("a", index=1)[1].shape == (800, 1)


@pytest.mark.parametrize(
    ("code", "bits", "dtype"), [(1, 8, "u1"), (1, 16, "<i2"), (1, 32, "<i4"), (3, 32, "<f4")]
)
def test_waveforms_of_every_width(code: int, bits: int, dtype: str) -> None:
    import struct

    from tbq.kinds.audio import waveform

    samples = np.arange(12).astype(dtype).reshape(6, 2)
    fmt = struct.pack("<HHIIHH", code, 2, 44100, 0, bits // 4, bits)
    body = samples.tobytes()
    clip = (
        b"RIFF\0\0\0\0WAVEfmt " + struct.pack("<I", 16) + fmt + b"data" + struct.pack("<I", len(body)) + body
    )
    rate, got = waveform(clip)
    assert rate == 44100
    assert np.array_equal(got, samples)


def test_texts_of_any_rank(logged: tuple[tbq.LogDir, dict[str, Any]], tmp_path: Path) -> None:
    log = logged[0]
    assert log.text("notes") == "grüße **dich**"
    assert log.texts(tag="notes").to_arrow()["text"].to_pylist() == ["grüße **dich**"]
    write(
        tmp_path,
        value("a", "text", tensor=strings((), b"plain")),
        value("b", "text", tensor=strings((2, 2), b"1", b"2", b"3", b"4")),
    )
    other = tbq.open(tmp_path)
    table = other.texts().to_arrow()
    assert table["index"].to_pylist() == [[], [0, 0], [0, 1], [1, 0], [1, 1]]
    assert other.text("b") == "| 1 | 2 |\n| 3 | 4 |"


def test_pr_curves(logged: tuple[tbq.LogDir, dict[str, Any]], read_events: Any) -> None:
    log, _ = logged
    table = log.pr_curves().to_arrow()
    proto = next(v for e in read_events(log.files[0]) for v in e.summary.value if v.tag == "curve").tensor
    want = make_ndarray(proto)
    names = ("true_pos", "false_pos", "true_neg", "false_neg", "precision", "recall")
    assert np.array_equal(np.array([table[name].to_numpy() for name in names], np.float32), want)
    assert table["threshold"].to_pylist() == np.linspace(0, 1, 11).tolist()


def test_meshes(logged: tuple[tbq.LogDir, dict[str, Any]]) -> None:
    log, data = logged
    mesh = log.mesh("cube", step=3)
    assert np.array_equal(mesh.vertices, data["vertices"])
    assert mesh.faces is not None and np.array_equal(mesh.faces, data["faces"])
    assert mesh.colors is not None and np.array_equal(mesh.colors, data["colors"])
    table = log.meshes().to_arrow()
    assert sorted(table["component"].to_pylist()) == ["color", "face", "vertex"]
    assert set(table["name"].to_pylist()) == {"cube"}


def test_hparams(logged: tuple[tbq.LogDir, dict[str, Any]]) -> None:
    log = logged[0]
    wide = log.hparams().wide().to_arrow().to_pylist()
    assert [(row["lr"], row["name"], row["depth"], row["status"]) for row in wide] == [
        (0.1, "adam", 3.0, "success")
    ]
    assert log.table("hparam_metrics").to_arrow()["name"].to_pylist() == ["accuracy"]
    assert sorted(log.table("hparam_domains").to_arrow()["name"].to_pylist()) == ["depth", "lr", "name"]


def test_summary_folds_the_run_of_add_hparams(logged: tuple[tbq.LogDir, dict[str, Any]]) -> None:
    log, data = logged
    assert len(log.runs) == 2 and len(log.sub_runs) == 1
    rows = log.summary(best={"loss": "min"}, require="loss", media=True).to_arrow().to_pylist()
    assert len(rows) == 1
    row = rows[0]
    assert (row["run"], row["loss"], row["accuracy"]) == ("run", 0.5, float(np.float32(0.9)))
    assert (row["hparam.lr"], row["hparam.name"], row["notes"]) == (0.1, "adam", "grüße **dich**")
    assert (row["loss.best"], row["loss.best_step"]) == (0.5, 1)
    image = Image.open(io.BytesIO(row["picture"]))
    assert np.array_equal(np.asarray(image), data["image"].transpose(1, 2, 0))


def test_experiment_domains_as_the_plugin_says(tmp_path: Path) -> None:
    from tensorboard.plugins.hparams import api_pb2

    experiment = api_pb2.Experiment(
        hparam_infos=[
            api_pb2.HParamInfo(
                name="lr", type=3, domain_interval=api_pb2.Interval(min_value=0.1, max_value=2)
            ),
            api_pb2.HParamInfo(name="opt", type=1, description="which"),
        ],
        metric_infos=[api_pb2.MetricInfo(name=api_pb2.MetricName(group="val", tag="acc"), dataset_type=2)],
    )
    domain = experiment.hparam_infos[1].domain_discrete
    for text in ("sgd", 'a"b'):
        domain.values.add(string_value=text)
    values = [
        hparams_value("experiment", experiment=experiment),
        session_start({"lr": 0.5, "opt": "sgd", "flag": True}, group="g1"),
        session_end(api_pb2.STATUS_FAILURE),
    ]
    log = tbq.open(write(tmp_path, *values))
    domains = {row["name"]: row for row in log.table("hparam_domains").to_arrow().to_pylist()}
    assert (domains["lr"]["min"], domains["lr"]["max"], domains["lr"]["type"]) == (0.1, 2.0, "number")
    assert (domains["opt"]["domain"], domains["opt"]["description"]) == ('["sgd", "a\\"b"]', "which")
    metric = log.table("hparam_metrics").to_arrow().to_pylist()[0]
    assert (metric["group"], metric["name"], metric["dataset"]) == ("val", "acc", "validation")
    rows = {row["name"]: row for row in log.hparams().to_arrow().to_pylist()}
    assert (rows["lr"]["number"], rows["opt"]["string"], rows["flag"]["bool"]) == (0.5, "sgd", True)
    assert {(row["group"], row["status"]) for row in rows.values()} == {("g1", "failure")}


def test_custom_scalars_layout(tmp_path: Path) -> None:
    from tensorboard.plugins.custom_scalar import layout_pb2

    layout = layout_pb2.Layout(
        category=[
            layout_pb2.Category(
                title="losses",
                chart=[
                    layout_pb2.Chart(
                        title="all", multiline=layout_pb2.MultilineChartContent(tag=["loss.*", "b"])
                    ),
                    layout_pb2.Chart(
                        title="range",
                        margin=layout_pb2.MarginChartContent(
                            series=[layout_pb2.MarginChartContent.Series(value="v", lower="l", upper="u")]
                        ),
                    ),
                ],
            )
        ]
    )
    proto = strings((), layout.SerializeToString())
    write(tmp_path, value("custom_scalars__config__", "custom_scalars", tensor=proto))
    rows = tbq.open(tmp_path).custom_scalars().to_arrow().to_pylist()
    assert [(row["category"], row["chart"], row["type"], row["pattern"]) for row in rows] == [
        ("losses", "all", "multiline", "loss.*"),
        ("losses", "all", "multiline", "b"),
        ("losses", "range", "margin_value", "v"),
        ("losses", "range", "margin_lower", "l"),
        ("losses", "range", "margin_upper", "u"),
    ]
    assert layout_pb2.Layout.FromString(rows[0]["data"]) == layout


def test_graphs_and_their_nodes(tmp_path: Path) -> None:
    from tensorboard.compat.proto.event_pb2 import Event, LogMessage, SessionLog, TaggedRunMetadata
    from tensorboard.compat.proto.graph_pb2 import GraphDef
    from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef

    graph = GraphDef()
    graph.node.add(name="x", op="Placeholder", device="/cpu:0")
    graph.node.add(name="y", op="Add", input=["x", "^x"])
    graph.library.function.add().signature.name = "f"
    graph.library.function[0].node_def.add(name="inner", op="Mul")
    meta = MetaGraphDef(graph_def=graph)
    write(
        tmp_path,
        Event(wall_time=1, graph_def=graph.SerializeToString()),
        Event(wall_time=2, step=1, meta_graph_def=meta.SerializeToString()),
        Event(wall_time=3, step=2, tagged_run_metadata=TaggedRunMetadata(tag="step2", run_metadata=b"raw")),
        Event(wall_time=4, step=3, log_message=LogMessage(level=LogMessage.WARN, message="careful")),
        Event(
            wall_time=5, step=4, session_log=SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path="/c")
        ),
    )
    log = tbq.open(tmp_path)
    graphs = log.graphs().to_arrow()
    assert dict(zip(graphs["format"].to_pylist(), graphs["nodes"].to_pylist(), strict=True)) == {
        "graph_def": 3,
        "meta_graph_def": 3,
    }
    assert GraphDef.FromString(graphs["data"][0].as_py()) == graph
    nodes = log.nodes().to_arrow().slice(0, 3)
    assert nodes["name"].to_pylist() == ["x", "y", "inner"]
    assert nodes["inputs"].to_pylist() == [[], ["x", "^x"], []]
    assert nodes["device"].to_pylist() == ["/cpu:0", None, None]
    assert nodes["function"].to_pylist() == [None, None, "f"]
    assert log.table("run_metadata").to_arrow()["data"].to_pylist() == [b"raw"]
    logs = log.table("logs").to_arrow().to_pylist()
    assert [(row["level"], row["message"], row["checkpoint_path"]) for row in logs] == [
        ("warn", "careful", None),
        ("checkpoint", None, "/c"),
    ]


def test_unknown_plugins_survive(tmp_path: Path) -> None:
    write(
        tmp_path,
        value("mine", "my_plugin", b"content", tensor=make_tensor_proto(np.arange(3, dtype=np.int16))),
        value("bare", "my_plugin", b"only this"),
    )
    table = tbq.open(tmp_path).table("others").to_arrow().to_pylist()
    assert [(row["plugin"], row["form"], row["content"]) for row in table] == [
        ("my_plugin", "none", b"only this"),
        ("my_plugin", "tensor", b"content"),
    ]
    assert (table[1]["dtype"], table[1]["shape"], table[1]["data"]) == ("int16", [3], b"\0\0\1\0\2\0")


def test_display_name_is_the_events_own(tmp_path: Path) -> None:
    def named(name: str, description: str = "") -> Summary.Value:
        one = value("x", "tensor", tensor=tensor(1, (), float_val=[1.0]))
        one.metadata.display_name = name
        one.metadata.summary_description = description
        return one

    bare = Summary.Value(tag="x", tensor=tensor(1, (), float_val=[1.0]))
    table = tbq.open(write(tmp_path, named("first", "about"), named("second"), bare)).tensors().to_arrow()
    assert table["display_name"].to_pylist() == ["first", "second", "first"]
    assert table["description"].to_pylist() == ["about"] * 3


@pytest.mark.parametrize("ending", ["parquet", "arrow", "feather"])
def test_tables_survive_a_file_and_back(
    logged: tuple[tbq.LogDir, dict[str, Any]], ending: str, tmp_path: Path
) -> None:
    for name, table in logged[0].tables().items():
        path = tmp_path / f"{name}.{ending}"
        table.write(path)
        back = tbq.read(path)
        assert type(back) is type(table)
        assert back.kind == name
        assert back.to_arrow().schema == table.to_arrow().schema
        assert back.to_arrow().to_pylist() == table.to_arrow().to_pylist()


def test_a_table_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1 but not")
    (tmp_path / "x.csv").write_text("a,b\n")
    for name, match in (
        ("x.parquet", "cannot be read"),
        ("x.csv", "not a Parquet or Arrow file"),
        ("y.arrow", "no such file"),
    ):
        with pytest.raises(tbq.TbqError, match=match):
            tbq.read(tmp_path / name)
