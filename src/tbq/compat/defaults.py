"""The defaults that `install` sets for all objects created after it."""

from __future__ import annotations

#: whether to return messages of the tensorboard package
protobuf = False


def wants_protobuf(asked: bool | None) -> bool:
    """The meaning of the argument `protobuf`; None is the default that `install` set."""
    return protobuf if asked is None else asked
