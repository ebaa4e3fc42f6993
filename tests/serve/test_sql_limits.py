"""Queries that would run for years or fill the memory: they end, the server stays small, and the next query works."""

from __future__ import annotations

import gc
import gzip
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from served import Asked, Served, unframed
from waiting import wait_for

import tbq
from tbq.errors import TbqError
from tbq.server.sql import filters, queries, worker_pool
from tbq.server.sql.memory_limit import MemoryLimit, resident
from tbq.server.sql.worker_pool import Job

pytestmark = pytest.mark.long

#: One of each kind: rows, a value that takes long to compute, one that takes memory, one that DuckDB refuses itself.
HOSTILE = [
    "select count(*) from range(1000000000000) a, range(1000000000000) b",
    "select levenshtein(repeat('a', 300000), repeat('b', 300000))",
    "select lpad('x', 4000000000, 'y')",
    "select length(repeat('x', 1000000000)), length(repeat('y', 1000000000)), length(repeat('z', 1000000000))",
    "select regexp_replace(repeat('a', 30000000), 'a', repeat('b', 1000), 'g')",
    "select list_aggregate(range(1000000000), 'sum')",
    "select list_sort(range(300000000))[1]",
    "select list_reduce(range(100000000), lambda x, y: x + y)",
    "with recursive t(n) as (select 1 union all select n + 1 from t) select count(*) from t",
    "with recursive t(s) as (select 'x' union all select s || s from t) select max(length(s)) from t",
    "select printf('%2000000000d', 1)",
    "select * from scalars a, scalars b, scalars c, scalars d, range(1000000000) order by random() limit 5",
]


@pytest.fixture(scope="module")
def quick(asked: Asked) -> Iterator[Asked]:
    """A log whose queries get half a second to end after an interrupt."""
    patch = pytest.MonkeyPatch()
    patch.setattr(worker_pool, "_GRACE", 0.5)
    yield asked
    patch.undo()


def ask(asked: Asked, query: str, job: Job | None = None, limit: int = 10) -> tuple[dict[str, Any], Any]:
    return unframed(queries.run_query(asked.log, query, limit, job or Job()).body)


@pytest.mark.parametrize("query", HOSTILE)
def test_a_hostile_query_ends(quick: Asked, query: str) -> None:
    gc.collect()
    before = resident()
    with pytest.raises(TbqError) as caught:
        ask(quick, query, Job(0.5))
    assert str(Path.home()) not in str(caught.value)
    assert resident() - before < 100_000_000  # whatever it took, it did not take it here
    assert ask(quick, "select 41 + 1")[1]["0"].tolist() == [42]


@pytest.mark.parametrize("query", [HOSTILE[1], HOSTILE[4]])
def test_a_hostile_filter_ends(quick: Asked, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    monkeypatch.setattr(filters, "_SECONDS", 0.5)
    where = f"length(({query.removeprefix('select ')})::varchar) > 0"
    assert "stopped" in quick.json("filter", 400, where=where)["error"]
    monkeypatch.undo()
    assert len(quick.json("filter", where="step > 0")["ids"]) > 0


def test_a_query_that_takes_too_much_memory_says_so(quick: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_pool, "MEMORY", 150_000_000)
    monkeypatch.setattr(worker_pool, "OF_ROW", 0)
    for query in ("select length(repeat('x', 900000000))", "select list(a.range) from range(500000000) a"):
        with pytest.raises(TbqError, match="too much memory"):
            ask(quick, query, Job(30))


def test_memory_that_nobody_refused_ends_the_process() -> None:
    """macOS and Windows enforce no limit: only the watchdog thread is left."""
    code = (
        "from tbq.server.sql import memory_limit as m; import time\n"
        "m._refuse = lambda more: None\n"
        "with m.MemoryLimit(50_000_000):\n    held = bytes(bytearray(b'x') * 200_000_000)\n    time.sleep(60)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 77
    with MemoryLimit(1 << 40):
        pass


def test_the_same_process_answers_again_and_again(asked: Asked) -> None:
    ask(asked, "select 1")
    pool = asked.log.workers
    before = {child.process.pid for child in pool.idle}
    for number in range(5):
        assert ask(asked, f"select {number}")[1]["0"].tolist() == [number]
    with pytest.raises(TbqError):
        ask(asked, "select nothing")
    assert {child.process.pid for child in pool.idle} == before


def test_a_process_that_was_killed_is_replaced(asked: Asked) -> None:
    ask(asked, "select 1")
    for child in asked.log.workers.idle:
        child.process.kill()
        child.process.wait()
    assert ask(asked, "select 2")[1]["0"].tolist() == [2]


def test_a_query_that_nobody_waits_for_does_not_begin(asked: Asked) -> None:
    job = Job()
    job.give_up()
    with pytest.raises(TbqError, match="cancelled"):
        ask(asked, "select 1", job)


def test_a_process_that_ended_before_it_was_asked(demo: Path) -> None:
    child = worker_pool.Worker()
    child.process.kill()
    assert child._ready.wait(120)
    with pytest.raises(TbqError, match="ended the process"):
        child.ask(Job(0.1), {"call": "sql"})
    child.end()


def test_what_a_process_unpacked_goes_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However it ends: a killed process cannot clean up."""
    with tbq.SummaryWriter(tmp_path / "runs" / "a") as writer:
        writer.add_scalar("loss", 1.0, 0)
    (file,) = (tmp_path / "runs" / "a").iterdir()
    file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
    file.unlink()
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    made = Asked(tmp_path / "runs")
    before = set(place.iterdir())
    for killed in (True, False):
        assert ask(made, "select value from scalars")[1]["0"].tolist() == [1.0]
        (child,) = made.log.workers.started
        assert [each for each in set(place.iterdir()) - before if any(each.glob("**/1"))]
        if killed:
            child.process.kill()
            child._listener.join(60)
            assert set(place.iterdir()) == before
    made.log.close()
    assert set(place.iterdir()) <= before


@pytest.mark.skipif(os.name != "posix", reason="needs SIGSTOP")
def test_a_process_that_was_stopped_and_takes_no_message(quick: Asked) -> None:
    """A request larger than a pipe, as for a log of some hundred runs, does not block forever."""
    child = worker_pool.Worker()
    assert child._ready.wait(120)
    os.kill(child.process.pid, signal.SIGSTOP)
    caught: list[BaseException] = []

    def asks() -> None:
        try:
            child.ask(Job(0.1), {"call": "tables", "found": "x" * 1_000_000})
        except TbqError as wrong:
            caught.append(wrong)

    thread = threading.Thread(target=asks, daemon=True)
    thread.start()
    thread.join(30)
    hangs = thread.is_alive()
    child.end()
    assert not hangs and "stopped after" in str(caught[0])


@pytest.mark.parametrize(
    "table",
    ["runs", "query('select * from runs')", "\"QUERY\"('from ru' || 'ns')", "query_table('ru' || 'ns')"],
)  # fmt: skip
def test_tables_that_are_named_in_a_text_have_their_rows(asked: Asked, table: str) -> None:
    assert ask(asked, f"select count(*) from {table}")[1]["0"].tolist() == [len(asked.log.follower.runs)]


def test_numbers_that_json_does_not_have(asked: Asked) -> None:
    """Beside a null, and in lists, they are strings; only a null is null."""
    values = "(1.5::double), ('inf'::double), ('-inf'::double), ('nan'::double), (null)"
    assert ask(asked, f"select x from (values {values}) t(x)")[1]["0"] == [1.5, "inf", "-inf", "nan", None]
    query = "select [1, 'nan'::double, 'inf'::double, null] a, {'x': '-inf'::double} b"
    _, columns = ask(asked, query)
    assert (columns["0"], columns["1"]) == (['[1.0,"nan","inf",null]'], ['{"x":"-inf"}'])


@pytest.mark.skipif(os.name != "posix", reason="needs /bin/false")
def test_a_process_that_cannot_be_started(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Asked(demo)
    for program, words in ((str(demo / "nothing"), "cannot be started"), ("/bin/false", "ended the process")):
        monkeypatch.setattr(worker_pool.sys, "executable", program)
        with pytest.raises(TbqError, match=words):
            ask(made, "select 1")
    monkeypatch.undo()
    assert ask(made, "select 2")[1]["0"].tolist() == [2]
    made.log.close()


def test_processes_end_with_the_log(demo: Path) -> None:
    made = Asked(demo)
    ask(made, "select 1")
    processes = [child.process for child in made.log.workers.started]
    made.log.close()
    assert processes and all(process.poll() is not None for process in processes)
    with pytest.raises(TbqError):
        ask(made, "select 1")


def post(url: str, query: str) -> tuple[int, bytes]:
    body = json.dumps({"query": query}).encode()
    request = urllib.request.Request(f"{url}api/sql", body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=200) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as wrong:
        return wrong.code, wrong.read()
    except OSError:  # the server has ended
        return 0, b""


def test_twenty_hostile_queries_of_pages_that_go(serve: Callable[..., Served], demo: Path) -> None:
    """While they run, everything else is answered; when their pages close, a query gets its turn."""
    server = serve(demo, "--port", 0)
    host, _, port = server.url.removeprefix("http://").strip("/").partition(":")
    body = json.dumps({"query": HOSTILE[1]}).encode()
    head = (
        f"POST /api/sql HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    pages = [socket.create_connection((host, int(port))) for _ in range(20)]
    for page in pages:
        page.sendall(head.encode() + body)
    for path in ("api/runs", "api/curves?tag=train/loss", "api/filter?where=step%3E0", "api/health"):
        assert server.get(path)
    for page in pages:
        page.close()
    status, reply = post(server.url, "select 1 + 1")
    assert status == 200 and unframed(reply)[1]["0"].tolist() == [2]


def test_many_queries_at_once(serve: Callable[..., Served], demo: Path) -> None:
    server = serve(demo, "--port", 0)
    with ThreadPoolExecutor(20) as pool:
        replies = list(pool.map(lambda n: post(server.url, f"select {n}, count(*) from scalars"), range(20)))
    assert [unframed(body)[1]["0"].tolist() for _, body in replies] == [[n] for n in range(20)]


@pytest.mark.skipif(os.name != "posix", reason="needs /bin/ps and signals")
def test_processes_end_with_the_server(serve: Callable[..., Served], demo: Path) -> None:
    server = serve(demo, "--port", 0)
    threading.Thread(target=post, args=(server.url, HOSTILE[1]), daemon=True).start()
    assert post(server.url, "select 1")[0] == 200

    def below() -> list[str]:
        found = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True)
        rows = [line.split(None, 2) for line in found.stdout.splitlines()]
        return [row[0] for row in rows if row[1] == str(server.process.pid) or row[0] in known]

    known: set[str] = set()
    known = set(below())
    assert known
    server.process.kill()  # it cannot put anything away
    server.process.wait()
    wait_for(lambda: not below())
