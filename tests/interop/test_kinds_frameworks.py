"""Every kind that torch, TensorFlow and Keras log is read back unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tbq

if TYPE_CHECKING:
    from pathlib import Path

import tensorflow as tf
import torch

pytestmark = pytest.mark.filterwarnings("ignore")

TORCH_DTYPES = [
    "float16", "bfloat16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64", "bool",
    "complex64", "complex128",
]  # fmt: skip


@pytest.mark.parametrize("name", TORCH_DTYPES)
def test_torch_tensors(name: str, tmp_path: Path) -> None:
    from torch.utils.tensorboard import SummaryWriter

    logged = (torch.arange(-6, 6).reshape(3, 4) * 1.25).abs().to(getattr(torch, name))
    if name in ("float16", "bfloat16", "float32"):
        logged[0, 0] = float("nan")
        logged[0, 1] = -0.0
        logged[0, 2] = 6e-8
    with SummaryWriter(tmp_path) as writer:
        writer.add_tensor("x", logged, 7)
    got = tbq.open(tmp_path).tensor("x", step=7)
    assert got.dtype.name == name
    wide = np.complex128 if name.startswith("complex") else np.float64
    expected = logged.to(torch.complex128 if name.startswith("complex") else torch.float64).numpy()
    assert np.array_equal(got.astype(wide), expected, equal_nan=True)


def test_torch_media_and_hparams(tmp_path: Path) -> None:
    from torch.utils.tensorboard import SummaryWriter

    rng = np.random.default_rng(0)
    image = rng.integers(0, 255, (3, 11, 7), dtype=np.uint8)
    values = rng.normal(size=1000)
    sound = torch.rand(1, 400) * 2 - 1
    vertices = torch.rand(2, 5, 3)
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("Loss/val", 0.25, 9)
        writer.add_image("image", image, 1)
        writer.add_histogram("values", values, 1)
        writer.add_text("notes", "hello", 1)
        writer.add_audio("sound", sound, 1, sample_rate=4000)
        writer.add_mesh("mesh", vertices, global_step=1)
        writer.add_pr_curve("curve", rng.integers(0, 2, 50), rng.random(50), 1, num_thresholds=9)
        writer.add_custom_scalars({"all": {"loss": ["Multiline", ["Loss/.*"]]}})
        writer.add_graph(torch.nn.Linear(3, 2), torch.rand(1, 3))
        writer.add_embedding(torch.rand(4, 3), metadata=list("abcd"), tag="letters")
        writer.add_hparams({"lr": 0.5, "opt": "adam", "flag": True}, {"hparam/acc": 0.75})
    log = tbq.open(tmp_path)
    assert np.array_equal(np.asarray(log.image("image")), image.transpose(1, 2, 0))
    histogram = log.histogram("values")
    assert histogram.total == 1000
    assert histogram.quantiles([0, 1]).tolist() == [values.min(), values.max()]
    assert log.text("notes") == "hello"
    rate, samples = log.waveform("sound")
    assert rate == 4000
    assert np.abs(samples[:, 0] / 32767 - sound[0].numpy()).max() < 1e-3
    assert np.array_equal(log.mesh("mesh").vertices, vertices.numpy())
    assert len(log.pr_curves()) == 9
    assert log.custom_scalars().to_arrow()["pattern"].to_pylist() == ["Loss/.*"]
    assert "aten::linear" in log.nodes().to_arrow()["op"].to_pylist()
    assert log.table("projector").to_arrow()["tensor_name"].to_pylist() == ["letters:00000"]
    rows = log.summary(require=["Loss/val"]).to_arrow().to_pylist()
    assert len(rows) == 1
    assert (rows[0]["run"], rows[0]["Loss/val"], rows[0]["hparam/acc"]) == (".", 0.25, 0.75)
    assert (rows[0]["hparam.lr"], rows[0]["hparam.opt"], rows[0]["hparam.flag"]) == (0.5, "adam", 1.0)


TF_DTYPES = [
    "float16", "bfloat16", "float32", "float64", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32",
    "int64", "bool", "complex64", "complex128", "float8_e5m2", "float8_e4m3fn",
]  # fmt: skip


@pytest.mark.parametrize("name", TF_DTYPES)
def test_tensorflow_tensors(name: str, tmp_path: Path) -> None:
    dtype = getattr(tf.dtypes.experimental, name, None) or getattr(tf, name)
    logged = tf.cast(tf.cast(tf.reshape(tf.range(6), [2, 3]), tf.float32), dtype)
    writer = tf.summary.create_file_writer(str(tmp_path))
    with writer.as_default():
        tf.summary.write("x", logged, step=3)
    writer.close()
    got = tbq.open(tmp_path).tensor("x")
    assert got.dtype == logged.numpy().dtype
    assert np.array_equal(got, logged.numpy())


def test_tensorflow_kinds(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    images = rng.integers(0, 255, (3, 6, 9, 3), dtype=np.uint8)
    sounds = rng.uniform(-1, 1, (2, 300, 1)).astype(np.float32)
    values = rng.normal(size=400)
    writer = tf.summary.create_file_writer(str(tmp_path))

    @tf.function
    def double(x: Any) -> Any:
        return x * 2

    with writer.as_default():
        tf.summary.image("images", images, step=2, max_outputs=3)
        tf.summary.audio("sounds", sounds, 8000, step=2)
        tf.summary.histogram("values", values, step=2, buckets=10)
        tf.summary.text("texts", [["a", "b"], ["c", "d"]], step=2)
        tf.summary.graph(double.get_concrete_function(tf.constant(1.0)).graph)
    writer.close()
    log = tbq.open(tmp_path)
    for i in range(3):
        assert np.array_equal(np.asarray(log.image("images", index=i)), images[i])
    for i in range(2):
        rate, samples = log.waveform("sounds", index=i)
        assert rate == 8000
        assert np.abs(samples[:, 0] / 32767 - sounds[i, :, 0]).max() < 1e-3
    counts, edges = log.histogram("values").numpy()
    want, want_edges = np.histogram(values, bins=10)
    assert np.array_equal(counts, want)
    assert np.allclose(edges, want_edges)
    assert log.texts().to_arrow()["text"].to_pylist() == ["a", "b", "c", "d"]
    assert log.text("texts") == "| a | b |\n| c | d |"
    nodes = log.nodes().to_arrow()
    assert {"Mul", "Placeholder"} <= set(nodes["op"].to_pylist()) | set()
    assert len(log.write_media(tmp_path / "media")) == 3 + 2 + 1 + 2


def test_keras_model_and_hp_api(tmp_path: Path) -> None:
    import json

    from tensorboard.plugins.hparams import api as hp

    model = tf.keras.Sequential([tf.keras.layers.Input((2,)), tf.keras.layers.Dense(1)])
    model.compile(loss="mse")
    callback = tf.keras.callbacks.TensorBoard(tmp_path, histogram_freq=1, write_graph=True)
    rate = hp.HParam("lr", hp.RealInterval(0.1, 1.0), display_name="rate")
    layers = hp.HParam("layers", hp.Discrete([1, 2]))
    model.fit(
        np.zeros((4, 2)),
        np.zeros((4, 1)),
        epochs=2,
        verbose=0,
        callbacks=[callback, hp.KerasCallback(str(tmp_path / "train"), {rate: 0.5, layers: 2})],
    )
    writer = tf.summary.create_file_writer(str(tmp_path / "sweep"))
    with writer.as_default():
        hp.hparams_config(hparams=[rate, layers], metrics=[hp.Metric("acc", display_name="Accuracy")])
    writer.close()
    log = tbq.open(tmp_path)
    kinds = dict(
        zip(*(log.graphs().to_arrow()[name].to_pylist() for name in ("format", "data")), strict=True)
    )
    assert json.loads(kinds["keras_model"])["class_name"] == "Sequential"
    nodes = [row for row in log.nodes(run="train").to_arrow().to_pylist() if row["tag"] == "keras"]
    assert [(row["op"], row["inputs"]) for row in nodes] == [
        ("InputLayer", []),
        ("Dense", [nodes[0]["name"]]),
    ]
    assert nodes[1]["name"] == model.layers[0].name
    assert len(log.histograms()) == 4
    wide = log.hparams().wide().to_arrow().to_pylist()
    assert [(row["run"], row["lr"], row["layers"], row["status"]) for row in wide] == [
        ("train", 0.5, 2.0, "success")
    ]
    domains = {row["name"]: row for row in log.table("hparam_domains").to_arrow().to_pylist()}
    assert (domains["lr"]["min"], domains["lr"]["max"], domains["lr"]["display_name"]) == (0.1, 1.0, "rate")
    assert domains["layers"]["domain"] == "[1, 2]"
    assert log.table("hparam_metrics").to_arrow()["display_name"].to_pylist() == ["Accuracy"]
