"""`DataProvider(logdir)`: TensorBoard's data provider interface over a log directory that may grow."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Unpack

import numpy as np

from tbq.arguments import bad
from tbq.compat.provider.classes import errors, provider
from tbq.compat.provider.index import BLOB_SEQUENCE, SCALAR, TENSOR, IndexedSeries, index_run
from tbq.compat.provider.requests import (
    Request,
    Wanted,
    WantedValues,
    decode_key,
    encode_key,
    requested,
    requested_values,
    validate,
)
from tbq.compat.provider.values import blobs, spread, tensors, thin
from tbq.decode.options import Restarts
from tbq.following.follower import follow
from tbq.following.listing import Listing, Points, RunValues
from tbq.following.update import Update
from tbq.source.discover import Source

logger = logging.getLogger("tensorboard")

#: A limit for "all values of each series".
ALL = 2**62

_Lists = dict[str, dict[str, Any]]


class DataProvider:
    """Answers like `MultiplexerDataProvider`, from every point of a log directory.

    Calls first poll for new data, if the last poll was more than `reload_interval` seconds ago; 0 polls once. The
    provider keeps all points, whatever `downsample` says; fewer scalars are the last point and the
    extremes of the others. `restarts` is that of `log.scalars`. If TensorBoard is installed, results use its classes.

    >>> from tensorboard.context import RequestContext
    >>> provider = DataProvider("runs")
    >>> listed = provider.list_scalars(RequestContext(), experiment_id="", plugin_name="scalars")
    >>> listed["lr=0.1/seed=0"]["val/loss"].max_step
    199
    """

    def __init__(
        self,
        logdir: Source,
        *,
        restarts: Restarts = "keep",
        reload_interval: float = 0.5,
        threads: int | None = None,
        name: str | None = None,
    ) -> None:
        number = isinstance(reload_interval, int | float) and not isinstance(reload_interval, bool)
        if not number or not 0 <= reload_interval < 1e6:
            raise bad("reload_interval", reload_interval, "seconds, 0 or more")
        self._follower = follow(
            logdir, restarts=restarts, interval=0, threads=threads, on_error="ignore", sub_runs="keep"
        )
        self._listing = Listing(self._follower)
        self._name = name if name is not None else str(logdir)
        self._named = set(logdir) if isinstance(logdir, dict) else set()
        self._interval = reload_interval
        self._lock = threading.RLock()
        self._loaded = False
        self._looked = 0.0
        self._update: Update | None = None  # the last update, until it is applied
        self._stale: set[str] = set()
        self._starts: dict[str, float | None] = {}
        self._index: dict[str, dict[str, IndexedSeries]] = {}
        self._sources: dict[str, str] = {}  # the run's name here → its name in the log
        self._values: dict[tuple[str, str], RunValues] = {}
        self._lists: dict[tuple[str, str, int], dict[str, Any]] = {}  # results of list_* for unchanged runs

    def __str__(self) -> str:
        return f"DataProvider(logdir={self._name!r})"

    def reload(self) -> None:
        """Poll for new data now."""
        with self._lock:
            self._looked = time.monotonic()
            if self._update is None:
                self._update = self._listing.poll()
            update = self._update
            self._loaded = True
            for problem in update.problems:
                logger.warning("%s", problem)
            changed = {*update.runs.new, *update.runs.grown, *update.runs.replaced, *update.runs.gone}
            if not changed and self._sources.keys() == set(map(self._shown, self._runs())):
                self._update = None
                return
            self._sources = {self._shown(run): run for run in self._runs()}
            shown = {self._shown(run) for run in changed}
            self._stale = (
                self._stale | shown | (self._sources.keys() - self._index.keys())
            ) & self._sources.keys()
            for run in self._index.keys() - self._sources.keys():
                del self._index[run]
            kept = self._sources.keys() - shown
            self._values = {key: value for key, value in self._values.items() if key[0] in kept}
            self._lists = {key: value for key, value in self._lists.items() if key[0] in kept}
            self._update = None

    def pause(self) -> float:
        """Seconds until the next poll is due, so that polling many files takes a small share of a CPU."""
        return self._listing.pause()

    def close(self) -> None:
        """Drop all data."""
        self._follower.close()

    def experiment_metadata(self, ctx: Any = None, *, experiment_id: str) -> Any:
        """The origin of the data."""
        validate(ctx, experiment_id)
        return provider().ExperimentMetadata(data_location=self._name)

    def list_plugins(self, ctx: Any = None, *, experiment_id: str) -> frozenset[str]:
        """The plugins that have data."""
        validate(ctx, experiment_id)
        with self._fresh():
            return frozenset(
                series.plugin for run in self._index.values() for series in run.values() if series.plugin
            )

    def list_runs(self, ctx: Any = None, *, experiment_id: str) -> list[Any]:
        """The runs."""
        validate(ctx, experiment_id)
        run_class = provider().Run
        with self._fresh():
            return [
                run_class(run_id=run, run_name=run, start_time=self._starts.get(run)) for run in self._index
            ]

    def list_scalars(self, ctx: Any = None, **wanted: Unpack[Wanted]) -> _Lists:
        """The metadata of series of scalars."""
        return self._list(requested(ctx, **wanted), SCALAR, provider().ScalarTimeSeries)

    def list_tensors(self, ctx: Any = None, **wanted: Unpack[Wanted]) -> _Lists:
        """The metadata of series of tensors."""
        return self._list(requested(ctx, **wanted), TENSOR, provider().TensorTimeSeries)

    def list_blob_sequences(self, ctx: Any = None, **wanted: Unpack[Wanted]) -> _Lists:
        """The metadata of series of images, clips and graphs."""
        request = requested(ctx, **wanted)

        def longest(run: str, series: IndexedSeries) -> dict[str, Any]:
            values = self._values_of(run, series)
            lengths = values.blob_lengths()
            return {
                "max_length": max((lengths[row] for row, _, _ in values.places(series.source)), default=0)
            }

        return self._list(request, BLOB_SEQUENCE, provider().BlobSequenceTimeSeries, longest)

    def read_scalars(self, ctx: Any = None, **wanted: Unpack[WantedValues]) -> _Lists:
        """The points of series of scalars."""
        request, most = requested_values(ctx, **wanted)
        datum = provider().ScalarDatum
        lists: _Lists = {}
        for run, series, points in self.points(request, most):
            rows = zip(points.steps.tolist(), points.wall_times.tolist(), points.values.tolist(), strict=True)
            lists.setdefault(run, {})[series.tag] = [datum(*row) for row in rows]
        return lists

    def read_last_scalars(self, ctx: Any = None, **wanted: Unpack[Wanted]) -> _Lists:
        """The last point of series of scalars."""
        request = requested(ctx, **wanted)
        datum = provider().ScalarDatum
        lists: _Lists = {}
        with self._fresh():
            for run, series in self._select(request, SCALAR):
                _refuse_tensors(series)
                last = series.listed
                if last.kind == "scalars":
                    point = datum(last.last_step, last.last_wall_time, last.last_value)
                else:
                    points = self._points(run, series)
                    if len(points.steps) == 0:  # no readable point
                        continue
                    point = datum(*(column[-1].item() for column in points))
                lists.setdefault(run, {})[series.tag] = point
        return lists

    def read_tensors(self, ctx: Any = None, **wanted: Unpack[WantedValues]) -> _Lists:
        """The values of series of tensors."""
        request, most = requested_values(ctx, **wanted)
        datum = provider().TensorDatum
        lists: _Lists = {}
        for run, series in self._selected(request, TENSOR):
            values = self._values_of(run, series)
            rows = spread(values.places(series.source), most)
            lists.setdefault(run, {})[series.tag] = [datum(*each) for each in tensors(values, series, rows)]
        return lists

    def read_blob_sequences(self, ctx: Any = None, **wanted: Unpack[WantedValues]) -> _Lists:
        """The keys of images, clips and graphs, by step."""
        request, most = requested_values(ctx, **wanted)
        reference, datum = provider().BlobReference, provider().BlobSequenceDatum
        lists: _Lists = {}
        for run, series in self._selected(request, BLOB_SEQUENCE):
            values = self._values_of(run, series)
            lengths = values.blob_lengths()
            by_step: dict[int, tuple[int, float]] = {}
            for row, step, wall_time in values.places(series.source):
                by_step.setdefault(step, (row, wall_time))
            lists.setdefault(run, {})[series.tag] = [
                datum(
                    wall_time=wall_time,
                    step=step,
                    values=tuple(
                        reference(encode_key(*request[:2], run, series.tag, step, index))
                        for index in range(lengths[row])
                    ),
                )
                for step, (row, wall_time) in spread(sorted(by_step.items()), most)
            ]
        return lists

    def read_blob(self, ctx: Any = None, *, blob_key: str) -> Any:
        """The bytes of one blob."""
        validate(ctx, "")
        _, _, run, tag, step, index = decode_key(blob_key)
        missing = errors().NotFoundError
        with self._fresh():
            series = self._index.get(run, {}).get(tag)
        if series is None or series.data_class != BLOB_SEQUENCE:
            raise missing(blob_key)
        values = self._values_of(run, series)
        row = next((row for row, at, _ in values.places(series.source) if at == step), None)
        stored = None if row is None else blobs(values, series, row)
        if stored is None:
            raise missing(f"{blob_key}: no such step {step!r}")
        if not 0 <= index < len(stored):
            raise missing(f"{blob_key}: no such blob {index!r}")
        return stored[index]

    def list_hyperparameters(self, ctx: Any = None, *, experiment_ids: Any, limit: int | None = None) -> Any:
        """None, so that TensorBoard's page reads the tensors of the plugin hparams."""
        return provider().ListHyperparametersResult(hyperparameters=[], session_groups=[])

    def read_hyperparameters(
        self,
        ctx: Any = None,
        *,
        experiment_ids: Any,
        filters: Any = None,
        sort: Any = None,
        hparams_to_include: Any = None,
    ) -> list[Any]:
        """An empty list, so that TensorBoard's page reads the tensors of the plugin hparams."""
        return []

    def points(self, request: Request, most: int) -> Iterator[tuple[str, IndexedSeries, Points]]:
        """Run, series and points of scalars, as arrays."""
        for run, series in self._selected(request, SCALAR):
            _refuse_tensors(series)
            yield run, series, thin(self._points(run, series), most)

    def _runs(self) -> list[str]:
        """The runs of the log."""
        return self._listing.runs()

    def _shown(self, run: str) -> str:
        """The name of a run here: TensorBoard calls the top of a named directory `name/.`."""
        return f"{run}/." if run in self._named else run

    def _fresh(self) -> threading.RLock:
        """Poll if it is due, and take the lock: `with self._fresh(): …`."""
        with self._lock:
            waited = time.monotonic() - self._looked
            due = self._interval > 0 and waited >= self._interval and self.pause() <= 0
            if due or not self._loaded:
                self.reload()
            if self._stale:
                listed = self._listing.of_runs([self._sources[run] for run in self._stale])
                for source, run in ((source, self._shown(source)) for source in listed):
                    self._starts[run] = listed[source].first_event
                    self._index[run] = index_run(listed[source].series)
                self._index = {run: self._index[run] for run in sorted(self._index)}
                self._stale.clear()
        return self._lock

    def _select(self, request: Request, data_class: int) -> Iterator[tuple[str, IndexedSeries]]:
        runs = request.runs
        chosen = self._index if runs is None else [run for run in sorted(runs) if run in self._index]
        for run in chosen:
            of_run = self._index[run]
            for tag, series in of_run.items():
                if request.tags is not None and tag not in request.tags:
                    continue
                if series.data_class == data_class and series.plugin == request.plugin:
                    yield run, series

    def _selected(self, request: Request, data_class: int) -> list[tuple[str, IndexedSeries]]:
        with self._fresh():
            return list(self._select(request, data_class))

    def _list(
        self,
        request: Request,
        data_class: int,
        make: Any,
        further: Callable[[str, IndexedSeries], dict[str, Any]] | None = None,
    ) -> _Lists:
        """The metadata of the series; results for all series are cached until a run changes."""
        plugin = request.plugin
        with self._fresh():
            if request.runs is not None or request.tags is not None:
                return self._listed(request, data_class, make, further)
            known = self._lists
            missing = frozenset(run for run in self._index if (run, plugin, data_class) not in known)
            if missing:
                listed = self._listed(request._replace(runs=missing), data_class, make, further)
                for run in missing:
                    known[run, plugin, data_class] = listed.get(run, {})
            lists = ((run, known[run, plugin, data_class]) for run in self._index)
            return {run: dict(series) for run, series in lists if series}

    def _listed(
        self,
        request: Request,
        data_class: int,
        make: Any,
        further: Callable[[str, IndexedSeries], dict[str, Any]] | None,
    ) -> _Lists:
        lists: _Lists = {}
        for run, series in self._select(request, data_class):
            listed = series.listed
            lists.setdefault(run, {})[series.tag] = make(
                max_step=listed.max_step,
                max_wall_time=listed.max_wall_time,
                plugin_content=series.content,
                description=series.description,
                display_name=series.display_name,
                **(further(run, series) if further else {}),
            )
        return lists

    def _values_of(self, run: str, series: IndexedSeries) -> RunValues:
        key = run, series.listed.kind
        with self._lock:
            if key not in self._values:
                self._values[key] = self._listing.values(self._sources.get(run, run), series.listed.kind)
            return self._values[key]

    def _points(self, run: str, series: IndexedSeries) -> Points:
        if series.listed.kind == "scalars":
            return self._listing.points(self._sources.get(run, run), series.source)
        values = self._values_of(run, series)
        rows = list(tensors(values, series, values.places(series.source)))
        steps = np.array([step for step, _, _ in rows], np.int64)
        wall_times = np.array([wall_time for _, wall_time, _ in rows], np.float64)
        return Points(steps, wall_times, np.array([float(value.item()) for _, _, value in rows], np.float64))


class MultiplexerDataProvider(DataProvider):
    """The same for the runs of an `EventMultiplexer`, tbq's or TensorBoard's, constructed like TensorBoard's class.

    Reads all values from the files of the runs, whatever the multiplexer has loaded.
    """

    def __init__(self, multiplexer: Any, logdir: str, **options: Any) -> None:
        paths: dict[str, str] = getattr(multiplexer, "RunPaths", dict)()
        elsewhere = any(
            os.path.abspath(os.path.join(logdir, run)) != os.path.abspath(path) for run, path in paths.items()
        )
        super().__init__(dict(paths) if elsewhere else logdir, name=logdir, **options)
        self._named = set()  # the multiplexer's names apply
        self._multiplexer = multiplexer

    def list_runs(self, ctx: Any = None, *, experiment_id: str) -> list[Any]:
        """The runs of the multiplexer."""
        validate(ctx, experiment_id)
        run_class = provider().Run
        return [
            run_class(run_id=run, run_name=run, start_time=self._start(run))
            for run in self._multiplexer.Runs()
        ]

    def _start(self, run: str) -> float | None:
        try:
            start: float = self._multiplexer.FirstEventTimestamp(run)
        except ValueError:  # the run has no event
            return None
        return start

    def _runs(self) -> list[str]:
        known = self._multiplexer.Runs()
        return [run for run in super()._runs() if run in known]


def _refuse_tensors(series: IndexedSeries) -> None:
    if series.listed.kind in ("scalars", "tensors") and series.listed.refused:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
