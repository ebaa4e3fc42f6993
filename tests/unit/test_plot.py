"""Figures of scalars: what is drawn, read back from the Axes, is what smooth, reduce and NumPy say."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import logs
import matplotlib.figure
import numpy as np
import pyarrow as pa
import pytest

import tbq
from tbq.errors import SelectionError, TbqWarning, UsageError, install_command
from tbq.table.table import Table

pytestmark = pytest.mark.filterwarnings(
    "ignore:run resumed:tbq.TbqWarning", "ignore:.* runs? ha:tbq.TbqWarning"
)
SEEDS = "re:(lr=.*)/seed=.*"


def table(rows: list[tuple[str, str, int, float]]) -> Table:
    runs, tags, steps, values = (list(each) for each in zip(*rows, strict=True))
    walls = [1000.0 + 2 * step for step in steps]
    return Table(pa.table({"run": runs, "tag": tags, "step": steps, "wall_time": walls, "value": values}))


def drawn(figure: Any, panel: int = 0) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The lines of a panel by their labels."""
    ax = figure if hasattr(figure, "get_lines") else figure.axes[panel]
    return {
        line.get_label(): (np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float))
        for line in ax.get_lines()
        if line.get_zorder() == 3
    }


def bands(figure: Any, panel: int = 0) -> list[np.ndarray]:
    return [each.get_paths()[0].vertices for each in figure.axes[panel].collections]


# ---- numbers ----


def test_each_run_is_a_line_with_its_points(log: tbq.LogDir) -> None:
    lines = drawn(log.plot("val/loss", run="lr=*"))
    assert list(lines) == [run for run in log.runs if run.startswith("lr=")]
    for run, (x, y) in lines.items():
        series = log.series("val/loss", run=run)
        assert x.tolist() == series.steps.tolist() and y.tolist() == series.values.tolist()


def test_smoothing_is_that_of_the_table_and_raw_is_behind(log: tbq.LogDir) -> None:
    figure = log.plot("train/loss", run="lr=0.1", smooth=0.6)
    smooth = log.scalars("train/loss", run="lr=0.1").smooth(0.6)
    for run, (_, y) in drawn(figure).items():
        assert y.tolist() == smooth["value"][smooth["run"] == f"lr=0.1/{run}"].tolist()
    raw = [line for line in figure.axes[0].get_lines() if line.get_alpha() == 0.3]
    assert len(raw) == 2
    assert (
        np.asarray(raw[0].get_ydata()).tolist()
        == log.series("train/loss", run="lr=0.1/seed=0").values.tolist()
    )


@pytest.mark.parametrize("band", ["std", "sem", "ci95", "minmax", "quantiles"])
@pytest.mark.parametrize("smooth", [0.0, 0.6])
def test_bands_are_those_of_reduce(log: tbq.LogDir, band: Any, smooth: float) -> None:
    figure = log.plot("val/loss", run="lr=*", by=SEEDS, band=band, smooth=smooth)
    scalars = log.scalars("val/loss", run="lr=*").smooth(smooth)
    for (label, (x, y)), shape in zip(drawn(figure).items(), bands(figure), strict=True):
        group = label.removesuffix(" (n=2)")
        members = np.array([scalars["value"][scalars["run"] == f"{group}/seed={seed}"] for seed in (0, 1)])
        center = np.median(members, axis=0) if band == "quantiles" else members.mean(axis=0)
        np.testing.assert_allclose(y, center, rtol=1e-12)
        std = members.std(axis=0, ddof=1)
        reach = {"std": std, "sem": std / np.sqrt(2), "ci95": std / np.sqrt(2) * 12.706204736174707}.get(band)
        low, high = {
            "minmax": lambda m: (m.min(axis=0), m.max(axis=0)),
            "quantiles": lambda m: np.quantile(m, [0.25, 0.75], axis=0),
        }.get(band, lambda _m, reach=reach, center=center: (center - reach, center + reach))(members)
        for at, bottom, top in zip(x, low, high, strict=True):
            here = shape[np.isclose(shape[:, 0], at)][:, 1]
            np.testing.assert_allclose([here.min(), here.max()], [bottom, top], rtol=1e-9)


def test_bands_equal_the_table_of_reduce(log: tbq.LogDir) -> None:
    reduced = log.reduce(by=SEEDS, stats="mean,ci95", run="lr=*", tag="train/loss")
    for label, (x, y) in drawn(log.plot("train/loss", run="lr=*", by=SEEDS, band="ci95")).items():
        ours = reduced["group"] == label.removesuffix(" (n=2)")
        assert x.tolist() == reduced["step"][ours].tolist() and y.tolist() == reduced["mean"][ours].tolist()


def test_groups_by_hyperparameter_are_in_order_of_value(log: tbq.LogDir) -> None:
    lines = drawn(log.plot("val/loss", by="hparam.lr", band="minmax"))
    assert list(lines) == ["lr=0.01 (n=2)", "lr=0.03 (n=2)", "lr=0.1 (n=2)", "lr=1 (n=1, 1 not finite)"]


def test_groups_by_two_hyperparameters_are_their_combinations(log: tbq.LogDir) -> None:
    labels = list(
        drawn(log.plot("val/loss", run="lr=*", by=["hparam.optimizer", "hparam.lr"], band="minmax"))
    )
    assert labels == [
        "optimizer=adam, lr=0.01 (n=2)", "optimizer=adam, lr=0.03 (n=2)", "optimizer=sgd, lr=0.1 (n=2)",
    ]  # fmt: skip


def test_members_are_drawn_thin_behind_the_band(log: tbq.LogDir) -> None:
    figure = log.plot("val/loss", run="lr=*", by=SEEDS, band="std", each=True)
    thin = [line for line in figure.axes[0].get_lines() if line.get_alpha() == 0.35]
    assert len(thin) == 6 and len(drawn(figure)) == 3


def test_the_legend_says_how_many_runs_a_mean_is_of() -> None:
    rows = [(f"a/{seed}", "t", step, 1.0) for seed in range(3) for step in range(4 + seed)]
    figure = table(rows).plot(by="re:(a)/.*", band="minmax", legend="inside")
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["a (n=1–3)"]


def test_x_axes(log: tbq.LogDir) -> None:
    series = log.series("val/loss", run="lr=0.1/seed=0")
    for x, want in (("wall", series.wall_times), ("relative", series.wall_times - 1767607200.0)):
        (place, _), *_ = drawn(log.plot("val/loss", run="lr=0.1/seed=0", x=x)).values()
        np.testing.assert_allclose(place, want)
    rows = [("a", "tokens", step, 100.0 * step) for step in (0, 10, 20)]
    rows += [("a", "loss", step, float(step)) for step in (0, 5, 20, 25)]
    with pytest.warns(TbqWarning, match="1 point of 4 left out: tokens has no values around their steps"):
        ((x, y),) = drawn(table(rows).plot("loss", x="tokens")).values()
    assert x.tolist() == [0, 500, 2000] and y.tolist() == [0, 5, 20]


def test_an_axis_by_tag_is_the_mean_over_the_runs_of_a_group() -> None:
    rows = [(f"s{s}", "tokens", step, step * (10.0 + s)) for s in (0, 1) for step in range(3)]
    rows += [(f"s{s}", "loss", step, float(step + s)) for s in (0, 1) for step in range(3)]
    ((x, y),) = drawn(table(rows).plot("loss", x="tokens", by="s*", band="minmax")).values()
    assert x.tolist() == [0, 10.5, 21] and y.tolist() == [0.5, 1.5, 2.5]


def test_steps_order_and_limits(log: tbq.LogDir) -> None:
    figure = log.plot("val/loss", run="lr=*", steps="50:150", order="best:val/loss:min", ylim="0:3")
    lines = drawn(figure)
    assert next(iter(lines)) == "lr=0.1/seed=0" and figure.axes[0].get_ylim() == (0.0, 3.0)
    assert all(x.min() >= 50 and x.max() <= 150 for x, _ in lines.values())


def test_outliers_are_left_out_of_the_axis_not_of_the_line() -> None:
    values = [*np.linspace(1, 2, 99), 1e6]
    figure = table([("a", "t", i, v) for i, v in enumerate(values)]).plot(outliers=0.02)
    assert figure.axes[0].get_ylim()[1] < 3
    assert drawn(figure)["a"][1].max() == 1e6


def test_every_extreme_of_a_pixel_is_kept() -> None:
    values = np.sin(np.arange(200_000) / 1000)
    values[123_456] = 50.0
    steps = np.arange(len(values))
    long = Table(
        pa.table({"run": ["a"] * len(values), "tag": ["t"] * len(values), "step": steps, "value": values})
    )
    (x, y), *_ = drawn(long.plot()).values()
    assert len(x) < 10_000 and 123_456 in x and y.max() == 50.0 and y.min() == values.min()
    assert x[0] == 0 and x[-1] == steps[-1]


# ---- gaps and marks ----


def test_nan_is_a_gap_that_is_marked() -> None:
    values = [1.0, 2.0, np.nan, np.nan, 3.0, np.inf, 4.0, -np.inf]
    figure = table([("a", "t", i, v) for i, v in enumerate(values)]).plot()
    _, y = drawn(figure)["a"]
    assert np.isnan(y).tolist() == [False, False, True, True, False, True, False, True]
    marks = {line.get_marker(): np.asarray(line.get_xdata()).tolist() for line in figure.axes[0].get_lines()
             if line.get_marker() in ("x", "^", "v")}  # fmt: skip
    assert marks == {"x": [2], "^": [5], "v": [7]}
    alone = [line for line in figure.axes[0].get_lines() if line.get_marker() == "o"]
    assert np.asarray(alone[0].get_xdata()).tolist() == [4, 6]


def test_a_restart_is_a_dotted_line(log: tbq.LogDir) -> None:
    lines = [
        line for line in log.plot("train/loss", run="resumed").axes[0].get_lines() if line.get_zorder() == 1
    ]
    assert [line.get_xdata()[0] for line in lines] == [100.0]


def test_a_log_axis_leaves_out_what_it_does_not_have() -> None:
    rows = [("a", "t", i, v) for i, v in enumerate([1.0, 0.0, -1.0, 10.0])]
    with pytest.warns(TbqWarning, match="t: 2 values ≤ 0 left out"):
        assert np.isnan(drawn(table(rows).plot(log_y=True))["a"][1]).tolist() == [False, True, True, False]
    with pytest.warns(TbqWarning, match="1 point at x ≤ 0 left out"):
        assert drawn(table(rows).plot(log_x=True))["a"][0].tolist() == [1, 2, 3]
    with pytest.raises(SelectionError, match="needs values above 0"):
        table([("a", "t", 1, -1.0)]).plot(log_y=True)
    with pytest.raises(SelectionError, match="needs x above 0"):
        table([("a", "t", 0, 1.0)]).plot(log_x=True)


def test_a_band_below_zero_reaches_the_end_of_a_log_axis() -> None:
    rows = [(f"s{s}", "t", step, v) for s, v in enumerate([0.1, 0.1, 4.0]) for step in range(3)]
    figure = table(rows).plot(by="s*", band="std", log_y=True)
    (shape,) = bands(figure)
    assert 0 < shape[:, 1].min() < figure.axes[0].get_ylim()[0]


# ---- bad input ----


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"style": "nice"}, "style: got 'nice' .*, want one of screen, paper, talk, dark"),
        ({"band": "wide"}, "band: got 'wide'"),
        ({"kind": "pie"}, "kind: got 'pie'"),
        ({"smooth": 2}, "smooth: got 2"),
        ({"ylim": "3:1"}, "ylim: got '3:1'"),
        ({"ylim": ":-10", "log_y": True}, "ylim: -10 cannot be on a log axis"),
        ({"size": "huge"}, "size: got 'huge'"),
        ({"size": (0, 3)}, "0.5 to 100 inches"),
        ({"order": "best:val/loss"}, "order: got 'best:val/loss'"),
        ({"outliers": 0.7}, "outliers: got 0.7"),
        ({"band": "std", "center": "median"}, "center: got 'median'"),
        ({"colour": "red"}, "has no argument 'colour'"),
        ({"dpi": 1e9}, "dpi: got"),
        ({"by": 3}, "by: got 3"),
        ({"log_y": True, "ylim": "0:1"}, "ylim: 0 cannot be on a log axis"),
        ({"kind": "confusion"}, "is for results, not for a log"),
        ({"kind": "parallel", "tag": ["lr", "val/loss"]}, "name the metric"),
    ],
)
def test_a_wrong_argument_says_what_is_wanted(log: tbq.LogDir, options: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        log.plot(**{"tag": "val/loss", **options})


def test_patterns_that_match_nothing(log: tbq.LogDir) -> None:
    with pytest.raises(SelectionError, match=r"no run matches the group") as nothing:
        log.plot("val/loss", by="re:seed=.")
    assert nothing.value.hint == "the expression must match the full name of a run: 're:.*seed=..*'"
    with pytest.raises(SelectionError, match="no run has the hyperparameter 'learning'"):
        log.plot("val/loss", by="hparam.learning")
    with pytest.raises(SelectionError, match="no tag matches 'val/lss'; closest: val/loss"):
        log.plot("val/lss")
    with pytest.raises(SelectionError, match="cannot draw tags of kind texts"):
        log.plot("notes/text_summary")
    with pytest.raises(SelectionError, match="x: no run has the tag 'val/lss'; closest: val/loss"):
        log.plot("train/loss", x="val/lss")
    with pytest.raises(SelectionError, match="order: no run has the tag 'val/lss'; closest: val/loss"):
        log.plot("train/loss", order="best:val/lss:min")
    with pytest.raises(SelectionError, match="nothing to draw: no scalars"):
        table([("a", "t", 1, 1.0)]).head(0).plot()


@pytest.mark.filterwarnings("default::tbq.TbqWarning")
def test_a_tag_that_is_missing_in_some_runs_is_said() -> None:
    rows = [("a", "t", 0, 1.0), ("a", "t", 1, 1.0), ("b", "u", 0, 1.0), ("b", "u", 1, 1.0)]
    with pytest.warns(TbqWarning, match="1 of 2 runs has no t: b"):
        assert list(drawn(table(rows).plot("t"))) == ["a"]


def test_odd_tables() -> None:
    assert len(drawn(table([("a", "t", 5, 1.0)]).plot())) == 1
    with pytest.warns(TbqWarning, match="t: no value is finite; marks show where"):
        table([("a", "t", i, float("nan")) for i in range(3)]).plot()
    huge = table([("a", "t", i, v) for i, v in enumerate([1.7e308, -1.7e308, 5e-324])]).plot()
    huge.draw_without_rendering()
    assert np.isfinite(drawn(huge)["a"][1]).all()
    table([("a", "t", 2**62, 1.0), ("a", "t", -(2**62), 2.0)]).plot().draw_without_rendering()
    shuffled = table([("b", "t", 0, 3.0), ("a", "t", 0, 1.0), ("b", "t", 1, 4.0), ("a", "t", 1, 2.0)])
    assert {name: y.tolist() for name, (_, y) in drawn(shuffled.plot()).items()} == {"a": [1, 2], "b": [3, 4]}


def test_a_thousand_runs_are_thinned_or_grouped() -> None:
    rows = [(f"run{i:04d}", "t", step, float(i)) for i in range(1000) for step in range(3)]
    many = table(rows)
    with pytest.warns(TbqWarning, match="1,000 runs: drawing 100, evenly chosen"):
        figure = many.plot()
    lines = drawn(figure)
    assert len(lines) == 100 and "run0000" in lines and "run0999" in lines
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert len(texts) == 20 and texts[-1] == "… and 81 more"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grouped = drawn(many.plot(by="run*", band="minmax"))
    assert list(grouped) == ["run* (n=1000)"] and grouped["run* (n=1000)"][1][0] == 499.5


# ---- figures ----


def test_an_axes_of_the_user_is_drawn_into(log: tbq.LogDir) -> None:
    ax = matplotlib.figure.Figure().subplots()
    assert log.plot("val/loss", run="lr=0.1", ax=ax) is ax and len(drawn(ax)) == 2
    assert log.scalars("val/loss", run="lr=0.1").plot(ax=ax) is ax and len(ax.get_lines()) == 4
    with pytest.raises(UsageError, match="one Axes holds one tag"):
        log.plot(["val/loss", "lr"], ax=ax)


def test_settings_of_the_user_stay(log: tbq.LogDir) -> None:
    before = dict(matplotlib.rcParams)
    log.plot("val/loss", style="paper", run="lr=0.1")
    assert dict(matplotlib.rcParams) == before


def test_styles_and_sizes(log: tbq.LogDir) -> None:
    paper = log.plot("val/loss", run="lr=*", style="paper")
    assert paper.get_figwidth() == 3.25 and paper.axes[0].yaxis.label.get_fontsize() == 8
    lines = [line for line in paper.axes[0].get_lines() if line.get_zorder() == 3]
    assert len({(str(line._dash_pattern), line.get_marker()) for line in lines}) == 6
    assert log.plot("val/loss", style="paper", size="neurips").get_figwidth() == 5.5
    assert log.plot("val/loss", size="5x2").get_size_inches().tolist() == [5, 2]
    talk, screen = log.plot("val/loss", style="talk"), log.plot("val/loss")
    ratio = talk.axes[0].yaxis.label.get_fontsize() / screen.axes[0].yaxis.label.get_fontsize()
    assert ratio == pytest.approx(1.6)
    assert sum(log.plot("val/loss", style="dark").get_facecolor()[:3]) < 0.5


def test_labels_at_the_ends_of_lines(log: tbq.LogDir) -> None:
    figure = log.plot("train/loss", run="lr=*", by=SEEDS, band="std", legend="direct")
    texts = figure.axes[0].texts
    assert {text.get_text() for text in texts} == set(drawn(figure))
    figure.draw_without_rendering()
    boxes = sorted((text.get_window_extent() for text in texts), key=lambda box: box.y0)
    assert all(low.y1 <= high.y0 + 1 for low, high in zip(boxes, boxes[1:], strict=False))


def test_colours_stay_when_runs_are_selected(log: tbq.LogDir) -> None:
    def colours(**options: Any) -> dict[str, str]:
        lines = log.plot("val/loss", **options).axes[0].get_lines()
        return {line.get_label(): line.get_color() for line in lines if line.get_zorder() == 3}

    every = colours()
    few = colours(run="lr=0.1")
    assert few == {run: every[f"lr=0.1/{run}"] for run in ("seed=0", "seed=1")}


def test_several_tags_are_a_grid(log: tbq.LogDir) -> None:
    figure = log.plot(["train/*", "val/*"], run="lr=*")
    assert [ax.get_title(loc="left") for ax in figure.axes] == [
        "train/accuracy", "train/loss", "val/accuracy", "val/loss",
    ]  # fmt: skip
    assert len(log.plot(run="lr=*").axes) == 5  # every tag that is a curve
    rows = [("a", f"tag{i:02d}", step, 1.0) for i in range(20) for step in range(2)]
    with pytest.warns(TbqWarning, match="20 tags: drawing the first 12"):
        assert len(table(rows).plot().axes) == 12


def test_without_matplotlib_the_extra_is_named(
    log: tbq.LogDir, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for call in (lambda: log.plot("val/loss"), lambda: log.write_plot(tmp_path / "x.png", tag="val/loss")):
        with pytest.raises(tbq.errors.DependencyError, match="needs matplotlib") as absent:
            call()
        assert absent.value.hint == install_command("plot")
    assert "val/loss" in log.plot_text("val/loss")


def test_a_file_that_threads_share_is_one_session(tmp_path: Path) -> None:
    from tbq.decode import decode
    from tbq.decode.options import DecodeOptions
    from tbq.decode.reader import table_of
    from tbq.decode.takeovers import takeovers_of

    log = tbq.open(logs.write(tmp_path / "runs", {"a": {"loss": logs.line(range(3000))}}))
    options = DecodeOptions(threads=4, split=1 << 14, block=1 << 12)
    result = decode(log._reader.runs, ["scalars"], options, log._reader.unpacked, session_tables=True)
    assert len(table_of(result.segments())) > 1  # else this tests nothing
    assert takeovers_of(result, log.runs) == {}
