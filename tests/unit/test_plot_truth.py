"""Pictures that tell the truth by themselves: a sweep with a diverged run, names and lines that can be told apart."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pytest
from tests.fixtures import logs

import tbq
from tbq.errors import SelectionError, UsageError
from tbq.plot.cells import plain
from tbq.plot.chart import Chart, Columns, Curve
from tbq.plot.line_styles import line_styles
from tbq.plot.options import PlotOptions
from tbq.plot.ranges import usual_range
from tbq.plot.scalars import of_table
from tbq.plot.terminal import lines_of
from tbq.table.table import Table

pytestmark = pytest.mark.filterwarnings("ignore:.* leaves? the range. a single run:tbq.TbqWarning")

mpl.use("agg")
STEPS = 100


def decay(level: float, start: float = 2.0) -> np.ndarray:
    return level + start * np.exp(-np.arange(STEPS) / 20)


def diverging(level: float, far: float = 1e6, nan_from: int = 90) -> np.ndarray:
    values = decay(level)
    values[50:] = np.geomspace(values[50], far, STEPS - 50)
    values[nan_from:] = np.nan
    return values


def table(curves: dict[str, Any], tag: str = "loss") -> Table:
    rows = [
        (run, tag, step, float(value)) for run, values in curves.items() for step, value in enumerate(values)
    ]
    run, tags, step, value = zip(*rows, strict=True)
    arrow = pa.table(
        {"run": run, "tag": tags, "step": pa.array(step, pa.int64()), "value": pa.array(value, pa.float64())}
    )
    return Table(arrow)


def text(rows: Table, **options: Any) -> str:
    checked = PlotOptions.of(options)
    return plain(lines_of(of_table(rows, None, None, checked), 80, 16, colour=False))


SWEEP = {
    f"lr={rate:g}_bs={size}_s={seed}": (
        diverging(0.4) if (rate, size, seed) == (0.1, 16, 3) else decay(0.3 + rate + seed / 100)
    )
    for rate in (0.001, 0.01, 0.1)
    for size in (16, 32, 64, 128)
    for seed in range(5)
}


def words(figure: Any) -> list[str]:
    return [ax.get_title(loc="right") for ax in figure.axes]


def legend(figure: Any) -> list[str]:
    """The names in the legend, inside a panel or beside it."""
    legends = [*figure.legends, *(ax.get_legend() for ax in figure.axes if ax.get_legend())]
    return [text.get_text() for each in legends for text in each.get_texts()]


def annotations(ax: Any) -> list[str]:
    return [each.get_text() for each in ax.texts]


# The range.


@pytest.mark.parametrize("count", [2, 3, 60])
def test_one_diverged_run_does_not_flatten_the_others(count: int) -> None:
    curves = {f"good{i}": decay(0.3 + i / 1000) for i in range(count - 1)} | {"bad": diverging(0.4)}
    figure: Any = table(curves).plot()
    low, high = figure.axes[0].get_ylim()
    assert 0 < low < 0.4 and 2 < high < 3
    assert words(figure) == ["1 run leaves the range"]
    assert len(annotations(figure.axes[0])) == 1 and annotations(figure.axes[0])[0].startswith("up to ")
    full: Any = table(curves).plot(outliers=0)
    assert full.axes[0].get_ylim()[1] > 1e4 and words(full) == [""] and not annotations(full.axes[0])


def test_an_ordinary_chart_shows_every_value_and_says_nothing() -> None:
    for curves in (
        {"a": decay(0.2, 10.0)},
        {"a": np.linspace(0, 1, 50), "b": np.linspace(0, 3, 50)},
        {"a": np.full(50, 1.0), "b": np.full(50, 1000.0)},  # on other levels, both are shown
        {"a": np.zeros(10)},
        {"a": [1.0]},
        {"warm-up": [0.0, 0.05, *[0.1] * 98]},
    ):
        figure: Any = table(curves).plot()
        low, high = figure.axes[0].get_ylim()
        assert low <= min(map(min, curves.values())) and high >= max(map(max, curves.values()))
        assert words(figure) == [""]


RISING = np.linspace(0.1, 0.9, STEPS)


# These are shown completely: curves that are better than the others, or too many to be outliers.
@pytest.mark.parametrize(
    ("tag", "curves", "leaving"),
    [
        ("val/accuracy", [np.full(STEPS, 0.1), RISING], 0),
        ("val/accuracy", [np.full(STEPS, 0.1)] * 59 + [RISING], 0),
        ("eval/return", [np.full(STEPS, 20.0)] * 4 + [np.linspace(20, 5000, STEPS)], 0),
        ("eval/return", [np.full(STEPS, 20.0)] * 4 + [np.linspace(20, -5000, STEPS)], 1),
        ("eval/return", [np.full(STEPS, 20.0)] * 4 + [np.linspace(20, 1e38, STEPS)], 1),
        ("val/loss", [decay(0.3)] * 3 + [decay(0.3) * np.linspace(1, 100, STEPS)], 1),
        ("val/loss", [decay(0.3)] * 3 + [decay(0.3) - np.linspace(0, 100, STEPS)], 0),
        ("val/kl", [RISING, RISING * 10], 0),  # one of two runs: twice as many would be an outlier
        ("val/loss", [decay(0.3), diverging(0.3)], 1),
        ("grad_norm", [RISING, RISING * 10], 0),
        ("grad_norm", [RISING] * 59 + [RISING * 10], 1),
        ("grad_norm", [RISING] * 4 + [RISING * 10], 0),
        ("grad_norm", [RISING] * 4 + [RISING * 1000], 1),
    ],
)
def test_a_run_leaves_the_range_if_few_are_as_far_and_none_is_better_there(
    tag: str, curves: list[np.ndarray], leaving: int
) -> None:
    figure: Any = table({f"run{i:02}": values for i, values in enumerate(curves)}, tag).plot()
    assert words(figure) == ["1 run leaves the range"] * leaving or (not leaving and words(figure) == [""])


def test_a_spike_of_one_step_is_marked_with_its_value() -> None:
    values = decay(0.3)
    values[70] = 5e4
    figure: Any = table({"a": values}).plot()
    assert figure.axes[0].get_ylim()[1] < 3
    assert annotations(figure.axes[0]) == ["up to 50,000"]
    marks = [line for line in figure.axes[0].get_lines() if line.get_marker() == "^"]
    assert [mark.get_xdata()[0] for mark in marks] == [70]
    values[70] = -5e4
    down: Any = table({"a": values}).plot()
    assert annotations(down.axes[0]) == ["down to −50,000"] and down.axes[0].get_ylim()[0] > 0


def test_limits_of_the_user_need_no_mark() -> None:
    figure: Any = table(SWEEP).plot(ylim="0:1")
    assert figure.axes[0].get_ylim() == (0, 1) and words(figure) == [""] and not annotations(figure.axes[0])


def test_on_a_log_axis_a_run_that_converges_stays_and_one_that_diverges_leaves() -> None:
    converging = np.geomspace(1, 1e-12, STEPS)
    figure: Any = table({"a": decay(0.01, 1.0), "b": converging}).plot(log_y=True)
    assert figure.axes[0].get_ylim()[0] < 1e-12 and words(figure) == [""]
    figure = table({"a": decay(0.3), "b": decay(0.4), "c": diverging(0.3, 1e30)}).plot(log_y=True)
    assert figure.axes[0].get_ylim()[1] < 10 and words(figure) == ["1 run leaves the range"]


def test_the_usual_range_survives_any_numbers() -> None:
    assert usual_range([]) is None and usual_range([np.array([np.nan, np.inf])]) is None
    for extreme in (1.7e308, -1.7e308, 5e-324):
        low, high = usual_range([np.array([1.0, extreme, 2.0]), np.array([extreme])]) or (1, 0)
        assert low <= high and math.isfinite(low) and math.isfinite(high)


def test_smoothing_does_not_hide_that_a_run_leaves() -> None:
    figure: Any = table({"a": decay(0.3), "b": decay(0.4), "c": diverging(0.3)}).plot(smooth=0.6)
    assert figure.axes[0].get_ylim()[1] < 3 and words(figure) == ["1 run leaves the range"]


# Groups.


def test_a_band_neither_stretches_the_axis_nor_covers_the_others() -> None:
    figure: Any = table(SWEEP).plot(by="re:(lr=[^_]*)_.*", band="std")
    low, high = figure.axes[0].get_ylim()
    assert low > -0.2 and high < 3.5
    assert words(figure) == ["1 group leaves the range"]
    of_group = next(line for line in figure.axes[0].get_lines() if line.get_label().startswith("lr=0.1 "))
    (band,) = (
        each
        for each in figure.axes[0].collections
        if mpl.colors.same_color(each.get_facecolor()[0][:3], of_group.get_color())
    )
    steps = np.concatenate([path.vertices[:, 0] for path in band.get_paths()])
    assert not ((steps > 70) & (steps < 90)).any()  # its mean is outside the range there


def test_the_mean_of_a_group_with_a_member_that_is_not_finite_says_so() -> None:
    rows = table(SWEEP)
    figure: Any = rows.plot(by="re:(lr=[^_]*)_.*", band="std")
    labels = legend(figure)
    assert labels == ["lr=0.001 (n=20)", "lr=0.01 (n=20)", "lr=0.1 (n=19–20, 1 not finite)"]
    assert "lr=0.1 (n=19–20, 1 not finite)" in text(rows, by="re:(lr=[^_]*)_.*", band="std")
    short: Any = rows.plot(by="re:(lr=[^_]*)_.*", band="std", no_n=True)
    labels = legend(short)
    assert labels == ["lr=0.001", "lr=0.01", "lr=0.1 (1 not finite)"]


# Terminals.


def test_a_terminal_chart_marks_what_leaves_and_says_how_to_see_it() -> None:
    rows = table({"a": decay(0.3), "b": decay(0.4), "c": diverging(0.3)})
    drawn = text(rows)
    assert "1 run leaves the range · --outliers 0 shows all" in drawn.splitlines()[0]
    assert re.search(r"▲\d+k", drawn.splitlines()[1])
    assert "▲" not in text(rows, outliers=0) and "leaves" not in text(rows, outliers=0)


def test_a_chart_of_the_dashboard_has_the_same_range() -> None:
    def curve(name: str, values: Any) -> Curve:
        return Curve(name, None, Columns(*[np.asarray(values, float)] * 4))

    curves = [curve("a", decay(0.3)), curve("b", decay(0.4)), curve("c", diverging(0.3))]
    chart = Chart(curves, 0, STEPS)
    assert [each[0].name for each in chart.leaving()] == ["c"]
    assert "▲" in plain(chart.lines(57, 12)) and "▲" not in plain(
        Chart(curves, 0, STEPS, full=True).lines(57, 12)
    )


# Names and lines.


def test_legends_show_what_tells_runs_apart() -> None:
    few = {f"exp/{name}": values for name, values in SWEEP.items() if name.endswith("bs=16_s=0")}
    figure: Any = table(few).plot()
    assert legend(figure) == ["lr=0.001", "lr=0.01", "lr=0.1"]
    long = {f"{'x' * 40}{rate}{'y' * 40}": decay(rate) for rate in (1, 2, 3)}
    figure = table(long).plot()
    labels = legend(figure)
    assert len(set(labels)) == 3 and max(map(len, labels)) <= 48


@pytest.mark.parametrize("style", ["screen", "paper", "dark"])
@pytest.mark.parametrize("by", ["run", "re:(.*)_s=.*"])
def test_no_two_groups_look_alike(style: str, by: str) -> None:
    figure: Any = table(SWEEP).plot(by=by, band="none" if by == "run" else "std", style=style)
    lines = [line for line in figure.axes[0].get_lines() if line.get_zorder() == 3]
    seen = {(line.get_color(), str(line._dash_pattern), line.get_marker()) for line in lines}
    assert len(seen) == len(lines) == (60 if by == "run" else 12)


def test_looks_repeat_only_when_all_are_taken() -> None:
    assert len(set(line_styles({str(i): "red" for i in range(24)}).values())) == 24
    assert len(line_styles({str(i): "red" for i in range(30)})) == 30


def test_too_many_groups_suggest_panels_which_divide_them() -> None:
    rows = table({f"g{i}_s=0": decay(i / 10) for i in range(30)})
    with pytest.warns(tbq.TbqWarning, match=r"30 groups in one panel .* panels=2 \(--panels\)"):
        rows.plot(by="re:(g.*)_s=.*", band="std")
    figure: Any = rows.plot(by="re:(g.*)_s=.*", band="std", panels=2)
    counts = [sum(line.get_zorder() == 3 for line in ax.get_lines()) for ax in figure.axes]
    assert counts == [15, 15] and len({ax.get_ylim() for ax in figure.axes}) == 1
    assert len([name for name in legend(figure) if name.startswith("g")]) == 30  # each group is named


def test_a_legend_covers_no_line_that_leaves_nor_its_value() -> None:
    for options in ({}, {"by": "re:(lr=[^_]*)_.*", "band": "std"}):
        for style in ("screen", "paper", "talk"):
            few = {name: values for name, values in SWEEP.items() if "_bs=16_s=3" in name}
            figure: Any = table(few).plot(style=style, **options)
            assert words(figure) != [""] and figure.axes[0].get_legend() is None
            assert len(legend(figure)) == 3 or len(annotations(figure.axes[0])) > 3  # at the ends of lines
    calm: Any = table({"a": decay(0.3), "b": decay(0.5)}).plot()
    assert calm.axes[0].get_legend() is not None


def test_in_a_terminal_groups_of_one_colour_have_letters() -> None:
    few = of_table(table({f"r{i}": decay(i / 10) for i in range(3)}), None, None, PlotOptions())
    many = of_table(table({f"r{i:02}": decay(i / 10) for i in range(20)}), None, None, PlotOptions())
    assert len({line.colour for line in many.lines.values()}) < 20
    assert "A r" not in plain(lines_of(few, 100, 20, colour=True))
    drawn = plain(lines_of(many, 100, 20, colour=True))
    assert all(
        f"{letter} {i:02}" in drawn or f"{letter} r{i:02}" in drawn
        for i, letter in enumerate("ABCDEFGHIJKLMNOPQRST")
    )
    assert "A " in plain(lines_of(few, 100, 20, colour=False))


# Differences.


@pytest.mark.parametrize("band", ["none", "std"])
def test_a_difference_covers_what_the_curves_show(band: str) -> None:
    curves = {"a_s=0": decay(0.3), "b_s=0": diverging(0.4), "a_s=1": decay(0.3), "b_s=1": diverging(0.4)}
    options: Any = {"kind": "difference"} | ({"by": "re:(.)_.*", "band": "std"} if band == "std" else {})
    if band == "none":
        curves = dict(list(curves.items())[:2])
    figure: Any = table(curves).plot(**options)
    above, below = figure.axes
    assert above.get_ylim()[1] < 4 and -0.5 < below.get_ylim()[0] <= 0 and below.get_ylim()[1] < 4
    assert [each for each in annotations(below) if each.startswith("up to ")], annotations(below)
    full: Any = table(curves).plot(**options, outliers=0)
    assert full.axes[1].get_ylim()[1] > 1e4 and not annotations(full.axes[1])
    ordinary: Any = table({"a": decay(0.3), "b": decay(0.5, 4.0)}).plot(kind="difference")
    assert not annotations(ordinary.axes[1]) and ordinary.axes[1].get_ylim()[1] > 2.2
    drawn = text_of_difference(table(dict(list(curves.items())[:2])))
    assert "leaves the range" in drawn.split(" − ")[1], drawn


def text_of_difference(rows: Table) -> str:
    from tbq.plot.terminal import _difference

    chart = of_table(rows, None, None, PlotOptions.of({"kind": "difference"}))
    return plain(_difference(chart, 80, 30, colour=False))


def test_an_axis_has_two_ticks_at_least() -> None:
    for far in (0.072, 0.5, 0.65, 0.7, 1.3, 7.0):
        curves = {"a": np.zeros(STEPS), "b": np.linspace(-far, far * 0.7, STEPS)}
        figure: Any = table(curves).plot(kind="difference", size="3x2.5")
        figure.draw_without_rendering()
        low, high = figure.axes[1].get_ylim()
        assert sum(low <= tick <= high for tick in figure.axes[1].get_yticks()) >= 2


# The user's words.


def test_labels_and_names_in_the_users_words() -> None:
    options: Any = {
        "by": "re:(lr=[^_]*)_.*", "band": "std", "x_label": "update", "y_label": "training loss", "no_n": True,
        "relabel": {r"lr=(.*)": r"η = \1"},
    }  # fmt: skip
    figure: Any = table(SWEEP).plot(**options)
    ax = figure.axes[0]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("update", "training loss")
    assert legend(figure)[:2] == ["η = 0.001", "η = 0.01"]
    drawn = text(table(SWEEP), **options)
    assert drawn.startswith("training loss  over update") and "η = 0.01" in drawn
    two = Table(
        pa.concat_tables([table({"a": [1.0, 2.0]}).to_arrow(), table({"a": [1.0, 2.0]}, "acc").to_arrow()])
    )
    figure = two.plot(relabel=[("acc", "accuracy"), ("^loss$", "L")])
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["accuracy", "L"] or {
        ax.get_title(loc="left") for ax in figure.axes
    } == {"accuracy", "L"}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tbq.LogDir:
    return tbq.open(tbq.demo(tmp_path_factory.mktemp("demo") / "runs"))


@pytest.mark.filterwarnings("ignore::tbq.TbqWarning")
@pytest.mark.parametrize(
    ("tag", "options", "renamed"),
    [
        ("val/loss", {}, "ours"),
        ("val/loss", {"by": "hparam.lr", "band": "std"}, "η 0.1"),
        ("val/loss", {"kind": "scatter"}, "learning rate"),
        ("val/loss", {"kind": "scatter"}, "Adam"),
        ("val/loss", {"kind": "parallel"}, "learning rate"),
        ("val/loss", {"kind": "parallel"}, "Adam"),
        ("train/loss", {"kind": "difference", "run": ["lr=0.1/seed=0", "lr=0.03/seed=0"]}, "ours"),
        ("weights/layer1", {"kind": "ridge"}, "W1"),
        ("weights/layer1", {"kind": "heatmap"}, "W1"),
        ("classifier", {"kind": "pr"}, "PR"),
        ("tone", {"kind": "audio"}, "sound"),
        ("samples", {"kind": "images"}, None),
    ],
)
@pytest.mark.parametrize("style", ["screen", "paper"])
def test_every_kind_of_figure_has_the_users_words(
    demo: tbq.LogDir, tag: str, options: Any, renamed: str | None, style: str
) -> None:
    relabel = {
        r"lr=0.1/.*": "ours", r"lr=(.*)": r"η \1", "^lr$": "learning rate", "^adam$": "Adam", "weights/layer1": "W1",
        "classifier": "PR", "tone": "sound",
    }  # fmt: skip
    figure: Any = demo.plot(
        tag,
        title="A title",
        x_label="an x",
        y_label="a y",
        relabel=relabel,
        no_n=True,
        style=style,
        **options,
    )
    figure.draw_without_rendering()
    texts = [each.get_text() for each in figure.findobj(mpl.text.Text) if each.get_visible()]
    assert {"A title", "an x", "a y"} <= set(texts)
    assert not any("n=" in each for each in texts)
    if renamed is not None and not (style == "paper" and options.get("kind") == "pr"):  # no title on paper
        assert any(renamed in each for each in texts), texts


@pytest.mark.filterwarnings("ignore::tbq.TbqWarning")
def test_a_label_for_panels_with_names_of_their_own_is_beside_them(demo: tbq.LogDir) -> None:
    figure: Any = demo.plot("val/loss", kind="scatter", x_label="setting")
    assert figure.get_supxlabel() == "setting" and {ax.get_xlabel() for ax in figure.axes} >= {"lr", "seed"}
    figure = demo.plot(["val/loss", "val/accuracy"], y_label="metric")
    assert figure.get_supylabel() == "metric"


def test_results_in_the_users_words() -> None:
    from tbq.results import confusion, predictions

    guesses = predictions(np.eye(2)[[0, 1]], labels=np.array([0, 1]), classes=["cat", "dog"])
    figure: Any = confusion(guesses).plot(relabel={"cat": "Katze", "1": "wrong"})
    figure.draw_without_rendering()
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == ["Katze", "dog"]
    assert {text.get_text() for text in figure.axes[0].texts} == {"1"}  # a count is not a name


def test_pictures_of_several_runs_have_short_names(tmp_path: Path) -> None:
    for run in ("exp_lr=0.1_s=0", "exp_lr=0.1_s=1"):
        with tbq.SummaryWriter(tmp_path / run) as writer:
            writer.add_histogram("h", np.arange(10.0), 0)
            writer.add_image("img", np.zeros((3, 4, 4), np.uint8), 0)
    log = tbq.open(tmp_path)
    assert [ax.get_title(loc="left") for ax in log.plot("h").axes] == ["s=0 · h", "s=1 · h"]
    assert [ax.get_ylabel() for ax in log.plot("img").axes] == ["s=0", "s=1"]


def test_a_log_axis_for_one_tag() -> None:
    two = Table(
        pa.concat_tables([table({"a": [1.0, 2.0]}).to_arrow(), table({"a": [1.0, 2.0]}, "acc").to_arrow()])
    )
    figure: Any = two.plot(log_y="loss")
    assert {ax.get_title(loc="left"): ax.get_yscale() for ax in figure.axes} == {
        "acc": "linear",
        "loss": "log",
    }
    with pytest.raises(SelectionError, match="'lss'"):
        two.plot(log_y=["lss"])


@pytest.mark.parametrize("relabel", ["lr", ["lr"], [("(", "x")], [("lr", r"\1")], [("a", 1)], 3])
def test_a_wrong_relabelling_is_refused(relabel: Any) -> None:
    with pytest.raises(UsageError, match="relabel"):
        table({"a": [1.0]}).plot(relabel=relabel)


def test_runs_without_the_tag_do_not_count_towards_the_most_runs(tmp_path: Path) -> None:
    runs: Any = {f"r{i}": {"loss" if i < 10 else "other": [(0, 1.0), (1, 2.0)]} for i in range(30)}
    log = tbq.open(logs.write(tmp_path / "runs", runs))
    with pytest.warns(tbq.TbqWarning, match="20 of 30 runs have no loss"):
        figure: Any = log.plot("loss", max_runs=10)
    assert sum(line.get_zorder() == 3 for line in figure.axes[0].get_lines()) == 10


def test_hyperparameters_of_a_diverged_run_do_not_flatten_the_others(tmp_path: Path) -> None:
    for i in range(8):
        with tbq.SummaryWriter(tmp_path / f"r{i}") as writer:
            writer.add_hparams({"lr": 10.0 ** -(i % 3), "bs": 16 * 2 ** (i % 2)}, {}, run_name=".")
            writer.add_scalar("loss", 1e9 if i == 7 else 0.2 + i / 10, 0)
    log = tbq.open(tmp_path)
    for kind in ("scatter", "parallel"):
        figure: Any = log.plot("loss", kind=kind, y_label="final loss")
        assert all(ax.get_ylim()[1] < 2 for ax in figure.axes)
        said = [*words(figure), *(each.get_text() for ax in figure.axes for each in ax.texts)]
        assert any(each.startswith("1 run leaves the range") for each in said)
    on_log: Any = log.plot("loss", kind="scatter", log_y=True)
    assert {ax.get_yscale() for ax in on_log.axes} == {"log"} and on_log.axes[0].get_ylim()[1] < 2
    assert words(on_log)[0] == "1 run leaves the range"
    everything: Any = log.plot("loss", kind="scatter", outliers=0)
    assert everything.axes[0].get_ylim()[1] > 1e9


def test_a_second_file_of_a_figure_is_the_same() -> None:
    figure: Any = table(SWEEP).plot(by="re:(lr=[^_]*)_.*", band="std")
    places = []
    for _ in range(3):
        figure.draw_without_rendering()
        places.append(json.dumps([ax.get_position().bounds for ax in figure.axes]))
    assert len(set(places)) == 1


def test_runs_without_hyperparameters_are_said_and_do_not_stretch_the_range(tmp_path: Path) -> None:
    for i in range(8):
        with tbq.SummaryWriter(tmp_path / f"r{i}") as writer:
            if i < 6:
                writer.add_hparams({"lr": 10.0 ** -(i % 3)}, {}, run_name=".")
            writer.add_scalar("loss", (0.2 + i / 10) * (1 if i < 6 else 3), 0)
    log = tbq.open(tmp_path)
    for kind in ("scatter", "parallel"):
        with pytest.warns(tbq.TbqWarning, match="2 of 8 runs have no hyperparameters: r6, r7"):
            figure: Any = log.plot("loss", kind=kind)
        assert all(ax.get_ylim()[1] < 1.2 for ax in figure.axes)


def test_a_log_axis_of_trials_leaves_out_what_it_cannot_show(tmp_path: Path) -> None:
    for i in range(4):
        with tbq.SummaryWriter(tmp_path / f"r{i}") as writer:
            writer.add_hparams({"lr": 10.0**-i}, {}, run_name=".")
            writer.add_scalar("loss", i - 1.0, 0)
            writer.add_scalar("below", -1.0, 0)
    log = tbq.open(tmp_path)
    with pytest.warns(
        tbq.TbqWarning, match="2 of 4 runs have loss ≤ 0, which a log axis cannot show: r0, r1"
    ):
        figure: Any = log.plot("loss", kind="scatter", log_y=True)
    assert len(figure.axes[0].collections[0].get_offsets()) == 2 and words(figure) == [""]
    with pytest.raises(SelectionError, match="a log axis needs values above 0"):
        log.plot("below", kind="parallel", log_y=True)
