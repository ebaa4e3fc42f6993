"""Over HTTP: who is answered, with which headers; files, ranges, compression; SQL and its limits."""

from __future__ import annotations

import asyncio
import importlib
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from served import Asked, strict, unframed
from starlette.testclient import TestClient

import tbq
from tbq.errors import UsageError
from tbq.server.http.app import make_app
from tbq.server.http.guard import Guard
from tbq.server.sql.queries import run_query
from tbq.server.sql.worker_pool import Job


@pytest.fixture(scope="module")
def client(asked: Asked) -> Iterator[TestClient]:
    with TestClient(make_app(asked.log, Guard("127.0.0.1", None)), base_url="http://127.0.0.1:6007") as made:
        yield made


@pytest.fixture(scope="module")
def guarded(asked: Asked) -> Iterator[TestClient]:
    guard = Guard("0.0.0.0", "secret token", ["lab.example"])
    with TestClient(make_app(asked.log, guard), base_url="http://192.0.2.5:6007") as made:
        yield made


def test_every_reply_has_its_headers(client: TestClient) -> None:
    for path in ("/", "/static/page.css", "/api/state", "/api/nothing", "/nowhere", "/static/../app.py"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert not any(name.startswith("access-control") for name in headers)
        assert "server" not in headers


@pytest.mark.parametrize("host", ["127.0.0.1:6007", "localhost", "localhost:9999", "[::1]:6007", "LOCALHOST"])
def test_this_machine_is_answered(client: TestClient, host: str) -> None:
    assert client.get("/api/state", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:6007",
        "127.0.0.1.evil.example",
        "",
        "localhost.",
        "192.0.2.5",
        "[::1",
        "a@b",
    ],
)
def test_other_hosts_are_refused(client: TestClient, host: str) -> None:
    for path in ("/", "/api/state", "/static/page.css"):
        reply = client.get(path, headers={"host": host})
        assert reply.status_code == 403
        assert "host" in reply.json()["error"]


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://["},
        {"origin": ""},
        {"origin": "http://127.0.0.1:1234"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"},
    ],
)
def test_other_sites_are_refused(client: TestClient, headers: dict[str, str]) -> None:
    assert client.get("/api/state", headers=headers).status_code == 403
    reply = client.post("/api/sql", json={"query": "select 1"}, headers=headers)
    assert reply.status_code == 403


def test_a_link_may_lead_to_the_page(client: TestClient) -> None:
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert client.get("/", headers=headers).status_code == 200
    assert client.get("/api/state", headers=headers).status_code == 403


def test_a_token_is_asked_for(guarded: TestClient) -> None:
    for path in ("/", "/api/state", "/static/page.css", "/?token=wrong", "/?token="):
        assert guarded.get(path).status_code == 401
    assert guarded.get("/api/state", headers={"authorization": "Bearer secret token"}).status_code == 200
    assert guarded.get("/api/state", headers={"authorization": "Bearer no"}).status_code == 401
    entrance = guarded.get("/?token=secret%20token")
    assert entrance.status_code == 200 and "url=./" in entrance.text
    cookie = entrance.headers["set-cookie"]
    assert "HttpOnly" in cookie and "samesite=strict" in cookie.lower()
    assert guarded.get("/").status_code == 200  # by the cookie
    assert guarded.get("/", headers={"host": "lab.example"}).status_code in (200, 401)
    assert guarded.get("/", headers={"host": "evil.example"}).status_code == 403


def test_an_empty_token_lets_nobody_in(asked: Asked) -> None:
    client = TestClient(make_app(asked.log, Guard("0.0.0.0", "")), base_url="http://192.0.2.5:6007")
    for path in ("/", "/api/state", "/?token="):
        assert client.get(path).status_code == 401
    assert client.get("/api/state", headers={"authorization": "Bearer "}).status_code == 401


@pytest.mark.parametrize("token", ["", "  ", "€uro", "line\nbreak", "nul\0"])
def test_a_token_that_cannot_be_one(tmp_path: Path, token: str) -> None:
    with pytest.raises(UsageError, match="token"):
        tbq.serve(tmp_path, port=0, token=token, on_start=lambda *_: pytest.fail("it listens"))


@pytest.mark.parametrize(
    "path",
    ["../app.py", "..%2fapp.py", "%2e%2e/app.py", "//etc/passwd", "a\\b", "C:/x", "", "nothing.js", "vendor",
     "a%00.js", "%00", "a" * 5000],
)  # fmt: skip
def test_no_file_outside_of_the_page(client: TestClient, path: str) -> None:
    reply = client.get(f"/static/{path}")
    assert reply.status_code == 404


def test_files_are_not_sent_twice(client: TestClient) -> None:
    first = client.get("/static/page.css")
    assert first.headers["content-type"].startswith("text/css")
    again = client.get("/static/page.css", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_large_answers_are_compressed(client: TestClient) -> None:
    reply = client.get("/api/runs", headers={"accept-encoding": "gzip"})
    assert reply.headers["content-encoding"] == "gzip"
    plain = client.get("/api/runs", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers and plain.json()["runs"] == reply.json()["runs"]


def test_parts_of_audio(client: TestClient, asked: Asked) -> None:
    url = f"/api/audio?run={asked.id('media')}&tag=tone"
    whole = client.get(url)
    assert whole.headers["accept-ranges"] == "bytes"
    part = client.get(url, headers={"range": "bytes=4-11"})
    assert (part.status_code, part.content) == (206, whole.content[4:12])
    assert part.headers["content-range"] == f"bytes 4-11/{len(whole.content)}"
    assert client.get(url, headers={"range": "bytes=-4"}).content == whole.content[-4:]
    assert client.get(url, headers={"range": "bytes=99999999-"}).status_code == 416
    for odd in ("bytes=", "bytes=-", "lines=1-2", "bytes=1-2,4-5", "bytes=a-b"):
        assert client.get(url, headers={"range": odd}).content == whole.content


def test_methods(client: TestClient) -> None:
    assert client.post("/api/state").status_code == 405
    assert client.get("/api/sql").status_code in (404, 405)
    assert client.delete("/").status_code == 405
    assert client.head("/api/events").status_code == 200
    assert client.head("/api/state").content == b""


def ask_sql(client: TestClient, query: Any, **more: Any) -> Any:
    return client.post("/api/sql", json={"query": query, **more})


def test_sql(client: TestClient) -> None:
    reply = ask_sql(
        client, "select run, min(value) as least from scalars where tag = 'val/loss' group by run order by 2"
    )
    header, columns = unframed(reply.content)
    assert (header["names"], header["rows"], header["more"]) == (["run", "least"], 8, False)
    assert columns["0"][0] == "lr=0.1/seed=0"
    header, _ = unframed(ask_sql(client, "select * from scalars", limit=10).content)
    assert (header["rows"], header["more"]) == (10, True)
    header, _ = unframed(ask_sql(client, "select * from scalars where tag = 'val/los'").content)
    assert "val/loss" in header["warnings"][0]


@pytest.mark.parametrize(
    "query",
    [
        "selec", "", "select * from nowhere", "create table x (a int)", "attach 'x.db'",
        "copy (select 1) to '/tmp/x.csv'",
        "select * from read_csv('/etc/passwd')", "select * from '/etc/passwd'", "select * from glob('/*')",
        "install httpfs",
        "set memory_limit = '100GB'", "set enable_external_access = true", "select 1; drop table scalars",
        "pragma version",
        "select * from duckdb_extensions()", "select * from read_text('/proc/self/environ')", "load httpfs",
        "\ud800", "\0",
    ],
)  # fmt: skip
def test_sql_reads_the_log_alone(client: TestClient, query: str, asked: Asked) -> None:
    try:
        reply = ask_sql(client, query)
    except UnicodeEncodeError:
        reply = client.post(
            "/api/sql", content=b'{"query": "\\ud800"}', headers={"content-type": "application/json"}
        )
    assert reply.status_code == 400, reply.content
    error = strict(reply.content)
    assert error["error"] and str(Path.home()) not in reply.text


def test_sql_shows_no_path_of_this_machine(client: TestClient, asked: Asked) -> None:
    above = str(Path(asked.log.follower.discovery.paths[0]).parent)
    for query in (
        "select path from files", "select * from problems", "select * from duckdb_settings()",
        "select * from projector",
        "select * from duckdb_databases()", "select current_setting('home_directory')",
    ):  # fmt: skip
        text = ask_sql(client, query).text
        assert above not in text and str(Path.home()) not in text, query


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b"null", b'{"query": 1}', b'{"query": "select 1", "limit": 0}', b"\xff", b"[" * 5000,
             b'{"query": "select 1", "limit": 100000}', b'{"query": "select 1", "other": 1}']
)  # fmt: skip
def test_sql_wants_a_query(client: TestClient, body: bytes) -> None:
    reply = client.post("/api/sql", content=body, headers={"content-type": "application/json"})
    assert reply.status_code == 400
    assert strict(reply.content)["error"]
    assert client.post("/api/sql", content=b'{"query": "select 1"}').status_code == 415
    long = client.post("/api/sql", content=b" " * 600_000, headers={"content-type": "application/json"})
    assert long.status_code == 413


def test_a_query_that_runs_for_ever_is_stopped(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.import_module("tbq.server.http.app"), "Job", lambda: Job(0.3))
    reply = ask_sql(client, "select count(*) from range(100000000000000) a, range(1000000) b")
    assert reply.status_code == 400 and "stopped" in reply.json()["error"]
    reply = ask_sql(client, "select list(i) from range(10000000000) t(i)")
    assert reply.status_code == 400


def test_queries_wait_for_each_other(asked: Asked) -> None:
    slots = asked.log.workers._slots
    taken = list(iter(lambda: slots.acquire(blocking=False), False))
    try:
        with pytest.raises(Exception, match="too many queries"):
            run_query(asked.log, "select 1", 10, Job(0.01))
    finally:
        slots.release(len(taken))


def test_a_closed_page_stops_its_query(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """The query would take years, and the watchdog allows it: it ends because the browser disconnects."""
    monkeypatch.setattr(importlib.import_module("tbq.server.http.app"), "Job", lambda: Job(3600))
    app = make_app(asked.log, Guard("127.0.0.1", None))
    body = b'{"query": "select count(*) from range(100000000000000) a, range(1000000) b"}'
    messages = [{"type": "http.request", "body": body, "more_body": False}]
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/api/sql", "raw_path": b"/api/sql", "query_string": b"",
             "headers": headers, "scheme": "http", "server": ("127.0.0.1", 6007), "http_version": "1.1"}  # fmt: skip
    sent: list[Any] = []

    async def receive() -> Any:
        if messages:
            return messages.pop()
        async with asyncio.timeout(60):
            while not asked.log.workers.busy:
                await asyncio.sleep(0.01)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == 400 and not asked.log.workers.busy


def test_the_page_names_every_module_at_once(client: TestClient) -> None:
    """A browser that finds modules one by one waits for each of them."""
    text = client.get("/").text
    named = set(re.findall(r'rel="modulepreload" href="([^"]+)"', text))
    assert "static/main.js" in named and "static/vendor/preact.js" in named
    for path in named:
        source = client.get(f"/{path}")
        assert source.status_code == 200 and source.headers["content-type"].startswith("text/javascript")
        for match in re.findall(r"""(?:from|import)\s*["'](\.[^"']+)["']""", source.text):
            assert posixpath.normpath(posixpath.join(posixpath.dirname(path), match)) in named


def test_files_travel_small_and_once(client: TestClient) -> None:
    first = client.get("/static/page.css")
    assert first.headers["content-encoding"] == "gzip"
    plain = client.get("/static/page.css", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers and plain.content == first.content
    again = client.get("/static/page.css", headers={"if-none-match": first.headers["etag"]})
    assert again.status_code == 304 and not again.content
