"""A row a run: statistics of scalars, hyperparameters, the last texts and images, joined."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tbq import decode as _decode
from tbq.errors import UsageError
from tbq.kinds.values import Reading, Values, locate_all
from tbq.select import Names, Selection, Steps
from tbq.select import steps as _steps
from tbq.table.codes import values_of

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.logdir import LogDir
    from tbq.table import Table

# add_hparams of torch and tensorboardX names its sub-run by the time of day.
_TIME = re.compile(r"\d{9,11}(\.\d+)?")

Rows = dict[str, dict[str, Any]]  # run -> column -> value


def summary(
    log: LogDir,
    stats: Sequence[str] | str,
    run: Names,
    tag: Names,
    steps: Steps,
    require: Sequence[str] | str,
    best: Mapping[str, str],
    media: bool,
    reading: Reading,
) -> Table:
    """The joined table; `log.summary` explains it."""
    from tbq.table import Table

    directions(best)
    scalars, found = _read(log, run, steps, media, reading)
    parent = fold_of(log, found["hparams"])
    chosen = Selection.of(tag)
    rows: Rows = {parent.get(name, name): {} for name in _names(log, run)}
    ready = _of_scalars(_chosen(scalars, chosen), stats, chosen, list(rows), parent)
    ready |= _of_best(scalars, best, list(rows), parent)
    columns: dict[str, pa.DataType] = {name: column.type for name, column in ready.items()}
    _add_hparams(rows, columns, found["hparams"], parent)
    if media:
        _add_texts(rows, columns, found["texts"], steps, chosen, parent)
        _add_images(rows, columns, found["images"], steps, chosen, parent)
    table = _arrow(rows, columns, ready)
    return Table(
        _require(table, [require] if isinstance(require, str) else require), "summary", logdir=log.path
    )


def _read(
    log: LogDir, run: Names, steps: Steps, media: bool, reading: Reading
) -> tuple[pa.Table, dict[str, Values]]:
    """Scalars and where the other values are; hyperparameters, which no range of steps leaves out, in one reading."""
    import pyarrow as pa

    quiet: Reading = {**reading, "on_error": "ignore"}  # the same files again: they have been told of
    others = ["texts", "images"] if media else []
    if steps is not None:
        scalars = log.scalars(run=run, steps=steps, **reading).to_arrow()
        return scalars, locate_all(log, ["hparams", *others], run=run, **quiet)
    given = {name: value for name, value in reading.items() if name != "on_error"}
    chosen = log._choose(run)
    options = _decode.Options(columns=("run", "tag", "step", "value"), **given)  # type: ignore[arg-type]
    result = log._decode(chosen, ["scalars", "hparams"], options, reading.get("on_error", "warn"))
    scalars = pa.table(result.scalars([one.name for one in chosen]))
    found = locate_all(log, others, run=run, **quiet) if others else {}
    return scalars, {"hparams": Values(log, "hparams", result, chosen, None, "ignore"), **found}


def directions(best: Mapping[str, str]) -> None:
    """Raise where `best` says something else than min or max."""
    if not isinstance(best, Mapping):
        raise UsageError(f"best={best!r} is no mapping", hint="best={'val/loss': 'min'}")
    for tag, way in best.items():
        if way not in ("min", "max"):
            raise UsageError(
                f"best: {tag!r} is {way!r}, want 'min' or 'max'", hint="best={'val/loss': 'min'}"
            )


def fold_of(log: LogDir, hparams: Values) -> dict[str, str]:
    """Sub-runs that `add_hparams` made -> the run that called it.

    Such a run is named by the time of day, and holds the only such session of its parent; with several of them
    each is a trial of its own and stays a row.
    """
    keys = hparams.keys()
    sessions = {
        name for name, tag in zip(values_of(keys["run"]), values_of(keys["tag"]), strict=True)
        if tag == "_hparams_/session_start_info"
    }  # fmt: skip
    runs = set(log.runs)
    children: dict[str, list[str]] = {}
    for name in sessions:
        above, _, last = name.rpartition("/")
        if _TIME.fullmatch(last):
            children.setdefault(above or ".", []).append(name)
    return {
        names[0]: above
        for above, names in children.items()
        if len(names) == 1 and above in runs and above not in sessions
    }


def _names(log: LogDir, run: Names) -> list[str]:
    return [one.name for one in log._choose(run)]


def _chosen(table: pa.Table, tags: Selection) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    if tags.everything:
        return table
    names = tags.resolve(table["tag"].unique().to_pylist()).names
    return table.filter(pc.is_in(table["tag"].cast(pa.string()), pa.array(names, pa.string())))


def _put(rows: Rows, columns: dict[str, Any], run: str, name: str, value: Any, kind: Any) -> None:
    """Set a value, unless the run has one there: what a parent logged itself wins over its sub-run's."""
    columns.setdefault(name, kind)
    mine = rows.setdefault(run, {})
    if mine.get(name) is None:
        mine[name] = value


def _of_scalars(
    scalars: pa.Table,
    stats: Sequence[str] | str,
    tags: Selection,
    runs: Sequence[str],
    parent: Mapping[str, str],
) -> dict[str, pa.ChunkedArray]:
    from tbq.table.summary import summary as statistics

    wanted = None if tags.everything else tags.columns(scalars["tag"].unique().to_pylist())
    return _placed(statistics(scalars, stats, wanted), runs, parent)


def _of_best(
    scalars: pa.Table, best: Mapping[str, str], runs: Sequence[str], parent: Mapping[str, str]
) -> dict[str, pa.ChunkedArray]:
    from tbq.table.summary import summary as statistics

    made: dict[str, pa.ChunkedArray] = {}
    for tag, way in best.items():
        found = statistics(scalars, (way, f"{way}_step"), [tag])
        made |= _placed(found.rename_columns(["run", f"{tag}.best", f"{tag}.best_step"]), runs, parent)
    return made


def _placed(table: pa.Table, runs: Sequence[str], parent: Mapping[str, str]) -> dict[str, pa.ChunkedArray]:
    """The columns of a table with a row a run, for these runs: what a run logged itself wins over its sub-run's."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = values_of(table["run"])
    if not parent and names == list(runs):
        return {name: table[name] for name in table.column_names[1:]}
    place = {name: i for i, name in enumerate(names)}
    below = {above: name for name, above in parent.items()}
    own = pa.array([place.get(name) for name in runs], pa.int64())
    sub = pa.array([place.get(below[name]) if name in below else None for name in runs], pa.int64())
    made = {}
    for name in table.column_names[1:]:
        column = table[name].take(own)
        made[name] = pc.coalesce(column, table[name].take(sub)) if below else column
    return made


def _add_hparams(rows: Rows, columns: dict[str, Any], hparams: Values, parent: Mapping[str, str]) -> None:
    import pyarrow as pa

    from tbq.kinds.hparams import wide

    table = wide(hparams.arrow())
    for name in table.column_names:
        if name in ("run", "group", "status"):
            continue
        for one, value in zip(values_of(table["run"]), values_of(table[name]), strict=True):
            _put(rows, columns, parent.get(one, one), f"hparam.{name}", value, table[name].type)
    statuses = zip(values_of(table["run"]), values_of(table["status"]), strict=True)
    for one, status in statuses if len(table) else ():
        _put(rows, columns, parent.get(one, one), "hparam.status", status, pa.string())


def _last(values: Values, steps: Steps, tags: Selection) -> pa.Table:
    """The last value of each run and tag that is wanted."""
    low, high = _steps(steps)
    keys = values.keys()
    names = set(tags.resolve(keys["tag"].unique().to_pylist()).names)
    series: dict[tuple[str, str], list[int]] = {}
    columns = (values_of(keys[name]) for name in ("run", "tag", "step", "row"))
    for run, tag, step, row in zip(*columns, strict=True):
        if tag in names and low <= step <= high:
            series.setdefault((run, tag), []).append(row)
    return values.last(series)


def _add_texts(
    rows: Rows,
    columns: dict[str, Any],
    values: Values,
    steps: Steps,
    tags: Selection,
    parent: Mapping[str, str],
) -> None:
    import pyarrow as pa

    from tbq.kinds.texts import joined, plain

    table = _last(values, steps, tags)
    begin = 0
    pairs = list(zip(values_of(table["run"]), values_of(table["tag"]), strict=True))
    taken = set(columns)
    for i, pair in enumerate(pairs):
        if i + 1 < len(pairs) and pairs[i + 1] == pair:
            continue
        name = _free(plain(pair[1]), "text", taken)
        _put(
            rows,
            columns,
            parent.get(pair[0], pair[0]),
            name,
            joined(table.slice(begin, i + 1 - begin)),
            pa.string(),
        )
        begin = i + 1


def _add_images(
    rows: Rows,
    columns: dict[str, Any],
    values: Values,
    steps: Steps,
    tags: Selection,
    parent: Mapping[str, str],
) -> None:
    import pyarrow as pa

    table = _last(values, steps, tags)
    taken = set(columns)
    for row in table.select(["run", "tag", "index", "data"]).to_pylist():
        if row["index"] in (0, None):  # the first of several
            name = _free(row["tag"], "image", taken)
            _put(rows, columns, parent.get(row["run"], row["run"]), name, row["data"], pa.large_binary())


def _free(name: str, kind: str, taken: Iterable[str]) -> str:
    """A tag that is also a scalar's, or is called `run`, has its kind behind it."""
    return f"{name}.{kind}" if name in taken or name == "run" else name


def _require(table: pa.Table, require: Sequence[str]) -> pa.Table:
    for name in require:
        if name not in table.column_names[1:]:
            from tbq.select import closest

            near = closest(name, table.column_names[1:])
            tip = f"; closest: {', '.join(near)}" if near else ""
            raise UsageError(f"require: no run has {name!r}{tip}", hint="name a column of the summary")
    for name in require:
        table = table.filter(table[name].is_valid())
    return table


def _arrow(rows: Rows, columns: Mapping[str, pa.DataType], ready: Mapping[str, pa.ChunkedArray]) -> pa.Table:
    import pyarrow as pa

    runs = list(rows)
    made: dict[str, Any] = {"run": pa.array(runs, pa.string()).dictionary_encode()}
    for name, kind in columns.items():
        made[name] = ready[name] if name in ready else pa.array([rows[run].get(name) for run in runs], kind)
    return pa.table(made)
