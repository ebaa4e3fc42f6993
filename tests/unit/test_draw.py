"""What a table looks like in little space."""

from __future__ import annotations

import pyarrow as pa
from rich.cells import cell_len

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
    assert max(map(len, drawn.splitlines()[:-1])) <= 72  # the last line says what a short name stands for


def test_what_cannot_fit_is_said() -> None:
    table = pa.table({f"column_{i:02}": [1.5] for i in range(30)})
    assert "not shown" in text(table, "wide", width=60)


def test_a_group_says_its_whole_condition() -> None:
    groups = ["lr=0.003, batch_size=32", "lr=0.003, batch_size=64"]
    columns = {name: [0.123456, 0.234567] for name in ("mean", "std", "min", "max", "ci95")}
    drawn = text(pa.table({"group": groups, "tag": ["val/loss"] * 2, **columns}), "reduced", width=60)
    assert all(group in drawn for group in groups)


def test_columns_are_aligned() -> None:
    table = pa.table({"tag": ["損失", "lr"], "step": [7, 1000]})
    assert text(table, "scalars").splitlines() == [
        "tag   step",
        "───────────",
        "損失     7",
        "lr    1000",
        "scalars: 2 rows × 2 columns",
    ]


def test_a_line_never_exceeds_the_terminal() -> None:
    table = pa.table({"tag": ["損失/訓練/" * 8], "value": [0.5]})
    for width in range(1, 60):
        lines = text(table, "scalars", width=width).splitlines()[:-1]
        assert lines and max(map(cell_len, lines)) <= width


def test_a_tag_keeps_its_first_letter() -> None:
    tags = ["_hparams_/session_start_info_of_this_run", "train/loss"]
    drawn = text(pa.table({"tag": tags, "count": [1, 300]}), "tags", width=30)
    assert "_h" in drawn and "train/loss" in drawn


def test_a_name_without_what_all_share_is_explained_and_leaves_room() -> None:
    runs = [f"resnet18_cifar10_lr0.0003_bs64_s{i}" for i in range(3)]
    columns = {f"metric_{i}": [0.123456] * 3 for i in range(5)}
    drawn = text(pa.table({"run": runs, **columns}), "summary", width=60).splitlines()
    assert drawn[2].startswith("s0 ")  # only the seeds differ
    assert drawn[-1].endswith("; s0 is resnet18_cifar10_lr0.0003_bs64_s0")
    assert drawn[0].count("metric") == 5  # short names leave room for all
    wide = text(pa.table({"run": runs, **columns}), "summary", width=120)
    assert " is " not in wide and runs[2] in wide


def test_signs_of_states_stay_before_short_names() -> None:
    runs = [
        f"{sign} resnet18_cifar10_imagenet_lr{lr}_s0" for sign, lr in (("○", 0.1), ("✕", 0.01), ("≁", 1.0))
    ]
    drawn = text(pa.table({"run": runs, "health": ["ok" * 15] * 3}), "runs", width=40).splitlines()
    assert [line.split("  ")[0] for line in drawn[2:5]] == ["○ lr0.1", "✕ lr0.01", "≁ lr1.0"]
