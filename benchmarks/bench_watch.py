"""Issue 12: what `tbq watch` costs. The first frame with curves of about 1 GB, and a CPU while nothing happens."""

from __future__ import annotations

import os
import re
import select
import struct
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.harness import seconds

if TYPE_CHECKING:
    from benchmarks.harness import Bench

_BRAILLE = re.compile("[\u2801-\u28ff]")
_ROWS, _COLUMNS = 34, 120
_IDLE = 15.0  # seconds


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

    def read(self, wait: float) -> None:
        if select.select([self._fd], [], [], wait)[0]:
            self._text += os.read(self._fd, 65536).decode("utf-8", "replace")

    def first_frame(self) -> float:
        """Seconds until curves are on the screen."""
        while len(_BRAILLE.findall(self._text)) < 60:
            self.read(0.05)
            if time.perf_counter() - self.began > 60:
                raise TimeoutError("no curves within 60 s")
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
    watched.first_frame()
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
            times.append(watched.first_frame())
            watched.close()
    best = min(times)
    title = f"watch: first frame of {0.1 if bench.quick else 1.0:g} GB (wall, best)"
    bench.add(title, f"tbq {seconds(best)}", f"limit {seconds(1.5)}", best / 1.5, "<= 1x")
