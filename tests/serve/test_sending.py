"""Clients that read nothing, and work that takes memory: the server holds little of either, and not for long."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from served import Asked
from starlette.testclient import TestClient

import tbq
from tbq.server.answers.health import Checkup
from tbq.server.http import sending
from tbq.server.http.app import make_app
from tbq.server.http.encoding import Answer
from tbq.server.http.guard import Guard
from tbq.server.sql.worker_pool import Job, Worker


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    root = tmp_path_factory.mktemp("long") / "runs"
    for name in "ab":
        with tbq.SummaryWriter(root / name) as writer:
            for step in range(30_000):
                writer.add_scalar("loss", step / 7, step)
    made = Asked(root)
    yield made
    made.log.close()


def client(asked: Asked) -> TestClient:
    return TestClient(make_app(asked.log, Guard("127.0.0.1", None)), base_url="http://127.0.0.1")


def test_a_long_file_is_made_part_by_part_and_is_the_same(
    long: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = long.answer("points", tag="loss")
    assert given.parts is not None and given.body == b""
    parts = list(given.parts)
    assert len(parts) == 5 and max(map(len, parts)) < 2_000_000  # a head, and two of each run
    plain = client(long).get("/api/points?tag=loss", headers={"accept-encoding": "identity"})
    assert plain.content == b"".join(parts) and plain.content.count(b"\n") == 60_001
    packed = client(long).get("/api/points?tag=loss", headers={"accept-encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip" and packed.content == plain.content
    monkeypatch.setattr(importlib.import_module("tbq.server.answers.points"), "_AT_ONCE", 10**9)
    assert long.answer("points", tag="loss").body == plain.content


def test_clients_that_do_not_read_hold_a_part_each(long: Asked) -> None:
    """The client reads nothing after the first parts: the rest of the file is not made."""
    made: list[int] = []

    def parts() -> Iterator[bytes]:
        for number in range(1000):
            made.append(number)
            yield bytes(100_000)

    async def stalled() -> int:
        outgoing = sending.Outgoing()
        response = outgoing.response(Answer(b"", "text/csv", parts=parts(), held=100_000), False)
        sent, gone = asyncio.Event(), asyncio.Event()

        async def send(message: Any) -> None:
            if message["type"] == "http.response.body":
                sent.set()
                await asyncio.Event().wait()

        async def receive() -> Any:
            await gone.wait()
            return {"type": "http.disconnect"}

        scope = {"type": "http", "method": "GET", "asgi": {"spec_version": "2.3"}, "extensions": {}}
        work = asyncio.ensure_future(response(scope, receive, send))  # type: ignore[arg-type]
        await sent.wait()
        assert outgoing.held == 100_000
        gone.set()
        await work
        return outgoing.held

    assert asyncio.run(stalled()) == 0
    assert len(made) <= 2


def test_all_that_waits_has_a_limit() -> None:
    outgoing = sending.Outgoing(most=5_000_000)
    body = bytes(range(256)) * 8000
    kept = [outgoing.response(Answer(body, gzip=None), False) for _ in range(2)]
    with pytest.raises(Exception, match="too many large replies"):
        outgoing.response(Answer(body, gzip=None), False)
    assert len(kept) == 2 and outgoing.held == 2 * len(body)
    outgoing.response(Answer(b"small"), False)  # what is small is always sent


def test_a_large_answer_is_whole(long: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "_SMALL", 10)
    for path in ("/api/runs", "/api/curves?tag=loss", "/static/page.css", "/"):
        plain = client(long).get(path, headers={"accept-encoding": "identity"})
        assert int(plain.headers["content-length"]) == len(plain.content) > 10
        assert client(long).get(path, headers={"accept-encoding": "gzip"}).content == plain.content
        head = client(long).head(path)
        assert head.status_code == 200


def test_a_client_that_takes_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "PATIENCE", 0.01)

    class Transport:
        def __init__(self, sizes: list[int]) -> None:
            self.sizes, self.aborted = sizes, asyncio.Event()

        def get_write_buffer_size(self) -> int:
            return self.sizes.pop(0) if len(self.sizes) > 1 else self.sizes[0]

        def abort(self) -> None:
            self.aborted.set()

    class Protocol:
        def __init__(self, transport: Transport) -> None:
            self.transport, self.loop, self.paused = transport, asyncio.get_running_loop(), False

        def pause_writing(self) -> None:
            self.paused = True

        def resume_writing(self) -> None:
            self.paused = False

        def connection_lost(self, exc: Exception | None) -> None:
            pass

    async def connections() -> None:
        slow = Transport([900, 800, 700, 600, 600])
        sending.patient(Protocol)(slow).pause_writing()
        await asyncio.wait_for(slow.aborted.wait(), 30)
        assert slow.sizes == [600]  # not as long as it took something
        quick = Transport([900])
        other = sending.patient(Protocol)(quick)
        other.pause_writing()
        clock = other._clock
        other.resume_writing()
        assert clock.cancelled() and not other.paused

    asyncio.run(connections())


def test_the_doctor_runs_in_a_process_that_ends(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its memory is freed with the process; the findings are the same as in this process."""
    asked = Asked(demo)
    here = Checkup(asked.log)
    here.examine()
    monkeypatch.setattr(
        importlib.import_module("tbq.diagnosis"), "doctor", lambda *_, **__: pytest.fail("it runs here")
    )
    reply = asked.json("health", wait=1)
    checkup = asked.log.checkup
    assert checkup.failure is None and not reply["running"]
    assert checkup.findings == here.findings and len(here.findings) == len(reply["findings"]) > 0
    children = asked.log.workers
    assert not children.started
    asked.log.close()


def test_a_check_whose_process_ends_says_what_ended(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No query was sent."""
    asked = Asked(demo)
    checkup = asked.log.checkup
    monkeypatch.setattr(importlib.import_module("tbq.server.sql.worker_pool").sys, "executable", "/bin/false")
    checkup.examine(Job(60))
    assert checkup.failure == "the check of the log ended the process that ran it"
    assert asked.json("health")["failure"] == checkup.failure
    asked.log.close()


def test_the_end_of_a_process_does_not_concern_the_next_question() -> None:
    """A process that keeps much memory is ended after its answer; a filter runs two queries in one job."""
    job, wanted = Job(60), {"call": "tables", "seconds": 60, "memory": 10**10}
    for _ in range(2):
        child = Worker()
        assert child.ask(job, wanted).body
        child.end()
        child._listener.join(60)
