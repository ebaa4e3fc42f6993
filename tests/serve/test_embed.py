"""`--embed`: the page in frames of other sites, which only a secret path shows."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from served import Asked, Served
from starlette.testclient import TestClient

from tbq.server.http.app import make_app
from tbq.server.http.guard import HEADERS, Guard

SECRET = "s3cret-path"
#: A browser that loads a frame within the page of another site.
FRAME = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}


@pytest.fixture
def embedded(asked: Asked) -> TestClient:
    guard = Guard("127.0.0.1", None, embedded=True)
    return TestClient(make_app(asked.log, guard, "/user/ada", SECRET), base_url="https://hub.example")


@pytest.mark.parametrize("start", ["", "/user/ada"])  # a proxy may remove the base path
def test_a_frame_of_another_site_shows_the_page(embedded: TestClient, start: str) -> None:
    page = embedded.get(f"{start}/{SECRET}/", headers=FRAME)
    assert page.status_code == 200 and "<title>tbq</title>" in page.text
    assert "X-Frame-Options" not in page.headers
    policy = page.headers["Content-Security-Policy"]
    assert "frame-ancestors" not in policy and policy in HEADERS["Content-Security-Policy"]
    assert embedded.get(f"{start}/{SECRET}/api/state").status_code == 200
    assert embedded.get(f"{start}/{SECRET}/static/main.js").status_code == 200
    assert "set-cookie" not in page.headers


@pytest.mark.parametrize(
    "path",
    ["/", "/api/state", "/static/main.js", f"/{SECRET}x/", f"/{SECRET[:-1]}/", f"//{SECRET}/", f"/%2e/{SECRET}/",
     "/user/ada/", "/user/ada/api/state", f"/user/ada/x/{SECRET}/", "/\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9/"],
)  # fmt: skip
def test_nothing_is_shown_without_the_secret(embedded: TestClient, path: str) -> None:
    answer = embedded.get(path)
    assert (answer.status_code, answer.content) == (404, b"")
    assert embedded.post("/api/sql", json={"query": "select 1"}).status_code == 404


def test_other_sites_get_the_page_and_nothing_else(embedded: TestClient) -> None:
    """Who learns the address can open it, but a script of another site reads nothing."""
    for headers in (
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"},
        {"origin": "https://evil.example"},
    ):
        answer = embedded.get(f"/{SECRET}/api/state", headers=headers)
        assert answer.status_code == 403


def test_the_command_prints_the_secret_path(demo: Path, serve: Callable[..., Served]) -> None:
    first, second = (serve(demo, "--embed") for _ in range(2))
    assert len(urlsplit(first.url).path) > 30 and urlsplit(first.url).path != urlsplit(second.url).path
    assert urllib.request.urlopen(first.url).status == 200
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(f"http://{urlsplit(first.url).netloc}/")
    chosen = serve(demo, "--embed", "--token", "a b/c", "--base-path", "/base")
    assert urlsplit(chosen.url).path == "/base/a%20b%2Fc/"
    assert urllib.request.urlopen(chosen.url).status == 200
