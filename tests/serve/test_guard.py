"""Headers as browsers, proxies and other applications on this machine send them."""

from __future__ import annotations

import pytest
from served import Asked
from starlette.testclient import TestClient

from tbq.server.http.app import make_app
from tbq.server.http.guard import Guard

TOKEN = 'a; "b"=c %41'  # nothing that fits into a cookie as it is
FOREIGN = [
    "greeting=hello world",
    'prefs={"theme":"dark"}',
    "a",
    "=",
    "x=1, y=2",
    'open="never closed',
    "caf\xe9=\xfc",
    "a[b]=c",
    "tbq-6007=of another server",
    "tbq-0=",
    "",
]


@pytest.mark.parametrize("foreign", FOREIGN)
def test_cookies_of_others_do_not_matter(foreign: str) -> None:
    guard = Guard("0.0.0.0", TOKEN)
    ours = f"{guard.cookie}={guard.cookie_value}"
    for cookie in (f"{foreign}; {ours}", f"{ours}; {foreign}", f"{foreign};{ours};{foreign}"):
        assert guard.admits({"cookie": cookie}, None), cookie
    assert not guard.admits({"cookie": foreign}, None)
    assert not guard.admits({"cookie": f"{guard.cookie}={guard.cookie_value}x; {foreign}"}, None)


def test_the_cookie_of_an_earlier_server_and_of_another_path() -> None:
    guard = Guard("0.0.0.0", TOKEN)
    assert guard.admits({"cookie": f"{guard.cookie}=old; {guard.cookie}={guard.cookie_value}"}, None)
    assert guard.admits({"cookie": f"{guard.cookie}={guard.cookie_value}; {guard.cookie}=old"}, None)


def test_servers_of_one_host_do_not_replace_the_cookies_of_each_other() -> None:
    """Cookies know no ports, and two tunnels may lead to servers with the same one."""
    assert Guard("0.0.0.0", "one").cookie != Guard("0.0.0.0", "two").cookie


def test_a_page_behind_odd_cookies(asked: Asked) -> None:
    guard = Guard("0.0.0.0", TOKEN)
    client = TestClient(make_app(asked.log, guard), base_url="http://192.0.2.5:6007")
    entrance = client.get("/", params={"token": TOKEN})
    kept = entrance.headers["set-cookie"].partition(";")[0]
    client.cookies.clear()
    assert client.get("/api/state").status_code == 401
    for foreign in FOREIGN[:3]:
        assert client.get("/api/state", headers={"cookie": f"{foreign}; {kept}"}).status_code == 200
    several = [("cookie", "greeting=hello world"), ("cookie", kept)]  # as some proxies send them
    assert client.get("/api/state", headers=several).status_code == 200


@pytest.mark.parametrize(
    ("origin", "host", "status"),
    [
        ("http://lab.example", "lab.example:80", 200),
        ("https://lab.example", "lab.example:443", 200),
        ("https://lab.example", "lab.example", 200),
        ("http://LAB.example:6007", "lab.example:6007", 200),
        ("http://lab.example:6008", "lab.example:6007", 403),
        ("https://lab.example", "lab.example:80", 403),
        ("null", "lab.example", 403),
        ("http://[", "lab.example", 403),
        ("http://lab.example:port", "lab.example", 403),
        ("", "lab.example", 403),
    ],
)
def test_origins_with_and_without_the_usual_port(asked: Asked, origin: str, host: str, status: int) -> None:
    client = TestClient(make_app(asked.log, Guard("127.0.0.1", None, ["lab.example"])))
    assert client.get("/api/state", headers={"origin": origin, "host": host}).status_code == status


@pytest.mark.parametrize(
    ("header", "packed"),
    [
        ("gzip", True),
        ("br;q=1.0, GZIP;q=0.5", True),
        ("gzip;q=0", False),
        ("gzip; q=0.0, br", False),
        ("ungzip", False),
    ],
)
def test_only_what_is_accepted_is_compressed(asked: Asked, header: str, packed: bool) -> None:
    client = TestClient(make_app(asked.log, Guard("127.0.0.1", None)), base_url="http://127.0.0.1")
    reply = client.get("/api/runs", headers={"accept-encoding": header})
    assert (reply.headers.get("content-encoding") == "gzip") is packed


def test_images_are_asked_for_again_and_sent_once(asked: Asked) -> None:
    client = TestClient(make_app(asked.log, Guard("127.0.0.1", None)), base_url="http://127.0.0.1")
    entry = next(each for each in asked.json("tags")["tags"] if "images" in each["kinds"])
    url = f"/api/image?run={asked.id('media')}&tag={entry['tag']}"
    first = client.get(url)
    assert first.headers["cache-control"] == "private, no-cache"
    tag = first.headers["etag"]
    for known in (tag, f"W/{tag}", f'"x", {tag}', "*"):
        again = client.get(url, headers={"if-none-match": known})
        assert (again.status_code, again.content) == (304, b"")
    assert client.get(url, headers={"if-none-match": '"x"'}).content == first.content


def test_a_part_of_what_has_changed_is_not_sent(asked: Asked) -> None:
    client = TestClient(make_app(asked.log, Guard("127.0.0.1", None)), base_url="http://127.0.0.1")
    url = f"/api/audio?run={asked.id('media')}&tag=tone"
    tag = client.get(url).headers["etag"]
    part = {"range": "bytes=0-3"}
    assert client.get(url, headers={**part, "if-range": tag}).status_code == 206
    assert client.get(url, headers={**part, "if-range": '"old"'}).status_code == 200
