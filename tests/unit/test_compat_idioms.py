"""Scripts as people write them run unchanged under `tbq.compat.install()`, and print what they print without it."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import types
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from idioms import IDIOMS, Idiom
from protolog import event, header, image, number, record, scalar, strings, tensor_value, write
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.plugins.hparams import plugin_data_pb2

import tbq.compat


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("logs")
    hparams = plugin_data_pb2.HParamsPluginData()
    hparams.session_start_info.hparams["lr"].number_value = 0.5
    histogram = summary_pb2.Summary.Value(tag="weights")
    histogram.histo.CopyFrom(
        summary_pb2.HistogramProto(
            min=0, max=3, num=6, sum=9, sum_squares=20, bucket_limit=[1, 2, 3], bucket=[1, 2, 3]
        )
    )
    for run in ("a", "b/c"):
        write(
            root / run,
            header(writer="test"),
            *(scalar(tag, step, step / 8) for step in range(4) for tag in ("loss", "acc")),
            *(event(step, 5.0, tensor_value("tf2", number(step), "scalars")) for step in range(3)),
            event(1, 6.0, tensor_value("note", strings(b"hello"), "text")),
            event(
                0,
                6.0,
                tensor_value("_hparams_/session_start_info", None, "hparams", hparams.SerializeToString()),
            ),
            event(2, 7.0, histogram),
            image("picture", 1, b"\x89PNG...."),
            record(event_pb2.Event(wall_time=8.0, step=4).SerializeToString()),
        )
    return root


@pytest.fixture
def without_tensorflow(monkeypatch: pytest.MonkeyPatch) -> None:
    """TensorBoard and tbparse as if TensorFlow were not installed, so that it is not imported for nothing."""
    import tensorboard.compat

    stand_in = types.ModuleType("tensorboard.compat.notf")
    monkeypatch.setitem(sys.modules, "tensorboard.compat.notf", stand_in)
    monkeypatch.setattr(tensorboard.compat, "notf", stand_in, raising=False)
    monkeypatch.setitem(sys.modules, "tensorflow", None)


@pytest.fixture
def installed() -> Iterator[None]:
    tbq.compat.install()
    yield
    tbq.compat.uninstall()


def printed(idiom: Idiom, logdir: Path) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(idiom.code, idiom.name, "exec"), {"LOGDIR": str(logdir), "__name__": "__main__"})
    return out.getvalue()


@pytest.mark.usefixtures("without_tensorflow")
@pytest.mark.parametrize("idiom", IDIOMS, ids=lambda idiom: idiom.name)
def test_a_script_prints_the_same(idiom: Idiom, logdir: Path) -> None:
    tbq.compat.install()
    try:
        ours = printed(idiom, logdir)
    finally:
        tbq.compat.uninstall()
    assert ours
    if idiom.today:
        with warnings.catch_warnings():  # of what tbparse does with pandas
            warnings.simplefilter("ignore")
            assert ours == printed(idiom, logdir)


def test_uninstalled_is_as_before(installed: None) -> None:
    from tensorboard.backend.event_processing import event_accumulator

    assert event_accumulator.__name__ == "tbq.compat.event_accumulator"
    tbq.compat.install(protobuf=True)
    tbq.compat.uninstall()
    from tensorboard.backend.event_processing import event_accumulator as again

    assert again.__name__ == "tensorboard.backend.event_processing.event_accumulator"
    import tensorboard.backend.event_processing.event_accumulator as full

    assert full is again


def run(*args: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tbq.run", *args],
        capture_output=True,
        text=True,
        env={**os.environ, **(env or {})},
    )


def test_a_script_from_the_command_line(tmp_path: Path, logdir: Path) -> None:
    """Even without tensorboard and TensorFlow, which cannot be imported here."""
    script = tmp_path / "script.py"
    hide = """
import sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("tensorboard", "tensorflow", "google"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hide())
"""
    (tmp_path / "sitecustomize.py").write_text(hide)
    (tmp_path / "beside.py").write_text("WORD = 'beside'\n")
    lines = """
import sys
import beside
import tensorboard.backend.event_processing.event_accumulator as ea
from tensorboard.backend.event_processing import event_multiplexer, event_file_loader, directory_watcher
from tensorboard.util import tensor_util
from tensorflow.python.summary.summary_iterator import summary_iterator
acc = ea.EventAccumulator(sys.argv[1]).Reload()
print(beside.WORD, __name__, sys.argv[2:], len(acc.Scalars("loss")))
print(tensor_util.make_ndarray(acc.Tensors("tf2")[1].tensor_proto))
sys.exit(3)
"""
    script.write_text(lines)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = run("--compat", str(script), str(logdir / "a"), "x", env={"PYTHONPATH": path})
    assert done.stdout.splitlines() == ["beside __main__ ['x'] 4", "1.0"], done.stderr
    assert done.returncode == 3


def test_messages_of_the_package_from_the_command_line(tmp_path: Path, logdir: Path) -> None:
    (tmp_path / "script.py").write_text(
        "from tensorboard.backend.event_processing.event_accumulator import EventAccumulator\n"
        "from tensorboard.compat.proto.tensor_pb2 import TensorProto\n"
        f"acc = EventAccumulator({str(logdir / 'a')!r}).Reload()\n"
        "print(isinstance(acc.Tensors('tf2')[0].tensor_proto, TensorProto))\n"
    )
    assert run("--protobuf", str(tmp_path / "script.py")).stdout == "True\n"


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ((), 2),
        (("--help",), 0),
        (("--compat",), 2),
        (("--patch", "-m"), 2),
        (("--patch", "absent.py"), 2),
        (("script.py",), 2),
        (("--wrong", "script.py"), 2),
    ],
)
def test_usage(args: tuple[str, ...], code: int) -> None:
    done = run(*args)
    assert done.returncode == code
    assert (
        "python -m tbq.run --compat" in done.stdout + done.stderr
        or "no such script: 'absent.py'" in done.stderr
    )
