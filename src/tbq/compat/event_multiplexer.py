"""TensorBoard's `event_multiplexer`: the accumulators of many runs."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from tbq.compat import directory_watcher, event_accumulator
from tbq.compat.log import logger
from tbq.source.urls import refuse_remote


class EventMultiplexer:
    """Runs by name, each with its `EventAccumulator`.

    >>> from tbq.compat.event_multiplexer import EventMultiplexer
    >>> multiplexer = EventMultiplexer().AddRunsFromDirectory("runs").Reload()
    >>> len(multiplexer.Scalars("lr=0.1/seed=0", "val/loss")) > 0
    True
    """

    def __init__(
        self,
        run_path_map: Mapping[str, str] | None = None,
        size_guidance: Mapping[str, int] | None = None,
        purge_orphaned_data: bool = True,
        *,
        protobuf: bool | None = None,
    ) -> None:
        """`run_path_map` maps names of runs to paths; the other arguments are those of `EventAccumulator`."""
        logger.info("Event Multiplexer initializing.")
        self._accumulators_mutex = threading.Lock()
        self._accumulators: dict[str, event_accumulator.EventAccumulator] = {}
        self._paths: dict[str, str] = {}
        self._reload_called = False
        self._size_guidance = size_guidance
        self._protobuf = protobuf
        self.purge_orphaned_data = purge_orphaned_data
        if run_path_map is not None:
            logger.info("Event Multplexer doing initialization load for %s", run_path_map)
            for run, path in run_path_map.items():
                self.AddRun(path, run)
        logger.info("Event Multiplexer done initializing")

    def AddRun(self, path: str, name: str | None = None) -> EventMultiplexer:
        """Add a run under `name`, or under its path; a run of this name and path stays unchanged."""
        name = name or path
        accumulator = None
        with self._accumulators_mutex:
            if name not in self._accumulators or self._paths[name] != path:
                if name in self._paths and self._paths[name] != path:
                    logger.warning(
                        "Conflict for name %s: old path %s, new path %s", name, self._paths[name], path
                    )
                logger.info("Constructing EventAccumulator for %s", path)
                more: dict[str, Any] = {"protobuf": True} if self._protobuf else {}
                accumulator = event_accumulator.EventAccumulator(
                    path,
                    size_guidance=self._size_guidance,
                    purge_orphaned_data=self.purge_orphaned_data,
                    **more,
                )
                self._accumulators[name] = accumulator
                self._paths[name] = path
        if accumulator and self._reload_called:
            accumulator.Reload()
        return self

    def AddRunsFromDirectory(self, path: str, name: str | None = None) -> EventMultiplexer:
        """Add each directory with event files at or below `path`, under its relative path (prefixed by `name`)."""
        logger.info("Starting AddRunsFromDirectory: %s", path)
        for folder in _run_folders(path):
            logger.info("Adding events from directory %s", folder)
            below = os.path.relpath(folder, path)
            self.AddRun(folder, name=os.path.join(name, below) if name else below)
        logger.info("Done with AddRunsFromDirectory: %s", path)
        return self

    def Reload(self) -> EventMultiplexer:
        """Load new events of every run; drops runs whose directory is gone."""
        logger.info("Beginning EventMultiplexer.Reload()")
        self._reload_called = True
        gone = set()
        for name, accumulator in self._Items():
            try:
                accumulator.Reload()
            except OSError as failure:
                logger.error("Unable to reload accumulator '%s': %s", name, failure)
            except Exception as failure:
                # The error may be TensorBoard's own, from accumulators that replaced tbq's.
                if type(failure).__name__ != directory_watcher.DirectoryDeletedError.__name__:
                    raise
                gone.add(name)
        with self._accumulators_mutex:
            for name in gone:
                logger.warning("Deleting accumulator '%s'", name)
                del self._accumulators[name]
        logger.info("Finished with EventMultiplexer.Reload()")
        return self

    def _Items(self) -> list[tuple[str, event_accumulator.EventAccumulator]]:
        with self._accumulators_mutex:
            return list(self._accumulators.items())

    def PluginAssets(self, plugin_name: str) -> dict[str, list[str]]:
        """The names of a plugin's files, by run."""
        return {run: accumulator.PluginAssets(plugin_name) for run, accumulator in self._Items()}

    def RetrievePluginAsset(self, run: str, plugin_name: str, asset_name: str) -> str:
        """The text of such a file; KeyError if it does not exist."""
        return self.GetAccumulator(run).RetrievePluginAsset(plugin_name, asset_name)

    def FirstEventTimestamp(self, run: str) -> float:
        """The wall time of a run's first event."""
        return self.GetAccumulator(run).FirstEventTimestamp()

    def GetSourceWriter(self, run: str) -> str | None:
        """The program that wrote the events of a run."""
        return self.GetAccumulator(run).GetSourceWriter()

    def Scalars(self, run: str, tag: str) -> Any:
        """The scalars of a run and a tag; KeyError without any, as for all of these methods."""
        return self.GetAccumulator(run).Scalars(tag)

    def Graph(self, run: str) -> Any:
        return self.GetAccumulator(run).Graph()

    def SerializedGraph(self, run: str) -> bytes:
        return self.GetAccumulator(run).SerializedGraph()

    def MetaGraph(self, run: str) -> Any:
        return self.GetAccumulator(run).MetaGraph()

    def RunMetadata(self, run: str, tag: str) -> Any:
        return self.GetAccumulator(run).RunMetadata(tag)

    def Histograms(self, run: str, tag: str) -> Any:
        return self.GetAccumulator(run).Histograms(tag)

    def CompressedHistograms(self, run: str, tag: str) -> Any:
        return self.GetAccumulator(run).CompressedHistograms(tag)

    def Images(self, run: str, tag: str) -> Any:
        return self.GetAccumulator(run).Images(tag)

    def Audio(self, run: str, tag: str) -> Any:
        return self.GetAccumulator(run).Audio(tag)

    def Tensors(self, run: str, tag: str) -> Any:
        return self.GetAccumulator(run).Tensors(tag)

    def PluginRunToTagToContent(self, plugin_name: str) -> dict[str, dict[str, bytes]]:
        """The metadata of a plugin by run and tag, for the runs that have some."""
        contents = {}
        for run in self.Runs():
            try:
                contents[run] = self.GetAccumulator(run).PluginTagToContent(plugin_name)
            except KeyError:
                continue
        return contents

    def SummaryMetadata(self, run: str, tag: str) -> Any:
        return self.GetAccumulator(run).SummaryMetadata(tag)

    def AllSummaryMetadata(self, run: str) -> dict[str, Any]:
        """The metadata of all tags of a run."""
        return self.GetAccumulator(run).AllSummaryMetadata()

    def Runs(self) -> dict[str, dict[str, Any]]:
        """The `Tags()` of each run."""
        return {run: accumulator.Tags() for run, accumulator in self._Items()}

    def RunPaths(self) -> dict[str, str]:
        """The path of each run."""
        return self._paths

    def GetAccumulator(self, run: str) -> event_accumulator.EventAccumulator:
        """The accumulator of a run; KeyError if the run does not exist."""
        with self._accumulators_mutex:
            return self._accumulators[run]


def _run_folders(top: str) -> Iterator[str]:
    """The directories at or below `top` with a file named like an event file, each once."""
    top = os.fspath(top)
    refuse_remote(top)
    if not os.path.exists(top):
        return
    if not os.path.isdir(top):
        raise ValueError(f"GetLogdirSubdirectories: path exists and is not a directory, {top}")
    seen = set()
    for folder, below, files in os.walk(top, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:  # a link to a directory above
            below.clear()
            continue
        seen.add(real)
        below.sort()
        if any("tfevents" in name for name in files):
            yield folder
