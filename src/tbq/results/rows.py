"""A table too large for memory: computed batch by batch each time it is used, with methods of `Table`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import IO, TYPE_CHECKING, Unpack

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from tbq.arguments import StrPath
    from tbq.export.options import Writing
    from tbq.table import Table


class Rows:
    """Rows as a stream: `write` them to a file in bounded memory, or get all with `to_arrow` and similar methods.

    >>> import numpy as np, tbq
    >>> rows = tbq.results.weight_elements({"dense.weight": np.eye(2)})
    >>> rows.to_arrow().column("index").to_pylist()
    [0, 1, 2, 3]
    """

    def __init__(
        self,
        kind: str,
        batches: Callable[[], Iterator[pa.RecordBatch]],
        writers: dict[str, Callable[[IO[bytes]], object]] | None = None,
    ) -> None:
        self.kind = kind
        self._batches = batches
        self._writers = writers or {}  # format -> a writer that is faster than writing batches

    def __repr__(self) -> str:
        return f"<tbq.Rows {self.kind}: computed on use>"

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows as Arrow record batches of the same schema; at least one, even without rows.

        >>> rows = tbq.results.weight_elements({"dense.weight": np.eye(2)})
        >>> sum(batch.num_rows for batch in rows.batches())
        4
        """
        return self._batches()

    def to_table(self) -> Table:
        """All rows at once, as a `Table`.

        >>> rows = tbq.results.weight_elements({"dense.weight": np.eye(2)})
        >>> len(rows.to_table())
        4
        """
        from tbq.table import Table

        return Table(self.to_arrow(), kind=self.kind)

    def to_arrow(self) -> pa.Table:
        """All rows as a pyarrow table.

        >>> rows = tbq.results.weight_elements({"dense.weight": np.eye(2)})
        >>> rows.to_arrow().num_rows
        4
        """
        import pyarrow as pa

        return pa.Table.from_batches(list(self.batches()))

    def to_pandas(self, *, categories: bool = False) -> pd.DataFrame:
        """All rows as a pandas DataFrame; labels are strings, or categoricals with `categories=True`.

        >>> rows = tbq.results.weight_elements({"dense.weight": np.eye(2)})
        >>> rows.to_pandas().shape
        (4, 4)
        """
        return self.to_table().to_pandas(categories=categories)

    def to_polars(self, *, categories: bool = False) -> pl.DataFrame:
        """All rows as a polars DataFrame; labels are strings, or categoricals with `categories=True`.

        >>> rows = tbq.results.weight_elements({"dense.weight": np.eye(2)})
        >>> rows.to_polars().shape
        (4, 4)
        """
        return self.to_table().to_polars(categories=categories)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import pyarrow as pa

        batches = self.batches()
        first = next(batches)
        reader = pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))
        return reader.__arrow_c_stream__(requested_schema)

    def write(self, path: StrPath, **options: Unpack[Writing]) -> list[str]:
        """Write to a file in the format of its ending; returns the paths. Takes the options of `table.write`.

        csv, tsv, jsonl, parquet and arrow are streamed.

        >>> rows = tbq.results.weight_elements({"dense.weight": np.eye(2)})
        >>> rows.write("weights.csv", columns="index,value")
        ['weights.csv']
        """
        from tbq.results.streaming import write_rows

        return write_rows(self, path, self._writers, **options)
