"""A disk that refuses, accepts a part, disappears and recovers, in any order: lost events are counted."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import examples

import tbq
from tbq.write import file

REFUSALS = [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.ESTALE]

# What the next calls of `os.write` do: accept everything, accept this many bytes, or refuse.
WRITES = st.lists(
    st.one_of(st.just(None), st.integers(1, 200), st.sampled_from([-number for number in REFUSALS])),
    max_size=40,
)
# How many events are logged before each flush.
BATCHES = st.lists(st.integers(0, 60), min_size=1, max_size=8)


class Disk:
    def __init__(self, plan: list[int | None]) -> None:
        self.plan = list(plan)
        self.real = os.write

    def write(self, descriptor: int, data: Any) -> int:
        how = self.plan.pop(0) if self.plan else None
        if how is not None and how < 0:
            raise OSError(-how, os.strerror(-how))
        return self.real(descriptor, data if how is None else data[:how])


@pytest.mark.long
@examples(150)
@given(WRITES, BATCHES, st.sampled_from([300, 3_000, 1 << 20]), st.sampled_from([50, 1 << 18]), st.booleans())
def test_every_event_is_in_a_file_once_or_counted(
    plan: list[int | None], batches: list[int], memory: int, piece: int, purge: bool
) -> None:
    from tensorboard.compat.proto.event_pb2 import Event

    root = Path(tempfile.mkdtemp())
    disk = Disk(plan)
    logging.getLogger("tbq.write").setLevel(logging.CRITICAL)
    try:
        with (
            mock.patch.object(file, "_MAX_BYTES", memory),
            mock.patch.object(file, "_PIECE", piece),
            mock.patch.object(os, "write", disk.write),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            writer = tbq.SummaryWriter(root, flush_secs=3600, purge_step=5 if purge else None)
            step = 0
            for batch in batches:
                for _ in range(batch):
                    writer.add_scalar("x", 1.0, step)
                    step += 1
                writer.flush()
            writer.close()
        got, marks = [], 0
        for path in sorted(root.iterdir(), key=lambda path: int(path.name.rpartition(".")[2])):
            data, at, kinds = path.read_bytes(), 0, []
            while at + 12 <= len(data):
                length = int.from_bytes(data[at : at + 8], "little")
                if at + 16 + length > len(data):
                    break
                event = Event.FromString(data[at + 12 : at + 12 + length])
                kinds.append(event.WhichOneof("what"))
                got += [event.step for _ in event.summary.value]
                at += 16 + length
            assert at == len(data) or -errno.ESTALE in plan  # a file that is gone cannot be mended
            assert kinds[:1] in ([], ["file_version"]) and kinds.count("file_version") <= 1
            marks += kinds.count("session_log")
        assert len(got) + writer._file.lost == step
        assert got == sorted(set(got))
        assert marks == int(purge) or not got or -errno.ESTALE in plan
    finally:
        logging.getLogger("tbq.write").setLevel(logging.NOTSET)
        shutil.rmtree(root)
