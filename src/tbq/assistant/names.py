"""Finds what a question names: runs, tags, configurations; or says what is closest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tbq.assistant.answer import AskedWrongError, shown
from tbq.errors import SelectionError, UsageError
from tbq.query.groups import group_runs, value_text
from tbq.roles import is_evaluation, role
from tbq.select import Selection, closest, plain_tag
from tbq.text import shown_path, some

if TYPE_CHECKING:
    from tbq.assistant.answer import ToolAnswer
    from tbq.server.live_log import LiveLog

Names = str | list[str] | None

_NUMBER = re.compile(r"#([0-9]{1,9})")
_LONGEST = 2000  # characters of a name or a pattern
_MOST = 200  # names in one question
_HPARAM = "hparam."


def items_of(names: Names, what: str) -> list[str]:
    """The names of a question, checked."""
    items = [names] if isinstance(names, str) else list(names or [])
    if len(items) > _MOST:
        raise AskedWrongError(f"{what}: got {len(items):,} names, want at most {_MOST}; use a pattern")
    for item in items:
        if len(item) > _LONGEST:
            raise AskedWrongError(f"{what}: a name is longer than {_LONGEST:,} characters")
    return items


def paths_of(log: LiveLog) -> list[str]:
    """The log directories as they were named, without the secrets of URLs."""
    return list(map(shown_path, log.follower.discovery.paths))


def runs_of(log: LiveLog, names: Names, answer: ToolAnswer) -> list[str]:
    """The runs of the log that these names mean; all runs without names. Names without a run are noted."""
    every = log.shown()
    if not every:
        raise AskedWrongError(no_runs(log))
    items = items_of(names, "run")
    if not items:
        return every
    chosen: dict[str, None] = {}
    for item in items:
        members = _members(log, item, every)
        chosen.update(dict.fromkeys(members))
        if not members:
            answer.note(_no_run(log, item, every))
    if not chosen:
        raise AskedWrongError("\n".join(_no_run(log, item, every) for item in items[:3]))
    return list(chosen)


def run_words(log: LiveLog, names: Names) -> list[str]:
    """The options of a command that select these runs: numbers and configurations as the names of their runs."""
    every = log.shown()
    words: list[str] = []
    for item in items_of(names, "run"):
        is_selection = item.startswith("re:") or Selection.of(item, "run").resolve(every).names
        words += [item] if is_selection else _members(log, item, every)
    return [word for name in words for word in ("--run", name)]


def single_run(log: LiveLog, name: str, answer: ToolAnswer) -> str:
    """The one run that a name means."""
    runs = runs_of(log, name, answer)
    if len(runs) > 1:
        raise AskedWrongError(
            f"{shown(name)} means {len(runs):,} runs, want one: {some([shown(run) for run in runs], 5)}"
        )
    return runs[0]


def no_runs(log: LiveLog) -> str:
    """Why there is nothing to answer about."""
    places = ", ".join(map(shown, paths_of(log)))
    if not log.exists:
        return f"{places} does not exist yet; ask again when a job has begun to write there"
    return f"there are no event files in {places} yet; tbq doctor {places} says why"


def _members(log: LiveLog, item: str, every: Sequence[str]) -> list[str]:
    number = _NUMBER.fullmatch(item)
    if number is not None and item not in log.states:
        run = log.name_of(int(number[1]))
        return [] if run is None else [run]
    if item.startswith("re:"):
        try:  # by RE2: an expression may come from anywhere
            return list(group_runs(every, item, foreign=True))
        except SelectionError:
            return []
        except UsageError as wrong:
            raise AskedWrongError(f"run: {wrong.message}") from None
    found = Selection.of(item, "run").resolve(every).names
    return found or _of_configuration(log, item, every)


def _of_configuration(log: LiveLog, item: str, every: Sequence[str]) -> list[str]:
    """The runs with these hyperparameters: `lr=0.1, batch_size=32`, as leaderboard names configurations."""
    wanted = _pairs(item)
    known = log.hparams_of(every)
    if not wanted:
        return []
    return [run for run, values in known.items() if all(_is(values, *each) for each in wanted.items())]


def _pairs(item: str) -> dict[str, str]:
    """The hyperparameters in the name of a configuration, with their values; nothing if it is not one."""
    parts = item.split(", ")
    if len(parts) == 1:
        parts = item.split(",")
    pairs = [part.strip().removeprefix(_HPARAM).partition("=") for part in parts]
    if not all(name and sign for name, sign, _ in pairs):
        return {}
    return {name.strip(): text.strip().strip("'\"") for name, _, text in pairs}


def hparams_in(log: LiveLog, item: str) -> list[str]:
    """The names of the hyperparameters in the name of a configuration; none for runs and patterns."""
    return [] if Selection.of(item, "run").resolve(log.shown()).names else list(_pairs(item))


def _is(values: Any, name: str, text: str) -> bool:
    if name not in values:
        return False
    value = values[name]
    if value_text(value) == text or str(value) == text:
        return True
    try:
        return not isinstance(value, bool | str) and float(text) == float(value)
    except ValueError:
        return False


def _no_run(log: LiveLog, item: str, every: Sequence[str]) -> str:
    number = _NUMBER.fullmatch(item)
    if log.was_shown(int(number[1]) if number else item):
        return f"run {shown(item)} was deleted since it was listed"
    near = [shown(name) for name in closest(item[:200], every)]
    tip = f"; closest: {', '.join(near)}" if near else f"; runs here: {some([shown(run) for run in every])}"
    return f"no run is named {shown(item)}{tip}"


def tags_of(log: LiveLog, names: Names, answer: ToolAnswer, kind: str | None = "scalars") -> list[str]:
    """The tags of a kind (None: of any) that these names mean, in the order of the names."""
    with log.lock:
        totals = log.index.totals()
    known = [tag for tag, kinds, _ in totals if kind is None or kind in kinds]
    chosen: dict[str, None] = {}
    missing = []
    for item in items_of(names, "tag"):
        if item.startswith("re:"):
            matches = _matching(item, known)
        else:
            matches = Selection.of(item).resolve(known).names
        chosen.update(dict.fromkeys(matches))
        if not matches:
            missing.append(_no_tag(item, known, {tag: kinds for tag, kinds, _ in totals}, kind))
    if not chosen:
        raise AskedWrongError("\n".join(missing) or "name a tag; overview lists them")
    for line in missing:
        answer.note(line)
    return list(chosen)


def _matching(item: str, known: Sequence[str]) -> list[str]:
    try:
        return list(group_runs(known, item, foreign=True))
    except SelectionError:
        return []
    except UsageError as wrong:
        raise AskedWrongError(f"tag: {wrong.message}") from None


def _no_tag(item: str, known: Sequence[str], kinds: dict[str, dict[str, int]], kind: str | None) -> str:
    if item in kinds:
        return f"{shown(item)} has {', '.join(kinds[item])}, but no {kind}" + "; look shows it" * (
            kind == "scalars"
        )
    near = closest(item[:200], [plain_tag(tag) for tag in known])
    shown_names = [shown(name) for name in near or known[:5]]
    tip = f"; {'closest' if near else 'tags here'}: {', '.join(shown_names)}" if shown_names else ""
    return f"no tag is named {shown(item)}{tip}"


def main_metric(log: LiveLog, metric: str | None, runs: Sequence[str], answer: ToolAnswer) -> str:
    """The metric of a question; without one, the evaluation loss or score that most of these runs have."""
    if metric is not None:
        tags = tags_of(log, metric, answer)
        if len(tags) > 1:
            raise AskedWrongError(
                f"{shown(metric)} means {len(tags)} tags, want one: {some([shown(tag) for tag in tags], 5)}"
            )
        return tags[0]
    with log.lock:
        totals = log.index.totals(runs)
    scalars = [(tag, kinds["scalars"], rows) for tag, kinds, rows in totals if "scalars" in kinds]
    metrics = [each for each in scalars if role(each[0]) in ("loss", "score")]
    if not metrics:
        tags = [shown(tag) for tag, _, _ in scalars]
        listed = f"scalars here: {some(tags, 8)}" if tags else "there are no scalars"
        raise AskedWrongError(f"no tag is named like a loss or a score; name the metric; {listed}")
    ranked = sorted(
        metrics,
        key=lambda each: (
            each[2] <= each[1],  # logged once per run, as by add_hparams
            not is_evaluation(each[0]),
            -each[1],
            role(each[0]) != "loss",
        ),
    )
    others = [shown(tag) for tag, _, _ in ranked[1:4]]
    if others:
        answer.note(f"metric: took {shown(ranked[0][0])}; others: {', '.join(others)}")
    return ranked[0][0]


def grouping_of(log: LiveLog, by: Names) -> str:
    """`by` as groups are made: names of hyperparameters become `hparam.NAME`."""
    items = items_of(by, "by")
    with log.lock:
        known = {name for of in log.hparams.values() for name in of.values}
    parts = []
    for item in items:
        undivided = "re:" in item or item.removeprefix(_HPARAM) in known
        parts += [item] if undivided else [part.strip() for part in item.split(",")]
    odd = [part for part in parts if part.removeprefix(_HPARAM) not in known]
    if not odd:
        return ",".join(_HPARAM + part.removeprefix(_HPARAM) for part in parts)
    if len(items) == 1 and (
        items[0].startswith("re:") or Selection.of(items[0], "run").resolve(log.shown()).names
    ):
        return items[0]
    near = [shown(name) for name in closest(odd[0].removeprefix(_HPARAM), sorted(known))]
    names = [shown(name) for name in sorted(known)]
    tip = f"closest: {', '.join(near)}" if near else f"hyperparameters: {some(names, 8) or 'none'}"
    raise AskedWrongError(f"no hyperparameter is named {shown(odd[0])}, and no run matches it; {tip}")
