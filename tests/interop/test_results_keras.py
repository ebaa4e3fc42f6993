"""Weights, predictions and metrics of real Keras and TensorFlow: each element, and training that is killed."""

import csv
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import tensorflow as tf

import tbq
from tbq.results import MetricsTable, metrics, predictions, weight_elements, weights

pytestmark = pytest.mark.filterwarnings("default")


def make():
    inner = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, use_bias=False)], name="inner")
    model = keras.Sequential(
        [
            keras.Input((8,)),
            keras.layers.Dense(4, name="hidden"),
            keras.layers.BatchNormalization(),
            inner,
            keras.layers.Reshape((3, 1)),
            keras.layers.Conv1D(2, 2),
            keras.layers.LSTM(2),
            keras.layers.Dense(1),
        ]
    )
    model.compile("adam", "mse")
    model.fit(np.random.default_rng(0).random((16, 8)), np.zeros((16, 1)), verbose=0)
    return model


MODEL = make()


def elements(source):
    rows = weight_elements(source).to_arrow().to_pylist()
    return {(f"{r['layer']}/{r['parameter']}", r["index"]): r["value"] for r in rows}


def expected():
    want = {}
    for variable in MODEL.weights:
        array = variable.numpy()
        name = variable.path.removeprefix(MODEL.name + "/")
        want |= {(name, index): float(value) for index, value in enumerate(array.flat)}
    return want


def test_each_element_of_a_model_equals_the_parameter():
    assert elements(MODEL) == expected()


@pytest.mark.parametrize("name", ["m.keras", "m.weights.h5", "m.h5"])
def test_each_element_of_a_file_under_the_names_of_the_model(tmp_path, name):
    path = tmp_path / name
    if name == "m.weights.h5":
        MODEL.save_weights(path)
    else:
        MODEL.save(path)
    assert elements(path) == expected()
    norms = {(r["layer"], r["parameter"]): r["norm"] for r in weights(path).to_arrow().to_pylist()}
    assert norms["hidden", "kernel"] == pytest.approx(np.linalg.norm(MODEL.layers[0].kernel.numpy()))


def test_predictions_of_tensors_and_model_outputs():
    scores = tf.nn.softmax(tf.random.stateless_normal((20, 3), seed=(1, 2)))
    labels = tf.one_hot(tf.random.stateless_uniform((20,), (1, 2), 0, 3, tf.int32), 3)
    got = predictions(scores, labels=labels, classes=["a", "b", "c"]).to_arrow()
    assert got["predicted"].to_pylist() == ["abc"[n] for n in scores.numpy().argmax(1)]
    assert got["label"].to_pylist() == ["abc"[n] for n in labels.numpy().argmax(1)]
    assert got["confidence"].to_pylist() == scores.numpy().max(1).tolist()
    data = tf.data.Dataset.from_tensor_slices((scores, labels)).batch(6)
    assert predictions(iter(data)).to_arrow()["class_1"].to_pylist() == scores.numpy()[:, 1].tolist()
    outputs = MODEL.predict(np.zeros((5, 8)), verbose=0)
    assert (
        predictions(outputs, labels=np.zeros(5) + 0.5).to_arrow()["predicted"].to_pylist()
        == outputs[:, 0].tolist()
    )


def test_the_history_and_the_callback_against_keras_own_logger(tmp_path):
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"])
    x, y = np.random.default_rng(1).random((32, 8)), np.ones(32)
    table = MetricsTable(tmp_path / "ours.csv")
    parquet = MetricsTable(tmp_path / "ours.parquet")
    history = model.fit(
        x, y, validation_split=0.25, epochs=4, verbose=0,
        callbacks=[keras.callbacks.CSVLogger(tmp_path / "keras.csv"), table, parquet],
    )  # fmt: skip
    with open(tmp_path / "keras.csv", newline="") as file:
        want = [{name: float(cell) for name, cell in row.items()} for row in csv.DictReader(file)]
    with open(tmp_path / "ours.csv", newline="") as file:
        got = [{name: float(cell) for name, cell in row.items()} for row in csv.DictReader(file)]
    assert got[0].keys() == want[0].keys() and len(got) == 4
    for ours, theirs in zip(got, want, strict=True):
        assert {k: np.float32(v) for k, v in ours.items()} == {k: np.float32(v) for k, v in theirs.items()}
    tables = [
        metrics(source, run="x") for source in (history, tmp_path / "keras.csv", tmp_path / "ours.parquet")
    ]
    assert tables[0].to_arrow().equals(tables[1].to_arrow()) and tables[0].to_arrow().equals(
        tables[2].to_arrow()
    )


_TRAIN = """
    import os, signal, sys
    import keras, numpy as np
    from tbq.results import MetricsTable
    class Stop(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if self.model.optimizer.iterations == 13:  # in the middle of the fourth epoch
                os.kill(os.getpid(), signal.SIGKILL)
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(np.zeros((32, 8)), np.ones(32), batch_size=8, epochs=10, verbose=0,
              callbacks=[MetricsTable(sys.argv[1]), Stop()])
"""


@pytest.mark.parametrize("name", ["m.csv", "m.parquet"])
def test_kill_9_in_the_middle_of_training_keeps_every_finished_epoch(tmp_path, name):
    source = str(Path(tbq.__file__).resolve().parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_TRAIN), str(tmp_path / name)],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -9, done.stderr
    assert [r["step"] for r in metrics(tmp_path / name).to_arrow().to_pylist()] == [0, 1, 2]
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(
        np.zeros((32, 8)), np.ones(32), epochs=5, initial_epoch=3, verbose=0,
        callbacks=[MetricsTable(tmp_path / name, resume=True)],
    )  # fmt: skip
    assert [r["step"] for r in metrics(tmp_path / name).to_arrow().to_pylist()] == [0, 1, 2, 3, 4]
