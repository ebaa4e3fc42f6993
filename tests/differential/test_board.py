"""`tbq board` compared with `tensorboard`: the same program and page; every route of every dashboard must agree."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import boards
import pytest
from waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from boards import Board


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return boards.everything(tmp_path_factory.mktemp("logs"))


@pytest.fixture(scope="module")
def both(logdir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Board, Board]]:
    """TensorBoard with its Python loader, and ours, once both have read everything."""
    words = tmp_path_factory.mktemp("words")
    flags = ("--logdir", str(logdir), *boards.EVERYTHING)
    with (
        boards.serving(boards.TENSORBOARD, words, *flags, "--load_fast", "false") as theirs,
        boards.serving(boards.BOARD, words, *flags) as ours,
    ):
        for board in (theirs, ours):
            wait_for(lambda board=board: len(board.get("runs")) == 12)
        wait_for(lambda: theirs.get("plugin/scalars/tags") == ours.get("plugin/scalars/tags"))
        wait_for(lambda: theirs.get("plugin/images/tags") == ours.get("plugin/images/tags"))
        yield theirs, ours


def same(both: tuple[Board, Board], path: str, data: Any = None, **query: Any) -> Any:
    """The answer, which must be the same from both."""
    theirs, ours = (board.get(path, data, **query) for board in both)
    assert ours == theirs
    return ours


def series(tags: dict[str, Any]) -> list[dict[str, str]]:
    return [{"run": run, "tag": tag} for run, of_run in tags.items() for tag in of_run]


@pytest.mark.long
def test_environment(both: tuple[Board, Board]) -> None:
    theirs, ours = (board.get("environment") for board in both)
    assert ours.pop("debug")["data_provider"].startswith("DataProvider(")
    theirs.pop("debug")
    assert ours == theirs
    same(both, "runs")
    same(both, "logdir")
    same(both, "window_properties")


def test_plugins(both: tuple[Board, Board]) -> None:
    wait_for(lambda: all(board.get("plugins_listing")["projector"]["enabled"] for board in both))
    theirs, ours = (board.get("plugins_listing") for board in both)
    for refused in ("debugger-v2", "profile"):
        assert ours.pop(refused)["loading_mechanism"]["type"] == "IFRAME"
    theirs.pop("debugger-v2"), theirs.pop("profile_redirect")
    assert ours == theirs
    assert sum(plugin["enabled"] for plugin in ours.values()) == 13


def test_scalars(both: tuple[Board, Board]) -> None:
    tags = same(both, "plugin/scalars/tags")
    assert len(series(tags)) > 50
    for each in series(tags):
        same(both, "plugin/scalars/scalars", **each)
    same(both, "plugin/scalars/scalars", run="writer", tag="loss", format="csv")
    several = {"tag": "val/loss", "runs": ["lr=0.1/seed=0", "lr=0.1/seed=1", "none"]}
    assert len(same(both, "plugin/scalars/scalars_multirun", several)) == 2


def test_numbers_are_exact(both: tuple[Board, Board]) -> None:
    points = same(both, "plugin/scalars/scalars", run="raw/a b", tag="exact")
    assert points[1][2] == 1.1
    odd = same(both, "plugin/scalars/scalars", run="writer", tag="odd")
    assert [value for _, _, value in odd[:3]] == ["NaN", "Infinity", "-Infinity"]


@pytest.mark.long
def test_time_series(both: tuple[Board, Board]) -> None:
    tags = same(both, "plugin/timeseries/tags")
    requests = [
        {"plugin": "scalars", "tag": tag} for run in tags["scalars"]["runTagInfo"].values() for tag in run
    ]
    requests += [
        {"plugin": "histograms", "tag": tag, "run": run}
        for run, of_run in tags["histograms"]["runTagInfo"].items()
        for tag in of_run
    ]
    requests += [
        {"plugin": "images", "tag": tag, "run": run, "sample": sample}
        for tag, runs in tags["images"]["tagRunSampledInfo"].items()
        for run, info in runs.items()
        for sample in range(info["maxSamplesPerStep"])
    ]
    requests += [{"plugin": "images", "tag": "x"}, {"plugin": "none", "tag": "x"}, {"plugin": "scalars"}]
    answers = same(both, "plugin/timeseries/timeSeries", {"requests": json.dumps(requests)})
    assert len(answers) == len(requests)
    images = [answer for answer in answers if answer["plugin"] == "images" and "runToSeries" in answer]
    for answer in images:
        for steps in answer["runToSeries"].values():
            same(both, "plugin/timeseries/imageData", imageId=steps[-1]["imageId"])
    assert max(len(steps) for answer in images for steps in answer["runToSeries"].values()) == 20


@pytest.mark.parametrize("plugin", ["images", "audio"])
def test_blobs(both: tuple[Board, Board], plugin: str) -> None:
    tags = same(both, f"plugin/{plugin}/tags")
    single = "individualImage" if plugin == "images" else "individualAudio"
    for each in series(tags):
        for sample in range(tags[each["run"]][each["tag"]]["samples"]):
            for item in same(both, f"plugin/{plugin}/{plugin}", sample=sample, **each):
                query = item["query"]
                bodies = [board.raw(f"data/plugin/{plugin}/{single}?{query}") for board in both]
                assert bodies[0] == bodies[1] and bodies[0][0] == 200


MESH_PARTS = {1: "VERTEX", 2: "FACE", 3: "COLOR"}


@pytest.mark.parametrize("plugin", ["histograms", "distributions", "text", "mesh"])
def test_tensors(both: tuple[Board, Board], plugin: str) -> None:
    tags = same(both, f"plugin/{plugin}/tags")
    assert tags
    route = "meshes" if plugin == "mesh" else plugin
    for each in series(tags):
        answer = same(both, f"plugin/{plugin}/{route}", **each)
        assert answer
        if plugin == "mesh":
            for item in answer:
                query = {"content_type": MESH_PARTS[item["content_type"]], "step": item["step"], "sample": 0}
                same(both, "plugin/mesh/data", **each, **query)


def test_pr_curves(both: tuple[Board, Board]) -> None:
    for each in series(same(both, "plugin/pr_curves/tags")):
        assert same(both, "plugin/pr_curves/pr_curves", **each)


def test_hparams(both: tuple[Board, Board]) -> None:
    experiment = same(both, "plugin/hparams/experiment", request=json.dumps({"experimentName": ""}))
    assert experiment["hparamInfos"]
    wanted = {
        "experimentName": "",
        "allowedStatuses": ["STATUS_UNKNOWN", "STATUS_SUCCESS", "STATUS_FAILURE", "STATUS_RUNNING"],
        "colParams": [{"metric": info["name"]} for info in experiment["metricInfos"]]
        + [{"hparam": info["name"]} for info in experiment["hparamInfos"]],
        "startIndex": 0,
        "sliceSize": 100,
    }
    groups = same(both, "plugin/hparams/session_groups", request=json.dumps(wanted))
    assert groups["totalSize"] == 7
    for group in groups["sessionGroups"]:
        for metric in group["sessions"][0]["metricValues"]:
            wanted = {
                "experimentName": "",
                "sessionName": group["sessions"][0]["name"],
                "metricName": metric["name"],
            }
            assert same(both, "plugin/hparams/metric_evals", request=json.dumps(wanted))


def test_graphs(both: tuple[Board, Board]) -> None:
    info = same(both, "plugin/graphs/info")
    assert info["media"]
    for run, of_run in info.items():
        if of_run["run_graph"]:
            assert same(both, "plugin/graphs/graph", run=run)
        for tag, of_tag in of_run["tags"].items():
            if of_tag["op_graph"] or of_tag["conceptual_graph"]:
                same(
                    both,
                    "plugin/graphs/graph",
                    run=run,
                    tag=tag,
                    conceptual=str(of_tag["conceptual_graph"]).lower(),
                )
            if of_tag["profile"]:
                same(both, "plugin/graphs/run_metadata", run=run, tag=tag)


def test_custom_scalars(both: tuple[Board, Board]) -> None:
    layout = same(both, "plugin/custom_scalars/layout")
    assert layout["category"]
    answer = same(both, "plugin/custom_scalars/scalars", run="lr=0.1/seed=0", tag=".*loss")
    assert answer["tag_to_events"]
    same(both, "plugin/custom_scalars/download_data", run="lr=0.1/seed=0", tag="val/loss", format="csv")


def test_projector(both: tuple[Board, Board]) -> None:
    runs = same(both, "plugin/projector/runs")
    assert runs
    for run in runs:
        config = same(both, "plugin/projector/info", run=run)
        for embedding in config["embeddings"]:
            name = embedding["tensorName"]
            same(both, "plugin/projector/tensor", run=run, name=name)
            same(both, "plugin/projector/metadata", run=run, name=name)


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("scalars/scalars", {"run": "none", "tag": "loss"}),
        ("scalars/scalars", {"run": "writer", "tag": "none"}),
        ("scalars/scalars", {"run": "writer"}),
        ("scalars/scalars_multirun", {"tag": "loss"}),
        ("timeseries/timeSeries", {}),
        ("timeseries/timeSeries", {"requests": "{"}),
        ("images/images", {"run": "none", "tag": "loss"}),
        ("histograms/histograms", {"run": "none", "tag": "loss"}),
        ("text/text", {"run": "none", "tag": "loss"}),
        ("graphs/graph", {"run": "none"}),
        ("pr_curves/pr_curves", {"run": "none", "tag": "x"}),
    ],
)
def test_refusals(both: tuple[Board, Board], path: str, query: dict[str, str]) -> None:
    theirs, ours = (board.raw(f"data/plugin/{path}", **query) for board in both)
    assert ours == theirs


@pytest.mark.parametrize("path", ["images/individualImage?blob_key=", "timeseries/imageData?imageId="])
def test_bad_blob_keys_are_refused(both: tuple[Board, Board], path: str) -> None:
    """TensorBoard answers some of these with a traceback and 500."""
    for key in ("x", "%00", "W10", "WyIiLCJpbWFnZXMiLCJub25lIiwidCIsMCwwXQ", "e30"):
        status, _, _ = both[1].raw(f"data/plugin/{path}{key}")
        assert status in (400, 404), key


@pytest.mark.long
def test_restarts_as_the_rust_server(logdir: Path, tmp_path: Path) -> None:
    """By default TensorBoard shows what its data server keeps of a resumed run."""
    points = "--samples_per_plugin", "scalars=1000000"
    with (
        boards.serving(
            boards.TENSORBOARD, tmp_path, "--logdir", str(logdir), *points, "--load_fast", "true"
        ) as theirs,
        boards.serving(boards.BOARD, tmp_path, str(logdir), "--samples_per_plugin", "scalars=0") as ours,
    ):
        tags = ours.get("plugin/scalars/tags")
        wait_for(lambda: theirs.get("plugin/scalars/tags").keys() == tags.keys())
        for each in series({"resumed": tags["resumed"]}):
            wanted = ours.get("plugin/scalars/scalars", **each)
            wait_for(lambda each=each, wanted=wanted: theirs.get("plugin/scalars/scalars", **each) == wanted)
