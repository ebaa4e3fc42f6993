"""The answers to the page: each number equals that of the tables."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import numpy as np
import pytest
import trackers
from served import Asked, unpack

import tbq
from tbq.server.answers.usual import far_outside
from tbq.table.pixels import Columns
from tbq.table.smooth import ema

# Warnings about restarts, and about runs without a group, are tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore::tbq.errors.TbqWarning")


@pytest.fixture(scope="module")
def log(demo: Path) -> tbq.LogDir:
    return tbq.open(demo)


def test_state_and_runs_and_tags(asked: Asked, log: tbq.LogDir) -> None:
    state = asked.json("state")
    assert (state["title"], state["runs"], state["left"], state["waiting"]) == ("runs", 9, 0, False)
    runs = {run["name"]: run for run in asked.json("runs")["runs"]}
    table = {row["run"]: row for row in log.table("runs").to_dicts()}
    assert list(runs) == sorted(table)
    for name, run in runs.items():
        assert run["last_step"] == table[name]["last_step"]
        assert run["bytes"] == table[name]["bytes"]
        assert run["events"] == table[name]["events"]
    assert runs["diverged"]["state"] == "diverged"
    assert runs["diverged"]["hparams"]["lr"] == 1.0
    assert runs["lr=0.1/seed=0"]["state"] == "finished"
    tags = {entry["tag"]: entry for entry in asked.json("tags")["tags"]}
    assert tags["val/loss"]["kinds"] == {"scalars": 8}
    assert tags["val/loss"]["rows"] == len(log.scalars(tag="val/loss"))


@pytest.mark.parametrize("x", ["step", "relative", "wall"])
@pytest.mark.parametrize("smooth", [0, 0.6])
def test_curves_have_every_point(asked: Asked, log: tbq.LogDir, x: str, smooth: float) -> None:
    header, columns = asked.frame("curves", tag="val/loss", width=7, x=x, smooth=smooth)
    for place, series in enumerate(header["series"]):
        name = asked.log.name_of(series["id"])
        points = log.series("val/loss", run=name)
        began = asked.log.follower.reader.began[name]
        xs = {"step": points.steps, "wall": points.wall_times, "relative": points.wall_times - began}[x]
        values = np.array(ema(points.values.tolist(), smooth)) if smooth else points.values
        at = np.minimum(((xs - header["low"]) / (header["high"] - header["low"]) * 7).astype(int), 6)
        for column in range(7):
            there = values[(at == column) & np.isfinite(values)]
            found = columns["min"][place * 7 + column], columns["max"][place * 7 + column]
            if len(there):
                assert found == pytest.approx((there.min(), there.max()), rel=1e-14)
                assert columns["first"][place * 7 + column] == pytest.approx(there[0], rel=1e-14)
                assert columns["last"][place * 7 + column] == pytest.approx(there[-1], rel=1e-14)
            else:
                assert all(map(math.isnan, found))
    assert ("raw_min" in columns) == bool(smooth)


def test_curves_mark_nan_and_restarts(asked: Asked) -> None:
    header, _ = asked.frame("curves", tag="val/loss")
    series = {asked.log.name_of(each["id"]): each for each in header["series"]}
    assert series["diverged"]["broken"] == 139
    assert series["lr=0.1/seed=0"]["broken"] is None
    assert series["resumed"]["takeovers"] == [119]


@pytest.mark.parametrize("band", ["std", "sem", "ci95", "minmax"])
def test_bands_are_those_of_reduce(asked: Asked, log: tbq.LogDir, band: str) -> None:
    by = "re:(lr=.*)/seed=.*"
    header, columns = asked.frame("curves", tag="val/loss", group=by, band=band, width=1000)
    stats = ("mean", "min", "max") if band == "minmax" else ("mean", band)
    table = log.reduce(by=by, stats=stats, tag="val/loss").to_arrow().to_pylist()
    for place, series in enumerate(header["series"]):
        rows = [row for row in table if row["group"] == series["group"]]
        part = slice(place * 1000, (place + 1) * 1000)
        there = ~np.isnan(columns["min"][part])
        assert columns["last"][part][there].tolist() == [row["mean"] for row in rows]
        low = [row["min"] if band == "minmax" else row["mean"] - row[band] for row in rows]
        high = [row["max"] if band == "minmax" else row["mean"] + row[band] for row in rows]
        assert columns["lower"][part][there].tolist() == low
        assert columns["upper"][part][there].tolist() == high
        assert series["n"] == [2, 2]


def test_groups_have_members_and_colours(asked: Asked) -> None:
    groups = asked.json("groups", by="hparam.lr")["groups"]
    assert [group["name"] for group in groups] == ["lr=0.01", "lr=0.03", "lr=0.1", "lr=1"]
    assert [asked.log.name_of(each) for each in groups[0]["ids"]] == ["lr=0.01/seed=0", "lr=0.01/seed=1"]
    assert all(len(group["colours"]) == 2 for group in groups)


def test_another_tag_is_an_axis(asked: Asked, log: tbq.LogDir) -> None:
    header, columns = asked.frame(
        "curves", tag="val/loss", x="tag:train/loss", runs=asked.id("lr=0.1/seed=0")
    )
    points, axis = log.series("val/loss", run="lr=0.1/seed=0"), log.series("train/loss", run="lr=0.1/seed=0")
    xs = np.interp(points.steps, axis.steps, axis.values)
    assert (header["low"], header["high"]) == (pytest.approx(xs.min()), pytest.approx(xs.max()))
    assert np.nanmin(columns["min"]) == points.values.min()


def test_metrics_are_those_of_the_summary(asked: Asked, log: tbq.LogDir) -> None:
    stats = ["first", "last", "min", "max", "mean", "std", "count", "min_step", "max_step"]
    wanted = [[tag, stat] for tag in ("val/loss", "hparam/accuracy") for stat in stats]
    header, columns = asked.frame("metrics", columns=str(wanted).replace("'", '"'))
    table = {row["run"]: row for row in log.summary(stats=stats).to_dicts()}
    names = [asked.log.name_of(each) for each in header["ids"]]
    for place, (tag, stat) in enumerate(wanted):
        for row, name in enumerate(names):
            want = table[name][tag if stat == "last" else f"{tag}.{stat}"]
            got = columns[str(place)][row]
            if want is None or want != want:
                assert math.isnan(got)
                assert (row in header["metrics"][place]["nan"]) == (want is not None), (tag, stat, name)
            else:
                assert got == pytest.approx(want, rel=1e-12)


def test_a_value_at_a_step(asked: Asked, log: tbq.LogDir) -> None:
    header, columns = asked.frame("metrics", columns='[["val/loss","at:100"]]')
    row = header["ids"].index(asked.id("lr=0.1/seed=0"))
    points = log.series("val/loss", run="lr=0.1/seed=0")
    assert columns["0"][row] == points.values[points.steps <= 100][-1]


@pytest.mark.parametrize(
    ("where", "want"),
    [
        ('hparam.lr > 0.05 and "val/loss" < 0.3', {"lr=0.1/seed=0", "lr=0.1/seed=1"}),
        ("\"hparam.optimizer\" = 'sgd' and state = 'diverged'", {"diverged"}),
        ("run like 'lr=0.01%'", {"lr=0.01/seed=0", "lr=0.01/seed=1"}),
        ('isnan("val/loss")', {"diverged"}),
        ('"val/loss.min" > 6', {"diverged"}),
        ("step is null", set()),
        ("STATE = 'diverged'", {"diverged"}),
        ("state = 'diverged' ;\n", {"diverged"}),
    ],
)
def test_filters(asked: Asked, where: str, want: set[str]) -> None:
    ids = asked.json("filter", where=where)["ids"]
    assert {asked.log.name_of(each) for each in ids} == want


def test_a_filter_by_tags_that_differ_by_case_alone(tmp_path: Path) -> None:
    with tbq.SummaryWriter(tmp_path / "run") as writer:
        writer.add_scalar("loss", 1.0, 0)
        writer.add_scalar("Loss", -1.0, 0)
    made = Asked(tmp_path)
    assert made.json("filter", where="loss > 0")["ids"] == [0]
    assert made.json("filter", where="Loss > 0")["ids"] == []
    assert (
        "cannot distinguish Loss and loss" in made.json("filter", 400, where="loss > 0 and Loss < 0")["error"]
    )
    made.log.close()


def test_nearest_points_are_exact(asked: Asked, log: tbq.LogDir) -> None:
    run = asked.id("lr=0.1/seed=0")
    (point,) = asked.json("nearest", tag="val/loss", x=101, runs=run, smooth=0.5)["points"]
    points = log.series("val/loss", run="lr=0.1/seed=0")
    place = int(np.argmin(np.abs(points.steps - 101)))
    assert (point["step"], point["value"]) == (points.steps[place], points.values[place])
    assert np.float32(point["text"]) == np.float32(points.values[place])
    assert point["smoothed"] == ema(points.values.tolist(), 0.5)[place]


def test_csv_of_points(asked: Asked, log: tbq.LogDir) -> None:
    given = asked.answer("points", tag="val/loss", runs=asked.id("diverged"))
    assert given.headers["Content-Disposition"] == 'attachment; filename="val_loss.csv"'
    lines = given.body.decode().splitlines()
    assert lines[0] == "run,tag,step,wall_time,value"
    assert len(lines) - 1 == len(log.scalars("val/loss", run="diverged"))
    assert lines[-1].endswith(",nan")
    text = asked.answer("summary.csv", columns='[["val/loss","min"]]').body.decode()
    assert text.splitlines()[0].endswith("hparam.seed,val/loss.min")
    order = [asked.id("lr=0.1/seed=1"), asked.id("lr=0.1/seed=0")]
    text = asked.answer("summary.csv", runs=f"{order[0]},{order[1]}", group="hparam.lr").body.decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [(row["run"], row["group"]) for row in rows] == [
        ("lr=0.1/seed=1", "lr=0.1"),
        ("lr=0.1/seed=0", "lr=0.1"),
    ]


def test_media(asked: Asked, log: tbq.LogDir) -> None:
    run = asked.id("media")
    series = asked.json("series", kind="images", tag="samples")["runs"]
    assert [(each["id"], each["steps"], each["counts"]) for each in series] == [
        (run, [0, 50, 100], [1, 1, 1])
    ]
    image = asked.answer("image", run=run, tag="samples", step=50)
    assert image.type == "image/png"
    assert image.body == log.images(tag="samples", steps=50).to_arrow()["data"][0].as_py()
    audio = asked.answer("audio", run=run, tag="tone")
    assert audio.type == "audio/wav" and audio.body[:4] == b"RIFF"
    header, columns = asked.frame("waveform", run=run, tag="tone", width=50)
    assert header["rate"] == 8000 and columns["max"].max() == pytest.approx(0.5, abs=0.01)
    text = asked.json("text", run=run, tag="notes/text_summary", step=100)
    assert text["text"] == log.text("notes", step=100)


def test_histograms_are_on_one_grid(asked: Asked, log: tbq.LogDir) -> None:
    run = asked.id("media")
    _, columns = asked.frame("histograms", run=run, tag="weights/layer1", bins=30)
    assert columns["steps"].tolist() == [0, 50, 100]
    counts = columns["counts"].reshape(3, 30)
    for place, step in enumerate((0, 50, 100)):
        histogram = log.histogram("weights/layer1", step=step)
        assert counts[place].sum() == pytest.approx(histogram.total)
    merged, fewer = asked.frame("histograms", run=run, tag="weights/layer1", bins=30, most=2)
    assert merged["merged"] == 2 and fewer["steps"].tolist() == [50, 100]
    assert fewer["counts"].sum() == pytest.approx(counts.sum())


def test_other_kinds(asked: Asked) -> None:
    run = asked.id("media")
    _, pr = asked.frame("pr", run=run, tag="classifier")
    assert len(pr["threshold"]) == 21
    tensor = asked.json("tensor", run=run, tag="embedding")
    assert (tensor["shape"], tensor["min"], tensor["max"]) == ([3, 4], 100, 111)
    top = asked.json("graph", run=run)
    assert top["count"] == 4 and top["children"][0]["name"] == "dense"
    below = asked.json("graph", run=run, under="dense")
    assert {child["name"] for child in below["children"]} == {"MatMul", "W"} or len(below["children"]) == 2
    hparams = asked.json("hparams")
    assert [each["name"] for each in hparams["hparams"]] == ["augment", "lr", "optimizer", "seed"]
    assert hparams["metrics"] == [{"tag": "hparam/accuracy", "display_name": None, "description": None}]


def test_health_is_what_the_doctor_finds(asked: Asked, demo: Path) -> None:
    health = asked.json("health", wait=1)
    found = [(each["code"], each["run"], each["tag"]) for each in health["findings"]]
    assert found == [(each.code, each.run, each.tag) for each in tbq.doctor(demo)]
    assert {each["tag"] for each in health["restarts"]} >= {"val/loss"}
    assert "TBQ501" in asked.json("explain", code="TBQ501")["text"]


def test_health_is_about_the_logs_of_the_chosen_writers(tmp_path: Path) -> None:
    path = trackers.lightning(tmp_path)
    with tbq.SummaryWriter(path.parent) as writer:
        writer.add_scalar("loss", 0.5, 1)
    for source, want in ((None, True), ("events", False)):
        shown = Asked(tmp_path, source=source)
        try:
            codes = [each["code"] for each in shown.json("health", wait=1)["findings"]]
        finally:
            shown.log.close()
        assert ("TBQ307" in codes) == want


def test_the_command_of_a_figure(asked: Asked, demo: Path) -> None:
    given = asked.answer("command", tag="val/loss", group="hparam.lr", smooth=0.6, log="y", low=10, high=90)
    want = "--tag val/loss --smooth 0.6 --by hparam.lr --band std --log-y --steps 10:90 -o figure.svg"
    assert given.body.decode() == f"tbq plot runs {want}"
    whole = asked.answer("command", tag="val/loss", entire="1").body.decode()
    assert whole == "tbq plot runs --tag val/loss --outliers 0 -o figure.svg"


@pytest.mark.parametrize("most", [30, 39])
def test_one_diverged_run_is_not_in_the_usual_range(tmp_path: Path, most: int) -> None:
    for run in range(6):
        with tbq.SummaryWriter(tmp_path / f"lr={run % 2}" / f"s{run}") as writer:
            for step in range(40):
                far = run == 5 and step > 20
                writer.add_scalar("loss", 10.0 ** min(step, most) if far else 2 / (step + 1) + 1, step)
    made = Asked(tmp_path)
    for group in ({}, {"group": "re:(lr=.)/.*", "band": "std"}):
        header, _ = made.frame("curves", tag="loss", width=100, **group)
        for kind in ("linear", "log"):
            low, high = header["usual"][kind]
            assert 1 <= low < 1.1 and 2.9 < high < 4, (group, kind)
    # 1e39 is infinite as a 32-bit float; it counts as not finite, and not as diverged too.
    assert [each["not_finite"] for each in header["series"]] == [0, int(most == 39)]
    assert [each["diverged"] for each in header["series"]] == [0, int(most == 30)]
    # A tag that no shown run has still has an answer.
    assert made.frame("curves", tag="loss", runs="-")[0]["usual"] == {}


def test_curves_that_end_far_outside_of_the_range() -> None:
    ends = [[1.0, 2.0], [1.0, 2.9], [1.0, 3.1], [-1.1, np.nan], [9.0, 1.5], [np.nan, np.nan], [1e308, -1e308]]
    last = np.array(ends)
    columns = Columns(last, last, last, last)
    assert far_outside(columns, {"linear": [1.0, 2.0]}) == [False, False, True, True, False, False, True]
    assert far_outside(columns, {}) == [False] * len(ends)
    assert far_outside(columns, {"log": [1.0, 100.0]}) == [*[False] * 6, True]
    assert far_outside(Columns(*[np.empty((0, 3))] * 4), {"linear": [1.0, 2.0]}) == []
    assert far_outside(columns, {"linear": [-1.7e308, 1.7e308]}) == [False] * len(ends)


def test_the_range_of_a_score_covers_its_best_run(tmp_path: Path) -> None:
    for run in range(4):
        with tbq.SummaryWriter(tmp_path / f"lr={run % 2}" / f"s{run}") as writer:
            for step in range(40):
                value = 0.1 + step / 50 if run == 3 else 0.1
                writer.add_scalar("accuracy", value, step)
                writer.add_scalar("loss", value, step)
    made = Asked(tmp_path)
    for group in ({}, {"group": "re:(lr=.)/.*", "band": "std"}):
        high = {tag: made.frame("curves", tag=tag, width=100, **group)[0]["usual"]["linear"][1]
                for tag in ("accuracy", "loss")}  # fmt: skip
        assert high["accuracy"] > 0.8 and high["loss"] < 0.2, (group, high)


def test_the_band_of_medians_is_that_of_reduce(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for run in range(5):
        with tbq.SummaryWriter(tmp_path / f"s{run}") as writer:
            for step in range(30):
                writer.add_scalar("loss", float("nan") if (run, step) == (0, 3) else rng.normal(), step)
            writer.add_scalar("loss", 5.0, 29)  # the last value of a step counts
    log = tbq.open(tmp_path)
    want = log.reduce("loss", by="re:(s).*", stats=["median", "q25", "q75"]).to_arrow().to_pydict()
    _, columns = Asked(tmp_path).frame("curves", tag="loss", width=30, group="re:(s).*", band="quantiles")
    for name, stat in (("min", "median"), ("lower", "q25"), ("upper", "q75")):
        np.testing.assert_allclose(columns[name], want[stat], rtol=1e-6)


def test_tables_with_data_come_first(asked: Asked) -> None:
    tables = asked.json("schema")["tables"]
    empty = [table["empty"] for table in tables]
    assert empty == sorted(empty) and tables[0]["name"] == "summary"
    columns = [name for name, _ in tables[0]["columns"]]
    assert {"run", "hparam.lr", "val/loss.min"} <= {*columns}


def test_sub_runs_of_add_hparams_belong_to_their_run(tmp_path: Path) -> None:
    with tbq.SummaryWriter(tmp_path / "a") as writer:
        writer.add_scalar("loss", 1.0, 0)
        writer.add_hparams({"lr": 0.5}, {"score": 7.0}, run_name="trial")
    made = Asked(tmp_path)
    (run,) = made.json("runs")["runs"]
    assert (run["name"], run["hparams"]) == ("a", {"lr": 0.5})
    _, columns = made.frame("metrics", columns='[["score","last"],["score","max"]]')
    assert (columns["0"].tolist(), columns["1"].tolist()) == ([7.0], [7.0])


def test_many_curves_are_packed(tmp_path: Path) -> None:
    """What the page unpacks differs from the data by less than can be seen."""
    import json

    rng = np.random.default_rng(3)
    for run in range(60):
        with tbq.SummaryWriter(tmp_path / "runs" / f"run{run}") as writer:
            for step in range(0, 3000, 1 if run % 3 else 50):
                value = (
                    math.exp(-step / 900)
                    + 0.02 * rng.standard_normal()
                    + (1e5 if (run, step) == (7, 700) else 0)
                )
                writer.add_scalar("loss", value, step)
    made = Asked(tmp_path / "runs")
    header, _ = made.frame("curves", tag="loss", width=500, runs="0-59", x="step")
    assert "packed" not in header
    for log in ("", "y"):
        given = made.answer("curves", tag="loss", width=3000, log=log)
        unpacked = unpack(given.body, tmp_path)
        size = int.from_bytes(given.body[:4], "little")
        facts = json.loads(given.body[4 : 4 + size])
        assert "packed" in facts
        pairs = [(made.log.name_of(each["id"]), "loss") for each in facts["series"]]
        exact = made.log.view.curves(pairs, width=3000)
        plain = {"first": exact.first, "last": exact.last, "min": exact.min, "max": exact.max}
        shown = np.isfinite(exact.min)
        span = np.nan_to_num(exact.max - exact.min)
        for name, values in plain.items():
            got = unpacked[name].reshape(values.shape)
            assert np.array_equal(~np.isnan(got), shown)
            coarse = span / 15 if name in ("first", "last") else 0
            if log:
                positive = shown & (exact.min > 0)
                ratio = np.abs(np.log10(got[positive]) - np.log10(values[positive]))
                assert ratio.max() < (0.005 if name in ("min", "max") else np.inf)
                assert np.array_equal(got[shown] > 0, values[shown] > 0)
            else:
                wrong = np.abs(got - values) - coarse
                assert (wrong[shown] <= np.maximum(1.2 / 2048, np.abs(values[shown]) * 1e-3)).all()


def test_no_run_at_all(asked: Asked) -> None:
    """Hiding every run selects no run; an empty selection would mean all."""
    header, columns = asked.frame("curves", tag="val/loss", runs="-", width=50)
    assert header["series"] == [] and not len(columns["first"])
    header, _ = asked.frame("curves", tag="val/loss", runs="-", group="hparam.lr", x="tag:lr", log="x")
    assert header["series"] == []
    assert asked.json("series", kind="images", tag="samples", runs="-")["runs"] == []
    assert asked.answer("points", tag="val/loss", runs="-").body.count(b"\n") == 1
    assert asked.json("nearest", tag="val/loss", runs="-", x=5)["points"] == []
    assert "no run is shown" in asked.json("command", 400, tag="val/loss", runs="-")["error"]
