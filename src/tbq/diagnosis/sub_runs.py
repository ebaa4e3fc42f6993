"""Finds the runs that `add_scalars` creates below a run: one per line of its chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tbq.diagnosis.survey import Survey


def of_add_scalars(survey: Survey) -> dict[str, list[str]]:
    """The runs that `add_scalars` created, by the run above them: each has a single tag, and is named after it."""
    import numpy as np

    owners = survey.series["run"]
    counts = np.bincount(owners, minlength=len(survey.runs))
    if len(survey.runs) < 2 or not (counts == 1).any():
        return {}
    names = {run.name for run in survey.runs}
    single = (counts == 1)[owners] & survey.is_kind("scalars")
    created: dict[str, list[str]] = {}
    for series in survey.rows(single):
        name, tag = survey.run_of(series), survey.tags[series]
        if name == ".":
            continue
        torch = name.rpartition("/")[0] or "."
        if torch in names and name.rpartition("/")[2].startswith(
            tag.replace("/", "_").replace(" ", "_") + "_"
        ):
            created.setdefault(torch, []).append(name)
            continue
        above = f"/{name}".rpartition("/")[0]
        tbx = above.removesuffix(f"/{tag}").removeprefix("/") or "."
        if above.endswith(f"/{tag}") and tbx in names:
            created.setdefault(tbx, []).append(name)
    return created
