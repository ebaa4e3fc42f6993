"""The layers of Keras models, which Keras logs as JSON, as rows of the nodes table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_LARGEST = 16 << 20  # characters


class Layer(NamedTuple):
    """A layer of a model: its name, its class, and its input layers."""

    name: str
    op: str
    inputs: list[str]


def layers(text: bytes) -> list[Layer]:
    """The layers of a model, including nested models; ValueError if the JSON is not a Keras model's.

    >>> layers(b'{"config": {"layers": [{"class_name": "Dense", "config": {"name": "d"}}]}}')
    [Layer(name='d', op='Dense', inputs=[])]
    """
    found_layers = []
    size = 0
    try:
        for layer in _layers(json.loads(text), ""):
            size += len(layer.name) + sum(map(len, layer.inputs))
            if size > _LARGEST:  # a long model name is repeated before the name of each layer
                raise ValueError("the names of the Keras model's layers exceed 16 MiB")
            found_layers.append(layer)
    except (RecursionError, AttributeError, KeyError, TypeError, UnicodeDecodeError) as wrong:
        raise ValueError("the Keras model's JSON does not have Keras' structure") from wrong
    return found_layers


def _layers(model: dict[str, Any], inside: str) -> Iterator[Layer]:
    config = model["config"]
    listed = config if isinstance(config, list) else config["layers"]  # a list: Sequential before Keras 2.2.3
    before: list[str] = []
    for layer in listed:
        own = layer["config"]
        name = inside + _text(layer.get("name") or own["name"])
        sources = [inside + part for part in dict.fromkeys(_sources(layer.get("inbound_nodes", [])))]
        inputs = sources if "inbound_nodes" in layer else before
        yield Layer(name, _text(layer["class_name"]), inputs)
        if isinstance(own, list) or "layers" in own:
            yield from _layers(layer, name + "/")
        before = [name]


def _sources(node: Any) -> Iterator[str]:
    """The names of layers in inbound_nodes: `keras_history` in Keras 3, before it lists of [name, node, tensor]."""
    if isinstance(node, dict):
        history = node.get("keras_history")
        if history is not None:
            yield _text(history[0])
            return
        for part in node.values():
            yield from _sources(part)
    elif isinstance(node, list):
        if len(node) >= 3 and isinstance(node[0], str) and isinstance(node[1], int):
            yield _text(node[0])
            return
        for part in node:
            yield from _sources(part)


def _text(value: object) -> str:
    """Text without lone surrogates: JSON can escape half a character, which no column can hold."""
    return str(value).encode("utf-8", "replace").decode()
