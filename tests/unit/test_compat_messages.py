"""Light messages behave like protobuf's own."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compatlog import events
from google.protobuf import json_format, text_format
from google.protobuf.descriptor import FieldDescriptor
from hypothesis import example, given
from hypothesis import strategies as st
from protolog import T0, header, scalar, write
from tensorboard.compat.proto import event_pb2, graph_pb2, meta_graph_pb2, summary_pb2, tensor_pb2
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.util import tensor_util

from tbq.compat import tensor_util as ours
from tbq.compat.event_accumulator import EventAccumulator
from tbq.compat.messages import DecodeError, Message, message_class
from tbq.compat.schema import message_spec
from tbq.compat.summary_iterator import summary_iterator


def same(light: Any, real: Any) -> None:
    """Every field and its properties."""
    spec = real.DESCRIPTOR
    assert {field.name for field in spec.fields} == set(light.DESCRIPTOR.fields_by_name)
    assert [field.name for field, _ in light.ListFields()] == [field.name for field, _ in real.ListFields()]
    assert sorted(str(light).splitlines()) == sorted(str(real).splitlines())  # maps come in any order
    for oneof in spec.oneofs_by_name:
        if not oneof.startswith("_"):
            assert light.WhichOneof(oneof) == real.WhichOneof(oneof)
    for field in spec.fields:
        ours, other = getattr(light, field.name), getattr(real, field.name)
        assert outcome(light.HasField, field.name) == outcome(real.HasField, field.name)
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            assert set(ours) == set(other)
            if field.message_type.fields_by_name["value"].message_type is not None:
                for key in ours:
                    same(ours[key], other[key])
            else:
                assert ours == dict(other)
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            for each in zip(ours, other, strict=True) if field.is_repeated else [(ours, other)]:
                if field.is_repeated or real.HasField(field.name):
                    same(*each)
        elif field.is_repeated:
            assert repr(ours) == repr(list(other))
        else:
            assert repr(ours) == repr(other)


def outcome(call: Any, *args: Any) -> Any:
    try:
        return call(*args)
    except ValueError as error:
        return type(error)


def light(real: Any) -> Message:
    return message_class(real.DESCRIPTOR.full_name).FromString(real.SerializeToString())


@given(events())
def test_events(data: bytes) -> None:
    real = event_pb2.Event.FromString(data)
    message = light(real)
    same(message, real)
    assert message.SerializeToString() == data
    assert message.ByteSize() == len(data)
    assert message.to_protobuf().SerializeToString() == real.SerializeToString()
    if message.to_protobuf() == real:  # without NaN
        assert message == real
        assert real == message
    assert pickle.loads(pickle.dumps(message)).SerializeToString() == data


def test_graphs_and_plugin_data() -> None:
    graph = graph_pb2.GraphDef(
        node=[{"name": "a", "op": "Const", "input": ["b", "^c"]}], versions={"producer": 3}
    )
    graph.node[0].attr["value"].tensor.CopyFrom(tensor_util.make_tensor_proto([1.5, 2.0]))
    graph.node[0].attr["flag"].b = True
    graph.node[0].attr["list"].list.i.extend([1, -2])
    graph.node[0].attr["dtype"].type = 1
    graph.library.function.add().signature.name = "f"
    same(light(graph), graph)
    meta = meta_graph_pb2.MetaGraphDef(graph_def=graph)
    meta.collection_def["x"].int64_list.value.extend([1, 2])
    same(light(meta), meta)
    hparams = plugin_data_pb2.HParamsPluginData(version=0)
    hparams.session_start_info.hparams["lr"].number_value = 0.1
    hparams.session_start_info.hparams["name"].string_value = "ü"
    hparams.session_start_info.hparams["on"].bool_value = False
    same(light(hparams), hparams)


DTYPES = [
    np.float16,
    np.float32,
    np.float64,
    np.int8,
    np.uint8,
    np.int16,
    np.int32,
    np.int64,
    np.bool_,
    np.complex64,
]


@given(st.sampled_from(DTYPES), st.sampled_from([(), (1,), (3,), (2, 3), (0,)]), st.booleans())
def test_tensors_as_arrays(dtype: Any, shape: tuple[int, ...], listed: bool) -> None:
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    real = tensor_util.make_tensor_proto(array)
    if listed and real.tensor_content and dtype == np.float32:
        real.float_val.extend(array.ravel().tolist())
        real.tensor_content = b""
    message = light(real)
    same(message, real)
    for function in (tensor_util.make_ndarray, ours.make_ndarray):
        found = function(message)
        assert found.dtype == array.dtype
        np.testing.assert_array_equal(found, array)


def test_strings_and_repeated_last_elements() -> None:
    real = tensor_util.make_tensor_proto([b"a", b"bc"])
    assert ours.make_ndarray(light(real)).tolist() == tensor_util.make_ndarray(real).tolist() == [b"a", b"bc"]
    filled = tensor_pb2.TensorProto(dtype=1, float_val=[1.0, 2.0])
    filled.tensor_shape.dim.add().size = 4
    assert ours.make_ndarray(light(filled)).tolist() == [1, 2, 2, 2]


@given(st.binary(max_size=60))
@example(b"\x08\x96")
@example(b"\x0b\x08\x01\x0c")
@example(b"\x0f")
@example(b"\x00\x00")
def test_any_bytes_are_a_message_or_an_error(data: bytes) -> None:
    try:
        event_pb2.Event.FromString(data)
    except Exception:
        return
    message_class("tensorboard.Event").FromString(data)


def test_bytes_that_are_no_message() -> None:
    with pytest.raises(DecodeError):
        message_class("tensorboard.Event").FromString(b"\x09\x01")


def test_errors_of_names() -> None:
    message = light(event_pb2.Event(step=3))
    with pytest.raises(AttributeError):
        message.nothing  # noqa: B018
    with pytest.raises(AttributeError, match="read-only"):
        message.step = 4
    for name in ("step", "nothing"):
        with pytest.raises(ValueError):
            message.HasField(name)
    with pytest.raises(ValueError):
        message.WhichOneof("nothing")


@pytest.mark.parametrize("function", [text_format.MessageToString, json_format.MessageToDict])
def test_functions_of_protobuf_say_what_they_need(function: Callable[[Any], object]) -> None:
    metadata = summary_pb2.SummaryMetadata(display_name="a")
    light = message_class("tensorboard.SummaryMetadata")(metadata.SerializeToString())
    with pytest.raises(AttributeError, match="to_protobuf"):
        function(light)
    assert function(light.to_protobuf()) == function(metadata)


def test_enums_and_nested_classes() -> None:
    event = light(event_pb2.Event(session_log=event_pb2.SessionLog(status=event_pb2.SessionLog.START)))
    assert event.session_log.status == event.session_log.START == event_pb2.SessionLog.START
    assert message_class("tensorboard.Summary").Value is message_class("tensorboard.Summary.Value")  # type: ignore[attr-defined]
    assert message_spec("tensorboard.Event").name == "Event"


def test_real_messages_on_request(tmp_path: Path) -> None:
    path = write(tmp_path, header(), scalar("x", 1, 2.0, T0))
    assert all(isinstance(event, event_pb2.Event) for event in summary_iterator(path, protobuf=True))
    assert not any(isinstance(event, event_pb2.Event) for event in summary_iterator(path))
    value = event_pb2.Event()
    value.summary.value.add(tag="t").tensor.CopyFrom(tensor_util.make_tensor_proto(1.0))
    value.graph_def = graph_pb2.GraphDef(node=[{"name": "a"}]).SerializeToString()
    from protolog import record

    write(tmp_path, header(), record(value.SerializeToString()))
    accumulator = EventAccumulator(str(tmp_path), protobuf=True).Reload()
    assert isinstance(accumulator.Graph(), graph_pb2.GraphDef)
