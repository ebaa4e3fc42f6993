"""Tables that others changed, or that are damaged: read as deltalake reads them, or refused in words."""

from __future__ import annotations

import base64
import json
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import eventfile as ef
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.table import TableFeatures
from lakes import exact_rows

import tbq
import tbq.lake
from tbq.errors import SourceError, TbqError

KIND = "scalars"
Actions = list[dict[str, Any]]


def grow(log: Path, steps: range) -> None:
    path = log / "a" / "events.out.tfevents.1.h"
    path.parent.mkdir(parents=True, exist_ok=True)
    events = [ef.version(99.0)] if 0 in steps else []
    events += [ef.scalar("loss", step, step / 2, 100.0 + step) for step in steps]
    with path.open("ab") as file:
        file.write(b"".join(map(ef.record, events)))


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A lake with two commits."""
    for steps in (range(5), range(5, 9)):
        grow(tmp_path / "log", steps)
        tbq.lake.sync(tmp_path / "log", tmp_path / "lake")
    return tmp_path / "lake"


def actions_of(path: Path) -> Actions:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def of(actions: Actions, name: str) -> dict[str, Any]:
    (found,) = (each[name] for each in actions if name in each)
    return dict(found)


def test_the_message_of_a_damaged_log(lake: Path, tmp_path: Path) -> None:
    """In one line, without deltalake's stack; what it says to do helps."""
    last = max((lake / KIND / "_delta_log").glob("*.json"))
    last.write_bytes(last.read_bytes()[:-40])
    with pytest.raises(SourceError, match=r"cannot be read: .*Json error") as caught:
        tbq.open(lake).scalars()
    assert str(caught.value).splitlines()[1:] == [
        f"  if it is damaged, delete the folder {KIND} of the lake: the next tbq sync recreates that table"
    ]
    shutil.rmtree(lake / KIND)
    tbq.lake.sync(tmp_path / "log", lake)
    found, want = (tbq.open(path).scalars().to_arrow() for path in (lake, tmp_path / "log"))
    assert exact_rows(found) == exact_rows(want)


def test_a_checkpoint_with_other_bytes(lake: Path) -> None:
    """The message is tbq's own, whatever deltalake reports."""
    log = lake / KIND / "_delta_log"
    DeltaTable(lake / KIND).create_checkpoint()
    (checkpoint,) = log.glob("*.checkpoint.parquet")
    data = checkpoint.read_bytes()
    refused = 0
    for place in range(4, len(data), len(data) // 100):
        checkpoint.write_bytes(data[:place] + bytes(8) + data[place + 8 :])
        try:
            tbq.open(lake).scalars()
        except SourceError as error:
            refused += "cannot be read" in str(error) or "is not a table of this lake" in str(error)
    assert refused > 30


def test_a_table_that_deltalake_reads(lake: Path, tmp_path: Path) -> None:
    """It has a feature that tbq does not use."""
    table = DeltaTable(lake / KIND)
    table.alter.add_feature(TableFeatures.DeletionVectors, allow_protocol_versions_increase=True)
    found, want = (tbq.open(path).scalars().to_arrow() for path in (lake, tmp_path / "log"))
    assert exact_rows(found) == exact_rows(want)


def with_deletion_vector(first: Actions) -> Actions:
    """The rows 1, 3 and 4 of the only data file are deleted, as Spark does it."""
    bitmap = struct.pack("<IQI IIHHI HHH", 1681511377, 1, 0, 12346, 1, 0, 2, 16, 1, 3, 4)
    bitmap += bytes(-len(bitmap) % 4)
    vector = {
        "storageType": "i",
        "pathOrInlineDv": base64.b85encode(bitmap).translate(_TO_Z85).decode(),
        "sizeInBytes": len(bitmap),
        "cardinality": 3,
    }
    add, features = of(first, "add"), ["deletionVectors"]
    return [
        {
            "protocol": {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": features,
                "writerFeatures": features,
            }
        },
        {"remove": {"path": add["path"], "deletionTimestamp": 1, "dataChange": True}},
        {"add": {**add, "deletionVector": vector}},
    ]


# The digits of both, in order.
_TO_Z85 = bytes.maketrans(
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~",
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#",
)


def with_column_mapping(first: Actions) -> Actions:
    metadata = of(first, "metaData")
    schema = json.loads(metadata["schemaString"])
    for number, field in enumerate(schema["fields"]):
        physical = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
        field["metadata"] = physical
    settings = {**metadata["configuration"], "delta.columnMapping.mode": "name"}
    return [
        {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}},
        {"metaData": {**metadata, "configuration": settings, "schemaString": json.dumps(schema)}},
    ]


def with_partitions(first: Actions) -> Actions:
    add = of(first, "add")
    return [
        {"metaData": {**of(first, "metaData"), "partitionColumns": ["run"]}},
        {"remove": {"path": add["path"], "deletionTimestamp": 1, "dataChange": True}},
        {"add": {**add, "path": f"run=a/{add['path']}", "partitionValues": {"run": "a"}}},
    ]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (with_deletion_vector, "deletion vectors"),
        (with_column_mapping, "columns of other names in its data files"),
        (with_partitions, "partitions"),
    ],
)
def test_what_tbq_cannot_read(tmp_path: Path, change: Callable[[Actions], Actions], what: str) -> None:
    """Rows that deltalake and polars would not show, or show otherwise, are not given; nor does a sync write them."""
    log, lake = tmp_path / "log", tmp_path / "lake"
    grow(log, range(10))
    tbq.lake.sync(log, lake)
    commit = lake / KIND / "_delta_log" / f"{0:020}.json"
    made = change(actions_of(commit))
    commit.with_name(f"{1:020}.json").write_text("".join(f"{json.dumps(each)}\n" for each in made), "utf-8")
    if change is with_deletion_vector:
        assert pa.table(DeltaTable(lake / KIND).scan()).num_rows == 7
    for ask in (lambda: tbq.open(lake).scalars(), lambda: tbq.lake.sync(log, lake, compact=True)):
        with pytest.raises(SourceError, match=f"it has {what}, which tbq does not read"):
            ask()


def test_other_columns(lake: Path) -> None:
    last = max((lake / KIND / "_delta_log").glob("*.json"))
    first = actions_of(min((lake / KIND / "_delta_log").glob("*.json")))
    metadata = of(first, "metaData")
    metadata["schemaString"] = metadata["schemaString"].replace('"wall_time"', '"time"')
    last.write_text(last.read_text("utf-8") + json.dumps({"metaData": metadata}), "utf-8")
    with pytest.raises(
        SourceError, match="is not a table of this lake: it has the columns run, tag, step, time"
    ):
        tbq.open(lake).scalars()


@pytest.mark.parametrize(
    ("column", "type_"), [("run", pa.int64()), ("step", pa.string()), ("value", pa.string())]
)
def test_columns_of_other_types(lake: Path, column: str, type_: pa.DataType) -> None:
    table = DeltaTable(lake / KIND)
    rows = table.to_pyarrow_table()
    other = pa.nulls(len(rows), type_).fill_null(pa.scalar(1).cast(type_))
    rows = rows.set_column(rows.column_names.index(column), column, other)
    write_deltalake(table, rows, mode="overwrite", schema_mode="overwrite")
    with pytest.raises(SourceError, match=f"is not a table of this lake: it has '.*' for {column}; want '"):
        tbq.open(lake).scalars()


def test_columns_of_narrower_types(lake: Path, tmp_path: Path) -> None:
    table = DeltaTable(lake / KIND)
    rows = table.to_pyarrow_table()
    for column, type_ in (("step", pa.int32()), ("value", pa.float32())):
        rows = rows.set_column(rows.column_names.index(column), column, rows[column].cast(type_))
    write_deltalake(table, rows, mode="overwrite", schema_mode="overwrite")
    found, want = (tbq.open(path).scalars().to_arrow() for path in (lake, tmp_path / "log"))
    assert exact_rows(found) == exact_rows(want)


def test_rows_of_others_with_nulls_are_joined(lake: Path, tmp_path: Path) -> None:
    table = DeltaTable(lake / KIND)
    rows = table.to_pyarrow_table().slice(0, 1)
    place = rows.column_names.index("value")
    write_deltalake(
        table, rows.set_column(place, rows.field(place), pa.nulls(1, pa.float64())), mode="append"
    )
    before = len(tbq.open(lake).scalars())
    tbq.lake.sync(tmp_path / "log", lake, compact=True)
    assert len(tbq.open(lake).scalars()) == before == 10


def test_a_log_with_a_checkpoint(lake: Path, tmp_path: Path) -> None:
    DeltaTable(lake / KIND).create_checkpoint()
    for steps in (range(9, 12), range(12, 13)):
        found, want = (tbq.open(path).scalars().to_arrow() for path in (lake, tmp_path / "log"))
        assert exact_rows(found) == exact_rows(want)
        grow(tmp_path / "log", steps)
        tbq.lake.sync(tmp_path / "log", lake)


def test_pandas_is_not_imported_to_read_a_tag(tmp_path: Path) -> None:
    """That would take longer than to read it: pyarrow imports pandas if it is given a list or an array of NumPy."""
    grow(tmp_path / "log", range(5))
    tbq.lake.sync(tmp_path / "log", tmp_path / "lake")
    code = f"""
import sys, tbq
assert len(tbq.open({str(tmp_path / "lake")!r}).scalars(tag="loss")) == 5
assert not {{"pandas", "numpy.ma"}}.intersection(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_deltalake(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(TbqError, match=r"deltalake, which is not installed\n  .*pip install .*\[lake\]'"):
        tbq.open(lake).scalars()
