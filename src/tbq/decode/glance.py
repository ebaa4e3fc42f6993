"""Names in a log directory at a glance, for Tab: runs by the listing, tags by the start of the newest files."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from tbq.decode import DecodeOptions, decode
from tbq.source.discover import Run, discover

_RUNS = 1000
_FILES = 4
_BYTES = 2 << 20


def first_runs(paths: Sequence[str]) -> list[Run]:
    """The first runs of local log directories."""
    return discover(list(paths)).runs[:_RUNS] if paths else []


def some_tags(paths: Sequence[str], names: Collection[str] = ()) -> list[str]:
    """The tags at the start of the newest files, of the runs with these names if there are such runs."""
    from tbq import _core

    runs = first_runs(paths)
    chosen = [run for run in runs if run.name in names] or runs
    newest = sorted(chosen, key=lambda run: Path(run.files[-1]).stat().st_mtime_ns)[-_FILES:]
    heads = [Run(run.name, run.path, run.files[-1:], [(0, _BYTES)]) for run in newest]
    kinds = _core.kinds()
    result = decode(heads, kinds, DecodeOptions(threads=1, defer=True), lambda _path: None)
    return sorted({tag for kind in kinds for tag in result.tags(kind) if not tag.startswith("_hparams_/")})
