"""`restarts="split"`: every session of a run as its own run, `name@1`, `name@2`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tbq.decode import decode
from tbq.decode.options import DecodeOptions
from tbq.source.discover import WHOLE, Run


def split_sessions(
    runs: Sequence[Run], inflate: Callable[[bytes], bytes | None], threads: int | None = None
) -> list[Run]:
    """The sessions that logged a value, in order. A run with a single session stays unchanged."""
    from tbq.decode.reader import table_of

    result = decode(runs, [], DecodeOptions(restarts="keep", threads=threads), inflate, session_tables=True)
    metadata = result.metadata()  # metadata of one session applies to all
    sessions = table_of(result.sessions()).to_pylist()
    paths = [path for run in runs for path in run.files]
    ranges: dict[tuple[int, int], tuple[int, int]] = {}
    places = sorted((session["file"], session["offset"]) for session in sessions)
    for (file, offset), (next_file, next_offset) in zip(places, [*places[1:], (-1, 0)], strict=True):
        ranges[file, offset] = (offset, next_offset if next_file == file else WHOLE[1])
    of_run: dict[int, list[tuple[int, int]]] = {}
    for session in sessions:
        if session["values"] and paths[session["file"]] not in runs[session["run"]].below:
            of_run.setdefault(session["run"], []).append((session["file"], session["offset"]))
    used = {run.name for run in runs}
    split = []
    for index, run in enumerate(runs):
        places = of_run.get(index, [])
        if len(places) < 2:
            split.append(run)
            continue
        for number, place in enumerate(places, 1):
            name = f"{run.name}@{number}"
            while name in used:  # a directory already has this name
                name += "~"
            used.add(name)
            # Every session has the run's hyperparameters.
            below = [path for path in run.files if path in run.below]
            part = [ranges[place], *([WHOLE] * len(below))]
            files = [paths[place[0]], *below]
            known = metadata.get(index)
            split.append(Run(name, run.path, files, part, known, run.remote, below=run.below))
    return split
