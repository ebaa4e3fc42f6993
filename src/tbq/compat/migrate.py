"""Events as TensorBoard's plugins expect them: old summaries become tensors, with the data class in the metadata.

These are the rules of TensorBoard's `data_compat` and `dataclass_compat`, in this order.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import TYPE_CHECKING, Any

import numpy as np

from tbq import wire
from tbq.compat.messages import message_class, raw_fields
from tbq.compat.provider.index import BLOB_SEQUENCE, DATA_CLASSES

if TYPE_CHECKING:
    from tbq.compat.messages import Message

# Field numbers of Event and of Summary.Value.
_WALL_TIME, _STEP, _SUMMARY = 1, 2, 5
_WHAT = frozenset(range(3, 10))  # the oneof of an event: its last field counts
_TAG, _TENSOR, _METADATA = 1, 8, 9

_GRAPH_SUB_PLUGINS = ("graph_run_metadata", "graph_run_metadata_graph", "graph_keras_model")
_NULL_TENSOR = wire.integer(1, wire.DT_FLOAT) + wire.shape([0])


class Migration:
    """Migrates the events of one run, in order: the first metadata of a tag decides for all of its values."""

    def __init__(self) -> None:
        self._initial: dict[str, Message] = {}

    def events(self, event: Message) -> Iterable[Message]:
        """The events that replace an event."""
        what = event.WhichOneof("what")
        if what == "graph_def":
            return (event, _blob_event(event, "__run_graph__", "graphs", event.graph_def))
        if what == "tagged_run_metadata":
            run = event.tagged_run_metadata
            return (_blob_event(event, run.tag, "graph_tagged_run_metadata", run.run_metadata),)
        if what != "summary":
            return (event,)
        old = event.summary.value
        new = [self._value(_as_tensor(value)) for value in old]
        if all(after is before for after, before in zip(new, old, strict=True)):
            return (event,)
        values = b"".join(wire.message(1, value.SerializeToString()) for value in new)
        data = _with_field(event.SerializeToString(), _SUMMARY, wire.message(_SUMMARY, values), _WHAT)
        return (message_class("tensorboard.Event")(data),)

    def _value(self, value: Message) -> Message:
        initial = self._initial.setdefault(value.tag, value.metadata)
        plugin = initial.plugin_data.plugin_name
        if initial.data_class or plugin not in DATA_CLASSES:
            return value
        data = value.SerializeToString()
        if plugin == "audio":
            data = _first_axis(data, value.tensor)
        elif plugin == "hparams" and not value.HasField("tensor"):
            data = _with_field(data, _TENSOR, wire.message(_TENSOR, _NULL_TENSOR))
        elif plugin in _GRAPH_SUB_PLUGINS and not value.tensor.tensor_shape.dim:
            tensor = value.tensor.SerializeToString()
            data = _with_field(data, _TENSOR, wire.message(_TENSOR, _with_field(tensor, 2, wire.shape([1]))))
        if value.HasField("metadata"):
            metadata = value.metadata.SerializeToString() + wire.integer(4, DATA_CLASSES[plugin])
            data = _with_field(data, _METADATA, wire.message(_METADATA, metadata))
        return value if data == value.SerializeToString() else type(value)(data)


def _as_tensor(value: Message) -> Message:
    """An old value as a tensor; any other value unchanged."""
    which = value.WhichOneof("value")
    content = b""
    if which == "simple_value":
        plugin, tensor = "scalars", wire.float_tensor(np.array(value.simple_value))
    elif which == "histo":
        plugin, tensor = "histograms", _histogram(value.histo)
    elif which == "image":
        image = value.image
        sizes = [str(image.width).encode(), str(image.height).encode()]
        plugin, content = "images", wire.integer(2, 1)
        tensor = wire.string_tensor([*sizes, image.encoded_image_string], [3])
    elif which == "audio":
        plugin, content = "audio", wire.integer(2, 11) + wire.integer(3, 1)
        tensor = wire.string_tensor([value.audio.encoded_audio_string, b""], [1, 2])
    else:
        return value
    old = value.metadata
    metadata = wire.metadata(plugin, content, old.display_name or value.tag, old.summary_description)
    data = wire.text(_TAG, value.tag) + wire.message(_TENSOR, tensor) + wire.message(_METADATA, metadata)
    return type(value)(data)


def _histogram(histogram: Any) -> bytes:
    """Left, right and count of each bucket, without empty buckets at the ends; the outermost limits are min and max."""
    counts = histogram.bucket
    filled = [place for place, count in enumerate(counts) if count > 0]
    if not filled:
        return wire.integer(1, wire.DT_FLOAT) + wire.shape([0, 3])
    start, end = filled[0], filled[-1]
    inner = histogram.bucket_limit[start:end]
    columns = [[histogram.min, *inner], [*inner, histogram.max], counts[start : end + 1]]
    with np.errstate(over="ignore"):  # limits too large for float32 become infinite
        buckets = np.array(columns, dtype=np.float32).transpose()
    return wire.integer(1, wire.DT_FLOAT) + wire.shape(buckets.shape) + wire.text(4, buckets.tobytes())


def _first_axis(data: bytes, tensor: Message) -> bytes:
    """A value with a tensor of clips and labels, reduced to a tensor of clips."""
    sizes = [dim.size for dim in tensor.tensor_shape.dim]
    if len(sizes) <= 1:
        return data
    changed = _with_field(tensor.SerializeToString(), 2, wire.shape(sizes[:1]))
    stride = int(np.prod(sizes[1:])) or 1
    if stride != 1 and tensor.string_val:
        strings = b"".join(wire.message(8, string) for string in tensor.string_val[::stride])
        changed = _with_field(changed, 8, strings)
    return _with_field(data, _TENSOR, wire.message(_TENSOR, changed))


def _blob_event(event: Message, tag: str, plugin: str, blob: bytes) -> Message:
    tensor = wire.string_tensor([blob], [1])
    metadata = wire.metadata(plugin) + wire.integer(4, BLOB_SEQUENCE)
    value = wire.text(_TAG, tag) + wire.message(_TENSOR, tensor) + wire.message(_METADATA, metadata)
    head = wire.double(_WALL_TIME, event.wall_time) + wire.integer(_STEP, event.step)
    return type(event)(head + wire.message(_SUMMARY, wire.message(1, value)))


def _with_field(data: bytes, number: int, field: bytes, replaced: Set[int] = frozenset()) -> bytes:
    """A message with a field added in the order of numbers, in place of the same field and of those `replaced`."""
    fields = raw_fields(data)
    parts = [
        (each, data[begin:end])
        for each, _, _, begin, _, end in fields
        if each != number and each not in replaced
    ]
    before = b"".join(part for each, part in parts if each < number)
    return before + field + b"".join(part for each, part in parts if each > number)
