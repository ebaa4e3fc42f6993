"""What `install` sets for all that is made after it."""

from __future__ import annotations

#: whether messages are those of the tensorboard package
protobuf = False


def wants_protobuf(asked: bool | None) -> bool:
    """What the argument `protobuf` means; None is what `install` was told."""
    return protobuf if asked is None else asked
