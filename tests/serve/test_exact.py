"""Numbers and names as the page gets them: whole, and exact."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

import numpy as np
import pytest
from served import Asked, strict, unframed

import tbq
from tbq import wire
from tbq.server.http.encoding import frame, to_json
from tbq.server.report.embedded import written
from tbq.server.sql.queries import run_query
from tbq.server.sql.worker_pool import Job

FAR = 2**60 + 1
VALUES = {
    "offset": [1.7e9 + 0.25 * i for i in range(50)],
    "ripple": [1 + 1e-9 * math.sin(i) for i in range(50)],
    "huge": [1e39 * (i + 1) for i in range(50)],
    "tiny": [1e-60 * (i + 1) for i in range(50)],
    "float32": [float(np.float32(math.sin(i))) for i in range(50)],
}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    path = tmp_path_factory.mktemp("exact")
    with tbq.SummaryWriter(path / "run") as writer:
        for tag, values in VALUES.items():
            for step, value in enumerate(values):
                writer.add_scalar(tag, value, step, exact=True)
        writer.add_scalar("far", 1.0, FAR)
        writer.add_scalar("far", 2.0, FAR + 1)
        writer.add_scalar("\u00c9", 1.0, 1)
        writer.add_scalar("\u00e9", 2.0, 1)
        writer.add_scalar("Loss", 1.0, 1)
        writer.add_scalar("loss", 2.0, 1)
        for step in (FAR, FAR + 1):
            writer.add_text("note", f"at {step}", step)
            writer.add_tensor("whole", np.array([2**60 + 3, -5]), step)
            writer.add_histogram("weights", np.arange(5.0), step)
        writer.add_text("long", "x" * 2_000_001, 1)
        words = wire.string_tensor([b"y" * 1000, b"z" * 1001], [2])
        writer.add_summary(wire.value("words", wire.TENSOR, words, b""), 1)
    made = Asked(path)
    yield made
    made.log.close()


@pytest.mark.parametrize("tag", VALUES)
@pytest.mark.parametrize("smooth", [0, 0.9])
def test_curves_are_exact(asked: Asked, tag: str, smooth: float) -> None:
    header, columns = asked.frame("curves", tag=tag, width=50, smooth=smooth)
    raw = columns["raw_min" if smooth else "last"]
    assert raw.tolist() == VALUES[tag]
    assert raw.dtype == (np.float32 if tag == "float32" else np.float64)
    (nearest,) = asked.json("nearest", tag=tag, x=7, axis="step", smooth=smooth)["points"]
    assert nearest["value"] == VALUES[tag][7]
    if smooth:
        assert nearest["smoothed"] == pytest.approx(columns["last"][7], rel=1e-14)
    assert header["series"][0]["points"] == 50


def test_whole_numbers_past_2_to_the_53_are_texts() -> None:
    value = {
        "a": [2**53 - 1, 2**53, -(2**63)],
        "b": {"c": (2**60,)},
        "d": True,
        "e": math.inf,
        "f": 1e22,
        "g": 1 / 3,
    }
    assert strict(to_json(value)) == {
        "a": [2**53 - 1, str(2**53), str(-(2**63))],
        "b": {"c": [str(2**60)]},
        "d": True,
        "e": None,
        "f": 1e22,
        "g": 1 / 3,
    }
    body = frame({"near": np.array([1, 2]), "far": np.array([1, FAR])}).body
    header = strict(body[4 : 4 + int.from_bytes(body[:4], "little")])
    assert [column.get("values") for column in header["columns"]] == [None, [1, str(FAR)]]


def test_far_steps_can_be_opened(asked: Asked) -> None:
    (run,) = asked.json("runs")["runs"]
    assert run["last_step"] == str(FAR + 1)
    for kind, tag in (("texts", "note/text_summary"), ("tensors", "whole")):
        (series,) = asked.json("series", kind=kind, tag=tag)["runs"]
        assert series["steps"] == [str(FAR), str(FAR + 1)]
    text = asked.json("text", run=run["id"], tag="note/text_summary", step=series["steps"][0])
    assert text["text"] == f"at {FAR}" and text["step"] == str(FAR)
    tensor = asked.json("tensor", run=run["id"], tag="whole", step=series["steps"][1])
    assert tensor["corner"] == [str(2**60 + 3), -5] and (tensor["min"], tensor["max"]) == (-5, str(2**60 + 3))
    _, columns = asked.frame("histograms", run=run["id"], tag="weights")
    assert columns["steps"] == [str(FAR), str(FAR + 1)]
    (point,) = asked.json("nearest", tag="far", x=float(FAR), axis="step")["points"]
    assert point["step"] == str(FAR + 1)
    _, columns = asked.frame(
        "metrics", columns=json.dumps([["far", f"at:{FAR}"], ["far", f"at:{2**63 - 1}"]])
    )
    assert [columns["0"][0], columns["1"][0]] == [1.0, 2.0]


def test_the_whole_of_a_long_text(asked: Asked) -> None:
    (run,) = asked.json("runs")["runs"]
    about = asked.json("text", run=run["id"], tag="long/text_summary")
    assert about["cut"] and about["length"] == 2_000_001 and len(about["text"]) == 2_000_000
    given = asked.answer("text", run=run["id"], tag="long/text_summary", whole=1)
    assert given.body == b"x" * 2_000_001 and "attachment" in given.headers["Content-Disposition"]


def test_what_is_cut_says_how_long_it_is(asked: Asked) -> None:
    (run,) = asked.json("runs")["runs"]
    shown = asked.json("tensor", run=run["id"], tag="words")["corner"]
    assert shown == ["y" * 1000, "z" * 1000 + " … (1,001 characters)"]
    query = "select (select list(1) from range(4999)) as short, (select list(1) from range(5000)) as long"
    _, columns = unframed(run_query(asked.log, query, 10, Job()).body)
    assert columns["0"] == [f"[{'1,' * 4998}1]"]
    assert columns["1"] == [f"[{'1,' * 4999}1"[:10_000] + " … (10,001 characters)"]


def test_only_a_to_z_have_a_case(asked: Asked) -> None:
    """As in SQL: \u00c9 and \u00e9 are two names, Loss and loss are one."""
    assert asked.json("filter", where='"\u00c9" = 1 and "\u00e9" = 2')["ids"] == [0]
    assert asked.json("filter", where='"\u00c9" > "\u00e9"')["ids"] == []
    assert asked.json("filter", where='"LOSS" = 1')["ids"] == [0]
    asked.json("filter", 400, where='"Loss" < "loss"')
    log = tbq.open(asked.log.follower.discovery.paths[0])
    with pytest.warns(tbq.TbqWarning, match="'Loss' is called 'Loss_1'"):
        table = log.sql('select "É" as a, "é" as b from summary')
    assert table.to_dicts() == [{"a": 1.0, "b": 2.0}]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.6, "0.6"),
        (1.0, "1"),
        (0.0, "0"),
        (1e-5, "0.00001"),
        (1.5e-6, "0.0000015"),
        (1e-7, "1e-7"),
        (2.5e-10, "2.5e-10"),
        (0.1 + 0.2, "0.30000000000000004"),
    ],
)
def test_numbers_as_javascript_writes_them(number: float, text: str) -> None:
    assert written(number) == text
