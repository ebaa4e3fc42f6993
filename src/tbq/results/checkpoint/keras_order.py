"""The order in which older Keras saved the layers of a model, which the groups of an HDF5 file do not keep."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Named = tuple[list[str], Any]  # the names that lead to a dataset, and the dataset


def is_legacy(top: Any) -> bool:
    """Whether Keras 1 or 2 wrote this group of layers."""
    return "layer_names" in top.attrs or "layer_names0" in top.attrs


def in_model_order(datasets: Iterable[Named], top: Any) -> list[Named]:
    """The datasets in the order of the model: by layer, then by weight; unlisted ones come last."""
    layers = {name: place for place, name in enumerate(_names(top, "layer_names"))}
    weights: dict[str, dict[str, int]] = {}

    def key(dataset: Named) -> tuple[int, int]:
        layer, *rest = dataset[0]
        if layer not in layers or not rest:
            return len(layers), 0
        if layer not in weights:
            weights[layer] = {name: place for place, name in enumerate(_names(top[layer], "weight_names"))}
        return layers[layer], weights[layer].get("/".join(rest), len(weights[layer]))

    return sorted(datasets, key=key)


def _names(group: Any, attribute: str) -> list[str]:
    """A list of names in the attributes of a group; Keras splits a long list into `name0`, `name1`, …"""
    attributes = group.attrs
    keys = [attribute] if attribute in attributes else []
    while f"{attribute}{len(keys)}" in attributes:
        keys.append(f"{attribute}{len(keys)}")
    return [
        name.decode("utf-8", "surrogateescape") if isinstance(name, bytes) else str(name)
        for key in keys
        for name in attributes[key]
    ]
