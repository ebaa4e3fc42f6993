"""How remote logs are reached and where copies of them are kept: keywords, else what `--storage` and `--cache` say."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path

from tbq.arguments import StrPath, bad
from tbq.errors import UsageError
from tbq.limits import size_of

#: What `storage=` takes: options of the object store by name, such as {"aws_region": "eu-west-1"}.
Storage = Mapping[str, object]

_LIMIT = "10GB"
_storage: ContextVar[dict[str, str] | None] = ContextVar("tbq_storage", default=None)
_cache: ContextVar[str | None] = ContextVar("tbq_cache", default=None)


def pairs(given: Iterable[str]) -> dict[str, str]:
    """`KEY=VALUE` texts as options.

    >>> pairs(["aws_region=eu-west-1"])
    {'aws_region': 'eu-west-1'}
    """
    options = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            # What was given is not shown: it may be a secret.
            raise UsageError("--storage: want KEY=VALUE", hint="e.g. --storage aws_region=eu-west-1")
        options[key.strip()] = value
    return options


@contextlib.contextmanager
def using(storage: Storage | None = None, cache: StrPath | None = None) -> Iterator[None]:
    """Everything in the block that names no storage and no cache of its own has these."""
    options = _storage.set(_storage.get() if storage is None else chosen(storage))
    folder = _cache.set(_cache.get() if cache is None else os.fspath(cache))
    try:
        yield
    finally:
        _storage.reset(options)
        _cache.reset(folder)


def chosen(storage: Storage | None = None) -> dict[str, str]:
    """The options of a call: those that it was given, else those of the command.

    >>> chosen({"aws_skip_signature": True})
    {'aws_skip_signature': 'true'}
    """
    if storage is None:
        return dict(_storage.get() or {})
    if not isinstance(storage, Mapping):
        raise bad("storage", type(storage), 'options by name, e.g. {"aws_region": "eu-west-1"}')
    options = {}
    for key, value in storage.items():
        if not isinstance(key, str) or not isinstance(value, str | int | float):
            raise bad("storage", {key: type(value)}, "text, numbers or True and False, by name")
        options[key] = str(value).lower() if isinstance(value, bool) else str(value)
    return options


def cache_folder(cache: StrPath | None = None) -> Path:
    """Where copies of remote objects are kept: `cache`, `--cache`, `TBQ_CACHE`, or the user's folder for caches."""
    given = os.fspath(cache) if cache is not None else _cache.get() or os.environ.get("TBQ_CACHE")
    if given:
        return Path(given).expanduser().absolute()
    if os.name == "nt":
        above = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        above = "~/Library/Caches"
    else:
        above = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(above).expanduser().absolute() / "tbq"


def cache_limit() -> int:
    """How many bytes are kept: `TBQ_CACHE_SIZE` ("50GB"), or 10 GB."""
    return size_of(os.environ.get("TBQ_CACHE_SIZE") or _LIMIT, "TBQ_CACHE_SIZE")
