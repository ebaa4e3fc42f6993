"""Every add_* against tensorboardX with the same arguments, compared as decoded events, field by field."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tensorboardX
from compared import pixels, same, written

import tbq
from tbq.write.replacement import TensorboardXWriter

RNG = np.random.default_rng(3)
VALUES = RNG.normal(size=1000)
PICTURE = RNG.random((3, 9, 7))
LABELS = RNG.integers(0, 2, 300)
SCORES = RNG.random(300)
MESH = RNG.random((1, 5, 3)).astype(np.float32)

CASES = {
    "scalar": lambda w: w.add_scalar("loss", 0.1, 7, 5.0),
    "scalar zero": lambda w: w.add_scalar("loss", 0, 0, 5.0),
    "scalar float32": lambda w: w.add_scalar("loss", np.float32(0.3), 7, 5.0),
    "scalar negative step": lambda w: w.add_scalar("loss", -1.5, -3, 5.0),
    "scalar no step": lambda w: w.add_scalar("loss", 1e300, None, 5.0),
    "scalar names": lambda w: w.add_scalar(
        "loss", 1.0, 7, 5.0, display_name="a name", summary_description="words"
    ),
    "histogram": lambda w: w.add_histogram("h", VALUES, 7, walltime=5.0),
    "histogram float32": lambda w: w.add_histogram("h", VALUES.astype(np.float32), 7, walltime=5.0),
    "histogram ints": lambda w: w.add_histogram("h", np.arange(-5, 6), 7, walltime=5.0),
    "histogram constant": lambda w: w.add_histogram("h", np.zeros(4), 7, walltime=5.0),
    "histogram wide": lambda w: w.add_histogram("h", np.array([1e-30, 1e30, -1e30, 1, -1]), 7, walltime=5.0),
    "histogram auto": lambda w: w.add_histogram("h", VALUES, 7, bins="auto", walltime=5.0),
    "histogram count": lambda w: w.add_histogram("h", VALUES, 7, bins=12, walltime=5.0),
    "histogram edges": lambda w: w.add_histogram(
        "h", VALUES, 7, bins=np.array([-1.0, 0, 0.5, 9]), walltime=5.0
    ),
    "histogram max_bins": lambda w: w.add_histogram("h", VALUES, 7, walltime=5.0, max_bins=20),
    "histogram raw": lambda w: w.add_histogram_raw("h", -1, 2.5, 3, 4, 5, [0, 1, 2.5], [1, 0, 2], 7, 5.0),
    "image uint8": lambda w: w.add_image("i", (PICTURE * 255).astype(np.uint8), 7, 5.0),
    "image float": lambda w: w.add_image("i", PICTURE.astype(np.float32), 7, 5.0),
    "image gray": lambda w: w.add_image("i", PICTURE[0].astype(np.float32), 7, 5.0, dataformats="HW"),
    "image hwc": lambda w: w.add_image(
        "i", (PICTURE.transpose(1, 2, 0) * 255).astype(np.uint8), 7, 5.0, dataformats="HWC"
    ),
    "image rgba": lambda w: w.add_image("i", RNG_RGBA, 7, 5.0, dataformats="HWC"),
    "images": lambda w: w.add_images("i", RNG_BATCH, 7, 5.0),
    "images gray": lambda w: w.add_images("i", RNG_BATCH[:, :1], 7, 5.0),
    "boxes": lambda w: w.add_image_with_boxes("i", RNG_BATCH[0], np.array([[1, 1, 4, 5]]), 7, 5.0),
    "text": lambda w: w.add_text("t", "**bold** naïve 🐍", 7, 5.0),
    "text empty": lambda w: w.add_text("t", "", 7, 5.0),
    "pr curve": lambda w: w.add_pr_curve("pr", LABELS, SCORES, 7, walltime=5.0),
    "pr curve few": lambda w: w.add_pr_curve("pr", LABELS, SCORES, 7, num_thresholds=11, walltime=5.0),
    "pr curve many": lambda w: w.add_pr_curve("pr", LABELS, SCORES, 7, num_thresholds=500, walltime=5.0),
    "pr curve weights": lambda w: w.add_pr_curve("pr", LABELS, SCORES, 7, 20, SCORES + 1, walltime=5.0),
    "pr curve raw": lambda w: w.add_pr_curve_raw(
        "pr", *(np.arange(5.0) + i for i in range(6)), global_step=7, num_thresholds=5, walltime=5.0
    ),
    "custom scalars": lambda w: w.add_custom_scalars(
        {"a": {"b": ["Multiline", ["x", "y"]], "c": ["Margin", ["x", "y", "z"]]}, "d": {}}
    ),
    "multiline": lambda w: w.add_custom_scalars_multilinechart(["x", "y"], "category", "title"),
    "margin": lambda w: w.add_custom_scalars_marginchart(["x", "y", "z"]),
}
RNG_RGBA = RNG.integers(0, 255, (4, 6, 4), dtype=np.uint8)
RNG_BATCH = RNG.integers(0, 255, (11, 3, 5, 6), dtype=np.uint8)


@pytest.mark.parametrize("name", CASES)
def test_same_events_as_tensorboardx(tmp_path, read_events, name):
    ours = written(tbq.SummaryWriter, tmp_path / "ours", CASES[name], read_events)
    theirs = written(tensorboardX.SummaryWriter, tmp_path / "theirs", CASES[name], read_events)
    assert len(ours) == len(theirs) == 1
    same(ours[0], theirs[0])


def test_hparams_but_for_the_step(tmp_path, read_events):
    """tensorboardX omits the step of the three summaries; tbq writes it, as torch does."""
    hparams = {"lr": 0.1, "layers": 3, "bn": True, "off": False, "opt": "adam", "zero": 0.0, "none": None}

    def call(writer):
        writer.add_hparams(hparams, {"accuracy": 0.5, "loss": 1}, name="sub", global_step=4)

    ours = written(tbq.SummaryWriter, tmp_path / "ours", call, read_events)
    assert ours == []
    got = [e for e in read_events(tmp_path / "ours" / "sub") if not e.file_version]
    written(tensorboardX.SummaryWriter, tmp_path / "theirs", call, read_events)
    want = [e for e in read_events(tmp_path / "theirs" / "sub") if not e.file_version]
    assert [e.step for e in got] == [4] * 5
    assert len(want) == 5
    for our, their in zip(got, want, strict=True):
        assert unpacked(our) == unpacked(their)


def unpacked(event):
    """A summary whose hparams content is parsed, since protobuf maps have no order."""
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    (value,) = event.summary.value
    content = HParamsPluginData.FromString(value.metadata.plugin_data.content)
    return value.tag, value.simple_value, value.metadata.plugin_data.plugin_name, content


def test_mesh_but_for_the_tags(tmp_path, read_events):
    """tensorboardX numbers the parts of a mesh (`m_1`), torch and TensorBoard name them (`m_VERTEX`)."""
    from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData

    faces = np.array([[[0, 1, 2], [1, 2, 3]]])

    def call(writer):
        writer.add_mesh(
            "m", MESH, colors=MESH * 255, faces=faces, config_dict={"b": 1, "a": 2}, global_step=7
        )

    (ours,) = written(tbq.SummaryWriter, tmp_path / "ours", call, read_events)
    (theirs,) = written(tensorboardX.SummaryWriter, tmp_path / "theirs", call, read_events)
    assert [value.tag for value in ours.summary.value] == ["m_VERTEX", "m_FACE", "m_COLOR"]
    for our, their in zip(ours.summary.value, theirs.summary.value, strict=True):
        assert our.tensor == their.tensor
        got, want = (MeshPluginData.FromString(v.metadata.plugin_data.content) for v in (our, their))
        assert got.components == 14
        want.components = got.components  # tensorboardX does not set it
        assert got == want


def test_add_scalars_goes_to_torchs_directories(tmp_path, read_events):
    def call(writer):
        writer.add_scalars("group/loss", {"train": 1.0, "val": 2.0}, 7, 5.0)

    assert written(tbq.SummaryWriter, tmp_path / "ours", call, read_events) == []
    written(tensorboardX.SummaryWriter, tmp_path / "theirs", call, read_events)
    for line in ("train", "val"):
        ours = read_events(tmp_path / "ours" / f"group_loss_{line}")[1:]
        theirs = read_events(tmp_path / "theirs" / "group" / "loss" / line)[1:]
        assert ours == theirs


def test_graph_of_a_graph_def(tmp_path, read_events):
    from tensorboard.compat.proto.graph_pb2 import GraphDef

    graph = GraphDef()
    graph.node.add(name="x", op="Placeholder")
    for given in (graph, graph.SerializeToString()):
        with tbq.SummaryWriter(tmp_path / str(type(given).__name__)) as writer:
            writer.add_graph(given)
        event = read_events(writer.log_dir)[1]
        assert GraphDef.FromString(event.graph_def) == graph
        assert event.wall_time > 1e9


def test_embedding_files_as_tensorboardx(tmp_path):
    from google.protobuf import text_format
    from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

    matrix = RNG.random((5, 3))
    pictures = RNG.random((5, 3, 4, 4))
    with tbq.SummaryWriter(tmp_path / "ours") as writer:
        writer.add_embedding(matrix, metadata=list("abcde"), label_img=pictures, global_step=2, tag="a/b")
        writer.add_embedding(matrix, tag='with "quotes"')
    with tensorboardX.SummaryWriter(str(tmp_path / "theirs")) as writer:
        writer.add_embedding(matrix, metadata=list("abcde"), label_img=pictures, global_step=2, tag="a/b")
    ours = tmp_path / "ours" / "00002" / "a%2fb"
    theirs = tmp_path / "theirs" / "00002" / "a%2fb"
    assert (ours / "metadata.tsv").read_bytes() == (theirs / "metadata.tsv").read_bytes()
    assert np.array_equal(np.loadtxt(ours / "tensors.tsv"), np.loadtxt(theirs / "tensors.tsv"))
    assert np.array_equal(np.loadtxt(ours / "tensors.tsv"), matrix)
    mine, other = (pixels((path / "sprite.png").read_bytes()) for path in (ours, theirs))
    assert mine.shape == other.shape == (12, 12, 3)
    assert np.array_equal(
        mine[:8], other[:8]
    )  # two rows of pictures; below, tensorboardX has uninitialised memory
    assert not mine[8:].any()
    configs = [
        text_format.Parse((tmp_path / name / "projector_config.pbtxt").read_text(), ProjectorConfig())
        for name in ("ours", "theirs")
    ]
    assert len(configs[0].embeddings) == 2
    assert configs[0].embeddings[0] == configs[1].embeddings[0]
    assert configs[0].embeddings[1].tensor_name == 'with "quotes":00000'


def test_the_replacement_takes_arguments_in_tensorboardxs_order(tmp_path, read_events):
    """`tbq.patch()` is for programs that cannot be changed."""

    def log(writer):
        writer.add_scalar("a", 1.0, 7, 5.0, "a name", "words")
        writer.add_hparams({"lr": 0.1}, {"best": 2.0}, "trial", 3)
        writer.add_image_with_boxes("i", RNG_BATCH[0], np.array([[1, 1, 4, 5]]), 7, 5.0, "CHW", ["cat"])
        for step in range(2):
            writer.add_scalars("lines", {"x": step, "y": np.float32(0.5)}, step, 5.0)
        writer.export_scalars_to_json(tmp_path / "points.json")
        points = json.loads((tmp_path / "points.json").read_text())
        writer.export_scalars_to_json(tmp_path / "points.json")
        assert (tmp_path / "points.json").read_text() == "{}"
        writer.close()
        return {name.removeprefix(writer.logdir): rows for name, rows in points.items()}

    ours, theirs = (
        log(kind(str(tmp_path / name)))
        for name, kind in (("ours", TensorboardXWriter), ("theirs", tensorboardX.SummaryWriter))
    )
    assert (
        ours
        == theirs
        == {"/lines/x": [[5.0, 0, 0.0], [5.0, 1, 1.0]], "/lines/y": [[5.0, 0, 0.5], [5.0, 1, 0.5]]}
    )
    assert (tmp_path / "ours/trial").is_dir() and (tmp_path / "theirs/trial").is_dir()
    values = [
        {
            value.tag: (event.step, value.metadata.display_name, value.metadata.summary_description)
            for path in (tmp_path / name).glob("events*")
            for event in read_events(path)
            for value in event.summary.value
        }
        for name in ("ours", "theirs")
    ]
    assert values[0] == values[1] and values[0]["a"] == (7, "a name", "words")
