"""Copies of event files: counted once and reported, by open, follow, a lake and the doctor alike."""

from __future__ import annotations

import gzip
import os
import shutil

import eventfile as ef
import pytest

import tbq
from tbq.errors import TbqWarning
from tbq.source.discover import find

NAME = "events.out.tfevents.1700000000.host.1.0"


def event_file(steps, wall=ef.WALL):
    return ef.event_file(
        [ef.version(wall), *(ef.scalar("loss", step, step / 2, wall + 1 + step) for step in steps)]
    )


@pytest.fixture
def folder(tmp_path):
    run = tmp_path / "runs" / "a"
    run.mkdir(parents=True)
    (run / NAME).write_bytes(event_file(range(20)))
    return run


def bak(folder):
    shutil.copy(folder / NAME, folder / f"{NAME}.bak")
    return f"{NAME}.bak"


def other_time(folder):
    shutil.copy(folder / NAME, folder / "events.out.tfevents.1800000000.host")
    return "events.out.tfevents.1800000000.host"


def link(folder):
    os.link(folder / NAME, folder / f"{NAME}.link")
    return f"{NAME}.link"


def older(folder):
    (folder / f"{NAME}.old").write_bytes(event_file(range(8)))
    return f"{NAME}.old"


def torn(folder):
    (folder / f"{NAME}.part").write_bytes(event_file(range(8))[:-5])
    return f"{NAME}.part"


def packed(folder):
    (folder / f"{NAME}.gz").write_bytes(gzip.compress(event_file(range(20))))
    return f"{NAME}.gz"


def older_packed(folder):
    (folder / f"{NAME}.gz").write_bytes(gzip.compress(event_file(range(8))))
    return f"{NAME}.gz"


COPIES = pytest.mark.parametrize("copied", [bak, other_time, link, older, torn, packed, older_packed])


def rows(table):
    return table.to_dicts()


@COPIES
def test_open_counts_a_copy_once_and_says_so(folder, copied):
    policies = ("resume", "keep", "split")
    want = [rows(tbq.open(folder.parent).scalars(restarts=restarts)) for restarts in policies]
    name = copied(folder)
    with pytest.warns(TbqWarning, match=rf"{name}: is an? (older )?copy of {NAME}, .*count once.*mv "):
        log = tbq.open(folder.parent)
    assert [rows(log.scalars(restarts=restarts)) for restarts in policies] == want
    assert [len(each) for each in want] == [20] * 3
    (problem,) = [each for each in log.problems if each.code == "copy"]
    assert (problem.severity, problem.run, os.path.basename(problem.path)) == ("info", "a", name)
    assert rows(log.scalars(on_error="raise")) == want[0]


@COPIES
def test_the_doctor_has_a_finding_of_its_own(folder, copied):
    name = copied(folder)
    findings = tbq.doctor(folder.parent)
    assert [finding.code for finding in findings] == ["TBQ306"]
    assert findings[0].path.endswith(name) and "copy of" in findings[0].message


@COPIES
def test_following_equals_opening_while_a_copy_comes_goes_and_becomes_another_file(folder, copied):
    original = (folder / NAME).read_bytes()
    with tbq.follow(folder.parent) as follower:

        def check(count):
            follower.poll()
            with pytest.warns(TbqWarning) if os.path.lexists(path) and is_copy else _nothing():
                want = rows(tbq.open(folder.parent).scalars(on_error="ignore"))
            assert rows(follower.table("scalars")) == want and len(want) == count

        path, is_copy = folder / "none", True
        check(20)
        path = folder / copied(folder)
        check(20)
        with (folder / NAME).open("ab") as file:
            file.write(ef.record(ef.scalar("loss", 20, 1.0, ef.WALL + 21)))
        check(21)
        path.unlink()
        check(21)
        path.write_bytes(original)
        check(21)
        with path.open("ab") as file:  # it goes on differently, so it is not a copy any more
            file.write(ef.record(ef.scalar("other", 1, 1.0, ef.WALL + 30)))
        is_copy = False
        check(21 + 21)
        (folder / NAME).unlink()
        check(21)


class _nothing:  # noqa: N801
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return


@COPIES
def test_a_lake_counts_a_copy_once(folder, copied, tmp_path):
    pytest.importorskip("deltalake")
    tbq.lake.sync(folder.parent, tmp_path / "lake")
    copied(folder)
    (folder.parent / "b").mkdir()
    (folder.parent / "b" / NAME).write_bytes(event_file(range(3)))
    tbq.lake.sync(folder.parent, tmp_path / "lake")
    assert len(tbq.open(tmp_path / "lake").scalars()) == 23
    tbq.lake.sync(folder.parent, tmp_path / "fresh")
    assert len(tbq.open(tmp_path / "fresh").scalars()) == 23
    shutil.rmtree(folder.parent / "b")
    tbq.lake.sync(folder.parent, tmp_path / "lake")  # a copy does not keep runs that are gone
    assert len(tbq.open(tmp_path / "lake").scalars()) == 20


@COPIES
def test_a_lake_tells_of_a_copy_while_it_is_there(folder, copied, tmp_path):
    pytest.importorskip("deltalake")
    lake = tmp_path / "lake"
    tbq.lake.sync(folder.parent, lake)
    path = folder / copied(folder)
    for there in (True, False):
        tbq.lake.sync(folder.parent, lake)
        reported = tbq.open(lake).table("problems").to_dicts()
        assert [(each["code"], each["path"]) for each in reported] == [("copy", str(path))] * there
        if there:
            assert reported == [
                {name: getattr(each, name) for name in reported[0]} for each in opened(folder.parent).problems
            ]
            path.unlink()


def opened(path):
    with pytest.warns(TbqWarning, match="cop"):
        return tbq.open(path)


def test_what_is_not_a_copy_stays(folder, recwarn):
    data = bytearray((folder / NAME).read_bytes())
    data[-6] ^= 1
    (folder / f"{NAME}.flipped").write_bytes(data)  # the last value differs
    header = ef.event_file([ef.version(ef.WALL)])
    (folder / f"{NAME}.header").write_bytes(header)  # two writers may start at one time
    (folder / f"{NAME}.empty").write_bytes(b"")
    (folder / f"{NAME}.gz").write_bytes(gzip.compress(event_file(range(20)))[:-20])  # damaged
    other = folder.parent / "b"
    other.mkdir()
    shutil.copy(folder / NAME, other / NAME)  # a run of its own
    found = find([(None, str(folder.parent))])
    assert not found.copies and [len(run.files) for run in found.runs] == [5, 1]
    assert not recwarn


def test_of_several_copies_the_longest_is_read(folder):
    for count in (5, 15, 20):
        (folder / f"{NAME}.{count}").write_bytes(event_file(range(count)))
    (folder / f"{NAME}.more").write_bytes(event_file(range(25)))
    (folder / f"{NAME}.fork").write_bytes(event_file([*range(10), 99]))
    found = find([(None, str(folder.parent))])
    assert [os.path.basename(path) for path in found.runs[0].files] == [f"{NAME}.fork", f"{NAME}.more"]
    of = {os.path.basename(copy.path): os.path.basename(copy.of) for copy in found.copies}
    assert of.pop(f"{NAME}.5") in (f"{NAME}.fork", f"{NAME}.more")
    assert of == dict.fromkeys([NAME, f"{NAME}.15", f"{NAME}.20"], f"{NAME}.more")


def test_runs_of_one_file_are_not_opened(folder, monkeypatch):
    monkeypatch.setattr("tbq.source.copies.os.open", None)
    assert len(find([(None, str(folder.parent))]).runs) == 1


def test_equal_objects_of_a_store_are_copies(s3_server, tmp_path):
    bucket = s3_server.bucket("copies")
    bucket.put_many(
        {
            f"runs/a/{NAME}": event_file(range(20)),
            f"runs/a/{NAME}.bak": event_file(range(20)),
            "runs/a/events.out.tfevents.18": event_file(range(20, 40), ef.WALL + 1000),
        }
    )
    with pytest.warns(TbqWarning, match=f"{NAME}.bak: is a copy of {NAME}"):
        log = tbq.open(bucket.url("runs"), storage=bucket.storage, cache=tmp_path / "cache")
    assert len(log.scalars()) == 40
    assert not any(request.path.endswith(".bak") for request in bucket.requests)


def test_a_rewrite_leaves_a_copy_out_and_says_so(folder, tmp_path):
    bak(folder)
    with pytest.warns(TbqWarning, match="is a copy of"):
        tbq.rewrite(folder.parent, tmp_path / "new")
    assert len(tbq.open(tmp_path / "new").scalars()) == 20
