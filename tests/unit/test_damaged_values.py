"""Single values, summaries and files of a log with damage: the last valid one is returned."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

import eventfile as ef
import pytest

import tbq
from tbq.errors import DamageError

if TYPE_CHECKING:
    from pathlib import Path


def _png() -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (1, 1)).save(out, "PNG")
    return out.getvalue()


PNG = _png()


def write(path: Path, payloads: list[bytes], broken: int | None = None) -> None:
    """A file of these events, with a bit of one of them flipped near its end."""
    records = [bytearray(ef.record(payload)) for payload in payloads]
    if broken is not None:
        records[broken][-40] ^= 1
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(records))


@pytest.fixture
def log(tmp_path: Path) -> tbq.LogDir:
    padding = bytes(5000)
    write(
        tmp_path / "run" / "events.out.tfevents.1",
        [
            ef.version(),
            *(ef.text("notes", step, b"words %d " % step + b"w" * 5000) for step in (1, 2)),
            *(ef.image("sample", step, PNG + padding) for step in (1, 2)),
            ef.text("notes", 3, b"words 3 " + b"w" * 5000),
            ef.image("sample", 3, PNG + padding),
        ],
        broken=5,
    )
    records = (tmp_path / "run" / "events.out.tfevents.1").read_bytes()
    damaged = bytearray(records)
    damaged[-40] ^= 1  # the last image
    (tmp_path / "run" / "events.out.tfevents.1").write_bytes(bytes(damaged))
    return tbq.open(tmp_path)


@pytest.mark.filterwarnings("ignore::tbq.errors.TbqWarning")
def test_the_last_sound_value_is_given(log: tbq.LogDir) -> None:
    assert log.texts().to_arrow()["step"].to_pylist() == [1, 2]
    assert log.text("notes").startswith("words 2 ")
    assert log.image("sample").size == (1, 1)
    row = log.summary(media=True).to_arrow().to_pylist()[0]
    assert row["notes"].startswith("words 2 ")
    assert row["sample"].startswith(PNG)
    assert {problem.code for problem in log.problems} == {"bad_payload"}


@pytest.mark.filterwarnings("ignore::tbq.errors.TbqWarning")
def test_a_value_that_cannot_be_decoded_is_not_the_last(tmp_path: Path) -> None:
    events = [ef.version(), ef.text("notes", 1, b"words"), ef.text("others", 1, b"more")]
    # A text tensor that claims three elements and has more: valid as a record, not as a text.
    held = ef.tensor("string", [b"a", b"b", b"c", b"d"], dims=(3,))
    events.append(ef.event(ef.summary(ef.value("notes", held, ef.metadata("text"))), step=2))
    write(tmp_path / "events.out.tfevents.1", events)
    log = tbq.open(tmp_path)
    assert log.text("notes") == "words"
    assert log.summary(media=True).to_arrow().to_pylist()[0]["notes"] == "words"


@pytest.mark.filterwarnings("ignore::tbq.errors.TbqWarning")
def test_nodes_belong_to_their_graph(tmp_path: Path) -> None:
    def graph(step: int) -> bytes:
        node = ef.bytes_field(1, ef.bytes_field(1, f"node{step}") + ef.bytes_field(2, "Const"))
        return ef.event(ef.bytes_field(4, node + ef.bytes_field(3, bytes(5000))), step=step)

    write(tmp_path / "logs" / "events.out.tfevents.1", [ef.version(), *map(graph, (1, 2, 3, 4))], broken=2)
    tbq.open(tmp_path / "logs").write_media(tmp_path / "out", kinds=["graphs"])
    found = {
        path.name.partition(".")[0]: path.read_text().splitlines()[1:]
        for path in (tmp_path / "out").rglob("*.nodes.csv")
    }
    assert {step: [line.partition(",")[0] for line in lines] for step, lines in found.items()} == {
        "00000001": ["node1"],
        "00000003": ["node3"],
        "00000004": ["node4"],
    }


def unfinished(path: Path, age: float) -> None:
    write(path, [ef.version(), *(ef.scalar("loss", step, step) for step in range(5))])
    path.write_bytes(path.read_bytes()[:-3])
    then = path.stat().st_mtime - age
    os.utime(path, (then, then))


def test_an_unfinished_record_of_an_old_file_is_a_loss(tmp_path: Path) -> None:
    unfinished(tmp_path / "events.out.tfevents.1", age=3600)
    log = tbq.open(tmp_path)
    with pytest.warns(tbq.TbqWarning, match=r"unfinished record: \d+ bytes lost after step 3"):
        assert len(log.scalars()) == 4
    assert [(problem.code, problem.severity) for problem in log.problems] == [("truncated", "error")]
    with pytest.raises(DamageError, match="unfinished record"):
        tbq.open(tmp_path).scalars(on_error="raise")


def test_a_file_that_is_being_written_is_not_damaged(tmp_path: Path) -> None:
    unfinished(tmp_path / "events.out.tfevents.1", age=0)
    log = tbq.open(tmp_path)
    assert len(log.scalars(on_error="raise")) == 4
    assert [(problem.code, problem.severity) for problem in log.problems] == [("truncated", "info")]


def test_an_old_file_that_someone_has_open_is_not_damaged(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1"
    unfinished(path, age=3600)
    with path.open("ab"):
        assert len(tbq.open(tmp_path).scalars(on_error="raise")) == 4


def test_on_error_raise_sees_damage_in_what_was_not_asked_for(tmp_path: Path) -> None:
    image = ef.image("sample", 1, bytes(17_000))
    events = [ef.version(), image, ef.scalar("loss", 1, 1.0), image, ef.scalar("loss", 2, 2.0)]
    write(tmp_path / "events.out.tfevents.1", events, broken=3)
    log = tbq.open(tmp_path)
    assert len(log.scalars(on_error="ignore")) == 2
    with pytest.raises(DamageError, match="does not match its checksum"):
        log.scalars(on_error="raise")


def test_tags_count_the_rows_that_tables_give(tmp_path: Path) -> None:
    write(
        tmp_path / "events.out.tfevents.1",
        [ef.version(1.0), *(ef.scalar("loss", s, s, 2.0 + s) for s in range(101))],
    )
    write(
        tmp_path / "events.out.tfevents.2",
        [ef.version(900.0), *(ef.scalar("loss", s, s, 901.0 + s) for s in range(5))],
    )
    log = tbq.open(tmp_path)
    with pytest.warns(tbq.TbqWarning, match="dropped 101 of 106 rows"):
        assert len(log.scalars()) == 5
    row = log.tags().to_arrow().to_pylist()[0]
    assert (row["count"], row["first_step"], row["last_step"]) == (5, 0, 4)
    run = log.table("runs").to_arrow().to_pylist()[0]
    assert (run["events"], run["last_step"]) == (5, 4)


def test_tags_see_what_a_growing_log_gained(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1"
    write(path, [ef.version(), ef.scalar("loss", 1, 1.0)])
    log = tbq.open(tmp_path)
    assert log.tags().to_arrow()["count"].to_pylist() == [1]
    with path.open("ab") as file:
        file.write(ef.record(ef.scalar("loss", 2, 2.0)))
    assert log.tags().to_arrow()["count"].to_pylist() == [2]
    assert len(log.scalars()) == 2


def test_the_health_of_a_run_is_that_of_its_data(tmp_path: Path) -> None:
    sound = [ef.version(), ef.scalar("loss", 1, 1.0)]
    write(tmp_path / "good" / "events.out.tfevents.1", sound)
    write(tmp_path / "beside_garbage" / "events.out.tfevents.1", sound)
    (tmp_path / "beside_garbage" / "events.out.tfevents.2").write_bytes(b"garbage" * 100)
    write(tmp_path / "beside_empty" / "events.out.tfevents.1", sound)
    (tmp_path / "beside_empty" / "events.out.tfevents.2").touch()
    write(tmp_path / "header" / "events.out.tfevents.1", [ef.version()])
    (tmp_path / "garbage").mkdir()
    (tmp_path / "garbage" / "events.out.tfevents.1").write_bytes(b"garbage" * 100)
    table = tbq.open(tmp_path).table("runs").to_arrow()
    assert dict(zip(table["run"].to_pylist(), table["health"].to_pylist(), strict=True)) == {
        "good": "ok",
        "beside_garbage": "damaged",
        "beside_empty": "ok",
        "header": "header_only",
        "garbage": "not_events",
    }
