"""Whose logs to read: the names of writers, and the choice of a call, else of `--source`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from contextvars import ContextVar

from tbq.arguments import bad

#: Event files, and the logs of other trackers that tbq recognises.
WRITERS = (
    "events", "wandb", "mlflow", "trackio", "lightning", "keras", "huggingface", "ray", "ultralytics", "csv",
    "jsonl", "neptune",
)  # fmt: skip

#: What `source=` takes: one name, or several.
Writers = str | Iterable[str] | None

_of_command: ContextVar[frozenset[str] | None] = ContextVar("tbq_writers", default=None)


def chosen(source: Writers = None) -> frozenset[str]:
    """The writers of a call: its own, else those of the command, else all.

    >>> sorted(chosen("wandb")), len(chosen()) == len(WRITERS)
    (['wandb'], True)
    """
    if source is None:
        return _of_command.get() or frozenset(WRITERS)
    names = (
        [source] if isinstance(source, str) else list(source) if isinstance(source, Iterable) else [source]
    )
    if not names or any(name not in WRITERS for name in names):
        raise bad("source", source, "one or several of " + ", ".join(WRITERS))
    return frozenset(names)


@contextlib.contextmanager
def only(names: Iterable[str]) -> Iterator[None]:
    """Apply `--source` of a command: the choice of every call in the block that makes none itself."""
    before = _of_command.set(chosen(list(names)))
    try:
        yield
    finally:
        _of_command.reset(before)
