"""Which rows of an update are new to the user: a row that goes and comes back, as in a copied file, is the same row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from tbq.columns.codes import codes_of

if TYPE_CHECKING:
    import tbq

    Key = tuple[object, ...]


class Changes(NamedTuple):
    """What `tbq follow` does with an update: rows to show by kind, scalars to check, and rows that no longer count."""

    shown: dict[str, tbq.Table]
    unseen: tbq.Table | None  # scalars that no earlier update contained
    retracted: tbq.Table


class ChangeTracker:
    """Remembers retracted rows, and rows that existed before anything was shown.

    If an update retracts rows and also contains them, nothing changed. Rows that come back later are shown again if
    their retraction was shown. No row is checked twice. A copy that is being written may hold rows that existed before.
    """

    def __init__(self) -> None:
        self._old: tbq.Update | None = None
        self._old_keys: set[Key] | None = None
        self._latest: dict[str, float] = {}  # run → the wall time of its last row that existed before
        self._gone: set[Key] = set()

    def begin(self, update: tbq.Update) -> None:
        """Note rows that existed before: neither they nor their retraction and return are ever shown or checked."""
        self._old = update
        for table in update.tables.values():
            codes, runs, times = _runs_and_times(table)
            latest = np.full(len(runs), -np.inf)
            np.fmax.at(latest, codes, times)
            for run, time in zip(runs, latest.tolist(), strict=True):
                self._latest[run] = max(time, self._latest.get(run, time))

    def of(
        self, update: tbq.Update, shown: Mapping[str, str], selected: Callable[[tbq.Table], tbq.Table]
    ) -> Changes:
        """The rows that are new. `shown` maps each kind to show to the kind in its retracted rows."""
        tables = {kind: update.tables[kind] for kind in shown if kind in update.tables}
        unseen = update.tables.get("scalars")
        retracted = update.retracted_rows
        if not len(retracted) and not self._gone and not self._may_be_old([*tables.values(), unseen]):
            return Changes(
                {kind: selected(table) for kind, table in tables.items()}, unseen, selected(retracted)
            )
        going = _keys_of_retracted(retracted.to_arrow())
        gone = self._gone.union(going)
        returned: set[Key] = set()
        old = self._keys_before(shown)
        # Not shown when they return: this update retracts them and contains them again.
        restored = set(going)

        def fresh(table: tbq.Table, kind: str, without: Callable[[Key], bool]) -> tbq.Table:
            keys = _keys(table.to_arrow(), kind)
            returned.update(gone.intersection(keys))
            return _only(table, [not without(key) for key in keys])

        if unseen is not None:
            unseen = fresh(unseen, "scalars", lambda key: key in gone or key in old)
        rows = {
            kind: fresh(table, shown[kind], lambda key: key in restored or key in old)
            for kind, table in tables.items()
        }
        self._gone = gone - returned
        visible = _only(retracted, [key not in returned and key not in old for key in going])
        return Changes({kind: selected(table) for kind, table in rows.items()}, unseen, selected(visible))

    def _may_be_old(self, tables: Iterable[tbq.Table | None]) -> bool:
        """Whether one of these rows may have existed before, by its wall time. Comparing all rows would be slow."""
        for table in tables if self._latest else ():
            if table is not None:
                codes, runs, times = _runs_and_times(table)
                latest = np.array([self._latest.get(run, -np.inf) for run in runs])
                if not bool((times > latest[codes]).all()):
                    return True
        return False

    def _keys_before(self, shown: Mapping[str, str]) -> set[Key]:
        """The keys of the rows that existed before, computed when they are first needed."""
        if self._old_keys is None:
            self._old_keys = set()
            if self._old is not None:
                for kind, of_kind in {**shown, "scalars": "scalars"}.items():
                    if kind in self._old.tables:
                        self._old_keys.update(_keys(self._old.tables[kind].to_arrow(), of_kind))
                self._old = None
        return self._old_keys


def _keys(table: pa.Table, kind: str) -> list[Key]:
    """A key per row that identifies it. All rows of one value that is not a scalar share a key."""
    columns = [
        table["run"].to_pylist(),
        table["tag"].to_pylist(),
        [kind] * len(table),
        table["step"].to_pylist(),
    ]
    columns.append(_bits(table["wall_time"]))
    columns.append(_bits(table["value"]) if kind == "scalars" else [0] * len(table))
    return list(zip(*columns, strict=True))


def _keys_of_retracted(table: pa.Table) -> list[Key]:
    keys = _keys(table, "scalars")
    return [
        (run, tag, kind, step, time, value if kind == "scalars" else 0)
        for (run, tag, _, step, time, value), kind in zip(keys, table["kind"].to_pylist(), strict=True)
    ]


def _runs_and_times(table: tbq.Table) -> tuple[Any, list[str], Any]:
    """For each row, the index of its run and its wall time; and the runs."""
    arrow = table.to_arrow()
    codes, runs = codes_of(arrow["run"])
    return codes, runs.to_pylist(), np.asarray(arrow["wall_time"].to_numpy(), dtype=np.float64)


def _bits(column: pa.ChunkedArray) -> list[int]:
    """The bit patterns of numbers: unlike NaN, each equals itself."""
    bits: list[int] = np.asarray(column.to_numpy(), dtype=np.float64).view(np.int64).tolist()
    return bits


def _only(table: tbq.Table, keep: list[bool]) -> tbq.Table:
    if all(keep):
        return table
    from tbq.table.table import Table

    rows = table.to_arrow().filter(pa.array(keep, pa.bool_()))
    return Table(rows, table.kind, logdir=table.logdir, began=table.began)
