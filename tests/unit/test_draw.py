"""What a table looks like in little space."""

from __future__ import annotations

import pyarrow as pa

from tbq.table.draw import text


def test_long_names_give_way_to_values() -> None:
    runs = [f"{'experiment/' * 8}seed={i}" for i in range(2)]
    table = pa.table(
        {"run": runs, "tag": ["a/very/long/tag/indeed/loss"] * 2, "step": [1, 2], "value": [0.125, 0.25]}
    )
    drawn = text(table, "scalars", width=72)
    assert "0.125" in drawn
    assert "not shown" not in drawn
    assert "seed=0" in drawn and "seed=1" in drawn
    assert max(map(len, drawn.splitlines())) <= 72


def test_what_cannot_fit_is_said() -> None:
    table = pa.table({f"column_{i:02}": [1.5] for i in range(30)})
    assert "not shown" in text(table, "wide", width=60)
