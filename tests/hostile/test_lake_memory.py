"""The memory of `sync --watch` levels off while writers crash and resume."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from protolog import image, name, scalars, session_start, write

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, and glibc gives memory back"),
]

RUNS, WARM, LOOKS = 6, 15, 55
MOST = 60  # megabytes; it was 97 for as many checks when memory was not freed


class Writer:
    """A run whose process dies at every seventh flush, and resumes a few steps earlier, in a new file."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder, self._step, self._wall, self._flushes = folder, 0, 1e6 * (number + 1), number

    def flush(self) -> None:
        self._flushes += 1
        self._wall += 100
        records = list(scalars(["loss", "acc", "lr"], range(self._step, self._step + 10), self._wall))
        records.append(image("sample", self._step + 9, os.urandom(60_000), self._wall + 50))
        if self._flushes % 7 == 0 or not self._folder.exists():
            self._step = max(0, self._step - 15)
            self._file = name(self._wall)
            records.insert(0, session_start(self._step, self._wall))
            write(self._folder, *records, file=self._file)
        else:
            with (self._folder / self._file).open("ab") as file:
                file.write(b"".join(records))
        self._step += 10


def megabytes(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]


def test_memory_levels_off(tmp_path: Path) -> None:
    log, told = tmp_path / "log", tmp_path / "told"
    writers = [Writer(log / str(number), number) for number in range(RUNS)]
    for writer in writers:
        writer.flush()
    with told.open("wb") as stream:
        command = [
            sys.executable,
            "-m",
            "tbq",
            "sync",
            str(log),
            str(tmp_path / "lake"),
            "--watch",
            "--interval",
            "0.05",
        ]
        process = subprocess.Popen(command, stderr=stream)
    try:
        used: list[float] = []
        for look in range(1, LOOKS + 1):
            deadline = time.monotonic() + 60
            while told.read_text().count("written") < look:
                assert process.poll() is None and time.monotonic() < deadline, told.read_text()[-500:]
                time.sleep(0.02)
            used.append(megabytes(process.pid))
            for writer in writers:
                writer.flush()
        before, after = max(used[WARM - 5 : WARM]), max(used[-5:])
        assert after - before < MOST, [round(each) for each in used]
    finally:
        process.kill()
        process.wait()
