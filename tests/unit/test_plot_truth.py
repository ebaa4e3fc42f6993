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
from tbq.plot.looks import looks
from tbq.plot.options import PlotOptions
from tbq.plot.ranges import usual_range
from tbq.plot.scalars import of_table
from tbq.plot.terminal import lines_of
from tbq.table.table import Table

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
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert labels == ["lr=0.001 (n=20)", "lr=0.01 (n=20)", "lr=0.1 (n=19–20, 1 not finite)"]
    assert "lr=0.1 (n=19–20, 1 not finite)" in text(rows, by="re:(lr=[^_]*)_.*", band="std")
    short: Any = rows.plot(by="re:(lr=[^_]*)_.*", band="std", no_n=True)
    labels = [text.get_text() for text in short.axes[0].get_legend().get_texts()]
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
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == [
        "lr=0.001",
        "lr=0.01",
        "lr=0.1",
    ]
    long = {f"{'x' * 40}{rate}{'y' * 40}": decay(rate) for rate in (1, 2, 3)}
    figure = table(long).plot()
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert len(set(labels)) == 3 and max(map(len, labels)) <= 48


@pytest.mark.parametrize("style", ["screen", "paper", "dark"])
@pytest.mark.parametrize("by", ["run", "re:(.*)_s=.*"])
def test_no_two_groups_look_alike(style: str, by: str) -> None:
    figure: Any = table(SWEEP).plot(by=by, band="none" if by == "run" else "std", style=style)
    lines = [line for line in figure.axes[0].get_lines() if line.get_zorder() == 3]
    seen = {(line.get_color(), str(line._dash_pattern), line.get_marker()) for line in lines}
    assert len(seen) == len(lines) == (60 if by == "run" else 12)


def test_looks_repeat_only_when_all_are_taken() -> None:
    assert len(set(looks({str(i): "red" for i in range(24)}).values())) == 24
    assert len(looks({str(i): "red" for i in range(30)})) == 30


def test_too_many_groups_suggest_panels_which_divide_them() -> None:
    rows = table({f"g{i}_s=0": decay(i / 10) for i in range(30)})
    with pytest.warns(tbq.TbqWarning, match=r"30 groups in one panel .* panels=2 \(--panels\)"):
        rows.plot(by="re:(g.*)_s=.*", band="std")
    figure: Any = rows.plot(by="re:(g.*)_s=.*", band="std", panels=2)
    counts = [sum(line.get_zorder() == 3 for line in ax.get_lines()) for ax in figure.axes]
    assert counts == [15, 15] and len({ax.get_ylim() for ax in figure.axes}) == 1


# The user's words.


def test_labels_and_names_in_the_users_words() -> None:
    options: Any = {
        "by": "re:(lr=[^_]*)_.*", "band": "std", "x_label": "update", "y_label": "training loss", "no_n": True,
        "rename": {r"lr=(.*)": r"η = \1"},
    }  # fmt: skip
    figure: Any = table(SWEEP).plot(**options)
    ax = figure.axes[0]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("update", "training loss")
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels[:2] == ["η = 0.001", "η = 0.01"]
    drawn = text(table(SWEEP), **options)
    assert drawn.startswith("training loss  over update") and "η = 0.01" in drawn
    two = Table(
        pa.concat_tables([table({"a": [1.0, 2.0]}).to_arrow(), table({"a": [1.0, 2.0]}, "acc").to_arrow()])
    )
    figure = two.plot(rename=[("acc", "accuracy"), ("^loss$", "L")])
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["accuracy", "L"] or {
        ax.get_title(loc="left") for ax in figure.axes
    } == {"accuracy", "L"}


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


@pytest.mark.parametrize("rename", ["lr", ["lr"], [("(", "x")], [("lr", r"\1")], [("a", 1)], 3])
def test_a_wrong_rename_is_refused(rename: Any) -> None:
    with pytest.raises(UsageError, match="rename"):
        table({"a": [1.0]}).plot(rename=rename)


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
    everything: Any = log.plot("loss", kind="scatter", outliers=0)
    assert everything.axes[0].get_ylim()[1] > 1e9


def test_a_second_file_of_a_figure_is_the_same() -> None:
    figure: Any = table(SWEEP).plot(by="re:(lr=[^_]*)_.*", band="std")
    places = []
    for _ in range(3):
        figure.draw_without_rendering()
        places.append(json.dumps([ax.get_position().bounds for ax in figure.axes]))
    assert len(set(places)) == 1
