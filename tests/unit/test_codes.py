"""Columns of labels."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tbq.columns.codes import label


@pytest.mark.parametrize("name", ["", "loss", "Verlust/Prüfung 𝕏"])
def test_one_name_in_all_rows(name: str) -> None:
    """Whether or not it shares its zeros with other columns."""
    for count in (0, 1, 1 << 18, (1 << 18) + 1):
        want = pa.array([name] * count, pa.string()).cast(pa.dictionary(pa.int32(), pa.string()))
        column = label(name, count)
        column.validate(full=True)
        assert column.type == want.type
        assert column.equals(want) or not count
        assert column.dictionary.to_pylist() == [name]


def test_shared_zeros_are_not_written_out() -> None:
    """A column of three rows writes three rows, not all of the shared zeros."""
    table = pa.table({"tag": label("loss", 3)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    assert sink.getvalue().size < 2000
    assert table.nbytes < 100
    assert not label("loss", 3).indices.to_numpy().flags.writeable
