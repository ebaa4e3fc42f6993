"""`SummaryReader`: everything in a tree of event files as data frames."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from typing import Any, Literal

from tbq.arguments import choice
from tbq.compat.event_accumulator import (
    AUDIO,
    HISTOGRAMS,
    IMAGES,
    SCALARS,
    STORE_EVERYTHING_SIZE_GUIDANCE,
    TENSORS,
    EventAccumulator,
)
from tbq.compat.tbparse import values
from tbq.compat.tbparse.frames import FileRows, long_frame, wide_frame
from tbq.compat.tbparse.leaf import COLUMNS, HPARAMS, READ, TEXT, Leaf
from tbq.compat.tbparse.libraries import to_pandas, to_polars
from tbq.source.urls import refuse_remote

#: In the order of the dictionaries that a reader returns.
KINDS = (IMAGES, AUDIO, HISTOGRAMS, SCALARS, TENSORS, HPARAMS, TEXT)
ALL_EVENT_TYPES = set(KINDS)
_RAW_TYPES = {*KINDS, "graph", "meta_graph", "run_metadata"}
ALL_EXTRA_COLUMNS = {
    "dir_name", "file_name", "wall_time", "min", "max", "num", "sum", "sum_squares", "width", "height",
    "content_type", "length_frames", "sample_rate",
}  # fmt: skip


class SummaryReader:
    """Reads one event file, or all files of a folder, at any depth.

    >>> from tbq.compat.tbparse import SummaryReader
    >>> reader = SummaryReader("runs/lr=0.1", extra_columns={"dir_name"})
    >>> list(reader.scalars.columns)
    ['step', 'tag', 'value', 'dir_name']
    """

    def __init__(
        self,
        log_path: str | os.PathLike[str],
        *,
        pivot: bool = False,
        extra_columns: set[str] | None = None,
        event_types: set[str] | None = None,
        frame: Literal["pandas", "polars"] = "pandas",
    ) -> None:
        """`pivot` returns one column per tag. `frame`, which tbparse lacks, chooses the library of the data frames."""
        self._log_path = os.fspath(log_path)
        self._extra_columns = _checked(
            extra_columns or set(), "columns", "columns entries", ALL_EXTRA_COLUMNS
        )
        self._pivot = pivot
        self._event_types = _checked(
            event_types or ALL_EVENT_TYPES, "event_types", "event types", ALL_EVENT_TYPES
        )
        self._frame = choice("frame", frame, ("pandas", "polars"))
        self._children: dict[str, SummaryReader] = {}
        self._leaf: Leaf | None = None
        refuse_remote(self._log_path)
        if not os.path.exists(self._log_path):
            raise ValueError(f"File or directory not found: {self._log_path}")
        if os.path.isfile(self._log_path):
            self._leaf = Leaf(self._log_path, self._event_types)
        elif os.path.isdir(self._log_path):
            for name in sorted(os.listdir(self._log_path)):
                self._children[name] = SummaryReader(
                    os.path.join(self._log_path, name),
                    pivot=pivot,
                    extra_columns=self._extra_columns,
                    event_types=self._event_types,
                    frame=frame,
                )

    @property
    def log_path(self) -> str:
        """The path that is read."""
        return self._log_path

    @property
    def tags(self) -> dict[str, list[str]]:
        """The tags of each kind."""
        return {kind: self._TagsOf(kind) for kind in KINDS}

    def get_tags(self, event_type: str | None = None) -> list[str] | dict[str, list[str]]:
        """The tags of a kind, or of each kind."""
        if event_type not in {None, *ALL_EVENT_TYPES}:
            raise ValueError(f"Unknown event_type: {event_type}")
        return self.tags if event_type is None else self._TagsOf(event_type)

    def _TagsOf(self, kind: str) -> list[str]:
        return list(dict.fromkeys(tag for _, leaf in self._Leaves() for tag in leaf.tags(kind)))

    def get_events(self, event_type: str) -> Any:
        """The data frame of a kind."""
        if event_type not in ALL_EVENT_TYPES:
            raise ValueError(f"Unknown event_type: {event_type}")
        if event_type not in self._event_types:
            raise ValueError(f"event_type is ignored by user: {event_type}")
        extra = self._extra_columns
        parts = [
            FileRows(folder, leaf.file_name, leaf.rows(event_type, extra)) for folder, leaf in self._Leaves()
        ]
        if self._pivot:
            (first, *more), _ = COLUMNS[event_type]
            columns = wide_frame(parts, extra, "" if more else first)
        else:
            columns = long_frame(parts, extra)
        return to_pandas(columns) if self._frame == "pandas" else to_polars(columns)

    @property
    def scalars(self) -> Any:
        """Scalars that were logged as simple values."""
        return self.get_events(SCALARS)

    @property
    def tensors(self) -> Any:
        """Tensors, including TF2's scalars."""
        return self.get_events(TENSORS)

    @property
    def histograms(self) -> Any:
        """Histograms with their counts and limits."""
        return self.get_events(HISTOGRAMS)

    @property
    def images(self) -> Any:
        """Images as arrays of height, width and channels."""
        return self.get_events(IMAGES)

    @property
    def audio(self) -> Any:
        """Audio clips as arrays of frames and channels."""
        return self.get_events(AUDIO)

    @property
    def hparams(self) -> Any:
        """Hyperparameters."""
        return self.get_events(HPARAMS)

    @property
    def text(self) -> Any:
        """Texts."""
        return self.get_events(TEXT)

    @property
    def children(self) -> dict[str, SummaryReader]:
        """The readers of the files and folders in this folder, by name."""
        return self._children.copy()

    @property
    def raw_tags(self) -> dict[str, Any]:
        """The tags of one event file, as `EventAccumulator` lists them."""
        tags: dict[str, Any] = self.get_raw_tags()
        return tags

    def get_raw_tags(self, event_type: str | None = None, event_acc: EventAccumulator | None = None) -> Any:
        """The tags of one event file, of one kind if set."""
        if event_type not in {None, *_RAW_TYPES}:
            raise ValueError(f"Unknown event_type: {event_type}")
        tags = self._Leaf().raw_tags(event_acc)
        return tags if event_type is None else tags[event_type]

    @property
    def raw_events(self) -> dict[str, dict[str, Any]]:
        """The events of one event file, as `EventAccumulator` returns them."""
        events: dict[str, dict[str, Any]] = self.get_raw_events()
        return events

    def get_raw_events(
        self,
        event_type: str | None = None,
        tag: str | None = None,
        event_acc: EventAccumulator | None = None,
    ) -> Any:
        """The events of one event file, of one kind or one tag if set; for hparams, the bytes of their metadata."""
        self._Leaf()
        events = event_acc or EventAccumulator(self._log_path, STORE_EVERYTHING_SIZE_GUIDANCE).Reload()
        if event_type is None:
            if tag is not None:
                raise ValueError("tag shouldn't be set if event_type is None")
            return {kind: self.get_raw_events(kind, None, events) for kind in KINDS}
        if tag is None:
            tags = self.get_raw_tags(event_type, events)
            return {name: self.get_raw_events(event_type, name, events) for name in tags}
        if event_type == HPARAMS:
            return events.PluginTagToContent(HPARAMS)[tag]
        return list(READ[event_type](events, tag))

    def _Leaf(self) -> Leaf:
        if self._leaf is None:
            raise ValueError(f"Not an event file: {self._log_path}")
        return self._leaf

    def _Leaves(self, folder: str = "") -> Iterator[tuple[str, Leaf]]:
        """All files below, each with the path of its folder."""
        if self._leaf is not None:
            yield folder, self._leaf
        for name, child in self._children.items():
            inside = child._leaf is not None
            yield from child._Leaves(folder if inside else f"{folder}/{name}".removeprefix("/"))

    tensor_to_histogram = staticmethod(values.tensor_to_histogram)
    buckets_to_histogram_dict = staticmethod(values.tensor_to_histogram)
    tensor_to_image = staticmethod(values.tensor_to_image)
    tensor_to_audio = staticmethod(values.tensor_to_audio)
    histogram_to_pdf = staticmethod(values.histogram_to_pdf)
    histogram_to_cdf = staticmethod(values.histogram_to_cdf)
    histogram_to_bins = staticmethod(values.histogram_to_bins)

    def __repr__(self) -> str:
        return f"SummaryReader(log_path='{self._log_path}')"

    def __getitem__(self, child: str) -> SummaryReader:
        return self._children[child]


def _checked(names: Any, name: str, what: str, known: set[str]) -> set[str]:
    """Check that a value is a set of known names."""
    names = copy.copy(names)
    if not isinstance(names, set):
        # The spaces are tbparse's.
        raise ValueError(f"`{name}` should be a {set} instead of {' ' * 30}{type(names)}")
    unknown = names - known
    if unknown:
        raise KeyError(f"Invalid {what}: {unknown}")
    return names
