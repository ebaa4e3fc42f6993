"""Which modules a command imports: only what it needs, so that a command on a small log costs little more than Python.

No time is asserted here; `make bench` has the times.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from tbq.errors import installer

HEAVY = (
    "pandas", "polars", "duckdb", "rich", "PIL", "openpyxl", "torch", "tensorboard", "matplotlib", "pyarrow.dataset",
    "pyarrow.parquet", "sqlite3", "ssl", "email", "asyncio", "unittest",
)  # fmt: skip
CODE = """
import sys
from tbq.cli import main
try:
    main(sys.argv[1:])
finally:
    print("\\nimported", *sys.modules, file=sys.stderr)
"""


def imported(*args: object) -> set[str]:
    """What has been imported when a command ends."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, *map(str, args)], capture_output=True, text=True, check=True
    )
    return set(done.stderr.rpartition("\nimported ")[2].split())


FIRST: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
    (("ls", "RUNS"), ()),
    (("tags", "RUNS"), ()),
    (("export", "RUNS", "-o", "x.csv"), ()),
    (("export", "RUNS", "--layout", "wide", "-o", "x.jsonl"), ()),
    (("summary", "RUNS"), ()),
    (("show", "RUNS", "notes"), ()),
    (("reduce", "RUNS", "--tag", "lr"), ()),
    (("doctor", "RUNS", "--select", "TBQ1"), ()),
    (("export", "RUNS", "-o", "x.parquet"), ("pyarrow.parquet", "ssl")),
    (("sql", "RUNS", "select 1"), ("duckdb", "pyarrow.dataset", "ssl", "email")),
]


@pytest.mark.parametrize(("args", "needs"), FIRST, ids=lambda value: " ".join(value))
def test_a_command_imports_what_it_needs(
    args: tuple[str, ...], needs: tuple[str, ...], runs: Path, tmp_path: Path
) -> None:
    given = [
        str(runs) if arg == "RUNS" else str(tmp_path / arg) if arg.startswith("x.") else arg for arg in args
    ]
    modules = imported(*given)
    assert not {name for name in HEAVY if name not in needs} & modules
    assert {name.split(".")[1] for name in modules if name.startswith("tbq.")}.isdisjoint(
        {"write", "results", "rewriting"}
    )
    if args[0] != "doctor":
        assert "tbq.diagnosis" not in modules
    if args[0] != "sql":
        assert "tbq.query.sql" not in modules


def test_duckdb_reports_no_leaks_when_python_ends(runs: Path) -> None:
    """It fails in a wheel only: a core by GCC shares nanobind's state with DuckDB's, which then reports nothing."""
    args = [sys.executable, "-c", "from tbq.cli import main; main()", "sql", str(runs), "select 1 as a"]
    done = subprocess.run(args, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "a\n1\n", "")


#: Commands that only text leaves.
TEXT = [
    ("ls", "RUNS"),
    ("ls", "RUNS", "--run", "lr=*", "-o", "x.csv"),
    ("tags", "RUNS"),
    ("tags", "RUNS", "--tag", "val/*", "--format", "json"),
    ("export", "RUNS"),
    ("export", "RUNS", "-o", "x.csv"),
    ("export", "RUNS", "-o", "x.tsv.gz"),
    ("export", "RUNS", "--tag", "lr", "--steps", "10:", "--columns", "step,value", "-o", "x.jsonl"),
    ("export", "RUNS", "--restarts", "split", "--format", "json"),
    ("export", "RUNS", "--format", "md"),
    ("export", "RUNS", "--format", "html"),
    ("export", "RUNS", "--kind", "texts"),
    ("export", "RUNS", "--kind", "hparams", "--format", "jsonl"),
    ("export", "RUNS", "--kind", "problems"),
    ("show", "RUNS", "notes"),
    ("show", "RUNS", "samples"),
    ("show", "RUNS", "lr", "--run", "diverged"),
]


@pytest.mark.parametrize("args", TEXT, ids=" ".join)
def test_text_needs_no_arrays(args: tuple[str, ...], runs: Path, tmp_path: Path) -> None:
    given = [
        str(tmp_path / arg) if arg.startswith("x.") else str(runs) if arg == "RUNS" else arg for arg in args
    ]
    assert not {*HEAVY, "numpy", "pyarrow"} & imported(*given)


@pytest.mark.parametrize("command", ["ls", "tags", "export"])
def test_a_pipe_needs_no_files(command: str, runs: Path) -> None:
    unneeded = {
        "pathlib",
        "shutil",
        "json",
        "signal",
        "tbq.scratch",
        "tbq.source.formats.sink",
        "tbq.source.nearby",
    }
    before = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    assert not unneeded & (imported(command, runs) - set(before.stdout.split()))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pseudo-terminals")
@pytest.mark.parametrize("command", ["ls", "tags", "export"])
def test_a_terminal_needs_no_arrays(command: str, runs: Path) -> None:
    import pty

    terminal, end = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, "-c", CODE, command, str(runs)], stdout=end, stderr=subprocess.PIPE, text=True
    )
    os.close(end)
    drawn = b""
    with contextlib.suppress(OSError):  # how Linux reports the end
        while block := os.read(terminal, 1 << 16):
            drawn += block
    os.close(terminal)
    _, told = done.communicate(timeout=60)
    assert done.returncode == 0
    assert "─".encode() in drawn
    modules = set(told.rpartition("\nimported ")[2].split())
    assert not {"numpy", "pyarrow", "pandas", "duckdb", "rich.console", "rich.table"} & modules


#: The later stages that each of the other commands needs, and libraries besides numpy and pyarrow.
STAGES = {
    "compat", "dashboard", "diagnosis", "following", "lake", "plot", "results", "rewriting", "server", "tensorboard",
    "write",
}  # fmt: skip
OTHERS = [
    (("completion", "bash"), set(), set()),
    (("demo", "x.runs"), {"write"}, set()),
    (("media", "RUNS", "-o", "x.media"), set(), set()),
    (("compare", "RUNS", "lr=0.1/seed=0", "lr=0.1/seed=1"), set(), set()),
    (("diagnose", "RUNS", "diverged"), {"diagnosis"}, set()),
    (("follow", "RUNS", "--idle", "0", "--from", "start"), {"following"}, set()),
    (("plot", "RUNS", "--tag", "lr"), {"following", "plot"}, {"rich"}),
    (
        ("plot", "RUNS", "--tag", "lr", "-o", "x.svg"),
        {"following", "plot"},
        {"matplotlib", "PIL", "unittest"},
    ),
    (("report", "RUNS", "-o", "x.html"), {"diagnosis", "following", "plot", "server"}, {"PIL"}),
    (("rewrite", "RUNS", "-o", "x.new"), {"rewriting"}, set()),
    (("weights", "MODEL"), {"results"}, set()),
    (("weights", "MODEL", "--elements", "-o", "x.csv"), {"results"}, set()),
    (("predictions", "OUTPUTS"), {"plot", "results"}, set()),
    (("sync", "RUNS", "x.lake"), {"lake"}, {"pyarrow.dataset", "pyarrow.parquet", "ssl"}),
]


@pytest.mark.parametrize(
    ("args", "stages", "libraries"),
    OTHERS,
    ids=lambda value: " ".join(value if isinstance(value, tuple) else sorted(value)),
)
def test_other_commands_too(
    args: tuple[str, ...], stages: set[str], libraries: set[str], runs: Path, tmp_path: Path
) -> None:
    np.savez(tmp_path / "model.npz", **{"dense.weight": np.eye(2)})
    np.save(tmp_path / "outputs.npy", np.array([[0.75, 0.25]]))
    places = {"RUNS": runs, "MODEL": tmp_path / "model.npz", "OUTPUTS": tmp_path / "outputs.npy"}
    modules = imported(*(tmp_path / arg if arg.startswith("x.") else places.get(arg, arg) for arg in args))
    assert set(HEAVY) & modules <= libraries
    assert {name.split(".")[1] for name in modules if name.startswith("tbq.")} & STAGES <= stages


def test_every_command_is_here() -> None:
    from tbq.cli import COMMANDS

    served = {"board", "mcp", "serve", "watch"}  # until they are interrupted
    assert {args[0] for args, *_ in (*FIRST, *OTHERS)} == set(COMMANDS) - served


@pytest.mark.parametrize("args", [("--help",), ("--version",)])
def test_the_help_imports_no_library(args: tuple[str, ...]) -> None:
    modules = imported(*args)
    assert not {*HEAVY, "numpy", "pyarrow", "tbq.logdir", "tbq._core"} & modules


def test_the_library_imports_nothing_heavy() -> None:
    code = "import sys, tbq; tbq.open; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {*HEAVY, "pyarrow.compute"} & set(done.stdout.split())
    code = "import sys, tbq; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {*HEAVY, "numpy", "pyarrow"} & set(done.stdout.split())


def test_the_writer_imports_nothing_of_the_readers() -> None:
    code = "import sys, tbq; tbq.SummaryWriter; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = set(done.stdout.split())
    assert (
        not {*HEAVY, "pyarrow", "tbq.source", "tbq.decode", "tbq.select", "tbq.table", "tbq.kinds"} & modules
    )


#: Runs a command of an install that has click and arro3-core, but no other dependency.
LIGHT = """
import sys
from tbq.cli.app import DEPENDENCIES
class Absent:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {*DEPENDENCIES, "pandas", "polars"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent)
from tbq.cli import main
main(sys.argv[1:])
"""


def light(*args: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", LIGHT, *map(str, args)], capture_output=True, text=True)


def test_dependencies_are_those_of_the_project() -> None:
    from tbq.cli.app import DEPENDENCIES

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    names = {need.partition(">")[0] for need in project["dependencies"]}
    assert names == {*DEPENDENCIES, "click", "arro3-core"}


def test_text_needs_click_and_arro3_only(runs: Path, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "light.csv", tmp_path / "full.csv"
    assert light("export", runs, "-o", ours).returncode == 0
    subprocess.run([sys.executable, "-m", "tbq", "export", runs, "-o", theirs], check=True)
    assert ours.read_bytes() == theirs.read_bytes()
    for args in (("ls", runs), ("tags", runs), ("show", runs, "notes"), ("completion", "bash"), ("--help",)):
        done = light(*args)
        assert (done.returncode, done.stderr) == (0, ""), args
        assert done.stdout


@pytest.mark.parametrize(
    ("args", "module"),
    [
        (("summary", "RUNS"), "pyarrow"),
        (("sql", "RUNS", "select 1"), "duckdb"),
        (("export", "RUNS", "-o", "x.parquet"), "pyarrow"),
        (("export", "RUNS", "--layout", "wide"), "numpy"),
        (("demo", "x.runs"), "numpy"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value,
)
def test_what_is_not_installed_is_named(
    args: tuple[str, ...], module: str, runs: Path, tmp_path: Path
) -> None:
    given = [
        str(runs) if arg == "RUNS" else str(tmp_path / arg) if arg.startswith("x.") else arg for arg in args
    ]
    done = light(*given)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-2:] == [
        f"tbq: this command needs {module}, which is not installed",
        f"  {installer()} {module}",
    ]
    assert list(tmp_path.iterdir()) == []


def test_other_modules_that_are_absent_are_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    from tbq.cli import app

    def absent(*_args: object, **_options: object) -> None:
        raise ModuleNotFoundError("No module named 'tbq.gone'", name="tbq.gone")

    monkeypatch.setattr(app.app, "main", absent)
    with pytest.raises(ModuleNotFoundError, match=r"tbq\.gone"):
        app.run(["ls"])
