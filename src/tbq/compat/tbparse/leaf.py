"""The data of one file by kind: tags, steps, wall times and columns of values."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbq.compat.event_accumulator import (
    AUDIO,
    HISTOGRAMS,
    IMAGES,
    SCALARS,
    STORE_EVERYTHING_SIZE_GUIDANCE,
    TENSORS,
    EventAccumulator,
)
from tbq.compat.messages import message_class
from tbq.compat.sequences import SCALAR_DTYPE
from tbq.compat.tbparse.values import audio_array, image_array
from tbq.compat.tensor_util import make_ndarray
from tbq.select import TEXT_SUFFIX

HPARAMS, TEXT = "hparams", "text"
PLUGINS = (HPARAMS, TEXT)
SESSION_START_INFO = "_hparams_/session_start_info"
#: The columns of each kind besides `step` and `tag`: those always present, then the extra columns.
COLUMNS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    SCALARS: (("value",), ()),
    TENSORS: (("value",), ()),
    HISTOGRAMS: (("counts", "limits"), ("max", "min", "num", "sum", "sum_squares")),
    IMAGES: (("value",), ("height", "width")),
    AUDIO: (("value",), ("content_type", "length_frames", "sample_rate")),
    HPARAMS: (("value",), ()),
    TEXT: (("value",), ()),
}

Column = NDArray[Any] | list[Any]


class TagRows(NamedTuple):
    """The rows of one tag; hparams have neither steps nor wall times."""

    steps: NDArray[np.int64] | None
    wall_times: NDArray[np.float64] | None
    columns: dict[str, Column]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


class Leaf:
    """One file, read once, on first use."""

    def __init__(self, path: str, event_types: set[str]) -> None:
        self.path = path
        self._event_types = event_types
        self._accumulator: EventAccumulator | None = None

    @property
    def accumulator(self) -> EventAccumulator:
        if self._accumulator is None:
            self._accumulator = EventAccumulator(self.path, self._sizes(), protobuf=False).Reload()
        return self._accumulator

    def _sizes(self) -> dict[str, int]:
        """Sizes by kind: one value for kinds that are not selected, so that their tags are known."""
        wanted = set(self._event_types)
        if TEXT in wanted:
            wanted.add(TENSORS)
        return {kind: int(kind not in wanted) for kind in STORE_EVERYTHING_SIZE_GUIDANCE}

    def raw_tags(self, accumulator: EventAccumulator | None = None) -> dict[str, Any]:
        """The tags of EventAccumulator, and those of the plugins that a SummaryReader distinguishes."""
        accumulator = accumulator or self.accumulator
        tags = accumulator.Tags()
        for plugin in PLUGINS:
            content = accumulator._plugin_to_tag_to_content
            tags[plugin] = list(content[plugin]) if plugin in content else []
        return tags

    def tags(self, kind: str) -> list[str]:
        """The tags of a kind, as a SummaryReader lists them."""
        if kind not in self._event_types:
            return []
        if kind == HPARAMS:
            return list(self._hparams())
        tags = self.raw_tags()
        if kind == TENSORS:
            of_plugins = {*tags[HPARAMS], *tags[TEXT]}
            return [tag for tag in tags[TENSORS] if tag not in of_plugins]
        listed: list[str] = tags[kind]
        return listed

    def rows(self, kind: str, extra: set[str]) -> dict[str, TagRows]:
        """The rows of each tag, with the selected extra columns."""
        if kind == HPARAMS:
            return {tag: TagRows(None, None, {"value": [value]}) for tag, value in self._hparams().items()}
        rows = {}
        for tag in self.tags(kind):
            if kind in (SCALARS, TENSORS):
                read = self._scalars(tag) if kind == SCALARS else self._tensors(tag)
            else:
                read = self._values(kind, tag, extra)
            # Without the suffix two tags may be the same; the later one stays, as in tbparse.
            rows[tag.removesuffix(TEXT_SUFFIX) if kind == TEXT else tag] = read
        return rows

    def _scalars(self, tag: str) -> TagRows:
        rows = self.accumulator._core.scalars(tag).view(SCALAR_DTYPE)
        return TagRows(rows["step"], rows["wall_time"], {"value": rows["value"]})

    def _tensors(self, tag: str) -> TagRows:
        core = self.accumulator._core
        rows = np.empty(core.count(TENSORS, tag), SCALAR_DTYPE)
        _, plain = core.copy_tensors(tag, rows.view(np.uint8))
        values: Column = rows["value"]
        if not plain:
            values = [_element(make_ndarray(event.tensor_proto)) for event in self.accumulator.Tensors(tag)]
        return TagRows(rows["step"], rows["wall_time"], {"value": values})

    def _values(self, kind: str, tag: str, extra: set[str]) -> TagRows:
        events = list(READ[kind](self.accumulator, tag))
        first, more = COLUMNS[kind]
        names = (*first, *(name for name in more if name in extra))
        return TagRows(
            np.array([event.step for event in events], np.int64),
            np.array([event.wall_time for event in events], np.float64),
            {name: [_CELLS[kind](event, name) for event in events] for name in names},
        )

    def _hparams(self) -> dict[str, Any]:
        content = self.accumulator._plugin_to_tag_to_content.get(HPARAMS, {})
        if SESSION_START_INFO not in content:
            return {}
        data = message_class("tensorboard.hparams.HParamsPluginData").FromString(content[SESSION_START_INFO])
        values = {}
        for name, value in data.session_start_info.hparams.items():
            kind = value.WhichOneof("kind")
            if kind is not None:
                values[name] = getattr(value, kind)
        return values

    @property
    def file_name(self) -> str:
        return os.path.basename(self.path)


def _element(array: NDArray[Any]) -> Any:
    return array.item() if array.shape == () else array


def _histogram(event: Any, name: str) -> Any:
    value = event.histogram_value
    if name in ("counts", "limits"):
        return np.array(value.bucket if name == "counts" else value.bucket_limit, np.float64)
    return getattr(value, name)


def _image(event: Any, name: str) -> Any:
    return image_array(event.encoded_image_string) if name == "value" else getattr(event, name)


def _audio(event: Any, name: str) -> Any:
    return audio_array(event.encoded_audio_string)[1] if name == "value" else getattr(event, name)


def _text(event: Any, _name: str) -> str:
    data = make_ndarray(event.tensor_proto).item()
    assert isinstance(data, bytes)
    return data.decode("utf-8")


#: The function that returns a column's cell from an event.
_CELLS: dict[str, Callable[[Any, str], Any]] = {
    HISTOGRAMS: _histogram,
    IMAGES: _image,
    AUDIO: _audio,
    TEXT: _text,
}
#: The method of an accumulator that returns the events of a tag.
READ: dict[str, Callable[[EventAccumulator, str], Any]] = {
    SCALARS: EventAccumulator.Scalars,
    TENSORS: EventAccumulator.Tensors,
    HISTOGRAMS: EventAccumulator.Histograms,
    IMAGES: EventAccumulator.Images,
    AUDIO: EventAccumulator.Audio,
    TEXT: EventAccumulator.Tensors,
}
