"""Requests to a data provider, checked; and the keys of blobs, which are safe in a URL."""

from __future__ import annotations

import base64
import json
from typing import Any, NamedTuple, Required, TypedDict

from tbq.compat.provider.classes import errors


class Wanted(TypedDict, total=False):
    """The arguments of methods that return series; without `run_tag_filter`, all series."""

    experiment_id: Required[str]
    plugin_name: Required[str]
    run_tag_filter: Any


class WantedValues(Wanted, total=False):
    """The arguments of methods that return several values of each series: `downsample`, the limit, is required."""

    downsample: int | None


class Request(NamedTuple):
    """A checked request."""

    experiment_id: str
    plugin: str
    runs: frozenset[str] | None  # None for all
    tags: frozenset[str] | None


def requested(ctx: Any, *, experiment_id: str, plugin_name: str, run_tag_filter: Any = None) -> Request:
    """The request for series of a plugin."""
    validate(ctx, experiment_id)
    if run_tag_filter is None:
        return Request(experiment_id, plugin_name, None, None)
    return Request(experiment_id, plugin_name, run_tag_filter.runs, run_tag_filter.tags)


def requested_values(ctx: Any, *, downsample: Any = None, **wanted: Any) -> tuple[Request, int]:
    """The request, and the largest number of values of each series."""
    request = requested(ctx, **wanted)
    return request, at_most(downsample)


def validate(ctx: Any, experiment_id: Any) -> None:
    """Refuse what TensorBoard's own provider refuses."""
    if type(ctx).__name__ != "RequestContext":
        raise TypeError(f"ctx must be a RequestContext; got: {ctx!r}")
    if not isinstance(experiment_id, str):
        raise TypeError(f"experiment_id must be {str!r}, but got {type(experiment_id)!r}: {experiment_id!r}")


def at_most(downsample: Any) -> int:
    """The largest number of values to return."""
    if downsample is None:
        raise TypeError("`downsample` required but not given")
    if not isinstance(downsample, int):
        raise TypeError(f"`downsample` must be an int, but got {type(downsample)!r}: {downsample!r}")
    return max(downsample, 0)


def encode_key(*parts: str | int) -> str:
    """A key that is safe in a URL."""
    text = json.dumps(parts, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode("ascii")).decode("ascii").rstrip("=")


def decode_key(key: str) -> tuple[str, str, str, str, int, int]:
    """The arguments of encode_key."""
    try:
        parts = json.loads(base64.urlsafe_b64decode(key + "==").decode("ascii"))
        experiment_id, plugin, run, tag, step, index = parts
    except (ValueError, TypeError) as wrong:
        raise errors().InvalidArgumentError(f"not a blob key: {key!r}") from wrong
    if not (
        isinstance(run, str) and isinstance(tag, str) and isinstance(step, int) and isinstance(index, int)
    ):
        raise errors().InvalidArgumentError(f"not a blob key: {key!r}")
    return experiment_id, plugin, run, tag, step, index
