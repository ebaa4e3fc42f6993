"""Hyperparameters: long, one row per value; or wide, one row per run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tbq.errors import UsageError
from tbq.select import Selection
from tbq.table.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from tbq.select import Names


#: The prefix of a hyperparameter's name beside other columns.
HPARAM = "hparam."


class HparamTable(Table):
    """The `hparams` table; `wide()` has one row per run and one column per hyperparameter."""

    def wide(self, tag: Names = None, *, wall_time: bool = False, asof: str | None = None) -> Table:
        """One row per run, one column per hyperparameter (the selected, or all by name), and `group` and `status`.

        Numbers are float64, bools bool; a column with values of several types holds strings. The last value of
        a run wins. `tag` takes names of hyperparameters, globs or `re:` expressions.

        >>> log.hparams(run="diverged").wide(["lr", "optim*"]).columns
        ['run', 'lr', 'optimizer', 'group', 'status']
        """
        if asof is not None:
            raise UsageError("asof: hyperparameters have no steps")
        if wall_time:
            raise UsageError("wall_time: hyperparameters have no wall time in the wide layout")
        arrow = self.to_arrow()
        names = None
        if tag is not None:
            selection, known = Selection.of(tag, "hyperparameter"), arrow["name"].unique().to_pylist()
            names = selection.require(known, where=self.logdir) if known else selection.columns(known)
        return Table(wide(arrow, names), "hparams wide", logdir=self.logdir, began=self.began)


def wide(table: pa.Table, names: Iterable[str] | None = None) -> pa.Table:
    """The wide layout of an hparams table; a hyperparameter called `run` becomes `hparam.run`."""
    import pyarrow as pa

    from tbq.columns.names import distinct

    runs, columns, about = by_run(table, names)
    titles = distinct([(name, HPARAM) for name in columns], reserved=("run", "group", "status"))
    arrays: dict[str, Any] = {"run": pa.array(runs, pa.string()).dictionary_encode()}
    arrays |= dict(zip(titles, columns.values(), strict=True))
    arrays["group"] = pa.array([group for group, _ in about], pa.string())
    arrays["status"] = pa.array([status for _, status in about], pa.string())
    return pa.table(arrays)


def by_run(
    table: pa.Table, names: Iterable[str] | None = None
) -> tuple[list[str], dict[str, pa.Array], list[tuple[str | None, str | None]]]:
    """The runs of an hparams table, the values of each hyperparameter, and each run's session group and status."""
    from tbq.columns.codes import values_of

    fields = ("run", "name", "type", "number", "string", "bool", "group", "status")
    values = zip(*(values_of(table[field]) for field in fields), strict=True)
    rows = [dict(zip(fields, row, strict=True)) for row in values]
    runs: dict[str, dict[str, Any]] = {}
    about: dict[str, tuple[str | None, str | None]] = {}
    for row in rows:
        runs.setdefault(row["run"], {})[row["name"]] = value_of(row)
        about[row["run"]] = (row["group"], row["status"])
    wanted = sorted({name for values in runs.values() for name in values}) if names is None else names
    columns = {name: column([values.get(name) for values in runs.values()]) for name in dict.fromkeys(wanted)}
    return list(runs), columns, list(about.values())


def value_of(row: dict[str, Any]) -> float | str | bool | None:
    """The value in a row of the long table."""
    for name in ("number", "bool", "string"):
        if row[name] is not None:
            value: float | str | bool = row[name]
            return value
    return None


def column(values: list[Any]) -> pa.Array:
    """Values of one hyperparameter as an array: float64 or bool if all values are, otherwise strings."""
    import pyarrow as pa

    present = [value for value in values if value is not None]
    if all(isinstance(value, bool) for value in present) and present:
        return pa.array(values, pa.bool_())
    if all(isinstance(value, float) for value in present) and present:
        return pa.array(values, pa.float64())
    return pa.array([None if value is None else _text(value) for value in values], pa.string())


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)
