"""`tbq mcp` as a process, and the official client: over stdin and stdout, and over HTTP with a token."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import eventfile as ef
import httpx2
import pytest
import started
from assistants import BUDGETS, reply_of
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

import tbq

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("transport") / "runs"
    for name, end in (("a", 1.0), ("b", 2.0)):
        events = [
            ef.version(1e9),
            *(ef.scalar("val/loss", step, end + 1 / (step + 1), 1e9 + step) for step in range(9)),
        ]
        (root / name).mkdir(parents=True)
        (root / name / "events.out.tfevents.1.host").write_bytes(ef.event_file(events))
    return root


async def _conversation(client: Any) -> None:
    """What an assistant does: it lists, reads the schema, and asks."""
    assert [tool.name for tool in (await client.list_tools()).tools] == list(BUDGETS)
    (schema,) = (await client.read_resource("tbq://schema")).contents
    assert "scalars: run string, tag string, step int64" in schema.text
    replies = [
        reply_of(await client.call_tool(tool, arguments))
        for tool, arguments in (
            ("overview", {}),
            ("leaderboard", {"by": "run"}),
            ("sql", {"query": "select count(*) n from scalars"}),
            ("diagnose", {"run": "a"}),
        )
    ]
    assert not any(reply.is_error for reply in replies)
    assert "2 runs" in replies[0].text and "a: 1.111" in replies[1].text and "\n18\n" in replies[2].text
    assert (await client.call_tool("nothing", {})).is_error


def test_stdio(runs: Path) -> None:
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "tbq", "mcp", str(runs)], env=dict(os.environ)
    )

    async def talk() -> None:
        async with Client(stdio_client(command)) as client:
            await _conversation(client)

    asyncio.run(talk())


class _Http:
    """`tbq mcp --port 0` as a process."""

    def __init__(self, runs: Path) -> None:
        command = [sys.executable, "-m", "tbq", "mcp", str(runs), "--port", "0"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        watchdog = threading.Timer(90, self.process.kill)
        watchdog.start()
        said = ""
        while "Bearer" not in said:
            line = self.process.stderr.readline()
            assert line, said
            said += line
        watchdog.cancel()
        address = re.search(r"http://127\.0\.0\.1:\d+/mcp", said)
        assert address is not None
        self.address, self.token = address[0], said.rsplit("Bearer ", 1)[1].strip()


@pytest.fixture(scope="module")
def server(runs: Path) -> Iterator[_Http]:
    http = _Http(runs)
    yield http
    http.process.terminate()
    assert http.process.wait(30) == 0
    assert http.process.stdout is not None and http.process.stdout.read() == ""
    http.process.stdout.close()
    assert http.process.stderr is not None
    http.process.stderr.close()


def test_http(server: _Http) -> None:
    async def talk() -> None:
        headers = {"Authorization": f"Bearer {server.token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(server.address, http_client=http)) as client,
        ):
            await _conversation(client)

    asyncio.run(talk())


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Host": "evil.example"}, 403),
        ({"Origin": "https://evil.example"}, 403),
    ],
)
def test_strangers_are_refused(server: _Http, headers: dict[str, str], status: int) -> None:
    own = {} if status == 401 else {"Authorization": f"Bearer {server.token}"}
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    sent = {"Content-Type": "application/json", "Accept": "application/json", **own, **headers}
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(urllib.request.Request(server.address, body, sent), timeout=30)
    assert refused.value.code == status
    refused.value.close()


def test_stdin_that_closes_ends_the_process(runs: Path) -> None:
    command = [sys.executable, "-m", "tbq", "mcp", str(runs)]
    done = subprocess.run(command, input="this is not JSON\n", capture_output=True, text=True, timeout=90)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


def test_wrong_usage(runs: Path) -> None:
    assert started.tbq("mcp", runs, "--port", "70000").returncode == 2
    for wrong in ({"port": True}, {"port": -1}, {"token": " "}):
        with pytest.raises(tbq.errors.UsageError):
            tbq.mcp(runs, **wrong)
