"""The drop-ins on logs of TensorFlow and torch, compared with TensorBoard and tbparse using TensorFlow."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
torch = pytest.importorskip("torch")

from tensorboard.backend.event_processing import event_accumulator as theirs  # noqa: E402
from tensorboard.backend.event_processing import event_file_loader as their_loaders  # noqa: E402

import tbq.compat  # noqa: E402
from tbq.compat import event_accumulator as ours  # noqa: E402
from tbq.compat import event_file_loader as our_loaders  # noqa: E402
from tbq.compat.summary_iterator import summary_iterator  # noqa: E402
from tbq.compat.tbparse import SummaryReader  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[1] / "fixtures"))
from compatlog import state  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of tf.summary, one of TensorFlow 1 and one of torch, with values of every kind."""
    from torch.utils.tensorboard import SummaryWriter

    root = tmp_path_factory.mktemp("logs")
    chance = np.random.default_rng(0)
    images = chance.integers(0, 255, (1, 6, 5, 3)).astype(np.uint8)
    sound = np.sin(np.linspace(0, 9, 200)).astype(np.float32)
    writer = tf.summary.create_file_writer(str(root / "tf2"))
    with writer.as_default():
        for step in range(5):
            tf.summary.scalar("loss", 1.0 / (step + 1), step)
            tf.summary.histogram("weights", chance.normal(size=50), step)
            tf.summary.image("picture", images, step)
            tf.summary.audio("sound", sound[None, :, None], 8000, step)
            tf.summary.text("note", f"step {step}", step)
    writer.close()
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="one")
        old = tf.compat.v1.summary.FileWriter(str(root / "tf1"), graph)
        for step in range(5):
            value = tf.compat.v1.Summary.Value(tag="loss", simple_value=step)
            old.add_summary(tf.compat.v1.Summary(value=[value]), step)
        old.add_session_log(tf.compat.v1.SessionLog(status=tf.compat.v1.SessionLog.START), 3)
        old.close()
    with SummaryWriter(str(root / "torch")) as torch_writer:
        for step in range(5):
            torch_writer.add_scalar("loss", step / 2, step)
            torch_writer.add_histogram("weights", chance.normal(size=50), step)
            torch_writer.add_image("picture", images[0], step, dataformats="HWC")
            torch_writer.add_audio("sound", torch.tensor(sound), step, 8000)
            torch_writer.add_text("note", "hello", step)
        torch_writer.add_hparams({"lr": 0.1, "on": True, "name": "x"}, {"best": 1.0})
    return root


@pytest.mark.parametrize("run", ["tf2", "tf1", "torch"])
@pytest.mark.parametrize("sizes", [None, theirs.DEFAULT_SIZE_GUIDANCE], ids=["all", "sampled"])
def test_accumulators(logs: Path, run: str, sizes: Any) -> None:
    path = str(logs / run)
    mine = ours.EventAccumulator(path, sizes).Reload()
    other = theirs.EventAccumulator(path, sizes or theirs.STORE_EVERYTHING_SIZE_GUIDANCE).Reload()
    assert state(mine) == state(other)
    for tag in mine.Tags()["tensors"]:
        for light, real in zip(mine.Tensors(tag), other.Tensors(tag), strict=True):
            np.testing.assert_array_equal(
                tf.make_ndarray(light.tensor_proto), tf.make_ndarray(real.tensor_proto)
            )


@pytest.mark.parametrize("run", ["tf2", "tf1", "torch"])
def test_loaders_and_iterators(logs: Path, run: str) -> None:
    (path, *_) = sorted((logs / run).glob("*tfevents*"))
    for name in ("RawEventFileLoader", "LegacyEventFileLoader", "EventFileLoader"):
        ours = [_bytes(each) for each in getattr(our_loaders, name)(str(path)).Load()]
        assert ours == [_bytes(each) for each in getattr(their_loaders, name)(str(path)).Load()]
    iterated = [event.SerializeToString() for event in tf.compat.v1.train.summary_iterator(str(path))]
    assert [event.SerializeToString() for event in summary_iterator(path)] == iterated
    tbq.compat.install()
    try:
        assert tf.compat.v1.train.summary_iterator is summary_iterator
    finally:
        tbq.compat.uninstall()
    assert tf.compat.v1.train.summary_iterator is not summary_iterator


def _bytes(event: Any) -> bytes:
    return event if isinstance(event, bytes) else event.SerializeToString()


@pytest.mark.parametrize("pivot", [False, True])
@pytest.mark.parametrize("run", ["tf2", "torch", "."])
def test_tbparse(logs: Path, run: str, pivot: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import tbparse

        options: dict[str, Any] = {
            "pivot": pivot,
            "extra_columns": {
                "dir_name",
                "wall_time",
                "width",
                "height",
                "sample_rate",
                "content_type",
                "num",
            },
        }
        mine, other = (
            SummaryReader(str(logs / run), **options),
            tbparse.SummaryReader(str(logs / run), **options),
        )
        for kind in ("scalars", "tensors", "histograms", "images", "audio", "text", "hparams"):
            ours, theirs = getattr(mine, kind), getattr(other, kind)
            assert list(ours.columns) == list(theirs.columns)
            assert list(ours.dtypes) == list(theirs.dtypes)
            for name in ours.columns:
                for left, right in zip(ours[name], theirs[name], strict=True):
                    _same(left, right)


def _same(left: Any, right: Any) -> None:
    if isinstance(left, np.ndarray):
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)
    elif isinstance(left, list):
        for each in zip(left, right, strict=True):
            _same(*each)
    else:
        assert left == right or (left != left and right != right)


def test_pictures_and_sounds_of_tensors(logs: Path) -> None:
    import tbparse

    reader = SummaryReader(str(logs / "tf2"))
    tensors = reader.tensors
    for tag, name in (
        ("picture", "tensor_to_image"),
        ("sound", "tensor_to_audio"),
        ("weights", "tensor_to_histogram"),
    ):
        value = tensors[tensors["tag"] == tag]["value"].iloc[0]
        ours, other = getattr(SummaryReader, name)(value), getattr(tbparse.SummaryReader, name)(value)
        assert list(ours) == list(other)
        for key in ours:
            _same(np.asarray(ours[key]), np.asarray(other[key]))


def test_a_script_that_imports_tensorflow(logs: Path, tmp_path: Path) -> None:
    """The iterator is replaced when TensorFlow is imported, and not before."""
    (path, *_) = sorted((logs / "tf1").glob("*tfevents*"))
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nassert 'tensorflow' not in sys.modules\nimport tensorflow as tf\n"
        "events = list(tf.compat.v1.train.summary_iterator(sys.argv[1]))\n"
        "print(type(events[0]).__module__, len(events))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "tbq.run", "--compat", str(script), str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split()[0].startswith("tbq.compat")
