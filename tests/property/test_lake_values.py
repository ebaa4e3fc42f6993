"""Values of a lake are those of its log, even if only their order tells them apart: same tag, step and time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import eventfile as ef
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lakes import exact_rows
from profiles import examples
from protos import session_start

import tbq
import tbq.lake
from tbq.arrow import to_pyarrow
from tbq.kinds.values import locate
from tbq.lake.layout import OVERVIEWS, TABLES

pytestmark = pytest.mark.filterwarnings("ignore::tbq.TbqWarning")


def pr_curve(count: int) -> list[bytes]:
    numbers = [float(i) for i in range(6 * count)]
    return [ef.value("curve", ef.tensor("float32", numbers, dims=(6, count)), ef.metadata("pr_curves"))]


def keras_model(count: int) -> list[bytes]:
    layers = [{"class_name": "Dense", "config": {"name": f"d{i}"}} for i in range(count)]
    text = json.dumps({"class_name": "Sequential", "config": {"layers": layers}}).encode()
    return [ef.value("model", ef.tensor("string", [text]), ef.metadata("graph_keras_model"))]


def texts(count: int) -> list[bytes]:
    made = ef.tensor("string", [b"words"] * count, dims=(count,))
    return [ef.value("notes", made, ef.metadata("text", data_class=2))]


def hparams(count: int) -> list[bytes]:
    return [session_start({f"h{i}": float(i) for i in range(count)}).SerializeToString()]


def graph(count: int) -> bytes:
    nodes = b"".join(
        ef.bytes_field(1, ef.bytes_field(1, f"n{i}") + ef.bytes_field(2, "Op")) for i in range(count)
    )
    return ef.bytes_field(4, nodes)


MADE = {"pr_curve": pr_curve, "keras_model": keras_model, "texts": texts, "hparams": hparams}


@st.composite
def events(draw: st.DrawFn) -> bytes:
    what = draw(st.sampled_from([*MADE, "graph"]))
    count, step, wall = (
        draw(st.integers(1, 3)),
        draw(st.integers(0, 1)),
        draw(st.sampled_from([100.0, 100.5])),
    )
    made = graph(count) if what == "graph" else ef.summary(*MADE[what](count))
    return ef.record(ef.event(made, step=step, wall=wall))


def values_of(log: tbq.LogDir, kind: str) -> list[Any]:
    """Each value of a table: its key and its rows."""
    values = locate(log._reader, kind, on_error="ignore")
    keys = to_pyarrow(values.keys())
    if not len(keys):
        return []
    rows = keys["row"].to_pylist()
    return [
        (key, exact_rows(values.arrow([row])))
        for key, row in zip(exact_rows(keys.drop_columns(["row", "bytes"])), rows, strict=True)
        if len(values.arrow([row]))  # a value without rows is none in a lake
    ]


@pytest.mark.long
@examples(60)
@given(st.lists(st.lists(events(), min_size=1, max_size=5), min_size=1, max_size=4))
def test_values_at_one_step_and_time(
    tmp_path_factory: pytest.TempPathFactory, parts: list[list[bytes]]
) -> None:
    root: Path = tmp_path_factory.mktemp("lake")
    log, lake = root / "log", root / "lake"
    file = log / "run" / "events.out.tfevents.1.h"
    file.parent.mkdir(parents=True)
    file.write_bytes(ef.record(ef.version(99.0)))
    for part in parts:
        with file.open("ab") as appended:
            appended.write(b"".join(part))
        tbq.lake.sync(log, lake)
        for kind in TABLES:
            if kind not in ("scalars", *OVERVIEWS):
                assert values_of(tbq.open(lake), kind) == values_of(tbq.open(log), kind), kind
