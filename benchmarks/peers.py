"""The readers that tbq is compared with: TensorBoard's own two, tbparse, and the bare loop."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
import types
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.bare import build
from benchmarks.harness import Process, UnavailableError
from benchmarks.worker import peak_memory

if TYPE_CHECKING:
    from collections.abc import Callable

EVERYTHING = ("scalars", "images", "audio", "histograms", "text", "tensor", "hparams")


def bare_loop(path: Path, *, reuse: bool = False) -> Process:
    """The yardstick (bare/bare.cpp); `reuse` keeps its columns' memory from round to round."""
    return Process([str(build("bare.cpp")), *(["--reuse"] if reuse else []), str(path)])


@dataclass
class RustServer:
    """TensorBoard's data server: every point kept, checksums on, started for each round, killed once loaded.

    Its CPU time is that of the whole process: loading and a few milliseconds more. The data has not left the process
    by then, so a client pays for gRPC on top.
    """

    logdir: Path
    keep: tuple[str, ...] = EVERYTHING
    drop: tuple[str, ...] = ()
    binary: str = ""

    def start(self) -> None:
        found = importlib.util.find_spec("tensorboard_data_server")
        if found is None or found.origin is None:
            raise UnavailableError("pip install tensorboard-data-server")
        self.binary = str(Path(found.origin).parent / "bin" / "server")
        if not os.access(self.binary, os.X_OK):
            raise UnavailableError("tensorboard-data-server has no binary for this system")

    def round(self) -> dict[str, Any]:
        samples = [f"{name}=all" for name in self.keep] + [f"{name}=0" for name in self.drop]
        command = [
            self.binary, f"--logdir={self.logdir}", "--port=0", "--reload=once", "--checksum", "--verbose",
            f"--samples-per-plugin={','.join(samples)}",
        ]  # fmt: skip
        began = time.perf_counter()
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as server:
            assert server.stderr is not None
            for line in server.stderr:
                if "Finished load cycle" in line:
                    break
            else:
                raise UnavailableError("the data server ended before it had loaded the logdir")
            wall = time.perf_counter() - began
            peak = peak_memory(server.pid)
            server.kill()
            _, status, usage = os.wait4(server.pid, 0)
            server.returncode = status
        return {"cpu": usage.ru_utime + usage.ru_stime, "wall": wall, "peak": peak}

    def stop(self) -> None:
        """Nothing runs between rounds."""


def without_tensorflow() -> None:
    """TensorBoard's own switch: with this module it works as if TensorFlow were not installed."""
    sys.modules["tensorboard.compat.notf"] = types.ModuleType("tensorboard.compat.notf")
    sys.modules["tensorflow"] = None  # type: ignore[assignment]  # tbparse imports it where it can


def event_accumulator(path: str) -> Callable[[], object]:
    """TensorBoard's EventAccumulator over each run of a logdir, sampling off, every scalar taken out."""
    without_tensorflow()
    from tensorboard.backend.event_processing import event_accumulator as ea
    from tensorboard.util import tensor_util

    runs = sorted({str(file.parent) for file in Path(path).rglob("*tfevents*")})
    guidance = {
        ea.SCALARS: 0,
        ea.TENSORS: 0,
        ea.IMAGES: 1,
        ea.AUDIO: 1,
        ea.HISTOGRAMS: 1,
        ea.COMPRESSED_HISTOGRAMS: 1,
    }

    def read() -> dict[str, Any]:
        rows, total = 0, 0.0
        for run in runs:
            accumulator = ea.EventAccumulator(run, size_guidance=guidance)
            accumulator.Reload()
            for tag in accumulator.Tags()["scalars"]:
                points = accumulator.Scalars(tag)
                rows += len(points)
                total += sum(point.value for point in points)
            for tag in accumulator.Tags()["tensors"]:
                if accumulator.SummaryMetadata(tag).plugin_data.plugin_name == "scalars":
                    tensors = accumulator.Tensors(tag)
                    rows += len(tensors)
                    total += sum(tensor_util.make_ndarray(point.tensor_proto).item() for point in tensors)
        return {"rows": rows, "values": total}

    return read


def event_accumulator_histograms(path: str) -> Callable[[], object]:
    """The same for histograms, v1 and TF2: every one as a message or an array."""
    without_tensorflow()
    from tensorboard.backend.event_processing import event_accumulator as ea
    from tensorboard.util import tensor_util

    guidance = dict.fromkeys([ea.SCALARS, ea.TENSORS, ea.IMAGES, ea.AUDIO, ea.HISTOGRAMS], 0)
    guidance[ea.COMPRESSED_HISTOGRAMS] = 1  # 0 would keep a compressed copy of each

    def read() -> dict[str, Any]:
        accumulator = ea.EventAccumulator(path, size_guidance=guidance)
        accumulator.Reload()
        rows = sum(len(accumulator.Histograms(tag)) for tag in accumulator.Tags()["histograms"])
        for tag in accumulator.Tags()["tensors"]:
            if accumulator.SummaryMetadata(tag).plugin_data.plugin_name == "histograms":
                rows += len(
                    [tensor_util.make_ndarray(point.tensor_proto) for point in accumulator.Tensors(tag)]
                )
        return {"rows": rows}

    return read


def tbparse_scalars(path: str, pivot: bool = False) -> Callable[[], object]:
    """tbparse's scalars of a logdir as a DataFrame."""
    without_tensorflow()
    from tbparse import SummaryReader

    return lambda: (
        SummaryReader(path, pivot=pivot, event_types={"scalars"}, extra_columns={"wall_time"}).scalars
    )


def polars_csv(parquet: str, out: str) -> Callable[[], object]:
    """polars, on one thread, writes a table as CSV."""
    os.environ["POLARS_MAX_THREADS"] = "1"
    import polars
    import pyarrow.parquet

    frame = polars.from_arrow(pyarrow.parquet.read_table(parquet))
    assert isinstance(frame, polars.DataFrame)
    return lambda: frame.write_csv(out)


def pandas_csv(parquet: str, out: str) -> Callable[[], object]:
    """pandas writes a table as CSV."""
    import pyarrow.parquet

    frame = pyarrow.parquet.read_table(parquet).to_pandas()
    return lambda: frame.to_csv(out, index=False)


def pyarrow_csv(parquet: str, out: str) -> Callable[[], object]:
    """pyarrow writes a table as CSV."""
    import pyarrow.csv
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(parquet)
    for column in ("run", "tag"):
        at = table.schema.get_field_index(column)
        table = table.set_column(at, column, table[column].cast("string"))
    return lambda: pyarrow.csv.write_csv(table, out)


def versions() -> str:
    """The peers that are installed, with their versions."""
    from importlib.metadata import PackageNotFoundError, version

    found = []
    for name in (
        "tensorboard",
        "tensorboard-data-server",
        "tbparse",
        "polars",
        "pandas",
        "pyarrow",
        "duckdb",
    ):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} –")
    return ", ".join(found)
