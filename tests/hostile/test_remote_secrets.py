"""A password, a token or a secret option reaches only its own server, never a text, table, file or other server."""

from __future__ import annotations

import base64
import os
import pickle
import subprocess
import sys
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from buckets import Bucket, S3Server
from webserver import NAME, Asked, Web, events, scripted

import tbq
from tbq.errors import TbqError
from tbq.storage import chosen, pairs
from tbq.text import shown_path, without_secrets

USER, SECRET = "me", "hunter2-p@ss/w"
IN_URL = "hunter2-p%40ss%2Fw"
BASIC = "Basic " + base64.b64encode(f"{USER}:{SECRET}".encode()).decode()


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    """A server with two runs that requires the password."""
    monkeypatch.setenv("TBQ_CACHE", str(tmp_path / "cache"))
    with scripted("ab") as server:
        server.answer = lambda asked: None if asked.headers.get("authorization") == BASIC else 401
        yield server


def given(web: Web) -> str:
    return web.url.replace("://", f"://{USER}:{IN_URL}@") + "/runs"


def clean(*texts: object) -> None:
    for text in texts:
        assert "hunter2" not in str(text), text


def clean_files(folder: Path) -> None:
    for path in folder.rglob("*"):
        clean(path)
        if path.is_file():
            assert b"hunter2" not in path.read_bytes(), path


def test_a_log_of_a_server_with_a_password(web: Web, tmp_path: Path) -> None:
    log = tbq.open({"x": given(web)})
    assert len(log.scalars()) == 40
    clean(repr(log), log.path, log.files, log.problems, log.table("files").to_dicts(), log.sql("from files"))
    log.scalars().write(tmp_path / "out.parquet")
    log.write(tmp_path / "all.duckdb")
    again = pickle.loads(pickle.dumps(log))
    assert len(again.scalars()) == 40
    assert len(tbq.open(log.files).scalars()) == 40, "the same process reaches what it has named"
    clean_files(tmp_path)


def test_a_follower_of_a_server_with_a_password(web: Web) -> None:
    with tbq.follow(f"x:{given(web)}", on_error="ignore") as follower:
        assert len(follower.poll().table("scalars")) == 40
        clean(repr(follower), follower.path, follower.discovery.found)
        web.put(f"runs/c/{NAME}", events(3))
        assert len(follower.poll().table("scalars")) == 3
        allowed, web.answer = web.answer, lambda asked: 403
        clean(follower.poll().problems)
        web.answer = allowed
        web.put(f"runs/d/{NAME}", events(4))
        assert len(follower.poll().table("scalars")) == 4


def test_a_lake_of_a_server_with_a_password(web: Web, tmp_path: Path) -> None:
    pytest.importorskip("deltalake")
    print(tbq.lake.sync(given(web), tmp_path / "lake"))
    web.put(f"runs/c/{NAME}", events(3))
    print(tbq.lake.sync(given(web), tmp_path / "lake"))
    lake = tbq.open(tmp_path / "lake")
    assert len(lake.scalars()) == 43
    clean(lake.table("files").to_dicts())
    clean_files(tmp_path)


def test_two_users_of_one_server(web: Web) -> None:
    other = "Basic " + base64.b64encode(b"you:other").decode()
    web.answer = lambda asked: (
        None if asked.headers.get("authorization") == (other if "/b" in asked.path else BASIC) else 401
    )
    a, b = given(web) + "/a", web.url.replace("://", "://you:other@") + "/runs/b"
    assert len(tbq.open([a, b]).scalars()) == 40


@pytest.mark.parametrize("url", ["http://{}@127.0.0.1:9/runs", "x:http://{}@127.0.0.1:9/runs", "s3://{}@bucket/runs",
                                 "ftp://{}@host/x", "file://{}@host/x", "http:/{}@127.0.0.1:9/runs"])  # fmt: skip
@pytest.mark.parametrize("user", ["me:hunter2", "hunter2", "me:hunter2/x", "hunter2:x-oauth"])
def test_errors_do_not_show_a_password(url: str, user: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from tbq.source import store

    monkeypatch.setattr(store, "_retries", lambda patient: {"max_retries": 0})
    store._connect.cache_clear()
    if user == "hunter2" and url.startswith("s3"):
        pytest.skip("stores have no users: this is the name of a bucket")
    path = url.format(user)
    with pytest.raises(TbqError) as raised:
        tbq.open(path)
    clean(*traceback.format_exception(raised.value), raised.value.path, raised.value.args)
    for call in (lambda: tbq.doctor(path).report(path), lambda: tbq.follow(path)):
        try:
            clean(call())  # type: ignore[no-untyped-call]
        except TbqError as failure:
            clean(*traceback.format_exception(failure), failure.path)
    store._connect.cache_clear()


@pytest.mark.parametrize(
    "url",
    [
        "https://host/x?sig=hunter2",
        "https://host/x?X-Amz-Signature=hunter2&X-Amz-Expires=9",
        "https://host/x#access_token=hunter2",
        "https://host/x?hunter2",
        "az://container/x?sv=2020&sig=hunter2%3D",
        "s3://bucket/x?AWSAccessKeyId=hunter2&Signature=hunter2",
        "gs://bucket/x?X-Goog-Signature=hunter2",
    ],
)
def test_tokens_in_queries(url: str) -> None:
    clean(shown_path(url), TbqError(f"cannot reach {url}: no", path=url, hint=f"see {url}"))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        tbq.errors.warn(f"{url}: odd")
    clean(*(each.message for each in said))


def test_what_is_not_a_secret_stays() -> None:
    for text in ("runs/me@home/x", "http://host:8080/a@b/c", "s3://bucket/runs/what?/x", "a: b @ c", "C:/x@y/z",
                 "abfss://container@account.dfs.core.windows.net/runs", "see https://host/a/b (or not)",
                 "runs/http/a@b/c", r"C:\http\me@x", "http//host:80/a@b", r"C:\\http\\me@x", "runs//a@b/c",
                 r"\\server\share\a@b", "file:///x/a:b@c", "//host:80/a@b", "a//b: c@d"):  # fmt: skip
        assert without_secrets(text) == text


@pytest.mark.parametrize(
    "start",
    [
        "http//",
        "HTTPS//",
        "http:/",
        "htp://",
        "http:///",
        "http:\\\\",
        "HTTPS:\\\\",
        "http:/\\",
        "http\\\\",
        "http:////",
        "//",
        "\\\\",
        "http;//",
        "h://",
        "s3:\\\\",
    ],
)
def test_a_misspelt_url_shows_no_password(start: str) -> None:
    with pytest.raises(TbqError) as raised:
        tbq.open(f"{start}me:hunter2-p@ss/w@host/runs")
    clean(raised.value, raised.value.path)
    with pytest.raises(TbqError) as raised:
        tbq.open(f"{start}me:hunter2@host/runs")
    clean(raised.value, raised.value.path)


def test_options_that_are_wrong_are_not_shown() -> None:
    for call in (lambda: pairs(["hunter2"]), lambda: chosen("hunter2"), lambda: chosen({"key": ["hunter2"]})):
        with pytest.raises(TbqError) as raised:
            call()  # type: ignore[no-untyped-call]
        clean(raised.value)


def test_what_a_library_says_of_its_options(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TBQ_CACHE", str(tmp_path))
    for storage in (
        {
            "aws_secret_access_key": "hunter2-x",
            "aws_endpoint": "http://127.0.0.1:9/hunter2-x",
            "aws_region": "x",
        },
        {"header.X-Key": "hunter2\nX-Other: y"},
        {"aws_endpoint": "http://me:hunter2@127.0.0.1:9", "aws_skip_signature": "true", "aws_region": "x"},
        {"proxy_url": "ht!tp://hunter2", "aws_skip_signature": "true"},
    ):
        with pytest.raises(TbqError) as raised:
            tbq.open("s3://bucket/runs", storage={**storage, "timeout": "1s"})
        clean(*traceback.format_exception(raised.value))


@pytest.mark.parametrize(
    ("header", "what"),
    [("X-Key", "file"), ("X-Key", "listing"), ("Authorization", "file"), ("Cookie", "listing")],
)
def test_a_header_does_not_follow_to_another_server(
    header: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TBQ_CACHE", str(tmp_path / "cache"))
    with scripted() as here, scripted() as elsewhere:
        for server in (here, elsewhere):
            server.put(f"runs/a/{NAME}", events(20))
            server.put(f"runs/b/{NAME}", events(20))
        secret = header.lower()

        def answer(asked: Asked) -> int | str | None:
            if asked.headers.get(secret) != "hunter2":
                return 401
            is_file = asked.path.endswith(NAME)
            return (
                f"{elsewhere.url}{asked.path}" if is_file == (what == "file") and "/a" in asked.path else None
            )

        here.answer = answer
        log = tbq.open(f"{here.url}/runs", storage={f"header.{header}": "hunter2"})
        assert len(log.scalars()) == 40
        assert elsewhere.requests and not any(secret in asked.headers for asked in elsewhere.requests)
        assert len(tbq.open(f"{here.url}/runs", storage={f"header.{header}": "hunter2"}).scalars()) == 40


@pytest.mark.parametrize("url", ["s3://bucket/runs", "gs://bucket/runs", "az://bucket/runs"])
def test_a_store_takes_no_header_that_would_follow_a_redirect(url: str) -> None:
    with scripted() as elsewhere, scripted() as here:
        here.answer = lambda asked: f"{elsewhere.url}{asked.path}"
        storage = {
            "s3": {"aws_endpoint": here.url, "aws_skip_signature": "true", "aws_region": "x"},
            "gs": {"google_base_url": here.url, "google_skip_signature": "true"},
            "az": {
                "azure_endpoint": here.url,
                "azure_skip_signature": "true",
                "azure_storage_account_name": "x",
            },
        }[url[:2]]
        with pytest.raises(TbqError, match="takes only the headers") as raised:
            tbq.open(url, storage={**storage, "header.X-Key": "hunter2"})
        clean(raised.value)
        with pytest.raises(TbqError):
            tbq.open(url, storage={**storage, "header.Authorization": "hunter2"})
        assert not any("hunter2" in value for asked in elsewhere.requests for value in asked.headers.values())


def test_commands_do_not_show_a_password(web: Web, tmp_path: Path) -> None:
    url = given(web)
    environment = {**os.environ, "TBQ_CACHE": str(tmp_path / "cache")}

    def run(*args: Any) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tbq", *map(str, args)]
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    for args in (["ls", url], ["doctor", url], ["follow", url, "--from", "start", "--idle", 0], ["tags", url],
                 ["sql", url, "from files"], ["export", url, "-o", tmp_path / "x.csv"],
                 ["report", url, "-o", tmp_path / "report.html"]):  # fmt: skip
        done = run(*args)
        assert done.returncode == 0, done.stderr
        clean(done.stdout, done.stderr)
    web.answer = lambda asked: 403
    for args in (["ls", url], ["follow", url, "--idle", 0], ["rewrite", url, tmp_path / "new"]):
        done = run(*args)
        assert done.returncode
        clean(done.stdout, done.stderr)
    clean_files(tmp_path)


@pytest.mark.parametrize(
    ("status", "storage"),
    [("400 Bad Request", None), ("418 Odd", {"header.Authorization": BASIC}), ("500 Oops", {"header.X-Key": SECRET}),
     ("500 Oops", None)],
)  # fmt: skip
def test_a_server_that_repeats_what_it_was_sent(
    status: str, storage: dict[str, str] | None, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tbq.source import store

    monkeypatch.setattr(store, "_retries", lambda patient: {"max_retries": 0})
    store._connect.cache_clear()

    def answer(asked: Asked) -> bytes | None:
        if NAME not in asked.path:
            return None
        said = f"{asked.headers} {USER}:{SECRET}".encode()
        return (
            f"HTTP/1.1 {status}\r\nContent-Length: {len(said)}\r\nConnection: close\r\n\r\n".encode() + said
        )

    web.answer = answer
    log = tbq.open(given(web) if storage is None else f"{web.url}/runs", storage=storage)
    with pytest.raises(TbqError) as raised:
        log.scalars()
    for text in (*traceback.format_exception(raised.value), repr(log.problems)):
        clean(text)
        assert BASIC.split()[1] not in text
    store._connect.cache_clear()


DENIAL = b"<Error><Code>hunter2</Code></Error>"


def test_a_web_server_whose_denial_repeats_a_password(web: Web) -> None:
    said = f"HTTP/1.1 403 No\r\nContent-Length: {len(DENIAL)}\r\nConnection: close\r\n\r\n"
    web.answer = lambda asked: said.encode() + DENIAL if NAME in asked.path else None
    for url, storage in (
        (web.url.replace("://", "://me:hunter2@"), None),
        (web.url, {"header.Authorization": "hunter2"}),
        (web.url, {"header.X-Key": "hunter2"}),
    ):
        with pytest.raises(TbqError, match="access is denied") as raised:
            tbq.open(f"{url}/runs", storage=storage).scalars()
        clean(*traceback.format_exception(raised.value))


def test_a_store_whose_denial_repeats_a_key(bucket: Bucket, s3_server: S3Server) -> None:
    s3_server.before = lambda request: ("403 Forbidden", DENIAL)
    storage = {**bucket.storage, "aws_secret_access_key": "hunter2"}
    with pytest.raises(TbqError, match="access is denied") as raised:
        tbq.open(bucket.url("runs"), storage=storage)
    clean(*traceback.format_exception(raised.value))


KEYS = ["header.Authorization", "header.X-Key", "header.X Key", "aws_session_token"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *((key, f"hunter2{end}") for key in KEYS for end in ("\n", "\r\nX: y", "\0")),
        ("header.Authorization", "hunter2\u20ac"),
        ("header.X-Key", "hunter2\u20ac"),
    ],
)
def test_a_value_that_cannot_be_sent_is_not_shown(key: str, value: str, web: Web) -> None:
    url = "s3://bucket/runs" if key.startswith("aws") else f"{web.url}/runs"
    with pytest.raises(TbqError) as raised:
        tbq.open(url, storage={key: value})
    assert key in raised.value.message
    clean(*traceback.format_exception(raised.value))


@pytest.mark.parametrize(
    "path", ["https://host/runs?sig=hunter2", "x:https://host/runs?sig=a/hunter2", "https://hunter2@host"]
)
def test_the_title_of_a_page_shows_no_secret(path: str) -> None:
    from tbq.server.hidden_paths import places_of, title_of, without_paths

    clean(title_of([path]), without_paths(f"{path}: cannot be read", places_of([path])))
