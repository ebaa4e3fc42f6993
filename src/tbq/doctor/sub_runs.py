"""Runs that a writer made below its own: one for each line of `add_scalars`, one for each call of `add_hparams`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.kinds.hparam_runs import sub_runs

if TYPE_CHECKING:
    from tbq.doctor.look import Look


def of_add_scalars(look: Look) -> dict[str, list[str]]:
    """The run above, and those that `add_scalars` made below it: they hold one tag, and are named after it."""
    import numpy as np

    run = look.series["run"]
    counts = np.bincount(run, minlength=len(look.runs))
    if len(look.runs) < 2 or not (counts == 1).any():
        return {}
    names = {one.name for one in look.runs}
    single = (counts == 1)[run] & look.is_kind("scalars")
    made: dict[str, list[str]] = {}
    for series in look.rows(single):
        name, tag = look.run_of(series), look.tags[series]
        if name == ".":
            continue
        torch = name.rpartition("/")[0] or "."
        if torch in names and name.rpartition("/")[2].startswith(
            tag.replace("/", "_").replace(" ", "_") + "_"
        ):
            made.setdefault(torch, []).append(name)
            continue
        above = f"/{name}".rpartition("/")[0]
        tbx = above.removesuffix(f"/{tag}").removeprefix("/") or "."
        if above.endswith(f"/{tag}") and tbx in names:
            made.setdefault(tbx, []).append(name)
    return made


def of_add_hparams(look: Look) -> dict[str, list[str]]:
    """The run above, and those that `add_hparams` made below it."""
    return sub_runs(look.series_table, [run.name for run in look.runs]).below
