"""The `tbq plot` command that draws what a chart of the page shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tbq.errors import UsageError
from tbq.server.answers.curves import LOGS
from tbq.server.answers.groups import BANDS
from tbq.server.answers.points import TAG, axis, weight
from tbq.server.http.encoding import TEXT, Answer
from tbq.text import shell_word

if TYPE_CHECKING:
    from tbq.server.http.params import Params
    from tbq.server.live_log import LiveLog

_MOST_RUNS = 100


def command(log: LiveLog, params: Params) -> Answer:
    """`tbq plot …` with the same tags, runs, groups and axes."""
    words = ["tbq", "plot", *(logdirs(log)), "--tag", params.text("tag")]
    if params.optional("runs") not in (None, "*"):
        runs = params.runs(log)
        if not runs:
            raise UsageError("no run is shown", hint="show at least one run")
        words += run_words(log, runs)
    x, by = axis(params), params.optional("group")
    logs = params.choice("log", LOGS)
    if x != "step":
        words += ["--x", x.removeprefix(TAG)]
    if weight(params):
        words += ["--smooth", str(weight(params))]
    if by:
        words += ["--by", by]
        band = params.choice("band", ("std", *BANDS))
        words += ["--band", band] if band != "none" else []
    words += ["--log-x"] if "x" in logs else []
    words += ["--log-y"] if logs == "1" or "y" in logs else []
    words += ["--outliers", "0"] if params.optional("entire") else []  # the whole range
    low, high = params.number("low"), params.number("high")
    if x == "step" and (low is not None or high is not None):
        ends = ["" if end is None else f"{end:.0f}" for end in (low, high)]
        words += ["--steps", ":".join(ends)]
    words += ["-o", "figure.svg"]
    return Answer(" ".join(map(shell_word, words)).encode("utf-8", "replace"), TEXT)


def logdirs(log: LiveLog) -> list[str]:
    """The log directories by their names, without the path on this machine."""
    return [log.without_paths(path) for path in log.follower.discovery.paths]


def run_words(log: LiveLog, runs: Sequence[str]) -> list[str]:
    """`--run` for each of these runs; nothing if they are all runs, or too many to read."""
    if len(runs) > _MOST_RUNS or set(runs) == set(log.shown()):
        return []
    return [word for run in runs for word in ("--run", run)]
