"""The rows of a table of histograms, images, clips or PR curves by run, tag and step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbq.columns.codes import values_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from tbq.plot.options import PlotOptions


def series_names(
    keys: Iterable[tuple[str, str]], options: PlotOptions, tagged: bool = True
) -> dict[tuple[str, str], str]:
    """A name for each (run, tag): what tells the runs apart, if there are several, then the tag.

    With `tagged=False`, the tag is left out if there is only one.

    >>> from tbq.plot.options import PlotOptions
    >>> series_names([("exp/a", "x"), ("exp/b", "x")], PlotOptions())
    {('exp/a', 'x'): 'a · x', ('exp/b', 'x'): 'b · x'}
    >>> series_names([("exp/a", "x"), ("exp/b", "x")], PlotOptions(), tagged=False)
    {('exp/a', 'x'): 'a', ('exp/b', 'x'): 'b'}
    >>> series_names([("exp/a", "x")], PlotOptions())
    {('exp/a', 'x'): 'x'}
    """
    keys = list(keys)
    runs, tags = (list(dict.fromkeys(part)) for part in zip(*keys, strict=True))
    run_names = dict(zip(runs, options.labels(runs), strict=True))
    if len(runs) == 1 and (tagged or len(tags) > 1):
        return {(run, tag): options.relabelled(tag) for run, tag in keys}
    tagged = tagged or len(tags) > 1
    return {(run, tag): run_names[run] + f" · {options.relabelled(tag)}" * tagged for run, tag in keys}


def rows_by_step(table: pa.Table) -> dict[tuple[str, str], dict[int, list[int]]]:
    """The rows of each step of each (run, tag), in ascending order of steps; of several images or clips logged at once,
    the first.

    >>> import pyarrow as pa
    >>> table = pa.table({"run": ["a", "a"], "tag": ["x", "x"], "step": [5, 5], "index": [0, 1]})
    >>> rows_by_step(table)
    {('a', 'x'): {5: [0]}}
    """
    index = table["index"].to_pylist() if "index" in table.column_names else [0] * len(table)
    by_series: dict[tuple[str, str], dict[int, list[int]]] = {}
    keys = zip(
        values_of(table["run"]), values_of(table["tag"]), table["step"].to_pylist(), index, strict=True
    )
    for row, (run, tag, step, item) in enumerate(keys):
        if not item:
            by_series.setdefault((run, tag), {}).setdefault(step, []).append(row)
    return {key: {step: of_key[step] for step in sorted(of_key)} for key, of_key in by_series.items()}
