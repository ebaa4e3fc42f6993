"""Keras models, which are logged as JSON, as nodes: their layers, whichever Keras wrote them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from protos import strings, value, write

import tbq
from tbq.kinds.keras_models import Layer, layers

if TYPE_CHECKING:
    from pathlib import Path


def layer(op: str, name: str, **more: Any) -> dict[str, Any]:
    return {"class_name": op, "config": {"name": name}, **more}


def model(*parts: dict[str, Any], op: str = "Functional", name: str = "model") -> dict[str, Any]:
    return {"class_name": op, "config": {"name": name, "layers": list(parts)}}


def called_on(*names: str) -> dict[str, Any]:
    tensors = [
        {"class_name": "__keras_tensor__", "config": {"keras_history": [name, 0, 0]}} for name in names
    ]
    return {"args": [tensors], "kwargs": {"mask": None}}


def test_keras_3_says_what_layers_are_called_on() -> None:
    made = model(
        layer("InputLayer", "a", inbound_nodes=[]),
        layer("Dense", "shared", inbound_nodes=[called_on("a"), called_on("b"), called_on("a")]),
    )
    assert layers(json.dumps(made).encode()) == [
        Layer("a", "InputLayer", []),
        Layer("shared", "Dense", ["a", "b"]),
    ]


def test_keras_2_has_lists() -> None:
    made = model(layer("Add", "sum", inbound_nodes=[[["a", 0, 0, {}], ["b", 0, 1, {}]]]))
    assert layers(json.dumps(made).encode()) == [Layer("sum", "Add", ["a", "b"])]


def test_a_sequential_model_inside_a_model() -> None:
    inner = model(layer("Dense", "d1"), layer("Dense", "d2"), op="Sequential", name="head")
    outer = model(layer("InputLayer", "x", inbound_nodes=[]), {**inner, "inbound_nodes": [called_on("x")]})
    assert layers(json.dumps(outer).encode()) == [
        Layer("x", "InputLayer", []),
        Layer("head", "Sequential", ["x"]),
        Layer("head/d1", "Dense", []),
        Layer("head/d2", "Dense", ["head/d1"]),
    ]
    old = {"class_name": "Sequential", "config": [layer("Dense", "d1"), layer("Dense", "d2")]}
    assert [each.inputs for each in layers(json.dumps(old).encode())] == [[], ["d1"]]


@pytest.mark.parametrize(
    "text",
    [
        b"", b"{", b"null", b"[]", b"{}", b'{"config": 3}', b'{"config": {"layers": 3}}', b"\xff",
        b'{"config": {"layers": [{}]}}', b"[" * 100_000, b'{"config": ' * 5000,
        b'{"config": {"layers": [{"class_name": "D", "config": {"name": "d"}, "inbound_nodes": '
        b'[{"keras_history": {}}]}]}}',
    ],
)  # fmt: skip
def test_what_is_no_model_is_a_problem(text: bytes, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"Keras|JSON|Expecting|UTF-8|utf-8"):
        layers(text)
    good = json.dumps(model(layer("Dense", "d"))).encode()
    write(tmp_path, *(value("keras", "graph_keras_model", tensor=strings((), each)) for each in (text, good)))
    log = tbq.open(tmp_path)
    with pytest.warns(tbq.TbqWarning, match="bad_graph|Keras|JSON|Expecting|codec"):
        table = log.nodes()
    assert table.to_arrow()["name"].to_pylist() == ["d"]
    assert [problem.code for problem in log.problems] == ["bad_graph"]


def test_long_names_around_many_layers_are_refused() -> None:
    parts = [layer("Dense", "d")] * 40_000
    made = model(model(*parts, op="Sequential", name="n" * 1000))
    with pytest.raises(ValueError, match="16 MiB"):
        layers(json.dumps(made).encode())


def test_half_a_character_is_replaced(tmp_path: Path) -> None:
    text = b'{"config": {"layers": [{"class_name": "D", "config": {"name": "\\ud800"}}]}}'
    write(tmp_path, value("keras", "graph_keras_model", tensor=strings((), text)))
    assert tbq.open(tmp_path).nodes().to_arrow()["name"].to_pylist() == ["?"]


def test_nodes_stay_in_the_order_of_runs(tmp_path: Path) -> None:
    good = json.dumps(model(layer("Dense", "d"))).encode()
    for run in ("b", "a"):
        write(tmp_path, value("keras", "graph_keras_model", tensor=strings((), good)), run=run)
    log = tbq.open(tmp_path)
    assert log.nodes().to_arrow()["run"].to_pylist() == ["a", "b"]
    assert log.sql("select run, name, op from nodes order by run").to_arrow().to_pylist() == [
        {"run": "a", "name": "d", "op": "Dense"},
        {"run": "b", "name": "d", "op": "Dense"},
    ]
    log.write_media(tmp_path / "out")
    assert len(list((tmp_path / "out").rglob("*.nodes.csv"))) == 2
