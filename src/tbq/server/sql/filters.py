"""Selects runs by an expression over the summary table: `hparam.lr > 0.01 and "val/loss" < 0.3`."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tbq.columns.names import folded
from tbq.errors import QueryError
from tbq.kinds.hparams import HPARAM
from tbq.kinds.hparams import column as hparam_column
from tbq.query.sqlerrors import explain, quoted
from tbq.select import closest
from tbq.server.answers.groups import grouped
from tbq.server.answers.metrics import cells, parsed
from tbq.server.answers.points import csv_answer
from tbq.server.http.encoding import Answer, json_answer
from tbq.server.sql.worker_pool import Job
from tbq.summary.statistics import STATS
from tbq.text import some

if TYPE_CHECKING:
    from tbq.server.http.params import Params
    from tbq.server.live_log import LiveLog

# What DuckDB says about `hparam.bn`: it takes hparam for a struct.
_NO_FIELD = re.compile(r'Could not find key "+([^"]+)"+ in struct')
_SECONDS = 5.0  # time limit of a filter, which computes one value per run


def filter_runs(log: LiveLog, params: Params) -> Answer:
    """The numbers of the runs for which an expression is true, and how many runs it is null for.

    A text that is not a condition is an error. With maybe=1, it may be a pattern of names instead: then the answer has
    the reason, and similar names.
    """
    where = params.text("where").rstrip("; \n")  # SQL often ends with these
    rows = log.shown()
    if not where.strip():
        return json_answer({"version": log.version, "ids": [log.id_of(run) for run in rows], "unknown": 0})
    try:
        job = params.job or Job()
        job.seconds = _SECONDS
        passing, unknown = matching(log, where, rows, job)
    except NoConditionError as wrong:
        if not params.flag("maybe"):
            raise
        hint = None if wrong.hint is None else log.without_paths(wrong.hint)
        said = {"error": log.without_paths(wrong.message), "hint": hint, "word": wrong.word}
        return json_answer(
            {"version": log.version, "ids": None, **said, "closest": _like(where.strip(), rows)}
        )
    ids = [log.id_of(rows[i]) for i in passing]
    return json_answer({"version": log.version, "ids": ids, "unknown": unknown})


def _like(text: str, rows: Sequence[str]) -> list[str]:
    """The names, or parts of names, that are most similar to a text."""
    return closest(text, rows) or closest(text, list({part for run in rows for part in run.split("/")}))


class NoConditionError(QueryError):
    """A text that is not a condition over this log. `word`: it is only a name or a number."""

    word = False


def matching(log: LiveLog, where: str, rows: Sequence[str], job: Job) -> tuple[list[int], int]:
    """The positions of the runs for which the expression is true, and the number of runs for which it is null."""
    children = log.workers
    names = set(json.loads(children.ask(job, "names", where=where).body))
    table = _table(log, names, rows)
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    answer = json.loads(children.ask(job, "matching", where=where, table=stream.getvalue()).body)
    if "failed" in answer:
        explained = _explained(answer["failed"], log, table, where)
        wrong = NoConditionError(explained.message, hint=answer.get("hint") or explained.hint)
        wrong.word = bool(answer["word"])
        raise wrong
    return answer["rows"], answer["unknown"]


def _table(log: LiveLog, names: set[str], rows: Sequence[str]) -> pa.Table:
    """The summary table with only the columns that the expression names; a log may have 50,000."""
    wanted = {folded(name) for name in names}
    columns: dict[str, Any] = {"#row": pa.array(range(len(rows)), pa.int64())}
    columns |= _facts(log, rows)
    columns |= _hparams(log, rows)
    with log.lock:
        tags = [tag for tag in log.index.tags if _stems(tag, wanted)]
    used = {folded(name) for name in columns}
    for tag in tags:
        for stat in ("last", *(each for each in STATS if each != "last"), "best"):
            name = tag if stat == "last" else f"{tag}.{stat}"
            if folded(name) in wanted and folded(name) not in used:
                # Of tags that differ only by case, use the exact name, otherwise the first.
                alike = [each for each in tags if folded(each) == folded(tag)]
                if len(set(alike) & names) > 1:
                    raise QueryError(
                        f"a filter cannot distinguish {' and '.join(sorted(set(alike) & names))}: SQL ignores case",
                        hint="on the SQL page, the table scalars has every tag as it is",
                    )
                if len(alike) > 1 and name not in names and tag != alike[0]:
                    continue
                if len(alike) > 1 and name not in names and any(each in names for each in alike):
                    continue
                values = cells(log, [(tag, stat)], rows)[name]
                columns[name] = pa.array(values, pa.float64(), from_pandas=False)
                used.add(folded(name))
    return pa.table(columns)


def _stems(tag: str, wanted: set[str]) -> bool:
    """Whether these names include a tag, or a statistic of it."""
    name = folded(tag)
    return name in wanted or any(f"{name}.{stat}" in wanted for stat in (*STATS, "best"))


def _facts(log: LiveLog, rows: Sequence[str]) -> dict[str, Any]:
    states = log.states_now()
    with log.lock:
        known = [log.states.get(run) for run in rows]
        events = [log.index.rows_of(run) for run in rows]
    return {
        "run": pa.array(list(rows), pa.string()),
        "state": pa.array([states.get(run) for run in rows], pa.string()),
        "step": pa.array([each.step if each else None for each in known], pa.int64()),
        "started": pa.array([each.began if each else None for each in known], pa.float64()),
        "duration": pa.array([each.ended - each.began if each else None for each in known], pa.float64()),
        "events": pa.array(events, pa.int64()),
    }


def _hparams(log: LiveLog, rows: Sequence[str]) -> dict[str, Any]:
    """`hparam` as a struct, so that hparam.lr needs no quotes, and `"hparam.lr"` as in the summary table."""
    with log.lock:
        hparams = [log.hparams.get(run) for run in rows]
    by_run = [dict(each.values) if each else {} for each in hparams]
    arrays: dict[str, Any] = {}
    for name in sorted({name for values in by_run for name in values}):
        if folded(name) not in {folded(each) for each in arrays}:
            arrays[name] = hparam_column([values.get(name) for values in by_run])
    if not arrays:
        return {}
    columns = {f"{HPARAM}{name}": array for name, array in arrays.items()}
    columns["hparam"] = pa.StructArray.from_arrays(list(arrays.values()), list(arrays))
    return columns


def _explained(text: str, log: LiveLog, table: pa.Table, where: str) -> QueryError:
    if missing := _NO_FIELD.search(text):
        names = [field.name for field in table.schema.field("hparam").type]
        near = closest(missing[1], names)
        hint = f"did you mean {' or '.join(f'{HPARAM}{quoted(each)}' for each in near)}?" if near else None
        listed = f"hyperparameters: {some([quoted(each) for each in names], 20)}"
        return QueryError(f"there is no hyperparameter {missing[1]}", hint=hint or listed)
    known = [name for name in table.column_names if not name.startswith("#")]
    with log.lock:
        tags = list(log.index.tags)
    error = explain(Exception(text), lambda: [*known, *tags], [], list, query=where)
    if "LINE 2" in error.message:  # a position in the query around the filter, which the user did not write
        error = QueryError(error.message.partition("\n\n")[0], hint=error.hint)
    hint = error.hint if error.hint and not error.hint.startswith("columns: ") else None
    example = 'e.g. hparam.lr > 0.01 and "val/loss" < 0.3; statistics are "val/loss.min"'
    return QueryError(error.message, hint=hint or (example if "loss" not in where else error.hint or example))


def summary_csv(log: LiveLog, params: Params) -> Answer:
    """What the runs table shows, as a file: facts, groups, hyperparameters and the metrics asked for."""
    rows = params.runs(log)
    wanted = parsed(params.text("columns", "[]") or "[]")
    columns = _facts(log, rows)
    if by := params.optional("group"):
        of_run = grouped(log, rows, by).of_run
        columns["group"] = pa.array([of_run.get(run) for run in rows], pa.string())
    columns |= {name: column for name, column in _hparams(log, rows).items() if name != "hparam"}
    for name, values in cells(log, wanted, rows).items():
        if name in columns:
            name = f"tag.{name}"
        columns[name] = pa.array(values, pa.float64(), from_pandas=False)
    return csv_answer(pa.table(columns), "runs.csv")
