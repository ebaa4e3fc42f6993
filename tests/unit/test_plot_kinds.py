"""Pictures of what is not a scalar: histograms, PR curves, hyperparameters, images, audio, differences, results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tbq
from tbq.errors import SelectionError, TbqWarning, UsageError
from tbq.kinds.histograms import Histogram, HistogramTable
from tbq.results import confusion, predictions, weights

pytestmark = pytest.mark.filterwarnings(
    "ignore:run resumed:tbq.TbqWarning", "ignore:.* runs? ha:tbq.TbqWarning"
)


def test_ridges_are_the_histograms(log: tbq.LogDir) -> None:
    ax = log.plot("weights/layer1").axes[0]
    ridges = list(ax.get_lines())
    assert len(ridges) == 3 and [text.get_text() for text in ax.get_yticklabels()] == ["0", "50", "100"]
    areas = [float((line.get_ydata() - np.round(line.get_ydata().min())).sum()) for line in ridges]
    np.testing.assert_allclose(areas, areas[0], rtol=1e-6)  # each step has the same number of values


def test_a_heat_map_has_every_step(log: tbq.LogDir) -> None:
    (mesh,) = log.plot("weights/layer1", kind="heatmap").axes[0].collections
    shares = np.asarray(mesh.get_array()).reshape(-1, 3)
    np.testing.assert_allclose(shares.sum(axis=0), 1)


@given(st.lists(st.tuples(st.floats(0.01, 5), st.floats(0, 100)), min_size=1, max_size=8), st.integers(1, 9))
def test_values_over_other_edges_keep_their_number(buckets: list[tuple[float, float]], count: int) -> None:
    edges = np.concatenate([[0.0], np.cumsum([width for width, _ in buckets])])
    histogram = Histogram(edges[:-1], edges[1:], np.array([n for _, n in buckets]))
    wide = np.linspace(-1, edges[-1] + 1, count + 1)
    np.testing.assert_allclose(histogram.over(wide).sum(), histogram.total, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(histogram.over(edges), histogram.count, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", ["ridge", "heatmap"])
def test_histograms_at_the_ends_of_what_a_double_holds(kind: Any) -> None:
    keys = {"run": ["a"] * 3, "tag": ["t"] * 3, "step": [0, 1, 2], "wall_time": [0.0] * 3}
    lists = {
        "left": [[-1e308, 0.0], [0.0, 1.0], [float("nan"), 5e-324]],
        "right": [[1e308, 1.0], [1.0, 2.0], [float("inf"), 5e-324]],
        "count": [[1.0, 2.0], [1e308, 1e308], [1.0, 1.0]],
    }
    table: Any = HistogramTable(pa.table({**keys, **lists}), "histograms")
    table.plot(kind=kind).draw_without_rendering()


def test_pr_curves_have_their_points(log: tbq.LogDir) -> None:
    rows = log.pr_curves(tag="classifier")
    last = rows["step"] == 100
    line = log.plot("classifier").axes[0].get_lines()[-1]
    np.testing.assert_array_equal(line.get_xdata(), rows["recall"][last])
    np.testing.assert_array_equal(line.get_ydata(), rows["precision"][last])


def test_hyperparameters_against_a_metric(log: tbq.LogDir) -> None:
    figure = log.plot("val/loss", run="lr=*", kind="scatter")
    names = [ax.get_xlabel() for ax in figure.axes]
    assert names == ["augment", "lr", "optimizer", "seed"]
    points = figure.axes[1].collections[0].get_offsets()
    summary = log.summary(run="lr=*", tag="val/loss")
    assert sorted(map(tuple, points)) == sorted(zip(summary["hparam.lr"], summary["val/loss"], strict=True))
    best = log.plot("val/loss", run="lr=*", kind="scatter", order="best:val/loss:min")
    assert best.axes[0].get_ylabel() == "best val/loss"
    parallel, bar = log.plot("val/loss", run="lr=*", kind="parallel").axes
    lines = [line for line in parallel.get_lines() if len(line.get_xdata()) == 5]
    heights = np.array([line.get_ydata() for line in lines])
    assert heights.shape == (6, 5) and heights[:, -1].min() == 0 and heights[:, -1].max() == 1
    assert all(len(set(column)) == 6 for column in heights.T)  # no two lines coincide
    assert bar.get_ylabel() == "val/loss" and bar.get_ylim() == (
        summary["val/loss"].min(),
        summary["val/loss"].max(),
    )


def test_images_and_audio(log: tbq.LogDir) -> None:
    axes = log.plot("samples").axes
    assert len(axes) == 3 and all(ax.images[0].get_array().shape == (32, 32, 4) for ax in axes)
    wave, spectrum = log.plot("tone").axes
    rate, samples = log.waveform("tone")
    (line,) = wave.get_lines()
    np.testing.assert_allclose(line.get_ydata(), samples[:, 0] / 32768)
    power = np.asarray(spectrum.images[0].get_array())
    loudest = power.mean(axis=1).argmax() * rate / 2 / (power.shape[0] - 1)
    frequencies = np.fft.rfftfreq(len(samples), 1 / rate)
    assert abs(loudest - frequencies[np.abs(np.fft.rfft(samples[:, 0])).argmax()]) < 30


def test_a_difference_is_the_second_minus_the_first(log: tbq.LogDir) -> None:
    a, b = "lr=0.1/seed=0", "lr=0.03/seed=0"
    above, below = log.plot("train/loss", run=[a, b], kind="difference").axes
    want = log.series("train/loss", run=b).values - log.series("train/loss", run=a).values
    line = next(line for line in below.get_lines() if line.get_zorder() == 3)
    np.testing.assert_array_equal(line.get_ydata(), want)
    assert [text.get_text() for text in above.get_legend().get_texts()] == ["A  lr=0.1", "B  lr=0.03"]
    with pytest.raises(UsageError, match="want two runs or groups, got 6"):
        log.plot("train/loss", run="lr=*", kind="difference")


def test_results(tmp_path: Path) -> None:
    labels, guesses = np.array([0, 0, 1, 2, 2, 2]), np.array([0, 1, 1, 2, 2, 0])
    table = confusion(predictions(np.eye(3)[guesses], labels=labels, classes=["cat", "dog", "$ship$"]))
    figure: Any = table.plot()
    shares = np.asarray(figure.axes[0].images[0].get_array())
    np.testing.assert_allclose(shares, [[0.5, 0.5, 0], [0, 1, 0], [1 / 3, 0, 2 / 3]])
    assert {text.get_text() for text in figure.axes[0].texts} == {"1", "2"}
    figure.savefig(tmp_path / "a.png")
    rng = np.random.default_rng(0)
    values = {f"layer{i}.weight": rng.normal(i, 1, 100) for i in range(4)}
    statistics: Any = weights(values)
    ax = statistics.plot().axes[0]
    np.testing.assert_allclose(ax.get_lines()[0].get_xdata(), [each.mean() for each in values.values()])
    with pytest.warns(TbqWarning, match="100 parameters: drawing the first 60"):
        weights({f"l{i}.w": np.ones(2) for i in range(100)}).plot()


def test_a_kind_that_does_not_fit_is_refused(log: tbq.LogDir) -> None:
    with pytest.raises(UsageError, match="got pr, want ridge or heatmap for a table of histograms"):
        log.histograms().plot(kind="pr")
    with pytest.raises(UsageError, match="cannot draw a table of texts"):
        log.texts().plot()
    with pytest.raises(SelectionError):
        log.plot("val/loss", kind="ridge")
    with pytest.raises(UsageError, match="needs hyperparameters, which a table lacks"):
        log.scalars().plot("val/loss", by="hparam.lr")
    assert len(log.images().plot(tag="samples").axes) == 3
