"""Runs and tags of any bytes in every command, on terminals of any encoding."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import eventfile as ef
import pytest

import tbq

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such directories")

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)
RUNS = [b"caf\xe9", b"plain", b"a\xff/b\x01", b"\xfe", b"\\xfe", b"nl\nx", "ünï".encode()]
TAGS = [b"loss", b"Loss", b"\xff", b"\xfe", b"a\x00b", b"a\x1b[31mb", b"'\";--"]


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("odd") / "runs"
    for i, run in enumerate(RUNS):
        folder = os.path.join(os.fsencode(root), run)
        os.makedirs(folder)
        events = [ef.scalar(tag, step, i + step, ef.WALL + step) for tag in TAGS for step in range(3)]
        events += [
            ef.event(
                ef.summary(
                    ef.value(b"pic\xff", ef.bytes_field(4, [ef.int_field(1, 1), ef.bytes_field(4, PNG)]))
                )
            ),
            ef.text("notes", 0, b"hello \xe2\x82 there"),
        ]
        with open(os.path.join(folder, b"events.out.tfevents.1.h\xf6st"), "wb") as file:
            file.write(ef.event_file([ef.version(), *events]))
    return root


def run(*args: object, encoding: str = "utf-8", **options: object) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, "-m", "tbq", *(a if isinstance(a, bytes) else str(a) for a in args)],
        capture_output=True, env=environment, timeout=120, check=False, **options,  # type: ignore[call-overload]
    )  # fmt: skip
    assert b"Traceback" not in done.stderr, done.stderr.decode("utf-8", "replace")
    return done


@pytest.mark.long
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_every_command(odd: Path, tmp_path: Path, encoding: str) -> None:
    commands: list[list[object]] = [
        ["ls", odd], ["tags", odd], ["export", odd], ["export", odd, "--layout", "wide"], ["summary", odd],
        ["sql", odd, "select * from wide"], ["sql", odd, "select * from files"], ["sql", odd, "select * from summary"],
        ["show", odd, "notes", "--run", r"caf\xe9"], ["show", odd, r"pic\xff", "--run", "plain"],
        ["media", odd, "-o", tmp_path / "media"], ["export", odd, "--kind", "all", "-o", tmp_path / "all"],
        ["export", odd, "-o", tmp_path / "each" / "{run}.csv"], ["reduce", odd, "--stat", "mean"],
        ["compare", odd, r"caf\xe9", "plain"], ["rewrite", odd, "-o", tmp_path / "new", "--dry-run", "--json"],
        ["export", odd, "--kind", "problems"], ["ls", odd, "--format", "json"],
        ["reduce", odd, "-o", tmp_path / "reduced", "--as-events"],
    ]  # fmt: skip
    for command in commands:
        done = run(*command, encoding=encoding)
        assert done.returncode == 0, (command, done.stderr)
    for command in (["doctor", odd], ["doctor", odd, "--all"]):
        assert run(*command, encoding=encoding).returncode in (0, 1)
    for command in (
        ["doctor", odd, "--json"],
        ["rewrite", odd, "-o", tmp_path / "new", "--dry-run", "--json"],
    ):
        assert json.loads(run(*command, encoding=encoding).stdout.decode(encoding))


def test_what_is_shown_selects(odd: Path) -> None:
    log = tbq.open(odd)
    assert log.runs == sorted([r"a\xff/b" + "\x01", r"caf\xe9", "nl\nx", "plain", r"\\xfe", r"\xfe", "ünï"])
    for i, name in enumerate([r"caf\xe9", "plain", r"a\xff/b" + "\x01", r"\xfe", r"\\xfe", "nl\nx", "ünï"]):
        for tag in ("loss", "Loss", r"\xff", r"\xfe", "a\0b"):
            assert log.series(tag, run=name).values.tolist() == [i, i + 1, i + 2]
    assert len(log.images(tag=r"pic\xff")) == len(RUNS)
    assert log.text("notes", run=r"\xfe", on_error="ignore") == "hello � there"


@pytest.mark.long
def test_bytes_from_the_shell_select_too(odd: Path) -> None:
    done = run("export", odd, "--run", b"caf\xe9", "--tag", b"\xff")
    assert done.returncode == 0 and done.stdout.count(rb"caf\xe9") == 3
    done = run("ls", os.path.join(os.fsencode(odd), b"caf\xe9"))
    assert done.returncode == 0
    done = run("ls", os.path.join(os.fsencode(odd), b"no\xe9"))
    assert done.returncode == 1 and rb"no\xe9: no such file or directory" in done.stderr


def test_paths_stay_usable_and_are_shown(odd: Path) -> None:
    log = tbq.open(odd)
    assert all(Path(path).is_file() for path in log.files)
    assert all(path.encode() for path in log.table("files").to_arrow()["path"].to_pylist())
    broken = Path(os.fsdecode(os.path.join(os.fsencode(odd), b"\xfe", b"events.out.tfevents.2")))
    try:
        broken.write_bytes(b"garbage" * 100)
        log = tbq.open(odd)
        problem = next(each for each in log.problems if each.code == "not_events")
        assert Path(problem.path or "").is_file() and r"\xfe/events" in str(problem)
        assert log.table("problems").to_arrow().num_rows
        found = [finding.to_dict() for finding in tbq.doctor(odd)]
        assert json.dumps(found, ensure_ascii=False).encode()
    finally:
        broken.unlink()


def test_rewriting_keeps_the_bytes_of_names(odd: Path, tmp_path: Path) -> None:
    source = tmp_path / "some"
    for name in RUNS:
        if b"\\" not in name:
            old = os.path.join(os.fsencode(odd), name)
            os.makedirs(os.path.join(os.fsencode(source), os.path.dirname(name)), exist_ok=True)
            os.symlink(old, os.path.join(os.fsencode(source), name))
    report = tbq.rewrite(
        odd, tmp_path / "new", rename_run={r"\xfe": r"\xfd"}, rename={r"\xff": r"renamed\xff"}
    )
    assert all((tmp_path / "new" / (run.file or "")).is_file() for run in report.runs)
    assert os.path.isdir(os.path.join(os.fsencode(tmp_path / "new"), b"\xfd"))
    log = tbq.open(tmp_path / "new")
    assert r"\xfd" in log.runs and r"\xfe" not in log.runs
    assert {r"renamed\xff", r"\xfe", "a\0b"} <= set(log.tags().to_arrow()["tag"].to_pylist())
    raw = Path(log.files[log.runs.index("plain")]).read_bytes()
    assert b"renamed\xff" in raw and b"pic\xff" in raw


def test_the_doctor_names_tags_that_are_not_utf8(odd: Path) -> None:
    found = [finding for finding in tbq.doctor(odd, select="TBQ603") if finding.run == "plain"]
    assert {r"'\\xff'", r"'\\xfe'", r"'a\x00b'", r"'a\x1b[31mb'", r"'pic\\xff'"} == {
        finding.message.split()[2] for finding in found
    }
