"""How to reach remote logs and where to keep copies of them: keywords, else `--storage` and `--cache`."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING

from tbq.arguments import StrPath, bad
from tbq.errors import UsageError
from tbq.limits import size_of

if TYPE_CHECKING:
    from pathlib import Path

#: What `storage=` accepts: options of the object store by name, such as {"aws_region": "eu-west-1"}.
Storage = Mapping[str, object]

_LIMIT = "10GB"
_storage: ContextVar[dict[str, str] | None] = ContextVar("tbq_storage", default=None)
_cache: ContextVar[str | None] = ContextVar("tbq_cache", default=None)


def pairs(texts: Iterable[str]) -> dict[str, str]:
    """`KEY=VALUE` texts as options.

    >>> pairs(["aws_region=eu-west-1"])
    {'aws_region': 'eu-west-1'}
    """
    options = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            # The message omits the value: it may be a secret.
            raise UsageError("--storage: want KEY=VALUE", hint="e.g. --storage aws_region=eu-west-1")
        options[key.strip()] = value
    return options


@contextlib.contextmanager
def using(storage: Storage | None = None, cache: StrPath | None = None) -> Iterator[None]:
    """Set the default storage and cache for every call in the block that sets none itself."""
    options = _storage.set(_storage.get() if storage is None else chosen(storage))
    folder = _cache.set(_cache.get() if cache is None else os.fspath(cache))
    try:
        yield
    finally:
        _storage.reset(options)
        _cache.reset(folder)


def chosen(storage: Storage | None = None) -> dict[str, str]:
    """The options of a call: its own, else those of the command.

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
    """Where to keep copies of remote objects: `cache`, `--cache`, `TBQ_CACHE`, or the user's cache folder."""
    from pathlib import Path

    folder = os.fspath(cache) if cache is not None else _cache.get() or os.environ.get("TBQ_CACHE")
    if folder:
        if "://" in folder and not os.path.lexists(folder):
            what = "is a URL, and the cache is a folder of this machine"
            raise UsageError(what, path=folder, hint="name a folder: --cache DIR, TBQ_CACHE")
        return Path(folder).expanduser().absolute()
    if os.name == "nt":
        above = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        above = "~/Library/Caches"
    else:
        above = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(above).expanduser().absolute() / "tbq"


def cache_limit() -> int:
    """How many bytes to keep: `TBQ_CACHE_SIZE` ("50GB"), or 10 GB."""
    return size_of(os.environ.get("TBQ_CACHE_SIZE") or _LIMIT, "TBQ_CACHE_SIZE")
