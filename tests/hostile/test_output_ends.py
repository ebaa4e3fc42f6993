"""An output that a signal or a kill interrupts: nothing is left, or the next output removes only that."""

from __future__ import annotations

import gzip
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import protolog as pl
import pytest

from tbq import scratch
from tbq.export import output

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there are no such signals")

# Each begins an output, reports when it is in the middle of it, and waits there.
WAYS = {
    "csv": "from tbq.export import output\nwith output('out/a.csv') as stream:\n    stream.write(b'half'); stop()",
    "replacing": (
        "from tbq.export import output\n"
        "with output('out/old', force=True) as stream:\n    stream.write(b'half'); stop()"
    ),
    "sqlite": (
        "import sqlite3\nfrom tbq.export import output_path\nwith output_path('out/a.sqlite') as path:\n"
        "    base = sqlite3.connect(path)\n    base.execute('create table t (a)')\n"
        "    base.execute('insert into t values (1)'); stop()"
    ),
    "duckdb": (
        "import duckdb\nfrom tbq.export import output_path\nwith output_path('out/a.duckdb') as path:\n"
        "    base = duckdb.connect(str(path))\n    base.execute('create table t as select 1'); stop()"
    ),
    "parquet": (
        "import tbq.export.parquet as it, pyarrow as pa\nfrom tbq.export import write\n"
        "real = it._without_nulls\nit._without_nulls = lambda table: stop()\n"
        "write(pa.table({'a': [1]}), 'out/a.parquet')"
    ),
    "xlsx": (
        "import tbq.export.xlsx as it, pyarrow as pa\nfrom tbq.export import write\n"
        "real = it._rows\n"
        "def rows(table):\n    for row in real(table):\n        yield row\n        stop()\n"
        "it._rows = rows\nwrite(pa.table({'a': [1]}), 'out/a.xlsx')"
    ),
    "folder": (
        "from tbq.export.target import output_folder\nwith output_folder('out/new') as folder:\n"
        "    (folder / 'a').write_bytes(b'half'); stop()"
    ),
    "rewrite": "import tbq\ntbq.rewrite('runs', 'out/new', progress=lambda *_: stop())",
    "all": (
        "import tbq, tbq.export.everything as it\nreal = it.write_many\n"
        "def write(*given, **more):\n    real(*given, **more); stop()\nit.write_many = write\n"
        "it.write_all(tbq.open('runs').tables(), 'out/new')"
    ),
    "unpacked": "import tbq\nlog = tbq.open('packed')\nlog.scalars(); stop()",
    "unpacking": (
        "import tbq\nfrom tbq.source import inflate\nreal = inflate._put\n"
        "def put(*given):\n    real(*given); stop()\ninflate._put = put\ntbq.open('packed').scalars()"
    ),
    "metrics": "import tbq\nlog = tbq.open('metrics.csv'); stop()",
    "reduce": (
        "import tbq\nfrom tbq.write.writer import SummaryWriter\n"
        "SummaryWriter.add_scalar = lambda *_, **__: stop()\n"
        "tbq.open('runs').write_reduced('out/new', tag='loss')"
    ),
    "demo": (
        "import tbq, tbq.write.demo as it\nreal = it._hparams\n"
        "def hparams(*given):\n    real(*given); stop()\nit._hparams = hparams\ntbq.demo('out/new')"
    ),
    "thread": (
        "import threading\nfrom tbq.export import output\n"
        "def work():\n    with output('out/a.csv') as stream:\n        stream.write(b'half'); stop()\n"
        "thread = threading.Thread(target=work); thread.start(); thread.join()"
    ),
}

PROGRAM = """
import warnings
warnings.simplefilter("ignore")
import sys, time
def stop():
    print("here", flush=True)
    {waits}
{way}
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    pl.write(
        tmp_path / "runs",
        pl.header(),
        *pl.scalars(["loss"], range(5)),
        *[pl.image("x", 1, bytes(9 << 20))] * 2,
    )
    data = b"".join([pl.header(), *pl.scalars(["loss"], range(100))])
    pl.write(tmp_path / "packed", gzip.compress(data), file=pl.name() + ".gz")
    (tmp_path / "metrics.csv").write_text("epoch,loss\n0,0.5\n1,0.25\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "temporary").mkdir()
    (tmp_path / "out" / "old").write_bytes(b"old")
    return tmp_path


def begin(place: Path, way: str, waits: str = "time.sleep(60)") -> subprocess.Popen[str]:
    it = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(way=WAYS[way], waits=waits)],
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(place / "temporary")},
    )
    assert it.stdout is not None and it.stderr is not None
    assert it.stdout.readline() == "here\n", it.stderr.read()
    return it


def left(place: Path) -> list[str]:
    return sorted(path.name for folder in ("out", "temporary") for path in (place / folder).iterdir())


@pytest.mark.long
@pytest.mark.parametrize(
    ("way", "number"), [*((way, signal.SIGTERM) for way in WAYS), (next(iter(WAYS)), signal.SIGHUP)]
)
def test_a_signal_leaves_nothing_and_is_the_exit_status(place: Path, way: str, number: int) -> None:
    with begin(place, way) as it:
        assert left(place) != ["old"]  # there is something to remove
        it.send_signal(number)
        assert it.wait(120) == -number
        assert it.stderr is not None and it.stderr.read() == ""
    assert left(place) == ["old"] and (place / "out" / "old").read_bytes() == b"old"


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
def test_what_a_killed_process_left_goes_with_the_next_output(place: Path, way: str) -> None:
    with begin(place, way) as it:
        it.kill()
    assert len(left(place)) >= 2
    again = PROGRAM.format(way=WAYS[way], waits="return 0")
    env = {**os.environ, "TMPDIR": str(place / "temporary")}
    subprocess.run([sys.executable, "-c", again], cwd=place, env=env, capture_output=True, check=False)
    assert not [name for name in left(place) if name.endswith(".tmp")]


@pytest.mark.long
@pytest.mark.parametrize("way", ["folder", "demo", "reduce"])
def test_an_empty_folder_in_which_a_process_was_killed_is_empty(place: Path, way: str) -> None:
    (place / "out" / "new").mkdir()
    with begin(place, way) as it:
        assert len(list((place / "out" / "new").iterdir())) == 1
        it.kill()
    env = {**os.environ, "TMPDIR": str(place / "temporary")}
    again = PROGRAM.format(way=WAYS[way], waits="return 0")
    subprocess.run([sys.executable, "-c", again], cwd=place, env=env, capture_output=True, check=True)
    found = [path.name for path in (place / "out" / "new").iterdir()]
    assert found and not [name for name in found if name.endswith(".tmp")]


def test_what_a_living_process_has_stays(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with begin(place, "csv", "sys.stdin.readline(); time.sleep(0.5)") as it:
        (ours,) = [name for name in left(place) if name != "old"]
        for name in ("one", "two"):
            monkeypatch.setattr(scratch, "_swept", {})
            with output(place / "out" / name):
                pass
        assert ours in left(place)
        it.kill()
    monkeypatch.setattr(scratch, "_swept", {})
    with output(place / "out" / "three"):
        pass
    assert left(place) == ["old", "one", "three", "two"]


@pytest.mark.parametrize(
    "whose", ["another machine", "another user", "a link", "a file", "not ours", "an older version"]
)
def test_what_is_not_provably_dead_and_ours_stays(
    place: Path, whose: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with begin(place, "csv") as it:
        it.kill()
    (name,) = [name for name in left(place) if name != "old"]
    found = place / "out" / name
    machine = scratch._machine()
    if whose == "another machine":
        found = found.rename(found.with_name(name.replace(machine, "0123456789ab")))
    elif whose == "another user":
        if os.geteuid() != 0:
            pytest.skip("only root gives files away")
        os.chown(found, 1234, 1234)
    elif whose == "a link":
        found.rename(place / "elsewhere")
        found.symlink_to(place / "elsewhere")
    elif whose == "a file":
        shutil.rmtree(found)
        found.write_bytes(b"x")
    elif whose == "not ours":
        found = found.rename(place / "out" / "mine.tmp")
    else:
        found = found.rename(place / "out" / ".a.csv.0123abcd.tmp")
    monkeypatch.setattr(scratch, "_swept", {})
    with output(place / "out" / "next"):
        pass
    assert found.name in left(place)
    if whose == "a link":
        assert (place / "elsewhere" / "content.csv").exists()


def test_a_child_does_not_remove_what_its_parent_uses(place: Path) -> None:
    code = """
import os, sys, tbq
log = tbq.open("packed")
assert len(log.scalars()) == 100
pid = os.fork()
if pid == 0:
    del log
    sys.exit(0)
assert os.waitpid(pid, 0)[1] == 0
assert len(log.scalars()) == 100
print(len(os.listdir("temporary")))
"""
    env = {**os.environ, "TMPDIR": str(place / "temporary")}
    done = subprocess.run(
        [sys.executable, "-Wignore::DeprecationWarning", "-c", code],
        cwd=place,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
    assert left(place) == ["old"]


@pytest.mark.long
def test_children_that_unpack_do_not_overwrite_each_other(place: Path) -> None:
    code = """
import gzip, os, pathlib, sys, tbq
sys.path.insert(0, sys.argv[1])
import protolog as pl
for n in range(6):
    rows = pl.scalars(["loss"], range(1000 * (n + 1)))
    pl.write(pathlib.Path("many", str(n)), gzip.compress(b"".join([pl.header(), *rows])))
log = tbq.open("many")
log.scalars(run="0")
pids = []
for n in range(1, 6):
    pid = os.fork()
    if pid == 0:
        os._exit(0 if len(log.scalars(run=str(n))) == 1000 * (n + 1) else 1)
    pids.append(pid)
assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 5
"""
    env = {**os.environ, "TMPDIR": str(place / "temporary")}
    done = subprocess.run(
        [sys.executable, "-Wignore::DeprecationWarning", "-c", code, pl.__file__.rpartition(os.sep)[0]],
        cwd=place,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.long
def test_many_that_begin_and_sweep_at_once_do_not_hinder_each_other(place: Path) -> None:
    code = """
import os, sys
from tbq import scratch
from tbq.export import output
for i in range(150):
    scratch._swept.clear()
    with output(f"out/{sys.argv[1]}-{i}") as stream:
        stream.write(b"x" * i)
os.kill(os.getpid(), 9) if sys.argv[1] == "0" else None
"""
    running = [subprocess.Popen([sys.executable, "-c", code, str(n)], cwd=place) for n in range(6)]
    assert [it.wait(120) for it in running] == [-9, 0, 0, 0, 0, 0]
    assert left(place) == sorted(["old", *(f"{n}-{i}" for n in range(6) for i in range(150))])


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_commands_at_any_moment(place: Path, number: int) -> None:
    """Real commands, ended anywhere: before, while and after they write."""
    commands = [
        ["export", "packed", "-o", "out/a.csv"],
        ["export", "packed", "-o", "out/a.duckdb"],
        ["rewrite", "runs", "-o", "out/new"],
        ["media", "runs", "-o", "out/media"],
        ["export", "packed", "--kind", "all", "-o", "out/all"],
    ]
    env = {**os.environ, "TMPDIR": str(place / "temporary")}
    begun = time.monotonic()
    subprocess.run([sys.executable, "-m", "tbq", *commands[0]], cwd=place, env=env, check=True)
    whole = time.monotonic() - begun
    for attempt in range(10):
        for path in (place / "out").iterdir():
            if path.name != "old" and not path.name.endswith(".tmp"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        it = subprocess.Popen(
            [sys.executable, "-m", "tbq", *commands[attempt % len(commands)]],
            cwd=place,
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(whole * (0.5 + attempt / 10))
        it.send_signal(number)
        assert it.wait(120) in (0, -number)
        if number != signal.SIGKILL:
            assert not [name for name in left(place) if name.endswith(".tmp")]
    if number == signal.SIGKILL:
        for target in ("out/a.csv", "out/b"):
            subprocess.run(
                [sys.executable, "-m", "tbq", "export", "packed", "-o", target, "--force", "--format", "csv"],
                cwd=place,
                env=env,
                check=True,
            )
        assert not [name for name in left(place) if name.endswith(".tmp")]
