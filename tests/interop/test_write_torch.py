"""Every add_* against torch.utils.tensorboard with the same arguments, compared as decoded events."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch
from compared import pixels, same, written
from torch.utils import tensorboard

import tbq
from tbq.errors import UsageError

torch.manual_seed(1)
VALUES = torch.randn(1000)
PICTURE = torch.rand(3, 9, 7)
BATCH = torch.randint(0, 255, (11, 3, 5, 6), dtype=torch.uint8)
LABELS = torch.randint(0, 2, (300,))
SCORES = torch.rand(300)
MESH = torch.rand(1, 5, 3)
FACES = torch.tensor([[[0, 1, 2], [1, 2, 3]]])

CASES = {
    "scalar": lambda w: w.add_scalar("loss", 0.1, 7, 5.0),
    "scalar tensor": lambda w: w.add_scalar("loss", torch.tensor([0.3]), 7, 5.0),
    "scalar with gradient": lambda w: w.add_scalar("loss", torch.tensor(0.3, requires_grad=True) * 2, 7, 5.0),
    "scalar bool tensor": lambda w: w.add_scalar("loss", torch.tensor(True), 7, 5.0),
    "scalar new style": lambda w: w.add_scalar("loss", 0.1, 7, 5.0, new_style=True),
    "scalar double": lambda w: w.add_scalar("loss", 0.1, 7, 5.0, new_style=True, double_precision=True),
    "scalar tensor step": lambda w: w.add_scalar("loss", 1.0, torch.tensor(7), 5.0),
    "scalar any tag": lambda w: w.add_scalar("a b/ç [1]", 1.0, 7, 5.0),
    "histogram": lambda w: w.add_histogram("h", VALUES, 7, walltime=5.0),
    "histogram half": lambda w: w.add_histogram("h", VALUES.half(), 7, walltime=5.0),
    "histogram double": lambda w: w.add_histogram("h", VALUES.double() * 1e-9, 7, walltime=5.0),
    "histogram parameter": lambda w: w.add_histogram("h", torch.nn.Parameter(VALUES), 7, walltime=5.0),
    "histogram bool": lambda w: w.add_histogram("h", VALUES > 0, 7, walltime=5.0),
    "histogram auto": lambda w: w.add_histogram("h", VALUES, 7, bins="auto", walltime=5.0),
    "histogram max_bins": lambda w: w.add_histogram("h", VALUES, 7, walltime=5.0, max_bins=64),
    "histogram raw": lambda w: w.add_histogram_raw("h", -1, 2.5, 3, 4, 5, [0, 1, 2.5], [1, 0, 2], 7, 5.0),
    "tensor float": lambda w: w.add_tensor("t", VALUES.reshape(10, 100), 7, 5.0),
    "tensor double": lambda w: w.add_tensor("t", VALUES.double(), 7, 5.0),
    "tensor int8": lambda w: w.add_tensor("t", torch.arange(-5, 5, dtype=torch.int8), 7, 5.0),
    "tensor int16": lambda w: w.add_tensor("t", torch.arange(-5, 5, dtype=torch.int16), 7, 5.0),
    "tensor int32": lambda w: w.add_tensor("t", torch.arange(-5, 5, dtype=torch.int32), 7, 5.0),
    "tensor int64": lambda w: w.add_tensor("t", torch.arange(-5, 5) * 2**40, 7, 5.0),
    "tensor bool": lambda w: w.add_tensor("t", VALUES > 0, 7, 5.0),
    "tensor complex": lambda w: w.add_tensor("t", torch.complex(VALUES, -VALUES), 7, 5.0),
    "tensor complex128": lambda w: w.add_tensor(
        "t", torch.complex(VALUES, -VALUES).to(torch.complex128), 7, 5.0
    ),
    "tensor scalar": lambda w: w.add_tensor("t", torch.tensor(3.0), 7, 5.0),
    "tensor empty": lambda w: w.add_tensor("t", torch.zeros(0, 3), 7, 5.0),
    "image": lambda w: w.add_image("i", PICTURE, 7, 5.0),
    "image uint8": lambda w: w.add_image("i", BATCH[0], 7, 5.0),
    "image out of range": lambda w: w.add_image("i", PICTURE * 3 - 1, 7, 5.0),
    "image gray": lambda w: w.add_image("i", PICTURE[:1], 7, 5.0),
    "image hw": lambda w: w.add_image("i", PICTURE[0], 7, 5.0, dataformats="HW"),
    "image hwc": lambda w: w.add_image("i", PICTURE.permute(1, 2, 0), 7, 5.0, dataformats="HWC"),
    "images": lambda w: w.add_images("i", BATCH, 7, 5.0),
    "images nhwc": lambda w: w.add_images("i", BATCH.permute(0, 2, 3, 1), 7, 5.0, dataformats="NHWC"),
    "boxes": lambda w: w.add_image_with_boxes("i", PICTURE, torch.tensor([[1, 1, 4, 5]]), 7, 5.0),
    "boxes labels": lambda w: w.add_image_with_boxes(
        "i", torch.zeros(3, 60, 60), torch.tensor([[5, 5, 40, 50]]), 7, 5.0, labels=["cat"]
    ),
    "audio": lambda w: w.add_audio("a", torch.sin(torch.arange(100) / 5)[None], 7, 8000, 5.0),
    "text": lambda w: w.add_text("t", "**bold** naïve 🐍", 7, 5.0),
    "pr curve": lambda w: w.add_pr_curve("pr", LABELS, SCORES, 7, walltime=5.0),
    "pr curve many": lambda w: w.add_pr_curve("pr", LABELS, SCORES, 7, 500, walltime=5.0),
    "pr curve weights": lambda w: w.add_pr_curve(
        "pr", LABELS, SCORES, 7, 20, SCORES.numpy() + 1, walltime=5.0
    ),
    "pr curve raw": lambda w: w.add_pr_curve_raw(
        "pr", *(torch.arange(5.0) + i for i in range(6)), global_step=7, num_thresholds=5, walltime=5.0
    ),
    "mesh": lambda w: w.add_mesh("m", MESH, MESH * 255, FACES, {"b": 1, "a": [2]}, 7, 5.0),
    "mesh points": lambda w: w.add_mesh("m", MESH, global_step=7, walltime=5.0),
    "custom scalars": lambda w: w.add_custom_scalars(
        {"a": {"b": ["Multiline", ["x"]], "c": ["Margin", list("xyz")]}}
    ),
    "multiline": lambda w: w.add_custom_scalars_multilinechart(["x", "y"], "category", "title"),
    "margin": lambda w: w.add_custom_scalars_marginchart(["x", "y", "z"]),
}


@pytest.mark.parametrize("name", CASES)
def test_same_events_as_torch(tmp_path, read_events, name):
    ours = written(tbq.SummaryWriter, tmp_path / "ours", CASES[name], read_events)
    theirs = written(tensorboard.SummaryWriter, tmp_path / "theirs", CASES[name], read_events)
    assert len(ours) == len(theirs) == 1
    same(ours[0], theirs[0], 1e-10)


def test_figures(tmp_path, read_events):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    def call(writer):
        figures = [pyplot.figure(figsize=(2, 1)) for _ in range(3)]
        for figure in figures:
            figure.gca().plot([1, 2, 3])
        writer.add_figure("one", figures[0], 7, walltime=5.0)
        writer.add_figure("many", figures[1:], 7, walltime=5.0)
        assert pyplot.get_fignums() == []

    ours = written(tbq.SummaryWriter, tmp_path / "ours", call, read_events)
    theirs = written(tensorboard.SummaryWriter, tmp_path / "theirs", call, read_events)
    for our, their in zip(ours, theirs, strict=True):
        same(our, their, 1e-10)


def hparams_of(events):
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    return [
        (
            event.step,
            value.tag,
            value.simple_value,
            HParamsPluginData.FromString(value.metadata.plugin_data.content),
        )
        for event in events
        if not event.file_version
        for value in event.summary.value
    ]


def test_hparams(tmp_path, read_events):
    def call(writer):
        writer.add_hparams(
            {"lr": 0.1, "layers": 3, "opt": "adam", "none": None},
            {"accuracy": 0.5, "loss": torch.tensor(1.5)},
            {"lr": [0.1, 0.2], "opt": ["adam", "sgd"]},
            "sub",
            4,
        )

    written(tbq.SummaryWriter, tmp_path / "ours", call, read_events)
    written(tensorboard.SummaryWriter, tmp_path / "theirs", call, read_events)
    ours, theirs = (hparams_of(read_events(tmp_path / who / "sub")) for who in ("ours", "theirs"))
    assert len(ours) == 5
    assert ours == theirs


def test_hparams_sub_run_is_named_after_the_time(tmp_path):
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"lr": 0.2}, {})  # to the run itself
        writer.add_hparams({"lr": 0.1}, {})
    (sub,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert float(sub.name) > 1e9


def test_add_scalars(tmp_path, read_events):
    def call(writer):
        writer.add_scalars("group/loss", {"train": 1.0, "val": torch.tensor(2.0)}, 7, 5.0)

    written(tbq.SummaryWriter, tmp_path / "ours", call, read_events)
    written(tensorboard.SummaryWriter, tmp_path / "theirs", call, read_events)
    for line in ("group_loss_train", "group_loss_val"):
        assert read_events(tmp_path / "ours" / line)[1:] == read_events(tmp_path / "theirs" / line)[1:]


def test_purge(tmp_path, read_events):
    """torch writes two records after the header; tbq writes only the one that purges."""
    for who, writer_class in (("ours", tbq.SummaryWriter), ("theirs", tensorboard.SummaryWriter)):
        writer_class(str(tmp_path / who), purge_step=5).close()
    ours, theirs = (read_events(tmp_path / who) for who in ("ours", "theirs"))
    assert [event.WhichOneof("what") for event in theirs] == ["file_version", "file_version", "session_log"]
    assert [event.WhichOneof("what") for event in ours] == ["file_version", "session_log"]
    assert (ours[-1].step, ours[-1].session_log) == (theirs[-1].step, theirs[-1].session_log)


@pytest.mark.filterwarnings("ignore:.*torch.jit.trace.*:DeprecationWarning")
def test_graph_of_a_module(tmp_path, read_events):
    from tensorboard.compat.proto.graph_pb2 import GraphDef

    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())

    def call(writer):
        writer.add_graph(model, torch.zeros(1, 3))

    ours = written(tbq.SummaryWriter, tmp_path / "ours", call, read_events)
    theirs = written(tensorboard.SummaryWriter, tmp_path / "theirs", call, read_events)
    assert [event.WhichOneof("what") for event in ours] == ["graph_def", "tagged_run_metadata"]
    for our, their in zip(ours, theirs, strict=True):
        our.wall_time = their.wall_time
        # The bytes of a graph may differ: protobuf maps have no order of their own.
        assert GraphDef.FromString(our.graph_def) == GraphDef.FromString(their.graph_def)
        for event in (our, their):
            event.ClearField("graph_def")
        assert our == their


def test_embedding(tmp_path):
    from google.protobuf import text_format
    from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

    mat, pictures = torch.rand(5, 3), torch.rand(5, 3, 4, 4)
    for who, writer_class in (("ours", tbq.SummaryWriter), ("theirs", tensorboard.SummaryWriter)):
        with writer_class(str(tmp_path / who)) as writer:
            writer.add_embedding(mat, [["a", i] for i in range(5)], pictures, 2, "tag", ["letter", "number"])
            writer.add_embedding(mat)
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for name in ("00002/tag/metadata.tsv", "00002/tag/tensors.tsv", "00000/default/tensors.tsv"):
        assert (ours / name).read_text() == (theirs / name).read_text()
    name = "00002/tag/sprite.png"
    assert np.array_equal(*(pixels((who / name).read_bytes()) for who in (ours, theirs)))
    first, second = (
        text_format.Parse((who / "projector_config.pbtxt").read_text(), ProjectorConfig())
        for who in (ours, theirs)
    )
    assert first == second


def test_where_torch_is_wrong_we_are_not(tmp_path, read_events):
    """docs/differences.md, one by one."""
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_tensor("half", torch.tensor([1.5, -2]).half(), 1)
        writer.add_tensor("bfloat16", torch.tensor([1.5, -2]).bfloat16(), 1)
        writer.add_tensor("uint8", torch.tensor([1, 255], dtype=torch.uint8), 1)
        writer.add_tensor("float8", torch.tensor([1.5, -2]).to(torch.float8_e5m2), 1)
        writer.add_scalar("bfloat16 scalar", torch.tensor(3e38, dtype=torch.bfloat16), 1)
        writer.add_hparams({"flag": True}, {}, run_name=".")
        with pytest.raises(UsageError, match=r"global_step: got tensor\(0\.5"):
            writer.add_scalar("step", 1.0, torch.tensor(0.5))
        with pytest.raises(UsageError, match="scalar_value"):
            writer.add_scalar("meta", torch.zeros((), device="meta"), 1)
    values = {v.tag: v for e in read_events(tmp_path) for v in e.summary.value}
    half = np.array([1.5, -2], dtype=np.float16).view(np.uint16)
    assert list(values["half"].tensor.half_val) == half.tolist()
    assert list(values["bfloat16"].tensor.half_val) == [0x3FC0, 0xC000]
    assert list(values["uint8"].tensor.int_val) == [1, 255]
    assert values["float8"].tensor.float8_val == bytes([0x3E, 0xC0])
    assert values["bfloat16 scalar"].simple_value == pytest.approx(3e38, rel=1e-2)
    ((_, _, _, experiment), (_, _, _, session), _) = hparams_of(read_events(tmp_path))[-3:]
    assert session.session_start_info.hparams["flag"].bool_value is True
    assert experiment.experiment.hparam_infos[0].type == 2


def test_our_writer_does_not_import_torch(tmp_path):
    code = """
import sys, tbq, numpy
with tbq.SummaryWriter(sys.argv[1]) as writer:
    writer.add_scalar("a", numpy.float32(1), 1)
    writer.add_histogram("b", numpy.ones(3), 1)
    writer.add_image("c", numpy.ones((3, 4, 4)), 1)
    writer.add_hparams({"d": 1}, {})
assert not {"torch", "tensorflow", "tensorboard", "google.protobuf", "jax"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
