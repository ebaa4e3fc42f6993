"""Invalid arguments: the error names them, and the file stays valid."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tbq
from tbq.errors import OutputError, UsageError

ARRAY = np.zeros((3, 4, 4), dtype=np.float32)

CASES = {
    "tag None": (lambda w: w.add_scalar(None, 1.0, 1), "tag: got None"),
    "tag empty": (lambda w: w.add_scalar("", 1.0, 1), "tag: got an empty str"),
    "tag int": (lambda w: w.add_scalar(7, 1.0, 1), "tag: got 7 (int)"),
    "tag bytes": (lambda w: w.add_text(b"x", "t", 1), "tag: got b'x'"),
    "tag surrogate": (lambda w: w.add_scalar("a\ud800", 1.0, 1), "lone surrogate at 1"),
    "value None": (lambda w: w.add_scalar("a", None, 1), "scalar_value: got None"),
    "value str": (lambda w: w.add_scalar("a", "1.5", 1), "scalar_value: got '1.5' (str)"),
    "value list": (lambda w: w.add_scalar("a", [1.0, 2.0], 1), "scalar_value: got [1.0, 2.0] (list)"),
    "value array": (lambda w: w.add_scalar("a", np.zeros(3), 1), "scalar_value: got an array of shape (3,)"),
    "value complex": (lambda w: w.add_scalar("a", 1j, 1), "scalar_value: got 1j"),
    "value np complex": (lambda w: w.add_scalar("a", np.complex64(1), 1), "scalar_value: got"),
    "value huge": (lambda w: w.add_scalar("a", 10**400, 1), "scalar_value: got 1000"),
    "value past printing": (lambda w: w.add_scalar("a", 10**5000, 1), "scalar_value: got … (int)"),
    "line outside": (lambda w: w.add_scalars("a", {"../../../b": 1.0}, 1), "run_name: got 'a_../../../b'"),
    "exact huge": (
        lambda w: w.add_scalar("a", 2**64, 1, exact=True),
        "scalar_value: got 18446744073709551616",
    ),
    "step float": (
        lambda w: w.add_scalar("a", 1.0, 0.5),
        "global_step: got 0.5 (float), want an integer",
    ),
    "step nan": (lambda w: w.add_scalar("a", 1.0, float("nan")), "global_step: got nan"),
    "step str": (lambda w: w.add_scalar("a", 1.0, "3"), "global_step: got '3'"),
    "step array": (lambda w: w.add_scalar("a", 1.0, np.arange(3)), "global_step: got an array of shape (3,)"),
    "step huge": (lambda w: w.add_scalar("a", 1.0, 2**63), "global_step: got 9223372036854775808"),
    "text step": (lambda w: w.add_text("a", "b", 1.5), "global_step: got 1.5"),
    "walltime": (lambda w: w.add_scalar("a", 1.0, 1, "now"), "walltime: got 'now'"),
    "log no mapping": (lambda w: w.log([1.0], 1), "metrics: got [1.0] (list)"),
    "log bad value": (lambda w: w.log({"a": 1.0, "b": "x"}, 1), "metrics['b']: got 'x'"),
    "log bad tag": (lambda w: w.log({None: 1.0}, 1), "metrics: got None"),
    "scalars no mapping": (lambda w: w.add_scalars("a", 1.0, 1), "tag_scalar_dict: got 1.0"),
    "scalars run_name": (lambda w: w.add_scalars("a", {"b": 1.0}, 1, run_name="x"), "run_name: got 'x'"),
    "image axes": (lambda w: w.add_image("a", ARRAY[0], 1), "img_tensor: got shape (4, 4), want 3 axes, CHW"),
    "image channels": (lambda w: w.add_image("a", np.zeros((5, 4, 4)), 1), "img_tensor: got 5 channels"),
    "image formats": (lambda w: w.add_image("a", ARRAY, 1, dataformats="XYZ"), "dataformats: got 'XYZ'"),
    "image empty": (lambda w: w.add_image("a", np.zeros((3, 0, 4)), 1), "img_tensor: got shape (3, 0, 4)"),
    "image str": (lambda w: w.add_image("a", "cat.png", 1), "img_tensor: got 'cat.png'"),
    "image bytes": (
        lambda w: w.add_image("a", b"no image at all", 1),
        "img_tensor: got 15 bytes that are not an image",
    ),
    "image objects": (
        lambda w: w.add_image("a", np.array([[[None]]]), 1),
        "img_tensor: got an array of dtype object",
    ),
    "images axes": (lambda w: w.add_images("a", ARRAY, 1), "want 4 axes, NCHW"),
    "boxes": (
        lambda w: w.add_image_with_boxes("a", ARRAY, np.zeros((2, 3)), 1),
        "box_tensor: got shape (2, 3)",
    ),
    "figure": (lambda w: w.add_figure("a", 3, 1), "figure: got 3 (int)"),
    "video": (lambda w: w.add_video("a", ARRAY, 1), "vid_tensor: got shape (3, 4, 4)"),
    "video fps": (lambda w: w.add_video("a", np.zeros((1, 2, 3, 4, 4)), 1, fps=0), "fps: got 0"),
    "audio shape": (lambda w: w.add_audio("a", np.zeros((3, 4, 5)), 1), "snd_tensor: got shape (3, 4, 5)"),
    "audio nan": (
        lambda w: w.add_audio("a", np.array([np.nan]), 1),
        "snd_tensor: has samples that are not finite",
    ),
    "audio empty": (lambda w: w.add_audio("a", np.array([]), 1), "snd_tensor: got shape (0,)"),
    "audio bytes": (lambda w: w.add_audio("a", b"RIFF", 1), "snd_tensor: got 4 bytes that are not a WAV"),
    "text": (lambda w: w.add_text("a", 3, 1), "text_string: got 3 (int)"),
    "text surrogate": (lambda w: w.add_text("a", "\udc00", 1), "text_string: has a lone surrogate"),
    "histogram empty": (lambda w: w.add_histogram("a", [], 1), "values: has no element"),
    "histogram nan": (lambda w: w.add_histogram("a", [np.nan], 1), "values: has no value inside the bins"),
    "histogram bins": (lambda w: w.add_histogram("a", [1.0], 1, bins="nonsense"), "bins: got 'nonsense'"),
    "histogram max_bins": (lambda w: w.add_histogram("a", [1.0], 1, max_bins=0), "max_bins: got 0"),
    "histogram str": (lambda w: w.add_histogram("a", "abc", 1), "values: got 'abc'"),
    "histogram complex": (
        lambda w: w.add_histogram("a", np.ones(2, complex), 1),
        "values: got complex numbers",
    ),
    "histogram raw": (
        lambda w: w.add_histogram_raw("a", 0, 1, 2, 3, 4, [1, 2, 3], [1, 2], 1),
        "bucket_counts: got 2 counts and 3 bucket_limits",
    ),
    "tensor": (lambda w: w.add_tensor("a", np.array(["x"]), 1), "tensor: got an array of dtype"),
    "pr labels": (
        lambda w: w.add_pr_curve("a", [1, 0], [0.5], 1),
        "predictions: got 1 predictions for 2 labels",
    ),
    "pr range": (lambda w: w.add_pr_curve("a", [1], [1.5], 1), "predictions: has values outside [0, 1]"),
    "pr thresholds": (
        lambda w: w.add_pr_curve("a", [1], [0.5], 1, num_thresholds=1),
        "num_thresholds: got 1",
    ),
    "pr raw": (
        lambda w: w.add_pr_curve_raw("a", [1], [1, 2], [1], [1], [1], [1], 1),
        "false_positive_counts: got 2 values, want 1",
    ),
    "mesh": (lambda w: w.add_mesh("a", np.zeros((4, 3))), "vertices: got shape (4, 3)"),
    "mesh config": (
        lambda w: w.add_mesh("a", np.zeros((1, 4, 3)), config_dict={"a": {1}}),
        "config_dict: cannot be encoded as JSON",
    ),
    "graph": (lambda w: w.add_graph("model"), "model: got 'model'"),
    "hparams list": (lambda w: w.add_hparams([1], {}), "hparam_dict: got [1]"),
    "hparams value": (
        lambda w: w.add_hparams({"a": [1, 2]}, {}),
        "hparam_dict['a']: got [1, 2] (list), want a number, a bool or a str",
    ),
    "hparams outside": (lambda w: w.add_hparams({"a": 1}, {}, run_name="../b"), "run_name: got '../b'"),
    "hparams metric": (lambda w: w.add_hparams({}, {"m": "x"}), "metric_dict['m']: got 'x'"),
    "hparams domain": (
        lambda w: w.add_hparams({"a": 1}, {}, {"a": ["x"]}),
        "hparam_domain_discrete['a']: got ['x']",
    ),
    "layout": (lambda w: w.add_custom_scalars([1]), "layout: got [1]"),
    "layout chart": (
        lambda w: w.add_custom_scalars({"c": {"t": ["Pie", []]}}),
        "layout['c']['t']: got ['Pie', []]",
    ),
    "layout tags": (
        lambda w: w.add_custom_scalars_multilinechart("loss"),
        "got 'loss' (str), want a list of tags",
    ),
    "layout margin": (lambda w: w.add_custom_scalars_marginchart(["a", "b"]), "got 2 tags, want 3"),
    "embedding": (lambda w: w.add_embedding(np.zeros(3)), "mat: got shape (3,)"),
    "embedding labels": (
        lambda w: w.add_embedding(np.zeros((3, 2)), metadata=["a"]),
        "metadata: got 1 labels",
    ),
    "summary": (lambda w: w.add_summary("text"), "summary: got 'text'"),
    "step context": (lambda w: w.step(0.5).__enter__(), "step: got 0.5"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_error_names_the_argument_and_the_file_stays_valid(tmp_path, read_events, name):
    call, message = CASES[name]
    with tbq.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("before", 1.0, 1)
        with pytest.raises(UsageError) as caught:
            call(writer)
        assert message in str(caught.value)
        writer.add_scalar("after", 1.0, 1)
    tags = [value.tag for event in read_events(tmp_path) for value in event.summary.value]
    assert tags == ["before", "after"]
    assert [path.is_file() for path in tmp_path.iterdir()] == [True]  # no sub-run was begun


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"log_dir": 3}, "log_dir: got 3 (int)"),
        ({"log_dir": "s3://bucket/run"}, "log_dir: got 's3://bucket/run', want a local directory"),
        ({"log_dir": "a\0b"}, "which has a null character"),
        ({"comment": 1}, "comment: got 1"),
        ({"log_dir": "x", "run": "../y"}, "run: got '../y'"),
        ({"log_dir": "x", "run": ""}, "run: got ''"),
        ({"purge_step": 1.5}, "purge_step: got 1.5"),
        ({"max_queue": -1}, "max_queue: got -1"),
        ({"flush_secs": "soon"}, "flush_secs: got 'soon'"),
        ({"flush_secs": float("inf")}, "flush_secs: got inf"),
        ({"filename_suffix": "/x"}, "filename_suffix: got '/x'"),
        ({"resume": "yes"}, "resume: got 'yes' (str), want one of auto, new, error"),
        ({"on_error": "ignore"}, "on_error: got 'ignore'"),
    ],
)
def test_bad_options(tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as caught:
        tbq.SummaryWriter(**options)
    assert message in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_is_a_file(tmp_path):
    file = tmp_path / "file"
    file.write_text("precious")
    for path in (file, file / "below"):
        with pytest.raises(OutputError, match="log_dir: is a file, want a directory"):
            tbq.SummaryWriter(path)
    assert file.read_text() == "precious"


def test_an_unwritable_directory(tmp_path, monkeypatch):
    # As root every directory is writable, so the system call is made to refuse.
    import os

    def refuse(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(OutputError, match="log_dir: no permission to write here"):
        tbq.SummaryWriter(tmp_path / "run")


def test_a_replacement_takes_the_arguments_of_tensorboardx(tmp_path: Path) -> None:
    from tbq.write.replacement import Replacement

    writer = Replacement(tmp_path / "a", None, None, 5, 3.0, None, False)
    writer.close()
    assert (writer.max_queue, writer.flush_secs) == (5, 3.0)
    assert not (tmp_path / "a").exists()  # write_to_disk=False
    with pytest.raises(TypeError, match="takes 7 positional arguments, got 8"):
        Replacement(tmp_path, "", None, None, 2.0, "", True, "run")
    with pytest.raises(TypeError, match="multiple values"):
        Replacement(tmp_path, log_dir=tmp_path)
