"""The values of one kind: their places in files, and their table, at once or batch by batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from arro3.core import Array, DataType, Table

from tbq.arrow import Arrow, dicts_of, having, part, table_of, to_pyarrow, values_of
from tbq.decode.options import DecodeOptions, OnError, Reading
from tbq.decode.problems import path_of
from tbq.decode.reader import Reader
from tbq.errors import SelectionError
from tbq.problems import Problem
from tbq.schema import columns_of, schema
from tbq.select import Names, Selection, Steps, several
from tbq.select import steps as _steps
from tbq.source.files import present
from tbq.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from tbq._core import Result
    from tbq.source import Run


# The core's column with the number of a row's value.
NUMBER = "value_number"
# The column that is null if a value could not be decoded.
_CONTENT = {"tensors": "shape", "histograms": "left", "images": "data", "audio": "data", "texts": "text"}


def locate(
    reader: Reader,
    name: str,
    tag: Names = None,
    run: Names = None,
    steps: Steps = None,
    **reading: Unpack[Reading],
) -> Values:
    """Locate the values of the table `name`; large values stay in their files until a table needs them."""
    return locate_all(reader, [name], tag, run, steps, **reading)[name]


def locate_all(
    reader: Reader,
    names: Sequence[str],
    tag: Names = None,
    run: Names = None,
    steps: Steps = None,
    **reading: Unpack[Reading],
) -> dict[str, Values]:
    """The values of several tables from one read; leaves out tables that have none of the selected tags."""
    from tbq import _core

    runs = reader.choose(run)
    tags = Selection.of(tag)
    on_error = reading.get("on_error", "warn")
    options = DecodeOptions.of(reading, tag=tags, steps=_steps(steps), defer=True)
    kinds = {name: "scalars" if name == "scalars" else _core.kind_of_table(name) for name in names}
    # Only the tags of scalars matter here: another module builds their table.
    stored = [kind for kind in dict.fromkeys(kinds.values()) if kind != "scalars"]
    result = reader.read(runs, stored, options, on_error)
    if tags.everything:
        return {name: Values(reader, name, result, runs, None, on_error) for name in names}
    located: dict[str, Values] = {}
    known = {kind: result.tags(kind) for kind in kinds.values()}
    every_tag = [each for of_kind in known.values() for each in of_kind]
    selected = set(reader.require(tags, every_tag, result, kinds[names[0]]))
    for name, kind in kinds.items():
        of_kind = [each for each in known[kind] if each in selected]
        if of_kind:
            more = any(
                each not in selected for each in known[kind] if tags.matches(each)
            )  # `loss[0]` is an exact name here
            located[name] = Values(reader, name, result, runs, of_kind if more else None, on_error)
    return located


class Values:
    """Located values, in the order of their table. `rows` are indices into `keys()`."""

    def __init__(
        self,
        reader: Reader,
        name: str,
        result: Result,
        runs: Sequence[Run],
        names: list[str] | None,
        on_error: OnError,
    ) -> None:
        self.reader = reader
        self.name = name
        self._result = result
        self._runs = runs
        self._names = names
        self._on_error = on_error

    @property
    def logdir(self) -> str:
        """The path of the log."""
        return self.reader.path

    @property
    def began(self) -> Mapping[str, float]:
        """When each run began."""
        return self.reader.began

    def __len__(self) -> int:
        return len(self.keys())

    def series(self) -> pa.Table:
        """One row per (run, tag, kind) of the same read, whatever was selected."""
        return to_pyarrow(self._result.series([run.name for run in self._runs]))

    def kinds(self) -> dict[str, set[str]]:
        """The kinds of each tag of the same read."""
        return kinds_of(table_of(self._result.series([run.name for run in self._runs])))

    def keys(self) -> Table:
        """The places of the values: `run, tag, step, wall_time, bytes`, and `row`, their number. Reads no value."""
        keys = self.reader.keys(self._result, self.name, [run.name for run in self._runs])
        keys = keys.append_column("row", Array(range(keys.num_rows), DataType.int64()))
        return keys if self._names is None else having(keys, "tag", set(self._names))

    def batches(
        self, rows: Sequence[int] | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The table, or some of its columns, a few megabytes at a time; problems are reported at the end.

        Parts of a large value that only omitted columns need are neither read nor verified.
        """
        import pyarrow as pa

        yield from pa.RecordBatchReader.from_stream(self._stream(rows, columns))
        self._tell()
        if self.name == "nodes":
            yield from self._layers(rows)

    def table(self, rows: Sequence[int] | None = None, numbered: bool = False) -> Arrow:
        """The full table, or some of its rows. `numbered` adds a column with the number of each row's value."""
        names = [*(name for name, _ in columns_of(self.name)), NUMBER] if numbered else None
        table = table_of(self._stream(rows, names))
        self._tell()
        layers = self._layers(rows, numbered) if self.name == "nodes" else []
        return self._by_run(to_pyarrow(table), layers) if layers else table

    def arrow(self, rows: Sequence[int] | None = None, numbered: bool = False) -> pa.Table:
        """The same as a pyarrow table."""
        return to_pyarrow(self.table(rows, numbered))

    def sibling(self, name: str) -> Values:
        """Another table of the same values: `nodes` beside `graphs`, `hparam_metrics` beside `hparams`."""
        return Values(self.reader, name, self._result, self._runs, self._names, self._on_error)

    def note(self, problem: Problem) -> None:
        """Add a problem to the log's problems."""
        self.reader.note([problem], self._on_error)

    def _stream(self, rows: Sequence[int] | None, columns: Sequence[str] | None = None) -> Any:
        if rows is None and self._names is not None:
            rows = values_of(self.keys()["row"])
        picked = None if rows is None else [int(row) for row in rows]
        present(self._runs)  # large values are read from their files from here on
        return self.reader.values(self._result, self.name, [run.name for run in self._runs], picked, columns)

    def _layers(self, rows: Sequence[int] | None, numbered: bool = False) -> list[pa.RecordBatch]:
        """The layers of Keras models as nodes: the core reads protobufs, and these are JSON."""
        import pyarrow as pa

        from tbq.kinds import keras_models

        columns, keys = schema("nodes"), ["run", "tag", "step", "wall_time"]
        if numbered:
            columns = columns.insert(len(keys), pa.field(NUMBER, pa.int64()))
            keys.append(NUMBER)
        rows_of_layers: list[dict[str, Any]] = []
        if self.reader.has_layers:
            return []
        graphs = self.sibling("graphs")._stream(rows, [*schema("graphs").names, NUMBER])
        for batch in pa.RecordBatchReader.from_stream(graphs):
            for i in (n for n, how in enumerate(batch["format"].to_pylist()) if how == "keras_model"):
                key = {name: batch[name][i].as_py() for name in keys}
                try:
                    layers = keras_models.layers(batch["data"][i].as_py())
                except ValueError as wrong:
                    text = f"tag {key['tag']!r}, step {key['step']:,}: {wrong}"
                    self.note(Problem("bad_graph", "warning", text, run=key["run"], tag=key["tag"]))
                    continue
                rows_of_layers += [{**key, **layer._asdict()} for layer in layers]
        self.reader.value_problems(self._result)  # drops the problems of the same graphs, already reported
        return pa.Table.from_pylist(rows_of_layers, columns).to_batches() if rows_of_layers else []

    def _by_run(self, table: pa.Table, more: list[pa.RecordBatch]) -> pa.Table:
        import pyarrow as pa

        both = pa.concat_tables([table, pa.Table.from_batches(more)]).unify_dictionaries()
        places = {run.name: i for i, run in enumerate(self._runs)}
        runs = [places[name] for name in both["run"].to_pylist()]
        return both.take(sorted(range(len(runs)), key=runs.__getitem__))

    def _tell(self) -> int:
        """Report the problems of the tables just made; return how many there were."""
        listed, more = self.reader.value_problems(self._result)
        problems = [self._problem(*each) for each in listed]
        if more:
            problems.append(
                Problem("more_values", "warning", f"{counted(more, 'more value')} with problems, not listed")
            )
        self.reader.note(problems, self._on_error)
        return len(problems)

    def _problem(
        self, code: str, run: int, tag: str, step: int, file: int, offset: int, message: str
    ) -> Problem:
        return Problem(
            code,
            "error" if code == "bad_payload" else "warning",
            f"tag {tag!r}, step {step:,}: {message}",
            path=path_of(self._result.files[file]),
            offset=offset,
            run=self._runs[run].name,
            tag=tag,
        )

    def at(self, step: int | None) -> tuple[dict[str, Any], Table]:
        """The key and the rows of the value at that step, or of the last readable value.

        All values must have one run and one tag; several images may be one value.
        """
        keys = self.keys()
        _single(keys, "run")
        _single(keys, "tag")
        steps = values_of(keys["step"])
        matching = [i for i, other in enumerate(steps) if step is None or other == step]
        if not matching:
            raise self._no_step(step, steps)
        for i in reversed(matching):
            (key,) = dicts_of(part(keys, i, 1))
            table = table_of(self._stream([key["row"]]))
            if not self._tell() or self._has_content(table):
                return key, table
        raise SelectionError("the value cannot be read", path=self.reader.path, hint="see log.problems")

    def last(self, series: Mapping[tuple[str, str], Sequence[int]]) -> pa.Table:
        """The last readable row of each run and tag, in the order of the table."""
        remaining = {pair: list(rows) for pair, rows in series.items() if rows}
        chosen: list[int] = []
        while remaining:
            heads = {pair: rows.pop() for pair, rows in remaining.items()}
            table = self.arrow(sorted(heads.values()))
            readable = self._readable(table)
            read = set(zip(values_of(readable["run"]), values_of(readable["tag"]), strict=True))
            if not chosen and len(read) == len(series):
                return table
            chosen += [row for pair, row in heads.items() if pair in read]
            remaining = {pair: rows for pair, rows in remaining.items() if pair not in read and rows}
        return self.arrow(sorted(chosen))

    def _has_content(self, table: Table) -> bool:
        """Whether a row has a decoded value."""
        column = _CONTENT.get(self.name)
        return table.num_rows > (0 if column is None else table[column].null_count)

    def _readable(self, table: pa.Table) -> pa.Table:
        """The rows with decoded values."""
        column = _CONTENT.get(self.name)
        return table if column is None else table.filter(table[column].is_valid())

    def parts(self, step: int | None) -> Iterator[list[int]]:
        """The rows of all tags at that step, or at each step from the last backwards, for a mesh. All must have one
        run."""
        keys = self.keys()
        _single(keys, "run")
        steps = values_of(keys["step"])
        if not steps or (step is not None and step not in steps):
            raise self._no_step(step, steps)
        by_step: dict[int, dict[str, int]] = {}
        for tag, at, row in zip(values_of(keys["tag"]), steps, values_of(keys["row"]), strict=True):
            by_step.setdefault(at, {})[tag] = row  # of two values at one step, the last counts
        for at in sorted(by_step, reverse=True) if step is None else [step]:
            yield sorted(by_step[at].values())

    def _no_step(self, step: int | None, steps: list[int]) -> SelectionError:
        if not steps:
            return SelectionError(f"no {self.name} here", path=self.reader.path)
        assert step is not None
        near = sorted(dict.fromkeys(steps), key=lambda other: abs(other - step))[:3]
        return SelectionError(
            f"no {self.name} at step {step:,}; closest: {', '.join(f'{other:,}' for other in sorted(near))}",
            path=self.reader.path,
            hint=f"there are {len(steps):,} values, from step {min(steps):,} to {max(steps):,}",
        )


def kinds_of(table: Arrow) -> dict[str, set[str]]:
    """The kinds of each tag in a table of tags or series."""
    kinds: dict[str, set[str]] = {}
    for tag, kind in zip(values_of(table["tag"]), values_of(table["kind"]), strict=True):
        kinds.setdefault(tag, set()).add(kind)
    return kinds


def _single(keys: Table, name: str) -> None:
    """Raise if the keys have several runs or tags."""
    names = sorted(set(values_of(keys[name])))
    if len(names) > 1:
        raise several(name, names)
