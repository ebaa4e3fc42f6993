"""The page below a path, behind a real nginx: with and without the path in the requests that reach tbq."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from webpage import Tab, serving

import tbq
from tbq.errors import UsageError

NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed: apt-get install nginx-light")
BASE = "/user/ada@lab/tbq"


def _free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


@contextmanager
def proxied(folder: Path, place: str, target: str) -> Iterator[str]:
    """An nginx that shows `target` below `place`; its address."""
    port = _free_port()
    (folder / "nginx.conf").write_text(
        f"""daemon off; pid {folder}/pid; error_log {folder}/error.log;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port};
    location {place} {{ proxy_pass {target}; proxy_set_header Host $http_host; proxy_http_version 1.1; }}
    location / {{ return 404 "not tbq"; }}
  }}
}}
"""
    )
    assert NGINX is not None
    with subprocess.Popen([NGINX, "-p", str(folder), "-c", str(folder / "nginx.conf")]) as process:
        try:
            end = time.monotonic() + 20
            while process.poll() is None and time.monotonic() < end:
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    time.sleep(0.05)
            assert process.poll() is None, (folder / "error.log").read_text()
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(20)


@pytest.mark.parametrize("removes", [False, True], ids=["the path stays", "the proxy removes the path"])
def test_the_page_works_below_a_path(tmp_path: Path, tab: Tab, removes: bool) -> None:
    log = tmp_path / "runs"
    with tbq.SummaryWriter(log / "first") as writer:
        for step in range(20):
            writer.add_scalar("train/loss", 1 / (step + 1), step)
    with serving(log, flags=("--base-path", BASE, "--token", "secret")) as address:
        parts = urlsplit(address)
        assert parts.path == f"{BASE}/"
        target = f"http://{parts.netloc}" + ("/" if removes else "")
        with proxied(tmp_path, f"{BASE}/" if removes else "/user/", target) as outside:
            tab.page.goto(f"{outside}{BASE}/?{parts.query}")
            tab.page.wait_for_selector('[data-run="first"]')
            assert tab.page.url == f"{outside}{BASE}/"
            assert tab.drawn("train/loss")["series"][0]["n"] == 20
            assert [each["path"] for each in tab.context.cookies()] == [f"{BASE}/"]
            # Events pass the proxy at once: a new run appears without another request.
            with tbq.SummaryWriter(log / "second") as writer:
                writer.add_scalar("train/loss", 0.5, 0)
            tab.page.wait_for_selector('[data-run="second"]')
            # SQL is a POST request: its origin is the proxy.
            tab.page.get_by_role("tab", name="SQL").click()
            tab.page.get_by_role("button", name="Runs", exact=True).click()
            tab.page.locator("#rows").get_by_text("2 rows").wait_for()
            assert tab.wrong == []


def test_the_path_without_a_slash_leads_to_the_page(tmp_path: Path) -> None:
    flags = ("--base-path", BASE)
    with serving(tmp_path, flags=flags) as address, urllib.request.urlopen(address.rstrip("/")) as answer:
        assert answer.url == address
        assert b"<title>tbq</title>" in answer.read()


@pytest.mark.parametrize("path", ["user/tbq", "/a b", "/a;b", "/../x", "/a?b"])
def test_other_paths_are_refused(path: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="base_path"):
        tbq.serve(tmp_path, base_path=path)
