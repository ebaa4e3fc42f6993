"""Scores beside probabilities, layers in the model's order, kinds that survive a file."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tbq
from tbq.errors import TbqWarning, UsageError
from tbq.results import Rows, confusion, predictions, scores, weight_elements

LOGITS = np.array([[2.0, -1.0, 0.5], [-3.0, -2.0, -1.0]])


# ---- scores and probabilities ----


def columns(*args: Any, **options: Any) -> dict[str, list[Any]]:
    return predictions(*args, **options).to_arrow().to_pydict()  # type: ignore[no-any-return]


def test_logits_have_scores() -> None:
    got = columns(LOGITS, labels=[0, 2])
    assert list(got) == ["id", "label", "predicted", "score", "class_0", "class_1", "class_2"]
    assert got["score"] == [2.0, -1.0] and got["predicted"] == [0, 2]
    got = columns(LOGITS, labels=[0, 2], activation="softmax")
    assert list(got)[3] == "confidence"
    want = np.exp(LOGITS) / np.exp(LOGITS).sum(1, keepdims=True)
    np.testing.assert_allclose(got["confidence"], want.max(1))


@pytest.mark.parametrize(
    ("outputs", "task", "name"),
    [
        ([[0.2, 0.8]], "multiclass", "confidence"),
        ([[0.2, 0.7]], "multiclass", "score"),  # no distribution
        ([[1.5, -0.5]], "multiclass", "score"),
        ([[1, 0]], "multiclass", "confidence"),
        ([[0.2, 0.7]], "multilabel", "confidence"),
        ([[0.2, 1.7]], "multilabel", "score"),
        ([0.25], "binary", "confidence"),
        ([2.5], "binary", "score"),
        ([[np.nan, 0.5], [0.5, 0.5]], "multiclass", "confidence"),
        (np.float16([[0.3333, 0.3333, 0.3333]]), "multiclass", "confidence"),
    ],
)
def test_only_probabilities_are_confidence(outputs: Any, task: Any, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TbqWarning)
        got = columns(np.asarray(outputs), task=task)
    assert name in got and ({"confidence", "score"} - {name}).isdisjoint(got)


def test_logits_and_a_threshold_are_told_of() -> None:
    for outputs, task in (([3.0, -1.0], "binary"), ([[3.0, -1.0]], "multilabel")):
        with pytest.warns(TbqWarning, match="not probabilities, but are compared with threshold=0.5"):
            got = columns(np.array(outputs), task=task)
        assert "score" in got
    assert columns(np.array([3.0, -1.0]), task="binary", activation="sigmoid")["predicted"] == [1, 0]


def test_a_class_called_score_is_still_a_class() -> None:
    table = predictions([[0.1, 0.9]], labels=[1], classes=["score", "b"])
    assert table.columns == ["id", "label", "predicted", "confidence", "class.score", "b"]
    assert scores(table).to_arrow()["class"].to_pylist() == ["score", "b"]
    assert confusion(predictions(LOGITS, labels=[0, 2])).columns == ["label", "0", "1", "2"]


def test_batches_must_agree_on_what_they_are() -> None:
    rows = predictions(iter([np.array([[0.2, 0.8]]), LOGITS[:, :2]]))
    with pytest.raises(
        UsageError, match="batch 1: the outputs are not probabilities, but those of earlier batches are"
    ):
        rows.to_arrow()
    codes = predictions(iter([np.array([1, 1]), np.array([3])]))
    assert codes.to_arrow()["predicted"].to_pylist() == [1, 1, 3]


# ---- kinds that survive ----


@pytest.mark.parametrize("ending", ["arrow", "parquet", "feather"])
def test_streamed_rows_keep_their_kind(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"x.{ending}"
    rows = tbq.results.weight_elements({"dense.weight": np.eye(2)})
    assert isinstance(rows, Rows)
    rows.write(path)
    assert tbq.read(path).kind == "elements"
    assert tbq.read(path).to_arrow()["value"].to_pylist() == [1.0, 0.0, 0.0, 1.0]
    predictions(iter([LOGITS])).write(tmp_path / f"p.{ending}")
    assert tbq.read(tmp_path / f"p.{ending}").kind == "predictions"


def test_polars_takes_a_table(tmp_path: Path) -> None:
    import logs
    import polars as pl

    table = tbq.open(logs.write(tmp_path, {"a": {"loss": [(1, 0.5), (2, 0.25)]}})).scalars()
    frame = pl.DataFrame(table)
    assert frame.equals(table.to_polars()) and frame.columns == table.columns
    taken = pl.from_arrow(table)  # from polars 2 on, a Series of structs for anything but pyarrow objects
    assert isinstance(taken, pl.DataFrame | pl.Series)
    unnested = taken if isinstance(taken, pl.DataFrame) else taken.struct.unnest()
    assert unnested.equals(frame)


# ---- the order of layers ----


def save_legacy(path: Path, layers: dict[str, dict[str, np.ndarray[Any, Any]]], pieces: int = 1) -> None:
    """What Keras 2's `save_weights('x.h5')` writes: groups by name, and their order in attributes."""
    import h5py

    with h5py.File(path, "w") as file:
        names = [name.encode() for name in layers]
        if pieces == 1:
            file.attrs["layer_names"] = names
        else:  # a list that is too long for one attribute is cut
            for i, part in enumerate(np.array_split(np.array(names), pieces)):
                file.attrs[f"layer_names{i}"] = part
        for name, weights in layers.items():
            group = file.create_group(name)
            group.attrs["weight_names"] = [f"{name}/{key}".encode() for key in weights]
            for key, values in weights.items():
                group[f"{name}/{key}"] = values


@pytest.mark.parametrize("pieces", [1, 3])
def test_layers_of_older_keras_are_in_the_models_order(tmp_path: Path, pieces: int) -> None:
    pytest.importorskip("h5py")
    order = ["input_conv", "b_dense", "a_dense", "output"]
    weights = {"kernel:0": np.ones((2, 2)), "bias:0": np.zeros(2)}
    save_legacy(tmp_path / "model.h5", dict.fromkeys(order, weights), pieces)
    table = tbq.results.weights(tmp_path / "model.h5").to_arrow()
    assert list(dict.fromkeys(table["layer"].to_pylist())) == order
    assert table["parameter"].to_pylist() == ["kernel", "bias"] * 4


def test_layers_that_no_list_names_come_last(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    save_legacy(tmp_path / "model.h5", {"z": {"kernel:0": np.ones(2)}, "b": {"kernel:0": np.ones(2)}})
    with h5py.File(tmp_path / "model.h5", "a") as file:
        file["a/a/kernel:0"] = np.ones(2)
    table = tbq.results.weights(tmp_path / "model.h5").to_arrow()
    assert table["layer"].to_pylist() == ["z", "b", "a"]


# ---- tensors of unknown plugins ----


def test_a_tensor_of_an_unknown_plugin_is_an_array(tmp_path: Path) -> None:
    from protos import strings, tensor, value, write

    held = tensor(1, (2, 2), tensor_content=np.arange(4, dtype="<f4").tobytes())
    later = tensor(1, (1,), tensor_content=np.float32([9]).tobytes())
    write(tmp_path, value("mine", "my_plugin", tensor=held), value("mine", "my_plugin", tensor=later))
    write(
        tmp_path,
        value("words", "my_plugin", tensor=strings((2,), b"a", b"\xff")),
        value("x", simple_value=1.0),
    )
    log = tbq.open(tmp_path)
    np.testing.assert_array_equal(log.tensor("mine", step=0), np.float32([[0, 1], [2, 3]]))
    np.testing.assert_array_equal(log.tensor("mine"), np.float32([9]))
    assert log.tensor("words").tolist() == [b"a", b"\xff"]
    row = log.table("others", tag="mine").to_arrow().to_pylist()[0]
    assert (row["plugin"], row["dtype"], row["shape"]) == ("my_plugin", "float32", [2, 2])
    assert row["data"] == np.arange(4, dtype="<f4").tobytes()
    with pytest.raises(tbq.TbqError, match="closest: 0, 1"):
        log.tensor("mine", step=7)
    with pytest.raises(tbq.TbqError, match="the tag is of kind scalars"):
        log.tensor("x")
    with pytest.raises(tbq.TbqError, match="no tag matches 'nowhere'"):
        log.tensor("nowhere")


# ---- options of a stream of rows ----


READERS: dict[str, Any] = {
    "csv": pl.read_csv, "csv.gz": pl.read_csv, "tsv": lambda path: pl.read_csv(path, separator="\t"),
    "json": pl.read_json, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet, "arrow": pl.read_ipc,
}  # fmt: skip


@pytest.mark.parametrize("ending", READERS)
def test_rows_are_written_with_the_columns_asked_for(ending: str, tmp_path: Path) -> None:
    rows = weight_elements({"a.w": np.arange(3.0), "b.w": np.ones(2)})
    path = tmp_path / f"x.{ending}"
    assert rows.write(path, columns="value,layer") == [str(path)]
    again = READERS[ending](path)
    assert again.columns == ["value", "layer"]
    assert again["value"].to_list() == [0.0, 1.0, 2.0, 1.0, 1.0]
    with pytest.raises(UsageError, match="columns: no column 'valu'; closest: value"):
        rows.write(tmp_path / f"y.{ending}", columns=["valu"])
    with pytest.raises(UsageError, match=r"rows\.write has no argument 'colums'"):
        rows.write(tmp_path / f"y.{ending}", colums="value")  # type: ignore[call-arg]
    assert [path.name for path in tmp_path.iterdir()] == [f"x.{ending}"]


def test_predictions_are_written_with_the_columns_asked_for(tmp_path: Path) -> None:
    np.save(tmp_path / "outputs.npy", np.array([[0.75, 0.25], [0.5, 0.5]]))
    np.save(tmp_path / "labels.npy", np.array([0, 1]))
    tbq.results.write_predictions(
        str(tmp_path / "outputs.npy"), str(tmp_path / "p.csv"), labels=str(tmp_path / "labels.npy"),
        columns="id,predicted", scores=str(tmp_path / "scores.csv"),
    )  # fmt: skip
    assert (tmp_path / "p.csv").read_text() == "id,predicted\n0,0\n1,0\n"
    assert "recall" in (tmp_path / "scores.csv").read_text()
