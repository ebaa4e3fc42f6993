"""One row per run: its state, statistics of scalars, hyperparameters, the last texts and images, joined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from tbq.arguments import choice, choices, keywords, mapping
from tbq.arrow import to_pyarrow
from tbq.columns.codes import names_in, values_of
from tbq.columns.names import TAG, distinct
from tbq.columns.rows import take_cells
from tbq.decode.options import READING, Reading
from tbq.errors import SelectionError, UsageError
from tbq.kinds.hparams import HPARAM, by_run
from tbq.kinds.values import Values, locate_all
from tbq.select import Names, Selection, Steps, closest_tip, plain_tag
from tbq.select import steps as _steps
from tbq.summary.digest import Digest
from tbq.summary.statistics import STATS
from tbq.summary.table import SummaryCurves, SummaryTable

if TYPE_CHECKING:
    import pyarrow as pa

    from tbq.decode.reader import Reader

#: Kinds whose last value fits into a cell, and the qualifier of a column whose name is taken.
_MEDIA = {"texts": ".text", "images": ".image", "audio": ".audio"}


_ARGUMENTS = ("stats", "run", "steps", "by", "best", "sort", "top", "require", "media")
_MOST_DRAWN = 2_000_000  # the most scalars that a summary keeps for its sparklines

# Priorities of columns that want the same name: the lowest number gets it.
_NAMED, _STATUS, _HPARAM, _BEST, _COMPUTED, _TAG, _VALUE = range(7)


@dataclass(frozen=True)
class _Column:
    """A column: its preferred name, its qualifier, its values by run, and its priority for the name."""

    name: str
    qualifier: str
    values: pa.Array | pa.ChunkedArray
    claim: int
    best: str | None = None  # set for a best value: which one
    tag: str | None = None  # set for a last value: its tag


@dataclass(frozen=True)
class _Wanted:
    """The wanted tags of all kinds: tags that the user named are included whatever their kind."""

    order: list[str] | None  # None for all; names without a match keep their place
    named: frozenset[str]  # as the user typed them
    kinds: Mapping[str, set[str]]  # the kinds of each tag; empty if all tags are wanted and none is named
    media: list[str]  # kinds to read besides scalars
    unnamed: bool  # whether to include texts and images that the user did not name

    @classmethod
    def of(
        cls, tags: Selection, required: Sequence[str], media: bool, digest: Digest, reader: Reader
    ) -> _Wanted:
        named = frozenset(required if tags.everything else tags.items or ())
        kinds = digest.kinds() if named or not tags.everything else {}
        if not tags.everything:
            tags.require(kinds, where=reader.path, others=lambda: reader.names)
        order = None if tags.everything else tags.columns(kinds)
        read = {"texts", "images"} if media else set()
        for tag in kinds:
            if _is_named(tag, named):
                read |= kinds[tag] & set(_MEDIA)
        return cls(order, named, kinds, [kind for kind in _MEDIA if kind in read], media)

    def scalars(self, scalar_tags: set[str]) -> list[str] | None:
        """The tags of scalars, and named tags without any data, which become blank columns."""
        if self.order is None:
            return None
        return [tag for tag in self.order if tag in scalar_tags or tag not in self.kinds]

    def takes(self, kind: str, tag: str) -> bool:
        """Whether this tag of this kind is included."""
        if self.order is not None and tag not in self.order:
            return False
        return _is_named(tag, self.named) or (self.unnamed and kind != "audio")

    def refuse_others(self, where: str) -> None:
        """Raise for a named tag of a kind whose values do not fit into a cell."""
        for tag in self.order or ():
            kinds = self.kinds.get(tag, set())
            if kinds and _is_named(tag, self.named) and not kinds & {"scalars", *_MEDIA}:
                kind = min(kinds)
                raise SelectionError(
                    f"a summary cannot show tag {tag!r} of kind {kind}",
                    path=where,
                    hint=f"log.{kind}(), or tbq export --kind {kind}",
                )


def _is_named(tag: str, named: frozenset[str]) -> bool:
    """Whether the user named a tag; a text may be named without torch's suffix."""
    return tag in named or plain_tag(tag) in named


def summary(
    reader: Reader,
    stats: Sequence[str] | str = ("last",),
    run: Names = None,
    tag: Names = None,
    steps: Steps = None,
    require: Sequence[str] | str = (),
    best: Mapping[str, str] | None = None,
    media: bool = True,
    **reading: Unpack[Reading],
) -> SummaryTable:
    """The joined table; see `log.summary`."""
    keywords("log.summary", reading, (*_ARGUMENTS, *READING))
    ways = mapping("best", best or {}, "{'val/loss': 'min'}")
    for name, way in ways.items():
        choice(f"best[{name!r}]", way, ("min", "max"))
    required = list(Selection.of(require, "require").items or ())
    runs = reader.choose(run)
    chosen = choices("stats", stats, tuple(STATS))
    every = dict.fromkeys([*chosen, *(stat for way in ways.values() for stat in (way, f"{way}_step"))])
    between = None if steps is None else _steps(steps)
    digest = Digest.read(reader, runs, list(every), between, _MOST_DRAWN, reading)
    wanted = _Wanted.of(Selection.of(tag), required, media, digest, reader)
    wanted.refuse_others(reader.path)
    media_values = _locate(reader, run, wanted.media, reading)
    rows = [each.name for each in runs]
    columns = _of_scalars(digest, chosen, wanted, rows)
    columns += _of_best(digest, ways, rows)
    columns += _of_hparams(digest.hparams, rows)
    for kind, values in media_values.items():
        columns += _of_media(kind, values, steps, wanted, rows)
    arrow, names = _named(rows, digest.states, columns)
    table = SummaryTable(_require(arrow, required), "summary", logdir=reader.path, began=reader.began)
    table.best = {name: (names[f"{name}\0best"], names[f"{name}\0best_step"]) for name in ways}
    scalars = digest.scalars
    if scalars is not None:  # the table keeps them in memory
        tags = {names[f"{each.tag}\0last"]: each.tag for each in columns if each.tag is not None}
        table.curves = SummaryCurves(scalars, tags)
    return table


def hyperparameters(reader: Reader, runs: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The hyperparameters of these runs, by name."""
    values = locate_all(reader, ["hparams"], run=list(runs), on_error="ignore")["hparams"]
    hparams: dict[str, dict[str, Any]] = {name: {} for name in runs}
    names, columns, _ = by_run(values.arrow())
    for i, name in enumerate(names):
        cells = {key: column[i].as_py() for key, column in columns.items()}
        hparams[name] |= {key: value for key, value in cells.items() if value is not None}
    return hparams


def _locate(reader: Reader, run: Names, kinds: Sequence[str], reading: Reading) -> dict[str, Values]:
    """Locate the values of these kinds in a second read; the first read has reported their problems."""
    quiet: Reading = {**reading, "on_error": "ignore"}
    return locate_all(reader, kinds, run=run, **quiet) if kinds else {}


def _of_scalars(
    digest: Digest,
    stats: Sequence[str],
    wanted: _Wanted,
    rows: Sequence[str],
) -> list[_Column]:
    place = _places(digest.runs(), rows)
    columns = []
    for statistic in digest.statistics(stats, wanted.scalars(digest.tags)):
        claim = _COMPUTED if statistic.stat != "last" else _TAG
        if claim == _TAG and wanted.order is not None and statistic.tag in wanted.named:
            claim = _NAMED
        tag = statistic.tag if statistic.stat == "last" else None
        columns.append(_Column(statistic.name, TAG, place(statistic.values), claim, tag=tag))
    return columns


def _of_best(digest: Digest, best: Mapping[str, str], rows: Sequence[str]) -> list[_Column]:
    columns: list[_Column] = []
    place = _places(digest.runs(), rows)
    for tag, way in best.items():
        value, step = digest.statistics((way, f"{way}_step"), [tag])
        for what, statistic in (("best", value), ("best_step", step)):
            columns.append(_Column(f"{tag}.{what}", TAG, place(statistic.values), _BEST, f"{tag}\0{what}"))
    return columns


def _of_hparams(hparams: pa.Table, rows: Sequence[str]) -> list[_Column]:
    import pyarrow as pa

    runs, columns, about = by_run(hparams)
    if not runs:
        return []
    place = _places(runs, rows)
    values = [_Column(f"{HPARAM}{name}", HPARAM, place(cells), _HPARAM) for name, cells in columns.items()]
    status = pa.array([status for _, status in about], pa.string())
    return [*values, _Column(f"{HPARAM}status", HPARAM, place(status), _STATUS)]


def _of_media(
    kind: str,
    values: Values,
    steps: Steps,
    wanted: _Wanted,
    rows: Sequence[str],
) -> list[_Column]:
    """The last value of each run and tag: the text, or the encoded bytes of the first of several."""
    import pyarrow as pa

    keys = to_pyarrow(values.keys())
    included = {tag for tag in names_in(keys["tag"]) if wanted.takes(kind, tag)}
    last = _last(values, keys, steps, included)
    cells: Mapping[tuple[str, str], Any] = _texts(last) if kind == "texts" else _encoded(last)
    titles = _titles(kind, {tag for _, tag in cells})
    columns = []
    for tag in sorted(titles, key=titles.__getitem__):
        of_tag = {run: cell for (run, of), cell in cells.items() if of == tag}
        array = pa.array(list(of_tag.values()), pa.string() if kind == "texts" else pa.large_binary())
        title, claim = titles[tag], _VALUE
        if wanted.order is not None and _is_named(tag, wanted.named):
            title, claim = (tag if tag in wanted.named else plain_tag(tag)), _NAMED
        columns.append(_Column(title, _MEDIA[kind], _places(list(of_tag), rows)(array), claim))
    return columns


def _titles(kind: str, tags: set[str]) -> dict[str, str]:
    """The tags as users spelled them: a text without torch's suffix, unless another tag has that name."""
    if kind != "texts":
        return {tag: tag for tag in tags}
    return {tag: tag if plain_tag(tag) in tags else plain_tag(tag) for tag in tags}


def _last(values: Values, keys: pa.Table, steps: Steps, tags: set[str]) -> pa.Table:
    """The last readable value of each run and included tag."""
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


def _places(runs: Sequence[str], rows: Sequence[str]) -> Any:
    """A function that maps a column over `runs` to one over `rows`."""
    if list(runs) == list(rows):
        return lambda column: column
    place = {name: i for i, name in enumerate(runs)}
    own = [place.get(name) for name in rows]
    return lambda column: take_cells(column, own)


def _named(
    rows: Sequence[str], states: Mapping[str, str | None], columns: Sequence[_Column]
) -> tuple[pa.Table, dict[str, str]]:
    """The table with distinct column names, and the names of the columns of best and last values."""
    import pyarrow as pa

    order = sorted(range(len(columns)), key=lambda i: columns[i].claim)
    wanted = [(columns[i].name, columns[i].qualifier) for i in order]
    names = dict(zip(order, distinct(wanted, reserved=("run", "state")), strict=True))
    label = pa.dictionary(pa.int32(), pa.string())
    arrays: dict[str, Any] = {
        "run": pa.array(list(rows), label), "state": pa.array([states[run] for run in rows], label),
    }  # fmt: skip
    arrays |= {names[i]: column.values for i, column in enumerate(columns)}
    by_what = {column.best: names[i] for i, column in enumerate(columns) if column.best}
    by_what |= {f"{column.tag}\0last": names[i] for i, column in enumerate(columns) if column.tag is not None}
    return pa.table(arrays), by_what


def _require(table: pa.Table, require: Sequence[str]) -> pa.Table:
    known = table.column_names[1:]
    for name in require:
        if name not in known:
            tip = closest_tip(name, known)
            raise UsageError(f"require: no run has {name!r}{tip}", hint="name a column of the summary")
    for name in require:
        table = table.filter(table[name].is_valid())
    return table
