"""`tbq serve` as a program: its address, its port, its end; pages that open and close."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
from collections.abc import Callable
from pathlib import Path

import pytest
from served import Served
from waiting import wait_for

import tbq

Serve = Callable[..., Served]


def test_it_ends_at_once_and_says_nothing(serve: Serve, demo: Path) -> None:
    server = serve(demo, "--port", 0)
    assert json.loads(server.get("api/state"))["title"] == "runs"
    host, _, port = server.url.removeprefix("http://").strip("/").partition(":")
    with socket.create_connection((host, int(port))) as page:  # a page that is open, and stays so
        page.sendall(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200 OK" in page.recv(4096)
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(timeout=120) == 0
    server.stop()
    assert server.words == []


@pytest.mark.skipif(os.name != "posix", reason="SIGTERM")
def test_sigterm_ends_it_too(serve: Serve, demo: Path) -> None:
    server = serve(demo, "--port", 0)
    server.process.terminate()
    assert server.process.wait(timeout=120) == 0
    server.stop()
    assert server.words == []


def test_a_port_in_use(serve: Serve, demo: Path) -> None:
    first = serve(demo, "--port", 0)
    port = int(first.url.rsplit(":", 1)[1].strip("/"))
    second = serve(demo, "--port", port)
    taken = int(second.url.rsplit(":", 1)[1].strip("/"))
    assert taken > port
    wait_for(lambda: second.words)
    assert second.words == [f"tbq: port {port} is in use, taking {taken}\n"]
    assert json.loads(second.get("api/state"))["title"] == "runs"


def test_other_hosts_need_a_token(serve: Serve, demo: Path) -> None:
    server = serve(demo, "--port", 0, "--host", "0.0.0.0")
    address, _, token = server.url.partition("?token=")
    assert len(token) >= 20
    with pytest.raises(urllib.error.HTTPError) as refused:
        server.get("api/state")
    assert refused.value.code == 401
    refused.value.close()
    assert json.loads(server.get("api/state", Authorization=f"Bearer {token}"))["runs"] == 9
    given = serve(demo, "--port", 0, environment={"TBQ_TOKEN": "mine"})
    assert given.url.endswith("?token=mine")
    assert address.startswith("http://127.0.0.1:")


def test_an_appended_event_is_told_of(serve: Serve, tmp_path: Path) -> None:
    server = serve(tmp_path / "later", "--port", 0)
    assert json.loads(server.get("api/state"))["waiting"] is True
    host, _, port = server.url.removeprefix("http://").strip("/").partition(":")
    with socket.create_connection((host, int(port)), timeout=30) as page:
        page.sendall(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        got = b""
        while b'"version"' not in got:
            got += page.recv(4096)
        with tbq.SummaryWriter(tmp_path / "later" / "run") as writer:
            writer.add_scalar("loss", 0.5, 7)
            writer.flush()
            run = {"last_step": None}
            while run["last_step"] is None:  # the page may first hear of the file alone
                got = b""
                while b'"runs": [0]' not in got:
                    got += page.recv(4096)
                run = json.loads(server.get("api/runs"))["runs"][0]
    assert (run["name"], run["last_step"], run["state"]) == ("run", 7, "running")


def test_twenty_pages_and_some_that_break_off(serve: Serve, demo: Path) -> None:
    server = serve(demo, "--port", 0)
    host, _, port = server.url.removeprefix("http://").strip("/").partition(":")
    wrong: list[BaseException] = []

    def page(number: int) -> None:
        try:
            with socket.create_connection((host, int(port)), timeout=120) as events:
                events.sendall(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
                events.recv(100)
                for _ in range(5):
                    server.get("api/runs")
                    server.get(f"api/curves?tag=val/loss&width={100 + number}&smooth=0.{number % 10}")
                with socket.create_connection((host, int(port)), timeout=120) as gone:
                    gone.sendall(b"GET /api/curves?tag=train/loss HTTP/1.1\r\nHost: localhost\r\n\r\n")
                with socket.create_connection((host, int(port)), timeout=120) as gone:
                    gone.sendall(b"POST /api/sql HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{")
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=page, args=(number,), daemon=True) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not wrong, wrong[:1]
    assert json.loads(server.get("api/state"))["runs"] == 9
    assert server.words == []


def test_a_missing_extra_is_named(demo: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as util\nfind = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'uvicorn' else find(name, *rest)\n"
    )
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-m", "tbq", "serve", str(demo)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    assert "tbq serve needs uvicorn" in done.stderr and "[serve]'" in done.stderr.partition("pip install ")[2]


@pytest.mark.parametrize("args", [["--port", "70000"], ["--host", "nowhere.invalid"], ["--token"]])
def test_wrong_usage(demo: Path, args: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tbq", "serve", str(demo), *args], capture_output=True, text=True, timeout=60
    )
    assert done.returncode in (1, 2)
    assert done.stderr.startswith("tbq: ") and "Traceback" not in done.stderr


def test_nothing_waits_for_the_browser_to_confirm_what_came_before() -> None:
    """Headers and body are two writes; without TCP_NODELAY the second waits 40 ms for the first."""
    from tbq.server.http.listening import Listening

    async def look() -> int:
        found: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def accepted(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            taken = writer.get_extra_info("socket")
            found.set_result(taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        server = await asyncio.start_server(accepted, sock=listening.socket)
        async with server:
            _, writer = await asyncio.open_connection("127.0.0.1", listening.port)
            writer.close()
            return await found

    with Listening.at("127.0.0.1", 0) as listening:
        assert asyncio.run(look()) != 0
