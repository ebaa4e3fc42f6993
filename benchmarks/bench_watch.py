"""The cost of `tbq watch`: time to the first frame and the curves of about 1 GB, and idle CPU."""

from __future__ import annotations

import os
import re
import select
import struct
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.harness import seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.harness import Bench

_BRAILLE = re.compile("[\u2801-\u28ff]")
_ROWS, _COLUMNS = 34, 120
_IDLE = 15.0  # seconds


class _Times(NamedTuple):
    """Seconds since the command was started."""

    first: float  # the list of all runs is on the screen
    curves: float  # and the first curves
    whole: float  # everything was read and drawn


class _Watch:
    """`tbq watch` in a pty, whose output is read."""

    def __init__(self, path: Path) -> None:
        import fcntl
        import pty
        import termios

        self.began = time.perf_counter()
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            os.environ["TERM"] = "xterm-256color"
            os.execv(sys.executable, [sys.executable, "-m", "tbq", "watch", str(path)])
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
        self._text = ""

    def read(self, wait: float) -> bool:
        """Whether there was output."""
        if select.select([self._fd], [], [], wait)[0]:
            got = os.read(self._fd, 65536).decode("utf-8", "replace")
            self._text += got
            if "\x1b[c" in got:  # as every terminal does
                os.write(self._fd, b"\x1b[?62;22c")
            return True
        return False

    def times(self, runs: Sequence[str]) -> _Times:
        """When these runs were listed, and when curves appeared."""
        first = self._until(lambda: all(run in self._text for run in runs))
        curves = self._until(lambda: len(_BRAILLE.findall(self._text)) > 60)
        whole = self._until(lambda: "tbq watch " in self._text[self._text.rfind("reading") + 1 :])
        while self.read(0.2):  # the last curves; a clock ticks once in a second
            whole = time.perf_counter() - self.began
        return _Times(first, curves, whole)

    def _until(self, true: Callable[[], bool]) -> float:
        while not true():
            self.read(0.05)
            if time.perf_counter() - self.began > 60:
                raise TimeoutError("not within 60 s")
        return time.perf_counter() - self.began

    def idle(self) -> float:
        """The share of a CPU that it takes while nothing happens."""
        settled = time.perf_counter() + 5
        while time.perf_counter() < settled:
            self.read(0.1)
        before, began = self._cpu(), time.perf_counter()
        while time.perf_counter() < began + _IDLE:
            self.read(0.5)
        return (self._cpu() - before) / (time.perf_counter() - began)

    def _cpu(self) -> float:
        fields = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        os.write(self._fd, b"q")
        try:
            while os.read(self._fd, 65536):
                pass
        except OSError:  # it has ended
            pass
        os.waitpid(self._pid, 0)
        os.close(self._fd)


def run(bench: Bench) -> None:
    if sys.platform != "linux":
        return
    watched = _Watch(bench.corpus("runs1000"))
    watched.times([])
    idle = watched.idle()
    watched.close()
    bench.add("watch: idle on 1,000 runs", f"tbq {idle:.1%} of a CPU", "limit 2.0%", idle / 0.02, "<= 1x")
    with tempfile.TemporaryDirectory() as folder:
        source = next(path for path in bench.corpus("A").rglob("*tfevents*") if path.is_file())
        for number in range(1 if bench.quick else 10):  # 103 MB each
            Path(folder, f"run{number}").mkdir()
            Path(folder, f"run{number}", source.name).symlink_to(source)
        times = []
        for _ in range(3):
            watched = _Watch(Path(folder))
            times.append(watched.times([path.name for path in Path(folder).iterdir()]))
            watched.close()
    size = f"{0.1 if bench.quick else 1.0:g} GB (wall, best)"
    for what, of in (("first frame", "first"), ("first curves", "curves"), ("all curves", "whole")):
        best = min(getattr(each, of) for each in times)
        bench.add(
            f"watch: {what} of {size}",
            f"tbq {seconds(best)}",
            f"limit {seconds(1.5)}",
            best / 1.5,
            "" if of == "whole" else "<= 1x",
        )
