"""From options to a plan: which runs become which, and what happens to each series."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tbq import _core
from tbq.errors import UsageError, warn
from tbq.select import MAX_STEP, MIN_STEP
from tbq.source import Run
from tbq.source.merge import joined_run, merged_names
from tbq.text import shell_word, system_name

if TYPE_CHECKING:
    from tbq._core import Result, Rules
    from tbq.rewriting.options import RewriteOptions
    from tbq.source.discover import Found

#: Kinds that mark places in a log and hold no data: a selection of tags keeps them.
_MARKS = ("logs",)


def group(runs: Sequence[Run], options: RewriteOptions, folds: dict[str, str]) -> list[Run]:
    """The new runs, merged and renamed, each with all of its source files.

    `folds` maps add_hparams sub-runs to the runs above them.
    """
    names = [run.name for run in runs]
    options.rename_run.require(names)
    becomes = {name: folds.get(name, name) for name in names}
    if options.merge_runs is not None:
        merged = merged_names(names, options.merge_runs)
        becomes = {name: merged.get(name, merged.get(above, above)) for name, above in becomes.items()}
    members_of: dict[str, list[Run]] = {}
    for run in runs:
        members_of.setdefault(becomes[run.name], []).append(run)
    final: dict[str, list[Run]] = {}
    origin: dict[str, str] = {}
    for name, members in members_of.items():
        new = options.rename_run.apply(name)
        _check_run_name(new)
        other = origin.setdefault(new.lower() if os.name == "nt" else new, name)
        if other != name:
            raise UsageError(
                f"runs {other!r} and {name!r} would both be called {new!r}",
                hint=f"to join them: --merge-runs {shell_word(f'{other},{name}={new}')}",
            )
        final[new] = members
    return [joined_run(name, final[name]) for name in sorted(final)]


def _check_run_name(name: str) -> None:
    parts = system_name(name).split("/")
    # A part must not contain a separator, a drive or the parent folder of the system.
    if name != "." and any(
        part in ("", ".", "..") or "\0" in part or Path(part).name != part for part in parts
    ):
        raise UsageError(
            f"{name!r} cannot be the name of a run", hint="a run is named after its folder, e.g. exp1/train"
        )


def folds(
    found: Found, inflate: Callable[[bytes], bytes | None], survey: Result
) -> tuple[dict[str, str], list[str]]:
    """The sub-runs of `add_hparams` with the run above each; and notes on those that stay separate."""
    from tbq.decode.sub_runs import SubRunFolder

    folder = SubRunFolder(inflate)
    folded = {name: run.name for run in folder.fold(found).runs for name in run.folded}
    table = series_table(survey, found.runs)
    own = {run for run, kind in zip(table["run"], table["kind"], strict=True) if kind == "hparams"}
    notes = []
    for above, subs in folder.below.items():
        if all(name in folded for name in subs) and above not in own:
            continue
        what = "its own hparams" if subs[0] in folded else f"{len(subs):,} add_hparams sub-runs"
        notes.append(
            f"run {above} has {what}: a run can have only one set of hparams, so they are not folded"
        )
        for name in subs:
            folded.pop(name, None)
    return folded, notes


def series_table(survey: Result, runs: Sequence[Run]) -> dict[str, list[Any]]:
    """The series of a survey as columns."""
    table: pa.Table = pa.table(survey.series([run.name for run in runs]))
    wanted = ("run", "tag", "kind", "count", "min_step", "max_step")
    return {name: table[name].to_pylist() for name in wanted}


def make_rules(survey: Result, runs: Sequence[Run], options: RewriteOptions) -> tuple[Rules, set[str]]:
    """What happens to each series, and the runs with nothing left."""
    table = series_table(survey, runs)
    tags = sorted(set(table["tag"]))
    options.rename.require(tags)
    dropped = options.drop_tag.resolve(tags)
    for miss in dropped.unmatched:
        warn(f"no tag matches {miss.item!r}, so it drops nothing{miss.tip}")
    gone = set(dropped.names)
    kept = None if options.keep_tag.everything else set(options.keep_tag.require(tags))
    rules = _core.Rules(survey)
    names: dict[tuple[str, str], str] = {}
    has_data: dict[str, bool] = {}
    low, high = MAX_STEP, MIN_STEP
    renamed = {tag: options.rename.apply(tag) for tag in tags} if options.rename.pairs else {}
    for index, (run, tag, kind) in enumerate(zip(table["run"], table["tag"], table["kind"], strict=True)):
        mark = kind in _MARKS
        if kind in options.drop_kind or (
            not mark and (tag in gone or (kept is not None and tag not in kept))
        ):
            rules.drop(index)
            has_data.setdefault(run, False)
            continue
        has_data[run] = has_data.get(run, False) or not mark
        low, high = min(low, table["min_step"][index]), max(high, table["max_step"][index])
        new = renamed.get(tag, tag)
        if not new and tag:  # a value without a tag may stay so
            raise UsageError(f"tag {tag!r} cannot be renamed to an empty name")
        other = names.setdefault((run, new), tag)
        if other != tag:
            raise UsageError(
                f"tags {other!r} and {tag!r} of run {run!r} would both be called {new!r}",
                hint="two series cannot become one; rename or drop one of them",
            )
        if new != tag:
            rules.rename(index, _core.raw_name(new))
    if low <= high and not (
        low + options.offset_steps >= MIN_STEP and high + options.offset_steps <= MAX_STEP
    ):
        raise UsageError(f"offset_steps={options.offset_steps} moves steps {low}…{high} out of int64")
    selecting = bool(gone or kept is not None or options.drop_kind)
    return rules, {run for run, any_data in has_data.items() if selecting and not any_data}
