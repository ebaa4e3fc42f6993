"""The end of a process is the end of its run: the mark that a writer leaves without `close()`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tbq

BEGIN = """
import os, signal, sys, threading
import tbq
writer = tbq.SummaryWriter(sys.argv[1])
writer.add_scalar("loss", 1.0, 1)
if __name__ == "__main__": run = tbq.init(".", run="init", config={"lr": 0.1}); run.log({"loss": 1.0}); run.flush()
def fail():
    raise ValueError("of a thread")
def child(place, code):
    writer = tbq.SummaryWriter(place)
    writer.add_scalar("loss", 1.0, 1)
    if code == "raise":
        raise ValueError
    sys.exit(code)
"""

ENDS = {
    "falls off the end": ("", "finished"),
    "sys.exit()": ("sys.exit()", "finished"),
    "sys.exit(0)": ("sys.exit(0)", "finished"),
    "sys.exit(1)": ("sys.exit(1)", "crashed"),
    "sys.exit(text)": ("sys.exit('no such file')", "crashed"),
    "exit(2)": ("exit(2)", "crashed"),
    "raise SystemExit(3)": ("raise SystemExit(3)", "crashed"),
    "caught SystemExit": ("try:\n    sys.exit(1)\nexcept SystemExit:\n    pass", "finished"),
    "closed before": ("writer.close(); sys.exit(1)", "finished"),
    "with block": ("with writer:\n    sys.exit(1)", "crashed"),
    "with block and sys.exit(0)": ("with writer:\n    sys.exit(0)", "finished"),
    "exception": ("raise ValueError('x')", "crashed"),
    "exception, with IPython imported": ("sys.modules['IPython'] = sys\nraise ValueError", "crashed"),
    "exception that a kernel caught": (
        "sys.modules['IPython'] = sys\nsys.last_value = ValueError('of a cell')",
        "finished",
    ),
    "KeyboardInterrupt": ("raise KeyboardInterrupt", "crashed"),
    "exception in a thread": ("t = threading.Thread(target=fail); t.start(); t.join()", "finished"),
    "os._exit": ("writer.flush(); os._exit(0)", None),
    "SIGKILL": ("writer.flush(); os.kill(os.getpid(), signal.SIGKILL)", None),
    "SIGTERM": ("writer.flush(); os.kill(os.getpid(), signal.SIGTERM); signal.pause()", "crashed"),
    "SIGTERM that the program handles": (
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); os.kill(os.getpid(), signal.SIGTERM)",
        "finished",
    ),
    "fork, the child fails": (
        "pid = os.fork()\nif not pid:\n    sys.exit(1)\nos.waitpid(pid, 0)",
        "finished",
    ),
    "fork, the parent fails": (
        "pid = os.fork()\nif pid:\n    os.waitpid(pid, 0)\n    sys.exit(1)",
        "crashed",
    ),
    "logs in a later exit function": (
        "import atexit\natexit.register(sys.exit, 0)\nwriter.add_scalar('loss', 2.0, 2)\nsys.exit(1)",
        "crashed",
    ),
    "sys.exit(1) in a function": (
        "writer.close()\ndef main():\n    writer = tbq.SummaryWriter('run')\n"
        "    writer.add_scalar('loss', 2.0, 2)\n    sys.exit(1)\nmain()",
        "crashed",
    ),
    "sys.exit(0) in a function": (
        "writer.close()\ndef main():\n    writer = tbq.SummaryWriter('run')\n"
        "    writer.add_scalar('loss', 2.0, 2)\n    sys.exit(0)\nmain()",
        "finished",
    ),
    "a function forgets its writer, and the program fails later": (
        "del writer\nsys.exit(1)",
        "finished",
    ),
    "another attempt after an error": (
        "writer.close()\ntry:\n    raise MemoryError\nexcept MemoryError:\n"
        "    with tbq.SummaryWriter('run') as writer:\n        writer.add_scalar('loss', 2.0, 2)\n",
        "finished",
    ),
    "another attempt fails too": (
        "writer.close()\ntry:\n    raise MemoryError\nexcept MemoryError:\n"
        "    with tbq.SummaryWriter('run') as writer:\n        raise MemoryError\n",
        "crashed",
    ),
    "moves to another directory": ("os.chdir('/'); sys.exit(1)", "crashed"),
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only glibc reports the exit status")
@pytest.mark.parametrize(("program", "state"), ENDS.values(), ids=ENDS)
def test_the_end_of_a_process_is_that_of_its_run(tmp_path: Path, program: str, state: str | None) -> None:
    subprocess.run(
        [sys.executable, "-c", BEGIN + program, "run"], cwd=tmp_path, capture_output=True, timeout=60
    )
    of_init = tbq.open(tmp_path / "init")
    status = {"finished": "success", "crashed": "failure", "running": None}
    assert of_init.hparams()["status"].tolist() == [status[of_init.table("runs")["state"][0]]]
    log = tbq.open(tmp_path / "run")
    (row,) = log.table("runs").to_dicts()
    assert row["state"] == (state or "running")
    assert row["health"] == "ok"
    assert log.summary().to_dicts()[0]["state"] == row["state"]


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize(("code", "state"), [(0, "finished"), (3, "crashed"), ("raise", "crashed")])
def test_a_child_of_multiprocessing(tmp_path: Path, method: str, code: object, state: str) -> None:
    program = (
        f"if __name__ == '__main__':\n    import multiprocessing\n"
        f"    process = multiprocessing.get_context({method!r}).Process(target=child, args=('child', {code!r}))\n"
        "    process.start(); process.join()\n"
    )
    begin = BEGIN.replace("writer = tbq", "if __name__ == '__main__': writer = tbq", 1).replace(
        "\nwriter.add", "\nif __name__ == '__main__': writer.add", 1
    )
    (tmp_path / "program.py").write_text(begin + program)
    subprocess.run([sys.executable, "program.py", "run"], cwd=tmp_path, capture_output=True, timeout=120)
    shutil.rmtree(tmp_path / "init")
    states = {row["run"]: row["state"] for row in tbq.open(tmp_path).table("runs").to_dicts()}
    assert states == {"child": state, "run": "finished"}
