"""The Delta tables of a lake: which exist, the position of each, and commits to them."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from tbq.errors import OutputError, SourceError, missing
from tbq.lake.datafiles import DataFile, add_actions, read_file, remove_actions, write_files
from tbq.lake.layout import APP, INTERNAL, TABLES, check_table, delta_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable

    from tbq.lake.location import Location


class ConflictError(Exception):
    """Another sync committed first: reopen the tables and plan again."""


class LakeTable:
    """One table, as of the time it was opened. It may not exist yet."""

    def __init__(self, place: Location, kind: str, exists: bool) -> None:
        self.place, self.kind = place, kind
        self._table: DeltaTable | None = _opened(place, kind) if exists else None
        self._files: list[DataFile] | None = None

    @property
    def exists(self) -> bool:
        """Whether the table exists."""
        return self._table is not None

    @property
    def delta(self) -> DeltaTable:
        """deltalake's table."""
        assert self._table is not None
        return self._table

    @property
    def version(self) -> int:
        """The version of the position that the rows correspond to; 0 if the table does not exist."""
        return 0 if self._table is None else self._table.transaction_version(APP) or 0

    @property
    def files(self) -> list[DataFile]:
        """Its data files."""
        if self._table is None:
            return []
        if self._files is None:
            import pyarrow as pa

            # not pa.table, which imports pandas to see whether this is a data frame
            actions = pa.RecordBatchReader.from_stream(self._table.get_add_actions(flatten=False)).read_all()
            self._files = [_data_file(row) for row in actions.to_pylist()]
        return self._files

    def having(self, runs: Collection[str]) -> list[DataFile]:
        """The data files that may have rows of these runs."""
        ordered = sorted(run for run in runs if run)
        return [file for file in self.files if _may_have(file, ordered, "" in runs)]

    def rows_of(self, runs: Collection[str]) -> tuple[pa.Table, list[DataFile], pa.Table]:
        """The rows of these runs, the data files that have them, and the other rows of those files."""
        import pyarrow as pa
        import pyarrow.compute as pc

        wanted = pa.array([run for run in runs if run], pa.string())
        inside, outside, touched = [], [], []
        for file in self.having(runs):
            table = read_file(self.place, self.kind, file.path)
            names = table["run"].cast(pa.string())
            mask = pc.is_in(names, wanted)
            if "" in runs:  # rows without a run
                mask = pc.or_(mask, names.is_null())
            of_runs = table.filter(mask)
            if len(of_runs):
                touched.append(file)
                inside.append(of_runs)
                outside.append(table.filter(pc.invert(mask)))
        empty = _empty(self.kind)
        return (
            pa.concat_tables([empty, *inside]).unify_dictionaries(),
            touched,
            pa.concat_tables([empty, *outside]).unify_dictionaries(),
        )

    def names(self, column: str) -> set[str]:
        """The names in a column of labels."""
        from tbq.columns.codes import names_in

        parts = (read_file(self.place, self.kind, file.path)[column] for file in self.files)
        return {name for part in parts for name in names_in(part)}

    def commit(self, version: int, added: Sequence[DataFile], removed: Sequence[DataFile]) -> None:
        """Add and remove files in one transaction, which records `version` as the table's position.

        Raises ConflictError if the table changed since it was opened.
        """
        from deltalake import CommitProperties, Transaction

        properties = CommitProperties(app_transactions=[Transaction(APP, version)], max_commit_retries=0)
        self._commit([*remove_actions(removed), *add_actions(added)], properties)

    def rearrange(self, added: Sequence[DataFile], removed: Sequence[DataFile]) -> None:
        """Replace files by other files with the same rows."""
        from deltalake import CommitProperties

        actions = [*remove_actions(removed, data_change=False), *add_actions(added, data_change=False)]
        self._commit(actions, CommitProperties(max_commit_retries=0))

    def write(self, rows: pa.Table) -> list[DataFile]:
        """Write new data files. They are part of the table once they are committed."""
        return write_files(self.place, self.kind, rows)

    def _commit(self, actions: list[Any], properties: Any) -> None:
        from deltalake import Schema
        from deltalake.exceptions import CommitFailedError, DeltaError
        from deltalake.transaction import create_table_with_add_actions

        url, options = self.place.table(self.kind), self.place.options or None
        schema = Schema.from_arrow(delta_schema(self.kind))
        try:
            if self._table is None:
                create_table_with_add_actions(
                    url, schema, actions, mode="error", name=self.kind, storage_options=options,
                    configuration=_SETTINGS, commit_properties=properties,
                )  # fmt: skip
            else:
                self._table.create_write_transaction(actions, "append", schema, commit_properties=properties)
        except CommitFailedError as failure:
            raise ConflictError(str(failure)) from failure
        except (DeltaError, OSError) as failure:
            if "already exists" in str(failure):
                raise ConflictError(str(failure)) from failure
            raise OutputError(
                f"cannot be committed to: {_said(failure)}",
                path=url,
                hint="earlier commits are intact; free some space or fix the permissions, then run tbq sync again",
                code="lake",
            ) from failure
        self._files = None


# Statistics of other columns would be useless: no query looks for one value among 30 million.
_SETTINGS = {"delta.dataSkippingStatsColumns": "run,tag,step", "delta.checkpointInterval": "20"}


def open_tables(place: Location) -> dict[str, LakeTable]:
    """Every table that a lake may have, as it is now."""
    existing = set(place.folders())
    return {kind: LakeTable(place, kind, kind in existing) for kind in (*INTERNAL, *TABLES)}


def require_deltalake() -> None:
    """Raise if the extra is not installed."""
    try:
        import deltalake  # noqa: F401
    except ImportError:
        raise missing("deltalake", needed_for="a lake", extra="lake") from None


def _opened(place: Location, kind: str) -> DeltaTable | None:
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError, TableNotFoundError

    url = place.table(kind)
    try:
        table = DeltaTable(url, storage_options=place.options or None)
        fields = json.loads(table.schema().to_json())["fields"]
    except TableNotFoundError:
        return None  # the folder has only data files that were never committed
    except (DeltaError, OSError) as failure:
        raise SourceError(
            f"cannot be read: {_said(failure)}",
            path=url,
            hint=f"if it is damaged, delete the folder {kind} of the lake: the next tbq sync recreates that table",
            code="lake",
        ) from failure
    check_table(kind, fields, url)
    _check_files(table, url)
    return table


def _said(failure: Exception) -> str:
    """deltalake's message on one line, without the backtrace and colours."""
    text = re.split(r"\n\s*0: ", str(failure), maxsplit=1)[0].strip()
    return re.sub(r"\s*\n\s*(↳\s*)?", ": ", re.sub(r"\x1b\[[0-9;]*m", "", text))


def _check_files(table: DeltaTable, url: str) -> None:
    """Raise if the data files alone do not give the table's rows, because another program changed the table."""
    import pyarrow as pa

    features = table.protocol().reader_features or ()
    metadata = table.metadata()
    if "deletionVectors" in features and pa.table(table.deletion_vectors()).num_rows:
        what = "deletion vectors"
    elif metadata.configuration.get("delta.columnMapping.mode", "none") != "none":
        what = "columns of other names in its data files"
    elif metadata.partition_columns:
        what = "partitions"
    else:
        return
    raise SourceError(
        f"cannot be read: it has {what}, which tbq does not read",
        path=url,
        hint="move it away, then run tbq sync again",
        code="lake",
    )


def _data_file(row: dict[str, Any]) -> DataFile:
    stats = {
        "numRecords": row["num_records"],
        "minValues": _trusted(row.get("min")),
        "maxValues": _trusted(row.get("max")),
        "nullCount": row.get("null_count") or {},
    }
    return DataFile(row["path"], row["size_bytes"], stats)


def _trusted(bounds: dict[str, Any] | None) -> dict[str, Any]:
    """Drop bounds that may be wrong. Older lakes wrote characters beyond U+FFFF as JSON escapes, which deltalake
    misreads."""
    return {
        name: None if isinstance(bound, str) and not bound.isascii() and max(bound) > "\uffff" else bound
        for name, bound in (bounds or {}).items()
    }


def _may_have(file: DataFile, runs: Sequence[str], without: bool) -> bool:
    """Whether a file may have rows of one of these runs (sorted), or, with `without`, rows without a run."""
    import bisect

    if without and file.stats["nullCount"].get("run") != 0:
        return True
    least, largest = file.stats["minValues"].get("run"), file.stats["maxValues"].get("run")
    if least is None or largest is None:
        return True
    place = bisect.bisect_left(runs, least)
    return place < len(runs) and runs[place] <= largest


def _empty(kind: str) -> pa.Table:
    from tbq.lake.layout import lake_schema

    return lake_schema(kind).empty_table()
