"""Texts: string tensors of any rank, one row per element."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def joined(rows: pa.Table) -> str:
    """The text of one value; a text tensor becomes a Markdown table, as in TensorBoard.

    >>> import pyarrow as pa
    >>> print(joined(pa.table({"index": [[0, 0], [0, 1]], "text": ["a", "b"]})))
    | a | b |
    """
    texts = [text or "" for text in rows["text"].to_pylist()]
    indices = rows["index"].to_pylist()
    if len(texts) == 1:
        return texts[0]
    if any(index is None for index in indices) or not indices or len(indices[0]) < 2:
        return "\n".join(texts)
    lines: dict[tuple[int, ...], list[str]] = {}
    for index, text in zip(indices, texts, strict=True):
        lines.setdefault(tuple(index[:-1]), []).append(text.replace("\n", " "))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines.values())
