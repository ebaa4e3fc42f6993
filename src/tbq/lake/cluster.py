"""A sync on a Ray cluster: tasks decode runs and write data files, the driver commits them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tbq.errors import SourceError, missing
from tbq.lake.decoded import decode_runs
from tbq.lake.share import Written, shares
from tbq.source.files import bytes_of
from tbq.source.inflate import Unpacked

if TYPE_CHECKING:
    from tbq.lake.decoded import LakeSelection
    from tbq.lake.location import Location
    from tbq.source import Run

#: Bytes of event files per task: small enough that losing a worker costs little.
TASK_BYTES = 1 << 27
#: One commit has up to this many tasks, or the tasks that finish within this many seconds.
_TOGETHER, _SECONDS = 64, 10.0
#: Tasks per CPU, if there is enough work.
_TASKS = 4


def write_shares_on_cluster(
    place: Location,
    runs: Sequence[Run],
    selected: LakeSelection,
    had: Mapping[str, Collection[str]],
    max_unpacked: int | None = None,
) -> Iterator[tuple[Sequence[Run], Written]]:
    """Decode and write runs in tasks of about equal bytes; yields each share when it is done.

    If a worker dies, Ray repeats its task. The files that the first attempt left are never committed.
    """
    ray = started()
    task: Any = ray.remote(max_retries=3)(_task)
    waiting = {
        task.remote(
            place,
            share,
            selected,
            max_unpacked,
            {run.name: had[run.name] for run in share if run.name in had},
        ): share
        for share in shares(runs, share_bytes(ray, runs))
    }
    while waiting:
        # Tasks that finish within seconds are committed together, because commits limit the driver.
        together = min(len(waiting), _TOGETHER)
        ready, _ = ray.wait(list(waiting), num_returns=together, timeout=_SECONDS)
        done = [(waiting.pop(reference), reference) for reference in ready]
        try:
            parts = ray.get([reference for _, reference in done])
        except ray.exceptions.RayError as failure:
            for other in waiting:
                ray.cancel(other, force=True)
            raise SourceError(
                f"a task on the cluster failed: {_first_line(failure)}",
                hint="the lake is intact but incomplete: run tbq sync again; --engine local works without Ray",
                code="ray",
            ) from failure
        if done:
            yield [run for share, _ in done for run in share], Written.joined(parts)


def started() -> Any:
    """Ray, started on this machine if there is no cluster."""
    try:
        import ray
    except ImportError:
        raise missing("ray", needed_for="--engine ray", extra="ray") from None
    if not ray.is_initialized():
        ray.init(log_to_driver=False, include_dashboard=False, ignore_reinit_error=True)
    return ray


def share_bytes(ray: Any, runs: Sequence[Run]) -> int:
    """Bytes per task: every CPU gets some, and no task gets too many."""
    total = sum(map(bytes_of, runs))
    cpus = max(1, int(ray.cluster_resources().get("CPU", 1)))
    return max(1, min(TASK_BYTES, total // (_TASKS * cpus)))


def _task(
    place: Location,
    runs: Sequence[Run],
    selected: LakeSelection,
    max_unpacked: int | None,
    had: Mapping[str, Collection[str]],
) -> Written:
    return Written.of(place, decode_runs(runs, selected, Unpacked(max_unpacked), had=had))


def _first_line(failure: Exception) -> str:
    lines = [line for line in str(failure).splitlines() if line.strip()]
    return lines[-1][:300] if lines else type(failure).__name__
