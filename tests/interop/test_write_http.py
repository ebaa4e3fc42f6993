"""What the writer wrote, as TensorBoard's own web server sends it to its pages."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import wave

import numpy as np
import pytest
from PIL import Image

import tbq


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    directory = tmp_path_factory.mktemp("logs")
    rng = np.random.default_rng(1)
    with tbq.SummaryWriter(directory / "run") as writer:
        for step in range(50):
            writer.add_scalar("loss", 1 / (step + 1), step)
            writer.log({"a/x": step, "a/y": -step}, step)
        writer.add_scalars("lines", {"one": 1.0, "two": 2.0}, 1)
        writer.add_image("image", rng.random((3, 8, 8)), 1)
        writer.add_images("images", rng.random((4, 3, 8, 8)), 1)
        writer.add_audio("audio", np.sin(np.arange(500) / 9), 1)
        writer.add_text("text", "some **words**", 1)
        writer.add_histogram("histogram", rng.normal(size=100), 1)
        writer.add_pr_curve("curve", rng.integers(0, 2, 50), rng.random(50), 1)
        writer.add_mesh("mesh", rng.random((1, 6, 3)), global_step=1)
        writer.add_custom_scalars_multilinechart(["a/x", "a/y"], "both", "chart")
        writer.add_hparams(
            {"lr": 0.1, "flag": True, "name": "x"}, {"loss": 0.02}, run_name=".", global_step=50
        )
        writer.add_embedding(rng.random((4, 3)), metadata=list("abcd"))
    return directory


@pytest.fixture(scope="module", params=["false", "true"], ids=["python loader", "rust loader"])
def get(request, logdir, tmp_path_factory):
    words = tmp_path_factory.mktemp("words") / "stderr"
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(logdir), "--port", "0", "--bind_all"]
    command += ["--load_fast", request.param, "--reload_interval", "1"]
    with (
        words.open("w") as stderr,
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr) as server,
    ):
        try:
            for _ in range(600):
                found = re.search(r"http://[^:\s]+:(\d+)/", words.read_text())
                if found or server.poll() is not None:
                    break
                time.sleep(0.1)
            assert found, words.read_text()
            base = f"http://localhost:{found[1]}"

            def fetch(path, **query):
                url = f"{base}/data/plugin/{path}?{urllib.parse.urlencode(query)}"
                with urllib.request.urlopen(url, timeout=20) as answer:
                    data = answer.read()
                return (
                    json.loads(data)
                    if answer.headers["Content-Type"].startswith("application/json")
                    else data
                )

            for _ in range(100):
                tags = fetch("scalars/tags")
                if {"run", "run/lines_one"} <= tags.keys() and "text/text_summary" in fetch("text/tags").get(
                    "run", []
                ):
                    break
                time.sleep(0.1)
            yield fetch
        finally:
            server.terminate()


def test_scalars(get):
    assert set(get("scalars/tags")["run"]) == {"loss", "a/x", "a/y"}
    points = get("scalars/scalars", run="run", tag="a/y")
    assert [(step, value) for _, step, value in points] == [(step, -step) for step in range(50)]
    assert [point[1:] for point in get("scalars/scalars", run="run/lines_two", tag="lines")] == [[1, 2.0]]


def test_images(get):
    assert set(get("images/tags")["run"]) == {"image", "images"}
    (image,) = get("images/images", run="run", tag="images", sample=0)
    picture = Image.open(io.BytesIO(get("images/individualImage", **query_of(image))))
    assert (picture.format, picture.size) == ("PNG", (32, 8))


def query_of(entry):
    return dict(urllib.parse.parse_qsl(entry["query"]))


def test_audio(get):
    assert list(get("audio/tags")["run"]) == ["audio"]
    (clip,) = get("audio/audio", run="run", tag="audio", sample=0)
    with wave.open(io.BytesIO(get("audio/individualAudio", **query_of(clip)))) as stream:
        assert stream.getnframes() == 500


def test_text(get):
    (entry,) = get("text/text", run="run", tag="text/text_summary")
    assert "<strong>words</strong>" in entry["text"]


def test_histograms(get):
    ((_, step, buckets),) = get("histograms/histograms", run="run", tag="histogram")
    assert step == 1
    assert sum(count for _, _, count in buckets) == pytest.approx(100)


def test_pr_curves(get):
    curves = get("pr_curves/pr_curves", run="run", tag="curve")
    assert 100 < len(curves["run"][0]["precision"]) <= 127  # TensorBoard leaves empty thresholds out


def test_mesh(get):
    assert list(get("mesh/tags")["run"]) == ["mesh"]


def test_custom_scalars(get):
    assert get("custom_scalars/layout")["category"][0]["chart"][0]["multiline"]["tag"] == ["a/x", "a/y"]


def test_hparams(get):
    request = {"experimentName": "", "allowedStatuses": [], "colParams": [], "startIndex": 0, "sliceSize": 9}
    experiment = get("hparams/experiment", request=json.dumps({"experimentName": ""}))
    assert {info["name"]: info["type"] for info in experiment["hparamInfos"]} == {
        "lr": "DATA_TYPE_FLOAT64",
        "flag": "DATA_TYPE_BOOL",
        "name": "DATA_TYPE_STRING",
    }
    groups = get(
        "hparams/session_groups", request=json.dumps({**request, "allowedStatuses": ["STATUS_SUCCESS"]})
    )
    (group,) = groups["sessionGroups"]
    assert group["hparams"] == {"lr": 0.1, "flag": True, "name": "x"}


def test_projector(get):
    assert get("projector/runs") == ["run"]
    assert get("projector/info", run="run")["embeddings"][0]["tensorName"] == "default:00000"
