"""Names in a log directory at a glance, for Tab: runs by the listing, tags by the start of the newest files."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from tbq.decode import DecodeOptions, decode
from tbq.source.discover import Run, discover
from tbq.source.walk import Bounds

#: A shell waits 150 ms; to list so many directories takes a part of that.
_DIRECTORIES = 1000
_FILES = 4
_BYTES = 2 << 20
#: What is displayed as it is.
_PLAIN = re.compile(r"[ -\[\]-~]*")


def runs_beginning(paths: Sequence[str], word: str) -> list[str]:
    """The names of the runs of local log directories that begin so; none if these are too many to list."""
    runs, is_all = _some_runs(paths, word)
    return [run.name for run in runs if run.name.startswith(word)] if is_all else []


def some_tags(paths: Sequence[str], names: Collection[str] = ()) -> list[str]:
    """The tags at the start of the newest files, of the runs with these names if there are such runs."""
    from tbq import _core

    runs = [run for name in names for run in _some_runs(paths, name)[0] if run.name == name]
    runs = runs or _some_runs(paths, "")[0]
    newest = sorted(runs, key=lambda run: Path(run.files[-1]).stat().st_mtime_ns)[-_FILES:]
    heads = [Run(run.name, run.path, run.files[-1:], [(0, _BYTES)]) for run in newest]
    kinds = _core.kinds()
    result = decode(heads, kinds, DecodeOptions(threads=1, defer=True), lambda _path: None)
    return sorted({tag for kind in kinds for tag in result.tags(kind) if not tag.startswith("_hparams_/")})


def _some_runs(paths: Sequence[str], beginning: str) -> tuple[list[Run], bool]:
    """The first runs of local log directories with names that begin so, and whether these are all of them."""
    plain = _PLAIN.match(beginning)
    # The names in several directories begin with theirs.
    bounds = Bounds(plain[0] if plain and len(paths) == 1 else "", _DIRECTORIES)
    return discover(list(paths), bounds=bounds).runs if paths else [], not bounds.passed
