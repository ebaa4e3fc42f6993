"""The values of one kind: where they lie, and their table, batch by batch or whole."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from tbq import decode as _decode
from tbq.errors import SelectionError
from tbq.printable import shell_word
from tbq.problems import Problem
from tbq.progress import Progress
from tbq.select import Names, Selection, Steps
from tbq.select import steps as _steps

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from tbq._core import Result
    from tbq.logdir import LogDir
    from tbq.source import Run


# The column that is null if a value could not be decoded.
_CONTENT = {"tensors": "shape", "histograms": "left", "images": "data", "audio": "data", "texts": "text"}


class Reading(TypedDict, total=False):
    """The keywords that every table takes beside run, tag and steps, as `log.scalars` explains them."""

    restarts: str
    threads: int | None
    progress: Progress | None
    on_error: str


#: Their names.
READING = tuple(Reading.__annotations__)


def locate(
    log: LogDir,
    name: str,
    run: Names = None,
    tag: Names = None,
    steps: Steps = None,
    **reading: Unpack[Reading],
) -> Values:
    """Find the values that the table `name` is made of; large ones stay in their files until they are asked for."""
    return locate_all(log, [name], run, tag, steps, **reading)[name]


def locate_all(
    log: LogDir,
    names: Sequence[str],
    run: Names = None,
    tag: Names = None,
    steps: Steps = None,
    restarts: str = "resume",
    threads: int | None = None,
    progress: Progress | None = None,
    on_error: str = "warn",
) -> dict[str, Values]:
    """The values of several tables from one reading; tables that have none of the tags asked for are left out."""
    from tbq import _core

    chosen = log._choose(run)
    tags = Selection.of(tag)
    options = _decode.Options(
        tag=tags, steps=_steps(steps), restarts=restarts, threads=threads, progress=progress, defer=True
    )
    kinds = {name: "scalars" if name == "scalars" else _core.kind_of_table(name) for name in names}
    # Of scalars only the tags are wanted here: they have a table that is made another way.
    stored = [kind for kind in dict.fromkeys(kinds.values()) if kind != "scalars"]
    result = log._decode(chosen, stored, options, on_error)
    if tags.everything:
        return {name: Values(log, name, result, chosen, None, on_error) for name in names}
    found: dict[str, Values] = {}
    known = {kind: result.tags(kind) for kind in kinds.values()}
    everything = [one for of_kind in known.values() for one in of_kind]
    taken = set(log._require(tags, everything, result, kinds[names[0]]))
    for name, kind in kinds.items():
        mine = [one for one in known[kind] if one in taken]
        if mine:
            more = any(one not in taken for one in known[kind] if tags.matches(one))  # `loss[0]` was a name
            found[name] = Values(log, name, result, chosen, mine if more else None, on_error)
    return found


class Values:
    """Values that were found, in the order of their table. `rows` are indices into `keys()`."""

    def __init__(
        self,
        log: LogDir,
        name: str,
        result: Result,
        runs: Sequence[Run],
        names: list[str] | None,
        on_error: str,
    ) -> None:
        self._log = log
        self.name = name
        self._result = result
        self._runs = runs
        self._names = names
        self._on_error = on_error

    @property
    def logdir(self) -> str:
        """Where the log was opened."""
        return self._log.path

    @property
    def began(self) -> Mapping[str, float]:
        """When each run began."""
        return self._log._began

    def __len__(self) -> int:
        return len(self.keys())

    def series(self) -> pa.Table:
        """What was seen of each (run, tag, kind) in the same reading, whatever was asked for."""
        import pyarrow as pa

        return pa.table(self._result.series([run.name for run in self._runs]))

    def kinds(self) -> dict[str, set[str]]:
        """The kinds of each tag that was seen in the same reading."""
        pairs = self.series().select(["tag", "kind"]).group_by(["tag", "kind"]).aggregate([])
        found: dict[str, set[str]] = {}
        for tag, kind in zip(pairs["tag"].to_pylist(), pairs["kind"].to_pylist(), strict=True):
            found.setdefault(tag, set()).add(kind)
        return found

    def keys(self) -> pa.Table:
        """Where the values are: `run, tag, step, wall_time, bytes`, and `row`, their number. None is read."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        from tbq import _core

        keys = pa.table(_core.keys(self._result, self.name, [run.name for run in self._runs]))
        keys = keys.append_column("row", pa.array(np.arange(len(keys), dtype=np.int64)))
        if self._names is not None:
            keys = keys.filter(pc.is_in(keys["tag"].cast(pa.string()), pa.array(self._names, pa.string())))
        return keys

    def batches(
        self, rows: Sequence[int] | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The table, or some of its columns, a few megabytes at a time; problems are told when it ends.

        What only columns that are left out need of a large value is not read, and so not verified.
        """
        yield from self._reader(rows, columns)
        self._tell()
        if self.name == "nodes":
            yield from self._layers(rows)

    def arrow(self, rows: Sequence[int] | None = None) -> pa.Table:
        """The whole table, or that of some rows."""
        table = self._reader(rows).read_all()
        self._tell()
        layers = self._layers(rows) if self.name == "nodes" else []
        return self._by_run(table, layers) if layers else table

    def sibling(self, name: str) -> Values:
        """Another table of the same values: `nodes` beside `graphs`, `hparam_metrics` beside `hparams`."""
        return Values(self._log, name, self._result, self._runs, self._names, self._on_error)

    def note(self, problem: Problem) -> None:
        """Add to the log's problems what was found beside the table."""
        self._log._note([problem], self._on_error)

    def _reader(
        self, rows: Sequence[int] | None, columns: Sequence[str] | None = None
    ) -> pa.RecordBatchReader:
        import pyarrow as pa

        from tbq import _core

        if rows is None and self._names is not None:
            rows = self.keys()["row"].to_pylist()
        picked = None if rows is None else [int(row) for row in rows]
        stream = _core.table(self._result, self.name, [run.name for run in self._runs], picked, columns)
        return pa.RecordBatchReader.from_stream(stream)

    def _layers(self, rows: Sequence[int] | None) -> list[pa.RecordBatch]:
        """The layers of Keras models as nodes: the core reads protobufs, and these are JSON."""
        import pyarrow as pa

        from tbq import _core
        from tbq.kinds import keras_models
        from tbq.schema import schema

        found: list[dict[str, Any]] = []
        for batch in self.sibling("graphs")._reader(rows):
            for i in (n for n, how in enumerate(batch["format"].to_pylist()) if how == "keras_model"):
                key = {name: batch[name][i].as_py() for name in ("run", "tag", "step", "wall_time")}
                try:
                    layers = keras_models.layers(batch["data"][i].as_py())
                except ValueError as wrong:
                    text = f"tag {key['tag']!r}, step {key['step']:,}: {wrong}"
                    self.note(Problem("bad_graph", "warning", text, run=key["run"], tag=key["tag"]))
                    continue
                found += [{**key, **layer._asdict()} for layer in layers]
        _core.value_problems(self._result)  # of the same graphs: they have been told
        return pa.Table.from_pylist(found, schema("nodes")).to_batches() if found else []

    def _by_run(self, table: pa.Table, more: list[pa.RecordBatch]) -> pa.Table:
        import pyarrow as pa

        both = pa.concat_tables([table, pa.Table.from_batches(more)]).unify_dictionaries()
        places = {run.name: i for i, run in enumerate(self._runs)}
        runs = [places[name] for name in both["run"].to_pylist()]
        return both.take(sorted(range(len(runs)), key=runs.__getitem__))

    def _tell(self) -> int:
        """Report what the tables just made had problems with; how many that were."""
        from tbq import _core

        listed, more = _core.value_problems(self._result)
        found = [self._problem(*one) for one in listed]
        if more:
            found.append(Problem("more_values", "warning", f"{more:,} more values with problems, not listed"))
        self._log._note(found, self._on_error)
        return len(found)

    def _problem(
        self, code: str, run: int, tag: str, step: int, file: int, offset: int, message: str
    ) -> Problem:
        return Problem(
            code,
            "error" if code == "bad_payload" else "warning",
            f"tag {tag!r}, step {step:,}: {message}",
            path=os.fsdecode(self._result.files[file].path),
            offset=offset,
            run=self._runs[run].name,
            tag=tag,
        )

    def one(self, step: int | None) -> tuple[dict[str, Any], pa.Table]:
        """The key and the rows of the value at that step, or of the last one that can be read.

        There must be one run and one tag; several images may be one value.
        """
        keys = self.keys()
        _single(keys, "run")
        _single(keys, "tag")
        steps = keys["step"].to_pylist()
        matching = [i for i, other in enumerate(steps) if step is None or other == step]
        if not matching:
            raise self._no_step(step, steps)
        for i in reversed(matching):
            key: dict[str, Any] = keys.slice(i, 1).to_pylist()[0]
            table = self._reader([key["row"]]).read_all()
            if not self._tell() or len(self._readable(table)):
                return key, table
        raise SelectionError("the value cannot be read", path=self._log.path, hint="see log.problems")

    def row(self, step: int | None) -> pa.Table:
        """The rows of one value, as `one` finds it."""
        return self.one(step)[1]

    def last(self, series: Mapping[tuple[str, str], Sequence[int]]) -> pa.Table:
        """For each run and tag the last of its rows that can be read, in the order of the table."""
        from tbq.table.codes import values_of

        left = {pair: list(rows) for pair, rows in series.items() if rows}
        chosen: list[int] = []
        while left:
            heads = {pair: rows.pop() for pair, rows in left.items()}
            table = self.arrow(sorted(heads.values()))
            readable = self._readable(table)
            read = set(zip(values_of(readable["run"]), values_of(readable["tag"]), strict=True))
            if not chosen and len(read) == len(series):
                return table
            chosen += [row for pair, row in heads.items() if pair in read]
            left = {pair: rows for pair, rows in left.items() if pair not in read and rows}
        return self.arrow(sorted(chosen))

    def _readable(self, table: pa.Table) -> pa.Table:
        """The rows whose value could be decoded."""
        column = _CONTENT.get(self.name)
        return table if column is None else table.filter(table[column].is_valid())

    def parts(self, step: int | None) -> Iterator[list[int]]:
        """The rows of all tags at that step, or at each step from the last one on: what makes a mesh. There must be one
        run."""
        from tbq.table.codes import values_of

        keys = self.keys()
        _single(keys, "run")
        steps = keys["step"].to_pylist()
        if not steps or (step is not None and step not in steps):
            raise self._no_step(step, steps)
        by_step: dict[int, dict[str, int]] = {}
        for tag, at, row in zip(values_of(keys["tag"]), steps, keys["row"].to_pylist(), strict=True):
            by_step.setdefault(at, {})[tag] = row  # of two at one step, the last
        for at in sorted(by_step, reverse=True) if step is None else [step]:
            yield sorted(by_step[at].values())

    def _no_step(self, step: int | None, steps: list[int]) -> SelectionError:
        if not steps:
            return SelectionError(f"there are no {self.name} here", path=self._log.path)
        assert step is not None
        near = sorted(dict.fromkeys(steps), key=lambda other: abs(other - step))[:3]
        return SelectionError(
            f"no {self.name} at step {step:,}; closest: {', '.join(f'{other:,}' for other in sorted(near))}",
            path=self._log.path,
            hint=f"there are {len(steps):,}, from step {min(steps):,} to {max(steps):,}",
        )


def _single(keys: pa.Table, name: str) -> None:
    """Raise where the keys are of several runs or tags."""
    found = sorted(keys[name].unique().to_pylist())
    if len(found) > 1:
        shown = ", ".join(found[:5]) + (" …" if len(found) > 5 else "")
        raise SelectionError(
            f"{len(found):,} {name}s match, want one: {shown}",
            hint=f"name one, e.g. {name}={found[0]!r}, --{name} {shell_word(found[0])}",
        )
