"""TensorBoard's `event_accumulator`: the values of one run by tag, on tbq's engine."""

from __future__ import annotations

import collections
import functools
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, starmap
from typing import TYPE_CHECKING, Any

from tbq._core import Accumulator
from tbq.compat import directory_watcher, event_file_loader, plugin_assets
from tbq.compat.compressor import NORMAL_HISTOGRAM_BPS, compress_histogram_proto
from tbq.compat.directory_watcher import DirectoryWatcher
from tbq.compat.event_file_loader import LegacyEventFileLoader
from tbq.compat.events import (
    AudioEvent,
    CompressedHistogramEvent,
    HistogramEvent,
    HistogramValue,
    ImageEvent,
    ScalarEvent,
    TensorEvent,
)
from tbq.compat.log import logger
from tbq.compat.messages import Message, message_class
from tbq.compat.real_messages import wants_protobuf
from tbq.compat.reservoirs import Reservoir, sizes_of
from tbq.compat.versions import file_version, source_writer
from tbq.source.urls import refuse_remote
from tbq.source.walk import is_event_file

if TYPE_CHECKING:
    from tbq.compat.sequences import Events, ScalarEvents

__all__ = [
    "AUDIO", "COMPRESSED_HISTOGRAMS", "DEFAULT_SIZE_GUIDANCE", "GRAPH", "HISTOGRAMS", "IMAGES", "META_GRAPH",
    "NORMAL_HISTOGRAM_BPS", "RUN_METADATA", "SCALARS", "STORE_EVERYTHING_SIZE_GUIDANCE", "SUMMARY_TYPES", "TENSORS",
    "AudioEvent", "CompressedHistogramEvent", "EventAccumulator", "HistogramEvent", "HistogramValue", "ImageEvent",
    "ScalarEvent", "TensorEvent", "directory_watcher", "event_file_loader",
]  # fmt: skip

# The keys of `Tags()` and of `size_guidance`.
COMPRESSED_HISTOGRAMS = "distributions"
HISTOGRAMS = "histograms"
IMAGES = "images"
AUDIO = "audio"
SCALARS = "scalars"
TENSORS = "tensors"
GRAPH = "graph"
META_GRAPH = "meta_graph"
RUN_METADATA = "run_metadata"

SUMMARY_TYPES = {
    "simple_value": "_ProcessScalar",
    "histo": "_ProcessHistogram",
    "image": "_ProcessImage",
    "audio": "_ProcessAudio",
    "tensor": "_ProcessTensor",
}

#: How many values of each tag TensorBoard keeps. tbq keeps all by default, and this many on request.
DEFAULT_SIZE_GUIDANCE = {
    COMPRESSED_HISTOGRAMS: 500,
    IMAGES: 4,
    AUDIO: 4,
    SCALARS: 10000,
    HISTOGRAMS: 1,
    TENSORS: 10,
}
STORE_EVERYTHING_SIZE_GUIDANCE = dict.fromkeys(DEFAULT_SIZE_GUIDANCE, 0)

_EVERYTHING = 1 << 62  # events, more than any file has


class EventAccumulator:
    """The events of one event file, or of all in one directory, by kind and tag.

    >>> from tbq.compat.event_accumulator import EventAccumulator
    >>> accumulator = EventAccumulator("runs/lr=0.1/seed=0").Reload()
    >>> accumulator.Scalars("val/loss")[-1].step
    199
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        size_guidance: Mapping[str, int] | None = None,
        compression_bps: Sequence[float] = NORMAL_HISTOGRAM_BPS,
        purge_orphaned_data: bool = True,
        *,
        protobuf: bool | None = None,
    ) -> None:
        """`size_guidance` sets how many values of each tag are kept, by kind: 0 for all, which is the default.

        `compression_bps` are the basis points of `CompressedHistograms`. `purge_orphaned_data` drops values logged
        after the step at which a restart began. `protobuf=True` returns messages of the tensorboard package.
        """
        sizes = sizes_of(size_guidance or STORE_EVERYTHING_SIZE_GUIDANCE, DEFAULT_SIZE_GUIDANCE)
        self._core = Accumulator(sizes, file_version)
        self._notes: collections.deque[tuple[Any, ...]] = collections.deque()  # of the core, not handled yet
        self._generator_mutex = threading.Lock()
        self.path = path
        self._generator = _GeneratorFromPath(path)
        self._compression_bps = compression_bps
        self.purge_orphaned_data = purge_orphaned_data
        self._protobuf = wants_protobuf(protobuf)

        def kept(kind: str, make: Callable[[float, int, bytes], Any] | None = None) -> Reservoir[Any]:
            return Reservoir(self._core, kind, sizes[kind], make)

        # None of these refers to the accumulator, so that it is freed as soon as the caller drops it.
        self.scalars: Reservoir[ScalarEvents] = kept(SCALARS)
        self.histograms: Reservoir[Events[HistogramEvent]] = kept(HISTOGRAMS, _histogram_event)
        self.compressed_histograms: Reservoir[Events[CompressedHistogramEvent]] = kept(
            COMPRESSED_HISTOGRAMS, functools.partial(_compressed_event, compression_bps)
        )
        self.images: Reservoir[Events[ImageEvent]] = kept(IMAGES, _image_event)
        self.audios: Reservoir[Events[AudioEvent]] = kept(AUDIO, _audio_event)
        self.tensors: Reservoir[Events[TensorEvent]] = kept(
            TENSORS, functools.partial(_tensor_event, self._protobuf)
        )
        self.accumulated_attrs = ("scalars", "histograms", "compressed_histograms", "images", "audios")

        self._first_event_timestamp: float | None = None
        self._graph: bytes | None = None
        self._graph_from_metagraph = False
        self._meta_graph: bytes | None = None
        self._tagged_metadata: dict[str, bytes] = {}
        self.summary_metadata: dict[str, Any] = {}
        self._plugin_to_tag_to_content: dict[str, dict[str, bytes]] = collections.defaultdict(dict)
        self.most_recent_step = -1
        self.most_recent_wall_time: float = -1
        self.file_version: float | None = None
        self._source_writer: str | None = None

    def Reload(self) -> EventAccumulator:
        """Load events logged since the last call."""
        with self._generator_mutex:
            self._Load(_EVERYTHING)
        return self

    def PluginAssets(self, plugin_name: str) -> list[str]:
        """The names of a plugin's files beside the event files."""
        return plugin_assets.list_assets(os.fspath(self.path), plugin_name)

    def RetrievePluginAsset(self, plugin_name: str, asset_name: str) -> str:
        """The text of such a file; KeyError if it does not exist."""
        return plugin_assets.retrieve_asset(os.fspath(self.path), plugin_name, asset_name)

    def FirstEventTimestamp(self) -> float:
        """The wall time of the first event; reads it if nothing is loaded yet. ValueError without events."""
        if self._first_event_timestamp is None:
            with self._generator_mutex:
                self._Load(1)
        if self._first_event_timestamp is None:
            raise ValueError("No event timestamp could be found")
        return self._first_event_timestamp

    def GetSourceWriter(self) -> str | None:
        """The name of the program that wrote the events, if it is recorded."""
        if self._source_writer is None:
            with self._generator_mutex:
                if not self._Load(1):
                    logger.info("End of file in %s, no source writer was found.", self.path)
        return self._source_writer

    def PluginTagToContent(self, plugin_name: str) -> dict[str, bytes]:
        """The metadata of a plugin, by tag; KeyError if the plugin has no data."""
        if plugin_name not in self._plugin_to_tag_to_content:
            raise KeyError(f"Plugin {plugin_name!r} could not be found.")
        return self._plugin_to_tag_to_content[plugin_name]

    def SummaryMetadata(self, tag: str) -> Any:
        """The first metadata that was logged with a tag; KeyError without any."""
        return self.summary_metadata[tag]

    def AllSummaryMetadata(self) -> dict[str, Any]:
        """The metadata of all tags."""
        return dict(self.summary_metadata)

    def Tags(self) -> dict[str, Any]:
        """The tags of each kind, and whether there is a graph and a metagraph."""
        return {
            IMAGES: self.images.Keys(),
            AUDIO: self.audios.Keys(),
            HISTOGRAMS: self.histograms.Keys(),
            SCALARS: self.scalars.Keys(),
            COMPRESSED_HISTOGRAMS: self.compressed_histograms.Keys(),
            TENSORS: self.tensors.Keys(),
            GRAPH: self._graph is not None,
            META_GRAPH: self._meta_graph is not None,
            RUN_METADATA: list(self._tagged_metadata),
        }

    def Scalars(self, tag: str) -> ScalarEvents:
        """The values of a tag that were logged as simple values; KeyError without any."""
        return self.scalars.Items(tag)

    def Graph(self) -> Any:
        """The GraphDef, otherwise that of the metagraph; ValueError without any."""
        return _message(self._protobuf, "tensorboard.GraphDef", self.SerializedGraph())

    def SerializedGraph(self) -> bytes:
        """The graph as bytes."""
        if self._graph is None:
            raise ValueError("There is no graph in this EventAccumulator")
        return self._graph

    def MetaGraph(self) -> Any:
        """The MetaGraphDef; ValueError without any."""
        if self._meta_graph is None:
            raise ValueError("There is no metagraph in this EventAccumulator")
        return _message(self._protobuf, "tensorboard.MetaGraphDef", self._meta_graph)

    def RunMetadata(self, tag: str) -> Any:
        """The RunMetadata of a tag; ValueError without any."""
        if tag not in self._tagged_metadata:
            raise ValueError("There is no run metadata with this tag name")
        return _message(self._protobuf, "tensorboard.RunMetadata", self._tagged_metadata[tag])

    def Histograms(self, tag: str) -> Events[HistogramEvent]:
        """The histograms of a tag; KeyError without any."""
        return self.histograms.Items(tag)

    def CompressedHistograms(self, tag: str) -> Events[CompressedHistogramEvent]:
        """The histograms of a tag at a few basis points."""
        return self.compressed_histograms.Items(tag)

    def Images(self, tag: str) -> Events[ImageEvent]:
        """The images of a tag; KeyError without any."""
        return self.images.Items(tag)

    def Audio(self, tag: str) -> Events[AudioEvent]:
        """The audio clips of a tag; KeyError without any."""
        return self.audios.Items(tag)

    def Tensors(self, tag: str) -> Events[TensorEvent]:
        """The tensors of a tag; KeyError without any."""
        return self.tensors.Items(tag)

    def _Load(self, most: int) -> int:
        """Load at most `most` events; returns how many came."""
        generator = self._generator
        try:
            if _is_ours(generator):
                return int(generator._Feed(self._core, most, self.purge_orphaned_data))
            count = 0
            events = iter(generator.Load())
            while count < most and (event := next(events, None)) is not None:
                self._core.add(event.SerializeToString(), self.purge_orphaned_data)
                count += 1
            return count
        finally:
            # One call, so that no interrupt comes between. A note that an interrupt leaves here is handled again, with
            # the same result.
            self._notes.extend(chain.from_iterable(starmap(self._core.notes, [()])))
            while self._notes:
                what, *said = self._notes[0]
                getattr(self, f"_take_{what}")(*said)
                del self._notes[0]
            self._first_event_timestamp = self._core.first_wall_time()
            self.most_recent_step, self.most_recent_wall_time = self._core.most_recent()

    # Handlers of the core's notes: everything but values.

    def _take_file_version(self, data: bytes) -> None:
        version = file_version(data)
        if version == -1:
            logger.warning(
                "Invalid event.proto file_version. Defaulting to use of out-of-order event.step logic for purging "
                "expired events."
            )
        if self.file_version and self.file_version != version:
            logger.warning(
                "Found new file_version for event.proto. This will affect purging logic for TensorFlow restarts. "
                f"Old: {self.file_version} New: {version}"
            )
        self.file_version = version

    def _take_source_writer(self, name: bytes) -> None:
        writer = source_writer(name.decode("utf-8", "replace"))
        if self._source_writer and self._source_writer != writer:
            logger.info(f"Found new source writer for event.proto. Old: {self._source_writer}, New: {writer}")
        self._source_writer = writer

    def _take_graph(self, data: bytes) -> None:
        if self._graph is not None:
            logger.warning(
                "Found more than one graph event per run, or there was a metagraph containing a graph_def, as well as "
                "one or more graph events.  Overwriting the graph with the newest event."
            )
        self._graph = data
        self._graph_from_metagraph = False

    def _take_meta_graph(self, data: bytes) -> None:
        if self._meta_graph is not None:
            logger.warning(
                "Found more than one metagraph event per run. Overwriting the metagraph with the newest event."
            )
        self._meta_graph = data
        if self._graph is None or self._graph_from_metagraph:
            if self._graph is not None:
                logger.warning(
                    "Found multiple metagraphs containing graph_defs,but did not find any graph events.  Overwriting "
                    "the graph with the newest metagraph version."
                )
            self._graph_from_metagraph = True
            self._graph = _light("tensorboard.MetaGraphDef", data).graph_def.SerializeToString()

    def _take_run_metadata(self, tag: str, data: bytes) -> None:
        if tag in self._tagged_metadata:
            logger.warning(
                f'Found more than one "run metadata" event with tag {tag}. Overwriting it with the newest event.'
            )
        self._tagged_metadata[tag] = data

    def _take_metadata(self, tag: str, data: bytes) -> None:
        plugin_data = _light("tensorboard.SummaryMetadata", data).plugin_data
        self.summary_metadata[tag] = _message(self._protobuf, "tensorboard.SummaryMetadata", data)
        if plugin_data.plugin_name:
            self._plugin_to_tag_to_content[plugin_data.plugin_name][tag] = plugin_data.content
        else:
            logger.warning("This summary with tag %r is oddly not associated with a plugin.", tag)

    def _take_purge(
        self, last_step: int, last_wall_time: float, step: int, wall_time: float, counts: list[int]
    ) -> None:
        scalars, histograms, compressed, images, audio = counts
        logger.warning(
            "Detected out of order event.step likely caused by a TensorFlow restart. Purging expired events from "
            f"Tensorboard display between the previous step: {last_step} (timestamp: {last_wall_time}) and current "
            f"step: {step} (timestamp: {wall_time}). Removing {scalars} scalars, {histograms} histograms, "
            f"{compressed} compressed histograms, {images} images, and {audio} audio."
        )

    def _take_bad_event(self) -> None:
        logger.error("Skipped a record of %s that is not an event", self.path)


def _GeneratorFromPath(path: str | os.PathLike[str]) -> Any:
    """The loader of the events of a file or of a directory."""
    if not path:
        raise ValueError("path must be a valid string")
    path = os.fspath(path)
    refuse_remote(path)
    if is_event_file(os.path.basename(path)) and not os.path.isdir(path):
        return LegacyEventFileLoader(path)
    return DirectoryWatcher(path, LegacyEventFileLoader, lambda each: is_event_file(os.path.basename(each)))


def _is_ours(generator: Any) -> bool:
    """Whether the core can read the files itself: the generator and its loaders are tbq's own."""
    if type(generator) is DirectoryWatcher:
        return generator._loader_factory is LegacyEventFileLoader
    return type(generator) is LegacyEventFileLoader


def _light(full_name: str, data: bytes) -> Any:
    message: Message = message_class(full_name)(data)
    return message


def _message(protobuf: bool, full_name: str, data: bytes) -> Any:
    light = _light(full_name, data)
    return light.to_protobuf() if protobuf else light


def _tensor_event(protobuf: bool, wall_time: float, step: int, data: bytes) -> TensorEvent:
    return TensorEvent(wall_time, step, _message(protobuf, "tensorboard.TensorProto", data))


def _compressed_event(
    basis_points: Sequence[float], wall_time: float, step: int, data: bytes
) -> CompressedHistogramEvent:
    histogram = _light("tensorboard.HistogramProto", data)
    return CompressedHistogramEvent(wall_time, step, compress_histogram_proto(histogram, basis_points))


def _histogram_event(wall_time: float, step: int, data: bytes) -> HistogramEvent:
    read = _light("tensorboard.HistogramProto", data)
    value = HistogramValue(
        read.min, read.max, read.num, read.sum, read.sum_squares, read.bucket_limit, read.bucket
    )
    return HistogramEvent(wall_time, step, value)


def _image_event(wall_time: float, step: int, data: bytes) -> ImageEvent:
    image = _light("tensorboard.Summary.Image", data)
    return ImageEvent(wall_time, step, image.encoded_image_string, image.width, image.height)


def _audio_event(wall_time: float, step: int, data: bytes) -> AudioEvent:
    audio = _light("tensorboard.Summary.Audio", data)
    encoding = (audio.content_type, audio.sample_rate, audio.length_frames)
    return AudioEvent(wall_time, step, audio.encoded_audio_string, *encoding)
