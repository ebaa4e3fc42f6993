"""Short training programs over a `SummaryWriter`: `python loops.py OUT MODULE`, also under `tbq.run --patch`."""

from __future__ import annotations

import gc
import importlib
import itertools
import multiprocessing
import os
import signal
import socket
import sys
from pathlib import Path

sys.modules["tensorflow"] = None  # tensorboard would import it, which takes long

OUT = Path(sys.argv[1])
SummaryWriter = importlib.import_module(sys.argv[2]).SummaryWriter
if (
    "tensorboardX" in sys.argv[2]
):  # it names a file after second and host, and would overwrite those of one second
    numbers = itertools.count()
    socket.gethostname = lambda: f"host{next(numbers):03}"
kept = []  # writers that live until the end of the program


def losses(writer, steps, tag="loss"):
    for step in steps:
        writer.add_scalar(tag, 1 / (step + 1), step)


def closed_and_used_again(path):
    writer = SummaryWriter(path)
    losses(writer, range(3))
    writer.close()
    losses(writer, range(3, 6))
    writer.close()


def flushed_after_close(path):
    writer = SummaryWriter(path)
    losses(writer, range(3))
    writer.close()
    writer.flush()
    losses(writer, range(3, 5))
    writer.flush()
    writer.close()


def all_methods_after_close(path):
    import numpy as np

    writer = SummaryWriter(path)
    losses(writer, range(2))
    writer.close()
    writer.add_scalars("both", {"a": 1.0, "b": 2.0}, 3)
    writer.close()
    writer.add_histogram("histogram", np.arange(10.0), 3)
    writer.close()
    writer.add_image("image", np.zeros((3, 4, 4), np.uint8), 3)
    writer.close()
    writer.add_text("text", "words", 3)
    writer.close()
    writer.add_pr_curve("curve", np.array([0, 1]), np.array([0.1, 0.9]), 3)
    writer.close()
    losses(writer, range(4, 6))
    writer.close()


def with_block_then_more(path):
    with SummaryWriter(path) as writer:
        losses(writer, range(3))
    losses(writer, range(3, 5))
    writer.close()


def lines_after_close(path):
    writer = SummaryWriter(path)
    for step in range(3):
        writer.add_scalars("chart", {"a": step, "b": -step}, step)
        writer.close()


def file_writer_after_close(path):
    writer = SummaryWriter(path)
    losses(writer, range(2))
    writer.close()
    assert writer.all_writers is None
    writer._get_file_writer()
    losses(writer, range(2, 4))
    assert list(writer.all_writers) and len(writer.default_bins) == 1549
    writer.close()


def never_closed(path):
    writer = SummaryWriter(path)
    losses(writer, range(4))
    writer.flush()
    del writer
    gc.collect()


def global_writer(path):
    kept.append(SummaryWriter(path))
    losses(kept[-1], range(4))


def global_writer_closed_and_used(path):
    kept.append(SummaryWriter(path))
    losses(kept[-1], range(2))
    kept[-1].close()
    losses(kept[-1], range(2, 4))


def resumed(path):
    for steps in (range(5), range(3, 8)):
        writer = SummaryWriter(path)
        losses(writer, steps)
        writer.close()


def resumed_with_purge(path):
    for steps, purge in ((range(5), None), (range(3, 8), 3)):
        writer = SummaryWriter(path, purge_step=purge)
        losses(writer, steps)
        writer.close()


def two_writers(path):
    writers = [SummaryWriter(path), SummaryWriter(path, filename_suffix=".second")]
    for step in range(4):
        for rank, writer in enumerate(writers):
            writer.add_scalar("loss", rank, step)
    for writer in writers:
        writer.close()


def hparams_between(path):
    writer = SummaryWriter(path)
    losses(writer, range(2))
    writer.close()
    losses(writer, range(2, 4))
    writer.add_hparams({"lr": 0.1, "net": "a"}, {"best": 1.0})
    losses(writer, range(4, 6))
    writer.close()


def explicit_times(path):
    writer = SummaryWriter(path)
    for step in range(4):
        writer.add_scalar("loss", step, step, walltime=1000.0 + step)
    writer.close()


def in_processes(path, method, count):
    context = multiprocessing.get_context(method)
    workers = [context.Process(target=worker, args=(f"{path}/rank{rank}", rank)) for rank in range(count)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
        assert each.exitcode == 0


def worker(path, rank):
    writer = SummaryWriter(path)
    for step in range(4):
        writer.add_scalar("loss", rank, step)
    writer.close()


def forked_processes(path):
    in_processes(path, "fork", 2)


def spawned_process(path):
    in_processes(path, "spawn", 1)


def ended_by_sigterm(path):
    child = os.fork()
    if not child:
        writer = SummaryWriter(path)
        losses(writer, range(3))
        writer.flush()
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()
    os.waitpid(child, 0)


def no_file(path):
    if "tensorboardX" in sys.argv[2]:
        writer = SummaryWriter(path, "", None, 10, 120, "", False, comet_config={"disabled": True})
        losses(writer, range(3))
        writer.close()
    worker(f"{path}/other", 1)


PROGRAMS = [
    closed_and_used_again, flushed_after_close, all_methods_after_close, with_block_then_more, lines_after_close,
    file_writer_after_close, never_closed, global_writer, global_writer_closed_and_used, resumed, resumed_with_purge,
    two_writers, hparams_between, explicit_times, forked_processes, spawned_process, ended_by_sigterm, no_file,
]  # fmt: skip

if __name__ == "__main__":
    for program in PROGRAMS:
        program(str(OUT / program.__name__))
