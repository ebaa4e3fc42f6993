"""Whatever a browser requests and a log contains: the answer is data or a clear error, and nothing leaks."""

from __future__ import annotations

import importlib
import json
import math
import os
import sys
from pathlib import Path
from typing import Any

import eventfile as ef
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples
from served import Asked, strict, unframed

import tbq
from tbq.server.http.encoding import FRAME, to_json
from tbq.server.http.routes import ROUTES
from tbq.server.http.routes import query as run_sql
from tbq.server.sql.worker_pool import Job

NAMES = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a'b\"c", "line\nbreak", "tab\there", "nul\x01",
    "x" * 200,
    "javascript:alert(1)", "${7*7}", "=1+1", "\u202etxt", "💥", "..", "%2e%2e%2f", "</script>",
]  # fmt: skip


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    """A log whose names, texts and values are as odd as files allow."""
    root = tmp_path_factory.mktemp("odd") / "logs"
    for place, name in enumerate(NAMES):
        folder = name.replace("/", "_")
        folder = f"run{place}" if folder in ("..", ".") or len(folder) > 240 else folder
        with tbq.SummaryWriter(root / folder) as writer:
            for step, value in enumerate([1.0, math.nan, math.inf, -math.inf, 2.0]):
                writer.add_scalar(name, value, step)
                writer.add_scalar("shared", value + place, step)
            writer.add_text(name, name, 0)
            writer.add_hparams(
                {name: math.nan, "lr": math.inf, "name": name}, {"score": math.nan}, run_name="."
            )
    if sys.platform == "linux":
        path = os.path.join(os.fsencode(root), b"bytes\xff\xfe")
        os.makedirs(path)
        for name in os.listdir(root / "run12"):
            with (
                open(root / "run12" / name, "rb") as file,
                open(os.path.join(path, os.fsencode(name)), "wb") as out,
            ):
                out.write(file.read())
    return Asked(root)


def checked(asked: Asked, path: str, **params: Any) -> Any:
    """The answer, which must be valid JSON or a valid frame."""
    reply = asked.answer(path, **params)
    assert reply.status in (200, 400, 404, 413, 429)
    root = str(asked.log.follower.discovery.paths[0])
    assert os.path.dirname(root).encode() not in reply.body, "where the log lies"
    if reply.type == FRAME:
        return unframed(reply.body)
    if reply.type == "application/json":
        return strict(reply.body)
    return reply.body


def test_odd_names_and_values_are_valid_answers(odd: Asked) -> None:
    runs = checked(odd, "runs")["runs"]
    assert len(runs) == len(NAMES) + (sys.platform == "linux")
    tags = [entry["tag"] for entry in checked(odd, "tags")["tags"]]
    assert set(NAMES) <= set(tags)
    for tag in tags:
        for params in (
            {},
            {"smooth": 0.5},
            {"x": "relative"},
            {"x": "wall"},
            {"x": "tag:shared"},
            {"log": "xy"},
        ):
            header, _ = checked(odd, "curves", tag=tag, width=3, **params)
            assert header["tag"] == tag
        checked(odd, "nearest", tag=tag, x=1)
        checked(odd, "points", tag=tag)
        checked(odd, "command", tag=tag)
        for run in runs:
            checked(odd, "text", run=run["id"], tag=tag)
    for by in ("hparam.lr", "hparam.name", "*", "re:(.*)", f"hparam.{NAMES[0]}"):
        checked(odd, "groups", by=by)
        checked(odd, "curves", tag="shared", group=by, band="ci95", width=3)
    stats = ["first", "last", "min", "max", "mean", "std", "count", "min_step", "max_step", "best", "at:1"]
    checked(odd, "metrics", columns=json.dumps([[tag, stat] for tag in tags for stat in stats][:900]))
    checked(odd, "hparams")
    checked(odd, "health", wait=1)
    body = checked(odd, "points", tag="shared").decode()
    assert "\n=1+1" not in body  # a spreadsheet would run it
    quoted = NAMES[1].replace('"', '""')
    checked(odd, "filter", where=f'"{quoted}" > 1 or "hparam.{quoted}" is null')


def test_nan_is_not_absent(odd: Asked) -> None:
    header, columns = checked(odd, "metrics", columns='[["shared","first"],["nowhere","last"]]')
    assert not header["metrics"][0]["nan"]
    assert header["metrics"][1]["nan"] == []
    assert all(map(math.isnan, columns["1"]))
    point = checked(odd, "nearest", tag="shared", x=1)["points"][0]
    assert (point["value"], point["text"]) == (None, "nan")


_TEXT = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        [
            *NAMES,
            "",
            "*",
            "0",
            "-1",
            "1e999",
            "nan",
            "0-",
            "0-99999999999",
            "shared",
            "step",
            "std",
            "[[]]",
            "re:(a+)+b",
            "re:(",
            "*",
        ]
    ),
)


@examples(400)
@given(path=st.sampled_from(sorted(ROUTES)), data=st.data())
def test_any_parameters_have_an_answer(odd: Asked, path: str, data: st.DataObject) -> None:
    known = ROUTES[path].params
    names = data.draw(st.lists(st.sampled_from([*known, "other"]), unique=True, max_size=6))
    params = {name: data.draw(_TEXT) for name in names}
    checked(odd, path, **params)


@pytest.mark.parametrize(
    ("path", "params", "status"),
    [
        ("curves", {"tag": "shared", "width": 0}, 400),
        ("curves", {"tag": "shared", "width": 100000}, 400),
        ("curves", {"tag": "shared", "smooth": 2}, 400),
        ("curves", {"tag": "shared", "low": "nan"}, 400),
        ("curves", {"tag": "shared", "low": 5, "high": 1}, 400),
        ("curves", {"tag": "shared", "runs": "1;2"}, 400),
        ("curves", {"tag": "shared", "runs": "0-99999999999"}, 413),
        ("curves", {"tag": "shared", "group": "re:("}, 400),
        ("curves", {"tag": "shared", "band": "wide"}, 400),
        ("curves", {"tag": "nowhere"}, 404),
        ("curves", {}, 400),
        ("curves", {"tag": "x" * 200_000}, 413),
        ("metrics", {"columns": "[" * 100_000}, 400),
        ("metrics", {"columns": json.dumps([["a", "last"]] * 2000)}, 413),
        ("metrics", {"columns": '[["a","median"]]'}, 400),
        ("image", {"run": 99999, "tag": "a"}, 404),
        ("image", {"run": 0, "tag": "nowhere"}, 404),
        ("filter", {"where": "nowhere > 1"}, 400),
        ("filter", {"where": "1) union select 1 --"}, 400),
        ("filter", {"where": "(select count(*) from read_text('/etc/passwd')) > 0"}, 400),
        ("series", {"kind": "scalars", "tag": "a"}, 400),
        ("nothing", {}, 404),
        ("../state", {}, 404),
    ],
)
def test_wrong_parameters_are_explained(odd: Asked, path: str, params: dict[str, Any], status: int) -> None:
    reply = odd.answer(path, **params)
    assert reply.status == status, reply.body
    assert strict(reply.body)["error"]


@pytest.mark.long
def test_fifty_thousand_tags(tmp_path: Path) -> None:
    with tbq.SummaryWriter(tmp_path / "a") as writer:
        for number in range(50_000):
            writer.add_scalar(f"layer{number // 100}/unit{number}", number, 0)
    asked = Asked(tmp_path)
    assert len(asked.json("tags")["tags"]) == 50_000
    assert asked.json("filter", where='"layer3/unit333" = 333')["ids"] == [0]
    assert asked.json("state")["tags"] == 50_000
    _, columns = asked.frame("metrics", columns='[["layer499/unit49999","last"]]')
    assert columns["0"].tolist() == [49_999]
    assert len(asked.answer("schema").body) < 200_000


def test_json_is_valid_whatever_the_value() -> None:
    value = {"a": [math.nan, {"b": -math.inf}], "c": b"\xff", "d": "\ud800", "e": (1.5, None, True)}
    assert strict(to_json(value)) == {
        "a": [None, {"b": None}],
        "c": "<1 bytes>",
        "d": "?",
        "e": [1.5, None, True],
    }


def test_numbers_and_names_that_python_cannot_hold(odd: Asked) -> None:
    for runs in ("9" * 5000, "0-" + "9" * 5000, "9" * 5000 + "-1"):
        assert odd.answer("curves", tag="shared", runs=runs).status == 400
    reply = odd.answer("metrics", columns='[["\\ud800","last"]]')
    assert reply.status == 400, "not a text"
    assert strict(reply.body)["error"]


@pytest.mark.parametrize(
    "query",
    [
        "select timestamp '290000-01-01'",
        "select date '200000-01-01', 1",
        "select [timestamp '290000-01-01']",
        "select {'at': timestamp '290000-01-01'}",
        "select * from test_all_types()",
    ],
)
def test_dates_that_python_does_not_have(odd: Asked, query: str) -> None:
    reply = run_sql(odd.log, json.dumps({"query": query}).encode(), Job())
    assert reply.status == 200, reply.body
    header, _ = unframed(reply.body)
    assert header["rows"] >= 1


def test_a_result_of_many_bytes_is_refused(odd: Asked) -> None:
    for query, status in (
        ("select repeat('a', 20000) from range(10000)", 413),
        ("select repeat('a', 20000)::blob from range(10000)", 200),  # shown as their number
        ("select repeat('a', 20000) from range(1000)", 200),
    ):
        reply = run_sql(odd.log, json.dumps({"query": query}).encode(), Job())
        assert reply.status == status, query


def test_an_error_of_a_filter_shows_the_filter_alone(odd: Asked) -> None:
    for where in ("'abc'", "run::int > 1", "step = 'x'::int", "sum(step) > 1"):
        error = odd.json("filter", status=400, where=where)["error"]
        assert "arrow" not in error and "relation" not in error and error, error


def test_columns_that_were_asked_for_are_forgotten(odd: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """at:STEP alone makes as many columns as there are numbers."""
    module = importlib.import_module("tbq.server.answers.metrics")
    monkeypatch.setattr(module, "_KEPT", 20)
    for step in range(0, 200, 10):
        asked = [["shared", f"at:{number}"] for number in range(step, step + 10)]
        odd.frame("metrics", columns=json.dumps([*asked, ["shared", "min"]]))
    kept = [odd.log.cache.get("metrics", ("shared", f"at:{step}")) for step in range(200)]
    assert sum(len(column) for column in kept if column) <= 20
    assert odd.log.cache.get("metrics", ("shared", "min"))


SVG = b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (SVG, "image/svg+xml"),
        (b"<!doctype html><script>alert(1)</script>" + SVG, "application/octet-stream"),
        (b"<html><svg></svg></html>", "application/octet-stream"),
        (b"%PDF-1.7", "application/octet-stream"),
        (b"", "application/octet-stream"),
    ],
)
def test_images_that_may_run_something(tmp_path: Path, data: bytes, kind: str) -> None:
    """SVG is shown, in a sandbox; anything that a browser would render as a page is a download."""
    image = ef.bytes_field(
        4, ef.int_field(1, 9) + ef.int_field(2, 9) + ef.int_field(3, 3) + ef.bytes_field(4, data)
    )
    events = [ef.version(), ef.event(ef.summary(ef.value("picture", image)), step=1)]
    (tmp_path / "events.out.tfevents.1").write_bytes(ef.event_file(events))
    made = Asked(tmp_path)
    given = made.answer("image", run=0, tag="picture")
    if given.status == 404:  # an empty answer is not an image
        assert data == b""
    else:
        assert (given.type, given.body) == (kind, data)
        policy = given.headers.get("Content-Security-Policy", "")
        assert ("sandbox" in policy and "default-src 'none'" in policy) == (kind == "image/svg+xml")
        assert ("attachment" in given.headers.get("Content-Disposition", "")) == (kind != "image/svg+xml")
    made.log.close()
