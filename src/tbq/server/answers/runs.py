"""The runs, the tags and the state of the log, as the page lists them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tbq.plot.colours import colours, print_colours
from tbq.roles import better, role, split
from tbq.server.http.encoding import Answer, json_answer

if TYPE_CHECKING:
    from tbq.server.http.params import Params
    from tbq.server.live_log import LiveLog


def state(log: LiveLog, _params: Params) -> Answer:
    """How much was read, and the number of runs and tags."""
    shown = log.shown()
    with log.lock:
        return json_answer(
            {
                "instance": log.instance,
                "version": log.version,
                "title": log.title,
                "runs": len(shown),
                "tags": log.index.count_tags(),
                "left": log.left,
                "waiting": not log.states,
                "exists": log.exists,
                "loaded": log.loaded,
                "polled": log.polled,
                "now": log.clock(),
                "failure": log.failure,
                "problems": len(log.follower.problems),
            }
        )


def runs(log: LiveLog, _params: Params) -> Answer:
    """One entry per run."""
    shown = log.shown()
    states = log.states_now()
    sizes = log.cache.of("sizes", log.version, lambda: log.follower.sizes(log.follower.runs))
    with log.lock:
        chosen = colours_of(log)
        return json_answer(
            {
                "version": log.version,
                "runs": [_entry(log, run, states, sizes, chosen) for run in shown if run in log.states],
            }
        )


def _entry(
    log: LiveLog, run: str, states: dict[str, Any], sizes: dict[str, int], chosen: dict[str, tuple[str, str]]
) -> dict[str, Any]:
    known = log.states[run]
    hparams = log.hparams.get(run)
    return {
        "id": log.id_of(run),
        "name": run,
        "state": states.get(run),  # null: not read yet
        "last_step": known.step,
        "started": known.began,
        "duration": known.ended - known.began,
        "last_event": known.ended,
        "rate": known.rate,
        "events": log.index.rows_of(run),
        "bytes": sizes.get(run, 0),
        "health": "nan" if known.broken else "ok",
        "broken": known.broken[:20],
        "group": hparams.group if hparams else None,
        "hparams": dict(hparams.values) if hparams else {},
        "colours": chosen[run],
    }


def colours_of(log: LiveLog) -> dict[str, tuple[str, str]]:
    """Each run's colour on dark and on light ground, by its name, in the order in which the runs began."""
    order = sorted(
        log.states.values(), key=lambda run: (math.inf if math.isnan(run.began) else run.began, run.name)
    )
    names = [run.name for run in order]
    dark, light = colours(names), print_colours(names)
    return {name: (dark[name], light[name]) for name in names}


def tags(log: LiveLog, _params: Params) -> Answer:
    """One entry per tag."""
    with log.lock:
        version, totals = log.version, log.index.totals()
    about = _descriptions(log)
    listed = [tag_entry(tag, kinds, rows) | about.get(tag, {}) for tag, kinds, rows in totals]
    return json_answer({"version": version, "tags": listed})


def tag_entry(tag: str, kinds: dict[str, int], rows: int) -> dict[str, Any]:
    """A tag: the number of its runs by kind, and the meaning of its name if it is a scalar."""
    entry: dict[str, Any] = {"tag": tag, "kinds": kinds, "rows": rows}
    if "scalars" in kinds:
        entry |= {"role": role(tag), "split": split(tag), "better": better(tag)}
    return entry


def _descriptions(log: LiveLog) -> dict[str, dict[str, str]]:
    """The display names and descriptions of tags, from the first run of each tag."""
    known: dict[str, dict[str, str]] = log.descriptions
    with log.lock:
        new = dict(log.index.first_seen)
        first = {log.index.tags[code]: run for code, run in new.items()}
    if new:
        for run, of_run in log.listing.of_runs(sorted(set(new.values()))).items():
            for each in of_run.series:
                if first.get(each.tag) == run and (each.display_name or each.description):
                    texts = {"display_name": each.display_name, "description": each.description}
                    known[each.tag] = {name: text for name, text in texts.items() if text}
        with log.lock:  # only now: a request at the same time needs them too
            for code in new:
                log.index.first_seen.pop(code, None)
    return known
