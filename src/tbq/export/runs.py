"""One file per run: splits the table by run, with file names that every system accepts."""

from __future__ import annotations

import pyarrow as pa

from tbq.errors import UsageError
from tbq.export.names import part

_LONGEST = 180


def by_run(table: pa.Table) -> dict[str, pa.Table]:
    """The rows of each run, in the order of the table; blocks of one run are slices, not copies."""
    from tbq.columns.codes import codes_of, starts_of

    if "run" not in table.column_names:
        raise UsageError("the output name has {run}, but the table has no column 'run'")
    codes, names = codes_of(table.column("run"))
    parts: dict[str, list[pa.Table]] = {}
    starts = starts_of(codes)
    texts = names.to_pylist()
    for begin, end in zip(starts, [*starts[1:], len(codes)], strict=False):
        parts.setdefault(texts[codes[begin]], []).append(table.slice(begin, end - begin))
    return {run: slices[0] if len(slices) == 1 else pa.concat_tables(slices) for run, slices in parts.items()}


def run_paths(template: str, runs: list[str]) -> dict[str, str]:
    """The path of each run's file, no two alike even if case does not count.

    >>> run_paths("out/{run}.csv", ["exp1/train", "."])
    {'exp1/train': 'out/exp1_train.csv', '.': 'out/root.csv'}
    """
    used: set[str] = set()
    paths = {}
    for run in runs:
        base = safe_name(run)
        name, n = base, 2
        while name.lower() in used:
            name, n = f"{base}~{n}", n + 1
        used.add(name.lower())
        paths[run] = template.replace("{run}", name)
    return paths


def safe_name(run: str) -> str:
    """A run's name as one file name, by the rule for all names of a log."""
    return "root" if run in (".", "") else part(run.replace("/", "_"), _LONGEST)
