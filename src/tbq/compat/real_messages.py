"""Messages of the tensorboard package, for `protobuf=True`; and the default of that argument."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from tbq.errors import missing

#: The default of `protobuf`, which `install` sets.
default = False
_MODULES = (
    "tensorboard.compat.proto.event_pb2",
    "tensorboard.compat.proto.graph_pb2",
    "tensorboard.compat.proto.meta_graph_pb2",
    "tensorboard.compat.proto.config_pb2",
    "tensorboard.plugins.hparams.plugin_data_pb2",
)


@functools.cache
def real_class(full_name: str) -> Any:
    """The class of a message such as "tensorboard.Event"."""
    try:
        for module in _MODULES:
            importlib.import_module(module)
        from google.protobuf import descriptor_pool, message_factory
    except ImportError as absent:
        raise missing("tensorboard", needed_for="protobuf=True") from absent
    descriptor = descriptor_pool.Default().FindMessageTypeByName(full_name)
    return message_factory.GetMessageClass(descriptor)


def wants_protobuf(asked: bool | None) -> bool:
    """The meaning of the argument `protobuf`; None is the default."""
    return default if asked is None else asked
