"""Encodes graphs: a GraphDef unchanged, or a torch module traced by torch itself."""

from __future__ import annotations

from typing import Any

from tbq import wire
from tbq.arguments import described
from tbq.errors import missing
from tbq.write.arguments import bad
from tbq.write.core import serialized


def encode(model: Any, input_to_model: Any, verbose: bool, use_strict_trace: bool) -> list[bytes]:
    """The fields of one or two Events: the graph and, for a traced module, the cost of its steps."""
    if isinstance(model, bytes) or hasattr(model, "SerializeToString"):
        return [wire.text(4, serialized(model, "model"))]
    if hasattr(model, "as_graph_def"):  # a TensorFlow graph
        return [wire.text(4, serialized(model.as_graph_def(), "model"))]
    if not (hasattr(model, "forward") and hasattr(model, "state_dict")):
        raise bad("model", f"got {described(model)}, want a GraphDef, its bytes, or a torch module")
    try:
        from torch.utils.tensorboard._pytorch_graph import graph
    except ImportError:
        raise missing("tensorboard", needed_for="add_graph of a torch module") from None
    traced, costs = graph(model, input_to_model, verbose, use_strict_trace)
    run_metadata = wire.text(1, "step1") + wire.text(2, serialized(costs, "model"))
    return [wire.text(4, serialized(traced, "model")), wire.message(8, run_metadata)]


def encode_onnx(prototxt: Any) -> bytes:
    """The fields of an Event with the graph of an ONNX file, read by torch."""
    try:
        from torch.utils.tensorboard._onnx_graph import load_onnx_graph
    except ImportError:
        raise missing("torch and onnx", needed_for="add_onnx_graph") from None
    return wire.text(4, serialized(load_onnx_graph(prototxt), "prototxt"))
