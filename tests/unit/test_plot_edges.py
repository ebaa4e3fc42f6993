"""Pictures at the edges of what can be drawn: the largest and smallest numbers, diverged seeds, narrow figures, options
that do not fit."""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pytest

import tbq
from tbq.errors import SelectionError, TbqWarning, UsageError
from tbq.plot.options import PlotOptions
from tbq.plot.scalars import of_table
from tbq.plot.terminal import lines_of
from tbq.table.table import Table

pytestmark = pytest.mark.filterwarnings(
    "error", "ignore:run resumed:tbq.TbqWarning", "ignore:.* runs? ha:tbq.TbqWarning"
)


def table(series: dict[str, list[float]], walls: list[float] | None = None, tag: str = "loss") -> Table:
    rows = [(run, step, value) for run, values in series.items() for step, value in enumerate(values)]
    runs, steps, values = (list(each) for each in zip(*rows, strict=True))
    times = [1000.0 + step for step in steps] if walls is None else walls * len(series)
    columns = {"run": runs, "tag": [tag] * len(runs), "step": steps, "wall_time": times, "value": values}
    return Table(pa.table(columns))


def text(rows: Table, **options: Any) -> str:
    lines = lines_of(of_table(rows, None, None, PlotOptions.of(options)), 60, 14, False)  # type: ignore[arg-type]
    return "\n".join("".join(span.text for span in line) for line in lines)


# ---- numbers ----


@pytest.mark.long
@pytest.mark.parametrize("log_y", [False, True])
@pytest.mark.parametrize(
    "values",
    [[5e-324] * 3, [1.7e308, -1.7e308, 1.0], [1.7e308] * 2, [5e-324, 1.7e308], [0.0], [1e-320, 3e-320]],
)
def test_numbers_at_the_ends_of_what_a_double_holds(tmp_path: Path, values: list[float], log_y: bool) -> None:
    rows = table({"a": values, "b": values})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TbqWarning)  # values ≤ 0 on a log axis
        for band in ("none", "std", "minmax"):
            for ending in ("png", "svg"):
                try:
                    rows.write_plot(tmp_path / f"a.{ending}", log_y=log_y, band=band, force=True)
                except SelectionError as nothing:
                    assert "needs values above 0" in str(nothing)
            if not (log_y and max(values) <= 0):
                text(rows, log_y=log_y, band=band)


@pytest.mark.parametrize("x", ["wall", "relative"])
def test_times_without_a_place_are_left_out_and_said(x: str) -> None:
    rows = table({"a": [1.0, 2.0, 3.0, 4.0]}, [100.0, 110.0, math.inf, math.nan])
    with pytest.warns(TbqWarning, match="2 points left out: the time on the x axis is not finite"):
        figure: Any = rows.plot(x=x)
    assert figure.axes[0].get_lines()[0].get_ydata().tolist() == [1.0, 2.0]


def test_an_axis_whose_span_is_infinite() -> None:
    tokens = table({"a": [-1.7e308, 0.0, 1.7e308]}, tag="tokens").to_arrow()
    rows = Table(pa.concat_tables([table({"a": [1.0, 2.0, 3.0]}).to_arrow(), tokens]))
    figure: Any = rows.plot("loss", x="tokens")
    assert np.isfinite(figure.axes[0].get_xlim()).all()
    assert len(figure.axes[0].get_lines()[0].get_xdata()) == 3


@pytest.mark.parametrize("each", [False, True])
def test_a_seed_that_diverged_is_marked_on_its_band(each: bool) -> None:
    rows = table({"a/0": [1.0, 2.0, 3.0, 4.0], "a/1": [1.0, 2.0, math.nan, math.nan], "b/0": [1.0] * 4})
    figure: Any = rows.plot(by="re:(.)/.*", band="minmax", each=each)
    marks = [line for line in figure.axes[0].get_lines() if line.get_marker() == "x"]
    assert [mark.get_xdata().tolist() for mark in marks] == [[2.0]]
    lines = {line.get_label(): line for line in figure.axes[0].get_lines() if line.get_zorder() == 3}
    assert marks[0].get_color() == lines["a (n=1–2, 1 not finite)"].get_color()
    assert text(rows, by="re:(.)/.*", band="minmax", each=each).count("✕") == 1


def test_a_spread_that_nearly_reaches_zero_does_not_stretch_a_log_axis() -> None:
    rows = table({"a": [1.0, 1.0, 1e-9], "b": [1.0, 1.4, 2.0]})
    low = 1.0 - float(np.std([1e-9, 2.0], ddof=1))
    assert low < 0 or low < 0.1  # the band of the last step
    bands: list[tuple[Any, float]] = [("std", 0.2), ("sem", 0.2), ("minmax", 0.0)]
    for band, least in bands:
        figure: Any = rows.plot(by="*", band=band, log_y=True)
        bottom = figure.axes[0].get_ylim()[0]
        assert bottom > least if least else bottom < 1e-9, band


# ---- line styles ----


def test_a_narrow_figure_with_long_names_has_a_height(tmp_path: Path) -> None:
    rows = table({f"{'long name ' * 5}{i}": [1.0, 2.0] for i in range(9)})
    figure: Any = rows.plot(size="single")
    width, height = figure.get_size_inches()
    assert width == 3.25 and 1 < height < 4


@pytest.mark.parametrize(  # every two of them meet once
    ("style", "size", "count"),
    [("screen", None, 2), ("screen", "single", 9), ("screen", "4x2.5", 120), ("paper", None, 9),
     ("paper", "single", 120), ("paper", "4x2.5", 2), ("talk", None, 120), ("talk", "single", 2), ("talk", "4x2.5", 9)],
)  # fmt: skip
def test_a_legend_outside_covers_nothing(count: int, size: Any, style: str) -> None:
    rows = table({f"method {i} of many": [1.0, 2.0, 1.0] for i in range(count)})
    figure: Any = rows.plot(size=size, style=style, legend="outside", max_runs=200)
    figure.draw_without_rendering()
    (legend,) = figure.legends
    box, whole, axes = legend.get_window_extent(), figure.bbox, figure.axes[0].get_window_extent()
    assert box.x0 >= -1 and box.y0 >= -1 and box.x1 <= whole.x1 + 1 and box.y1 <= whole.y1 + 1
    assert not box.overlaps(axes)
    assert axes.height > 0.25 * whole.height and axes.width > 0.25 * whole.width
    texts = [text.get_text() for text in legend.get_texts()]
    more = re.fullmatch(r"… and (\d+) more", texts[-1])
    assert len(texts) + (int(more[1]) - 1 if more else 0) == count


@pytest.mark.parametrize("legend", ["inside", "outside", "direct", "none", None])
def test_a_legend_in_an_axes_of_the_user_covers_nothing(legend: Any) -> None:
    rows = table({f"method {i}": [1.0 + i, 2.0, 1.0] for i in range(4 if legend == "direct" else 9)})
    with plt.rc_context({"legend.fontsize": "small"}):
        figure, ax = plt.subplots()
        assert rows.plot(ax=ax, legend=legend) is ax
        figure.draw_without_rendering()
    if legend in ("outside", None):
        assert ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1
    if legend == "direct":
        assert sorted(text.get_text() for text in ax.texts) == [f"method {i}" for i in range(4)]
    plt.close("all")


def test_a_lone_point_of_a_band_shows_its_ends() -> None:
    figure: Any = table({"a": [1.0], "b": [3.0]}).plot(by="*", band="minmax")
    (ends,) = (each for each in figure.axes[0].collections if hasattr(each, "get_segments"))
    assert ends.get_segments()[0].tolist() == [[0.0, 1.0], [0.0, 3.0]]


def test_columns_are_never_more_than_panels(log: tbq.LogDir) -> None:
    options: list[tuple[str, Any, int]] = [
        ("weights/layer1", {}, 1), ("classifier", {}, 1), ("val/loss", {"kind": "scatter"}, 4), ("val/loss", {}, 8),
    ]  # fmt: skip
    for tag, given, count in options:
        figure: Any = log.plot(tag, panels=9, **given)
        assert figure.axes[0].get_gridspec().ncols == count


def test_a_font_that_is_not_installed_is_refused(
    log: tbq.LogDir, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(
        UsageError, match="font: 'DejaVu Snas' is not installed; closest: DejaVu Sans"
    ) as wrong:
        log.plot("val/loss", font="DejaVu Snas")
    assert wrong.value.hint == "want serif, sans, mono, or an installed font"
    log.write_plot(tmp_path / "a.png", tag="val/loss", font="DejaVu Sans Mono")
    assert capfd.readouterr().err == ""


def test_a_difference_does_not_fit_into_an_axes(log: tbq.LogDir) -> None:
    _, ax = plt.subplots()
    with pytest.raises(UsageError, match="a difference needs its own Axes"):
        log.plot("train/loss", run=["lr=0.1/seed=0", "lr=0.03/seed=0"], kind="difference", ax=ax)
    plt.close("all")


def test_sizes_in_messages_are_as_they_were_given(log: tbq.LogDir) -> None:
    with pytest.raises(UsageError, match=r"size: got '3000' \(str\), want 0.5 to 100 inches"):
        log.plot("val/loss", size="3000")


# ---- LaTeX ----


def test_pgf_defines_what_it_uses(log: tbq.LogDir, tmp_path: Path) -> None:
    """A document that loads pgf defines all other commands."""
    log.write_plot(tmp_path / "a.pgf", tag="train/loss", log_y=True, title="\"a\" 'b' --c ``d")
    made = (tmp_path / "a.pgf").read_text()
    assert r"\mathdefault{" in made and r"\def\mathdefault#1{#1}" in made
    assert r"\textquotedbl{" not in made  # which the default encoding of LaTeX does not have
    assert "--" not in "".join(re.findall(r"\\selectfont(.*)\}\}%", made)), "an en dash that nobody wrote"


def test_ticks_beyond_every_unit_are_powers_of_ten() -> None:
    figure: Any = table({"a": [1e300, 2e300]}).plot()
    figure.draw_without_rendering()
    texts = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert texts and all(re.fullmatch(r"[\d.]+e\+300", text) for text in texts)
    assert "e+300" in text(table({"a": [1e300, 2e300]})) and "E" not in text(table({"a": [1e300, 2e300]}))


# ---- hyperparameters ----


def test_hyperparameters_that_are_no_numbers_to_draw(tmp_path: Path) -> None:
    from tbq.write import SummaryWriter

    for i, rate in enumerate((math.inf, math.nan, -math.inf)):
        with SummaryWriter(str(tmp_path / f"runs/{i}")) as writer:
            writer.add_scalar("m", float(i), 0)
            writer.add_hparams({"lr": rate, "seed": i}, {"m": float(i)})
    odd = tbq.open(tmp_path / "runs")
    kinds: list[Any] = ["scatter", "parallel"]
    for kind in kinds:
        odd.write_plot(tmp_path / f"{kind}.png", tag="m", kind=kind)
        assert "-inf" in odd.plot_text("m", kind=kind)


def test_points_far_outside_of_an_axis_are_drawn_in_svg() -> None:
    from tbq.plot.files import shorter

    path = " ".join(f"L {step} {'-4e306' if step % 2 else '20'}" for step in range(1, 60))
    drawn = shorter(f' d="M 0 20 {path}"')
    assert drawn.startswith(' d="M0 20l1-1000020 1 1000020') and "e" not in drawn
