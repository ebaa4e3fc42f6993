"""Several threads read from one loader: each record goes to exactly one of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import tbq

_SCRIPT = """
import sys, threading
from tbq.compat.event_file_loader import RawEventFileLoader

def read(loader, out):
    for _ in range(20):
        out.extend(loader.Load())

want = sorted(RawEventFileLoader(sys.argv[1]).Load())
for _ in range(15):
    loader, found = RawEventFileLoader(sys.argv[1]), [[] for _ in range(6)]
    threads = [threading.Thread(target=read, args=(loader, out)) for out in found]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert sorted(record for out in found for record in out) == want
print(len(want))
"""


def test_threads_share_a_loader_of_a_damaged_file(tmp_path: Path) -> None:
    with tbq.SummaryWriter(tmp_path) as writer:
        for step in range(4000):
            writer.add_scalar("loss", float(step), step)
    (path,) = tmp_path.iterdir()
    damaged = bytearray(path.read_bytes())
    for place in range(300, len(damaged), 120):
        damaged[place] ^= 255
    path.write_bytes(damaged)
    done = subprocess.run([sys.executable, "-c", _SCRIPT, str(path)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 1000
