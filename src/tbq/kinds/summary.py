"""One row per run: statistics of scalars, hyperparameters, the last texts and images, joined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tbq import decode as _decode
from tbq.arguments import choice, mapping
from tbq.errors import SelectionError, UsageError
from tbq.kinds.hparam_runs import parent, sub_runs
from tbq.kinds.hparams import HPARAM, by_run
from tbq.kinds.values import Reading, Values, locate_all
from tbq.select import TEXT_SUFFIX, Names, Selection, Steps
from tbq.select import steps as _steps
from tbq.table import Table
from tbq.table.codes import values_of
from tbq.table.columns import TAG, distinct

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.logdir import LogDir
    from tbq.source import Run

#: Kinds of which a run's last value fits into a cell, and how a column is qualified that another one is called like.
_MEDIA = {"texts": ".text", "images": ".image", "audio": ".audio"}


# Who has a name first, if two would like to have it.
_NAMED, _STATUS, _HPARAM, _BEST, _COMPUTED, _TAG, _VALUE = range(7)


@dataclass(frozen=True)
class _Column:
    """A column: the name it would like to have, what qualifies it, its values by run, and its claim to the name."""

    name: str
    qualifier: str
    values: pa.Array | pa.ChunkedArray
    claim: int
    best: str | None = None  # which best value this is


@dataclass(frozen=True)
class _Wanted:
    """Which tags are wanted, of every kind there is: those that were named come whatever their kind."""

    order: list[str] | None  # None for all; with names that are nowhere, which keep their place
    named: frozenset[str]  # as they were typed
    kinds: Mapping[str, set[str]]  # of each tag; not looked up if all are wanted and none was named
    media: list[str]  # kinds to read beside scalars
    unnamed: bool  # whether texts and images that were not named are wanted

    @classmethod
    def of(cls, tags: Selection, required: Sequence[str], media: bool, values: Values) -> _Wanted:
        named = frozenset(required if tags.everything else tags.items or ())
        kinds = values.kinds() if named or not tags.everything else {}
        order = None if tags.everything else tags.columns(kinds)
        read = {"texts", "images"} if media else set()
        for tag in kinds:
            if _is_named(tag, named):
                read |= kinds[tag] & set(_MEDIA)
        return cls(order, named, kinds, [kind for kind in _MEDIA if kind in read], media)

    def scalars(self, there: set[str]) -> list[str] | None:
        """The tags of scalars, and those of nothing, which are blank."""
        if self.order is None:
            return None
        return [tag for tag in self.order if tag in there or tag not in self.kinds]

    def takes(self, kind: str, tag: str) -> bool:
        """Whether a tag of this kind is wanted."""
        if self.order is not None and tag not in self.order:
            return False
        return _is_named(tag, self.named) or (self.unnamed and kind != "audio")

    def refuse_others(self, where: str) -> None:
        """Raise for a tag that was named and is of a kind of which no value fits into a cell."""
        for tag in self.order or ():
            mine = self.kinds.get(tag, set())
            if mine and _is_named(tag, self.named) and not mine & {"scalars", *_MEDIA}:
                kind = min(mine)
                raise SelectionError(
                    f"tag {tag!r} is of kind {kind}, which has no column in a summary",
                    path=where,
                    hint=f"log.{kind}(), or tbq export --kind {kind}",
                )


def _is_named(tag: str, named: frozenset[str]) -> bool:
    """Whether a tag was named; a text may be named without torch's suffix."""
    return tag in named or tag.removesuffix(TEXT_SUFFIX) in named


class SummaryTable(Table):
    """One row per run; `best` has the columns of the best value and its step, for each tag of `best=`."""

    best: Mapping[str, tuple[str, str]]

    def having(self, arrow: pa.Table) -> SummaryTable:
        """The same table with other rows, or in another order."""
        made = SummaryTable(arrow, self.kind, logdir=self.logdir, began=self.began)
        made.best = self.best
        return made


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
) -> SummaryTable:
    """The joined table; `log.summary` explains it."""
    for one, way in mapping("best", best, "{'val/loss': 'min'}").items():
        choice(f"best[{one!r}]", way, ("min", "max"))
    required = list(Selection.of(require, "require").items or ())
    chosen = Selection.of(tag)
    runs = log._choose(run)
    scalars, hparams = _read(log, run, steps, reading)
    wanted = _Wanted.of(chosen, required, media, hparams)
    wanted.refuse_others(log.path)
    found = _locate(log, run, wanted.media, reading)
    folds = _folded(log, runs, hparams, reading)
    rows = list(dict.fromkeys(folds.get(one.name, one.name) for one in runs))
    columns = _of_scalars(scalars, stats, wanted, rows, folds)
    columns += _of_best(scalars, best, rows, folds)
    columns += _of_hparams(hparams, rows, folds)
    for kind, values in found.items():
        columns += _of_media(kind, values, steps, wanted, rows, folds)
    table, names = _named(rows, columns)
    made = SummaryTable(_require(table, required), "summary", logdir=log.path, began=log._began)
    made.best = {one: (names[f"{one}\0best"], names[f"{one}\0best_step"]) for one in best}
    return made


def hyperparameters(log: LogDir, runs: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The hyperparameters of these runs, by name: of each run itself, or of the sub-run that belongs to it."""
    wanted = [one for one in log._found.runs if one.name in runs or parent(one.name) in runs]
    values = locate_all(log, ["hparams"], run=[one.name for one in wanted], on_error="ignore")["hparams"]
    folds = _folded(log, wanted, values, {})
    found: dict[str, dict[str, Any]] = {name: {} for name in runs}
    names, columns, _ = by_run(values.arrow())
    for i, name in enumerate(names):
        above = name if name in found else folds.get(name, name)  # a sub-run that is asked for is itself
        if above in found:
            mine = {one: column[i].as_py() for one, column in columns.items()}
            found[above] |= {one: value for one, value in mine.items() if value is not None}
    return found


def _read(log: LogDir, run: Names, steps: Steps, reading: Reading) -> tuple[pa.Table, Values]:
    """Scalars, and where hyperparameters are, from one reading; from two if there is a range of steps, which leaves
    no hyperparameter out."""
    import pyarrow as pa

    if steps is not None:
        scalars = log.scalars(run=run, steps=steps, **reading).to_arrow()
        return scalars, _locate(log, run, ["hparams"], reading)["hparams"]
    given = {name: value for name, value in reading.items() if name != "on_error"}
    chosen = log._choose(run)
    options = _decode.Options(columns=("run", "tag", "step", "value"), **given)  # type: ignore[arg-type]
    result = log._decode(chosen, ["scalars", "hparams"], options, reading.get("on_error", "warn"))
    scalars = pa.table(result.scalars([one.name for one in chosen]))
    return scalars, Values(log, "hparams", result, chosen, None, "ignore")


def _locate(log: LogDir, run: Names, kinds: Sequence[str], reading: Reading) -> dict[str, Values]:
    """Where the values of these kinds are, from another reading; their problems have been reported already."""
    quiet: Reading = {**reading, "on_error": "ignore"}
    return locate_all(log, kinds, run=run, **quiet) if kinds else {}


def _folded(log: LogDir, runs: Sequence[Run], hparams: Values, reading: Reading) -> dict[str, str]:
    """Sub-runs of `add_hparams` → the run above, if both are among these runs."""
    import pyarrow as pa

    names = [one.name for one in runs]
    chosen = set(names)
    series = hparams.series()
    found = sub_runs(series, chosen)
    # Whether a sub-run is the only one does not depend on what was selected.
    beside = [one for one in log._found.runs if one.name not in chosen and parent(one.name) in found.below]
    if beside:
        options = _decode.Options(restarts=reading.get("restarts", "resume"), threads=reading.get("threads"))
        result, _ = log._decode_quietly(beside, [], options)
        more = pa.table(result.series([one.name for one in beside]))
        columns = ["run", "tag", "kind", "count"]
        both = [part.select(columns).cast(_plain(part.select(columns))) for part in (series, more)]
        found = sub_runs(pa.concat_tables(both), {*chosen, *(one.name for one in beside)})
    return {sub: above for sub, above in found.folded.items() if sub in chosen and above in chosen}


def _plain(table: pa.Table) -> pa.Schema:
    import pyarrow as pa

    return pa.schema(
        [(one.name, pa.int64() if one.name == "count" else pa.large_string()) for one in table.schema]
    )


def _of_scalars(
    scalars: pa.Table,
    stats: Sequence[str] | str,
    wanted: _Wanted,
    rows: Sequence[str],
    folds: Mapping[str, str],
) -> list[_Column]:
    from tbq.table.summary import statistics

    names, made = statistics(scalars, stats, wanted.scalars(set(scalars["tag"].unique().to_pylist())))
    place = _places(values_of(names), rows, folds)
    columns = []
    for one in made:
        claim = _COMPUTED if one.stat != "last" else _TAG
        if claim == _TAG and wanted.order is not None and one.tag in wanted.named:
            claim = _NAMED
        columns.append(_Column(one.name, TAG, place(one.values), claim))
    return columns


def _of_best(
    scalars: pa.Table, best: Mapping[str, str], rows: Sequence[str], folds: Mapping[str, str]
) -> list[_Column]:
    from tbq.table.summary import statistics

    made: list[_Column] = []
    for tag, way in best.items():
        names, (value, step) = statistics(scalars, (way, f"{way}_step"), [tag])
        place = _places(values_of(names), rows, folds)
        for what, one in (("best", value), ("best_step", step)):
            made.append(_Column(f"{tag}.{what}", TAG, place(one.values), _BEST, f"{tag}\0{what}"))
    return made


def _of_hparams(hparams: Values, rows: Sequence[str], folds: Mapping[str, str]) -> list[_Column]:
    import pyarrow as pa

    runs, columns, about = by_run(hparams.arrow())
    if not runs:
        return []
    place = _places(runs, rows, folds)
    made = [_Column(f"{HPARAM}{name}", HPARAM, place(values), _HPARAM) for name, values in columns.items()]
    status = pa.array([status for _, status in about], pa.string())
    return [*made, _Column(f"{HPARAM}status", HPARAM, place(status), _STATUS)]


def _of_media(
    kind: str,
    values: Values,
    steps: Steps,
    wanted: _Wanted,
    rows: Sequence[str],
    folds: Mapping[str, str],
) -> list[_Column]:
    """The last value of each run and tag: the text, or the encoded bytes of the first of several."""
    import pyarrow as pa

    keys = values.keys()
    taken = {tag for tag in keys["tag"].unique().to_pylist() if wanted.takes(kind, tag)}
    last = _last(values, keys, steps, taken)
    cells: Mapping[tuple[str, str], Any] = _texts(last) if kind == "texts" else _encoded(last)
    titles = _titles(kind, {tag for _, tag in cells})
    made = []
    for tag in sorted(titles, key=titles.__getitem__):
        mine = {run: cell for (run, of), cell in cells.items() if of == tag}
        array = pa.array(list(mine.values()), pa.string() if kind == "texts" else pa.large_binary())
        title, claim = titles[tag], _VALUE
        if wanted.order is not None and _is_named(tag, wanted.named):
            title, claim = (tag if tag in wanted.named else tag.removesuffix(TEXT_SUFFIX)), _NAMED
        made.append(_Column(title, _MEDIA[kind], _places(list(mine), rows, folds)(array), claim))
    return made


def _titles(kind: str, tags: set[str]) -> dict[str, str]:
    """The tags as their users called them: a text without torch's suffix, unless another tag is called so."""
    from tbq.kinds.texts import plain

    if kind != "texts":
        return {tag: tag for tag in tags}
    return {tag: tag if plain(tag) in tags else plain(tag) for tag in tags}


def _last(values: Values, keys: pa.Table, steps: Steps, tags: set[str]) -> pa.Table:
    """The last value of each run and tag that is wanted and can be read."""
    low, high = _steps(steps)
    series: dict[tuple[str, str], list[int]] = {}
    columns = (values_of(keys[name]) for name in ("run", "tag", "step", "row"))
    for run, tag, step, row in zip(*columns, strict=True):
        if tag in tags and low <= step <= high:
            series.setdefault((run, tag), []).append(row)
    return values.last(series)


def _texts(table: pa.Table) -> dict[tuple[str, str], str]:
    from tbq.kinds.texts import joined

    pairs = list(zip(values_of(table["run"]), values_of(table["tag"]), strict=True))
    cells = {}
    begin = 0
    for end in range(1, len(pairs) + 1):
        if end == len(pairs) or pairs[end] != pairs[begin]:
            cells[pairs[begin]] = joined(table.slice(begin, end - begin))
            begin = end
    return cells


def _encoded(table: pa.Table) -> dict[tuple[str, str], bytes]:
    return {
        (row["run"], row["tag"]): row["data"]
        for row in table.select(["run", "tag", "index", "data"]).to_pylist()
        if row["index"] in (0, None)
    }


def _places(runs: Sequence[str], rows: Sequence[str], folds: Mapping[str, str]) -> Any:
    """What turns a column over `runs` into one over `rows`: what a run logged itself wins over its sub-run's."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not folds and list(runs) == list(rows):
        return lambda column: column
    place = {name: i for i, name in enumerate(runs)}
    below = {above: name for name, above in folds.items()}
    own = pa.array([place.get(name) for name in rows], pa.int64())
    sub = pa.array([place.get(below[name]) if name in below else None for name in rows], pa.int64())

    def placed(column: pa.Array) -> pa.Array:
        mine = column.take(own)
        return pc.coalesce(mine, column.take(sub)) if below else mine

    return placed


def _named(rows: Sequence[str], columns: Sequence[_Column]) -> tuple[pa.Table, dict[str, str]]:
    """The table, its columns under names of their own; and the names of the columns of best values."""
    import pyarrow as pa

    order = sorted(range(len(columns)), key=lambda i: columns[i].claim)
    wanted = [(columns[i].name, columns[i].qualifier) for i in order]
    names = dict(zip(order, distinct(wanted, taken=("run",)), strict=True))
    made: dict[str, Any] = {"run": pa.array(list(rows), pa.string()).dictionary_encode()}
    made |= {names[i]: column.values for i, column in enumerate(columns)}
    return pa.table(made), {column.best: names[i] for i, column in enumerate(columns) if column.best}


def _require(table: pa.Table, require: Sequence[str]) -> pa.Table:
    known = table.column_names[1:]
    for name in require:
        if name not in known:
            from tbq.select import closest

            near = closest(name, known)
            tip = f"; closest: {', '.join(near)}" if near else ""
            raise UsageError(f"require: no run has {name!r}{tip}", hint="name a column of the summary")
    for name in require:
        table = table.filter(table[name].is_valid())
    return table
