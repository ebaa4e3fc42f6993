"""Filters: DuckDB's parser decides what is a condition; a condition has no side effects."""

from __future__ import annotations

import asyncio
import importlib
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from served import Asked

import tbq
from tbq.server.http.app import make_app
from tbq.server.http.guard import Guard
from tbq.server.http.routes import answer
from tbq.server.sql.worker_pool import Job


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    root = tmp_path_factory.mktemp("few") / "runs"
    for place, name in enumerate(("odd", "even", "third")):
        with tbq.SummaryWriter(root / name) as writer:
            for step in range(2):
                writer.add_scalar(
                    "x", float("nan") if name == "odd" else 1.0, step, walltime=100.0 + 9 * step
                )
            writer.add_scalar("lr", 0.5, 1, walltime=109.0)
            hparams = {"lr": 0.1 * place, "bn": place == 1, "name": name}
            writer.add_hparams(hparams, {"score": place}, run_name=".", global_step=1)
    made = Asked(root)
    yield made
    made.log.close()


def test_an_unknown_hyperparameter_is_named(few: Asked) -> None:
    wrong = few.json("filter", where="hparam.batch = 16", maybe=1)
    assert wrong["ids"] is None and wrong["error"] == "there is no hyperparameter batch"
    assert wrong["hint"] == "hyperparameters: bn, lr, name"
    assert few.json("filter", where="hparam.nam = 'x'", maybe=1)["hint"] == "did you mean hparam.name?"


@pytest.mark.parametrize(
    ("where", "want"),
    [
        ("hparam.bn = true", {"even"}),
        ("hparam.bn", {"even"}),
        ("not hparam.bn", {"odd", "third"}),
        ("hparam.lr = .1", {"even"}),
        ('isnan("x")', {"odd"}),
        ("lower(run) = 'odd'", {"odd"}),
        ("hparam.lr is distinct from 0.1", {"odd", "third"}),
        ("hparam.lr>.05", {"even", "third"}),
        ("-hparam.lr<-.15", {"third"}),
        ("run ~ 'o.*'", {"odd"}),
        ("run ilike 'O%' or run in ('third')", {"odd", "third"}),
        ("hparam.name[1] = 't'", {"third"}),
        ("case when hparam.bn then true else run = 'odd' end", {"even", "odd"}),
        ("starts_with(run, 'e') -- a remark", {"even"}),
        ("/* a remark */ step between 1 and 2 and hparam.bn;", {"even"}),
        ("list_contains([true], hparam.bn)", {"even"}),
        ("true", {"odd", "even", "third"}),
        ("(hparam.lr, hparam.bn) = (0.1, true)", {"even"}),
    ],
)
def test_a_condition_is_what_duckdb_takes_for_one(few: Asked, where: str, want: set[str]) -> None:
    reply = few.json("filter", where=where)
    assert {few.log.name_of(each) for each in reply["ids"]} == want


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("odd", True),
        ("step", True),
        ("hparam.lr", True),
        ("12", True),
        ("'odd'", True),
        ("*", True),
        ("lr=0.1 seed", False),
        ("*/seed=?", False),
        ("seed=1", False),
        ("x >", False),
        ('"x', False),
        ("step + 1", False),
        ("run::int > 3", False),
    ],
)
def test_what_is_not_a_condition_says_so(few: Asked, text: str, word: bool) -> None:
    reply = few.json("filter", where=text, maybe=1)
    assert reply["ids"] is None and reply["word"] is word and reply["error"]
    assert few.json("filter", 400, where=text)["error"] == reply["error"]


def test_the_closest_names_are_told(few: Asked) -> None:
    assert few.json("filter", where="evne", maybe=1)["closest"] == ["even"]
    reply = few.json("filter", 400, where="hparam.rl > 1")
    assert "rl" in reply["error"]


@pytest.mark.parametrize(
    ("where", "hint"),
    [
        ("loss < 1", '"val/loss"'),
        ("val/loss < 1", 'write "val/loss", in double quotes'),
        ("val/loss.min < 1 and step > 0", '"val/loss'),
        ('"val/los" < 1', 'did you mean the column "val/loss"'),
    ],
)
def test_the_filter_suggests_columns_as_sql_writes_them(tmp_path: Path, where: str, hint: str) -> None:
    with tbq.SummaryWriter(tmp_path / "a") as writer:
        writer.add_scalar("val/loss", 0.5, 1)
        writer.add_scalar("accuracy", 0.5, 1)
    page = Asked(tmp_path)
    try:
        assert hint in page.json("filter", 400, where=where)["hint"]
    finally:
        page.log.close()


def test_runs_without_a_value_are_counted(few: Asked) -> None:
    reply = few.json("filter", where="case when run = 'odd' then null else false end")
    assert (reply["ids"], reply["unknown"]) == ([], 1)


@pytest.mark.parametrize(
    "text",
    [
        "(select count(*) from register_external_resource_type('x', 'y')) > 0",
        "exists (from duckdb_settings())",
        "step in (select 1)",
        "step = any (select 1)",
        "array(select 1) = [1]",
        "true union all select 1",
        "true order by 1",
        "true limit 1",
        "true; create table kept(x int)",
        "true; set threads = 1",
        "true) or (select 1 from range(3)",
        "setseed(0.5) is null",
        '"SetSeed"(0.5) is null',
        "random() < 0.5",
        "nextval('s') > 0",
        "write_log('x') is null",
        "$x > 1",
        "1 = ?",
        "create secret s (type s3)",
        "attach 'x.db'",
        "pragma threads = 1",
        "load json",
        "set variable x = 1",
        "create macro f(x) as x",
        "create temp table t(x int)",
        "sum(step) > 1",
        "row_number() over () = 1",
    ],
)
def test_a_filter_leaves_nothing_in_its_process(few: Asked, text: str) -> None:
    few.json("filter", 400, where=text)
    children = few.log.workers
    assert few.json("filter", where="run = 'odd'")["ids"] == [few.id("odd")]
    assert len(children.started) <= 2


@pytest.mark.long
def test_slow_filters_of_closed_pages_are_ended(few: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each would take an hour within its limits: they end because their pages are closed, even those that wait."""
    monkeypatch.setattr(importlib.import_module("tbq.server.sql.filters"), "_SECONDS", 3600.0)
    app = make_app(few.log, Guard("127.0.0.1", None))
    running = asyncio.Event()

    async def page(where: str, goes: bool) -> tuple[int, bytes]:
        query = urllib.parse.urlencode({"where": where}).encode()
        scope = {"type": "http", "method": "GET", "path": "/api/filter", "raw_path": b"/api/filter",
                 "query_string": query, "headers": [(b"host", b"localhost")], "scheme": "http",
                 "server": ("127.0.0.1", 6007), "http_version": "1.1"}  # fmt: skip
        first = [{"type": "http.request", "body": b"", "more_body": False}]
        sent: list[Any] = []

        async def receive() -> Any:
            if first:
                return first.pop()
            await (running if goes else asyncio.Event()).wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await app(scope, receive, send)
        return sent[0]["status"], sent[1]["body"]

    async def pages() -> list[tuple[int, bytes]]:
        slow = "levenshtein(repeat('a', 3000000), repeat(run, 600000)) > 3 or step = "
        closed = [asyncio.ensure_future(page(f"{slow}{n}", True)) for n in range(6)]
        async with asyncio.timeout(120):
            while few.log.workers.busy < 2:
                await asyncio.sleep(0.05)
        stays = asyncio.ensure_future(page("step > 0", False))
        running.set()
        return await asyncio.gather(stays, *closed)

    (status, body), *others = asyncio.run(pages())
    assert status == 200 and b'"ids":[' in body
    assert [status for status, _ in others] == [400] * 6


def test_a_filter_that_nobody_waits_for_is_given_up(few: Asked) -> None:
    job = Job()
    job.give_up()
    assert b"cancelled" in answer(few.log, "filter", [("where", "step > 0")], job).body
    assert few.json("filter", where="step > 0")["ids"]
