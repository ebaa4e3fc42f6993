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


def test_a_group_says_its_whole_condition() -> None:
    groups = ["lr=0.003, batch_size=32", "lr=0.003, batch_size=64"]
    columns = {name: [0.123456, 0.234567] for name in ("mean", "std", "min", "max", "ci95")}
    drawn = text(pa.table({"group": groups, "tag": ["val/loss"] * 2, **columns}), "reduced", width=60)
    assert all(group in drawn for group in groups)


def test_a_tag_keeps_its_first_letter() -> None:
    tags = ["_hparams_/session_start_info_of_this_run", "train/loss"]
    drawn = text(pa.table({"tag": tags, "count": [1, 300]}), "tags", width=30)
    assert "_h" in drawn and "train/loss" in drawn
