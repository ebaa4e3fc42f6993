"""From runs to a decision: configurations over seeds, what matters, and tags of different steps joined."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import logs
import numpy as np
import pyarrow as pa
import pytest
import sweep

import tbq
from tbq.errors import SelectionError, TbqWarning, UsageError
from tbq.query.configurations import Ranking
from tbq.query.groups import Grouping
from tbq.query.importance import importances
from tbq.table import Table

LEFT_OUT = (
    r"2 of 60 runs left out, because val/loss has no finite best value \(1 not finite, 1 without a value\)"
)


@pytest.fixture(scope="module", params=["inside", "below"])
def root(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    return sweep.write(tmp_path_factory.mktemp("sweep"), inside=request.param == "inside")


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> tbq.LogDir:
    return tbq.open(sweep.write(tmp_path_factory.mktemp("inside")))


@pytest.fixture
def log(root: Path) -> tbq.LogDir:
    return tbq.open(root)


def of_runs(log: tbq.LogDir) -> dict[tuple[float, float], list[float]]:
    """The least finite val/loss of each run, by its configuration, straight from the scalars."""
    table: dict[tuple[float, float], list[float]] = {}
    scalars = log.scalars("val/loss")
    for run in dict.fromkeys(scalars["run"].tolist()):
        rate, size, _ = run.split("_")
        values = scalars["value"][(scalars["run"] == run) & np.isfinite(scalars["value"])]
        if len(values):
            table.setdefault((float(rate[2:]), float(size[2:])), []).append(float(values.min()))
    return table


def test_one_row_per_configuration(log: tbq.LogDir) -> None:
    from scipy import stats  # here, because it takes seconds that each worker would spend

    with pytest.warns(TbqWarning, match=LEFT_OUT + r": 2 of 5 in lr=1, batch_size=16"):
        table = log.summary(by=["hparam.lr", "hparam.batch_size"], best={"val/loss": "min"})
    assert table.columns == [
        "hparam.lr", "hparam.batch_size", "n", "mean", "std", "ci95", "p", "best", "worst", "left_out",
    ]  # fmt: skip
    want = of_runs(log)
    ranked = sorted(want, key=lambda each: np.mean(want[each]))
    first = want[ranked[0]]
    rows = table.to_dicts()
    assert [(row["hparam.lr"], row["hparam.batch_size"]) for row in rows] == ranked
    for row, configuration in zip(rows, ranked, strict=True):
        values = want[configuration]
        low, _ = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
        known = (row["n"], row["mean"], row["std"], row["ci95"], row["best"], row["worst"])
        assert known == pytest.approx(
            (
                len(values),
                np.mean(values),
                np.std(values, ddof=1),
                np.mean(values) - low,
                min(values),
                max(values),
            )
        )
        assert row["left_out"] == 5 - len(values)
        if configuration == ranked[0]:
            assert row["p"] is None
        else:
            assert row["p"] == pytest.approx(stats.ttest_ind(first, values, equal_var=False).pvalue, rel=1e-9)
    assert ranked[0] == (0.01, 16)
    p = stats.ttest_ind(first, want[ranked[1]], equal_var=False).pvalue
    assert table.verdict == (
        f"(lr=0.01, batch_size=16) and (lr=0.01, batch_size=32) differ beyond chance: p = {p:.2g} "
        "(Welch's t-test, 5 and 5 runs, the best 2 of 12 configurations)"
    )
    assert table.verdict in repr(table)
    assert "Welch&#x27;s" in table._repr_html_()


@pytest.mark.filterwarnings("ignore:2 of:tbq.TbqWarning")
def test_configurations_are_sorted_and_limited(log: tbq.LogDir) -> None:
    by, best = "hparam.lr,hparam.batch_size", {"val/loss": "min"}
    whole = log.summary(by=by, best=best)
    assert log.summary(by=by, best=best, top=3).to_dicts() == whole.to_dicts()[:3]
    largest = log.summary(by=by, best=best, sort="mean:desc", top=1)
    assert largest.to_dicts() == whole.to_dicts()[-1:]
    assert largest.verdict == whole.verdict  # about the best two, whichever rows are shown
    rates = log.summary(by=by, best=best, sort=["hparam.lr", "hparam.batch_size:desc"])
    assert rates["hparam.batch_size"].tolist() == [128, 64, 32, 16] * 3
    worst = log.summary(by="hparam.lr", best={"val/loss": "max"})
    assert worst["hparam.lr"][-1] == 0.01
    assert (worst["best"] >= worst["worst"]).all()
    names = log.summary(by=r"re:(lr.*)_bs.*", best=best, run="lr0*")
    assert names.columns[:2] == ["group", "n"]
    assert names["group"].tolist() == ["lr0.01", "lr0.0001"]


def test_what_configurations_cannot_be(log: tbq.LogDir) -> None:
    by = "hparam.lr"
    with pytest.raises(UsageError, match="want one metric that ranks the configurations, got 0") as reported:
        log.summary(by=by)
    assert "--best val/loss:min" in str(reported.value.hint)
    with pytest.raises(UsageError, match="got 2"):
        log.summary(by=by, best={"val/loss": "min", "train/loss": "min"})
    for wrong in ({"tag": "val/loss"}, {"stats": "min"}, {"media": True}):
        with pytest.raises(UsageError, match=f"{next(iter(wrong))}: with by"):
            log.summary(by=by, best={"val/loss": "min"}, **wrong)  # type: ignore[arg-type]
    with pytest.raises(SelectionError, match="'lr,batch_size'") as told_names:
        log.summary(by="hparam.lr,batch_size", best={"val/loss": "min"})
    assert "hparam.lr,hparam.batch_size" in str(told_names.value.hint)


def test_top_needs_an_order(log: tbq.LogDir) -> None:
    for ask in (lambda: log.summary(top=3), lambda: log.reduce(by="hparam.lr", top=3)):
        with pytest.raises(UsageError, match="top: nothing says which") as reported:
            ask()
        assert "--best val/loss:min" in str(reported.value.hint)
    assert len(log.summary(sort="run", top=3)) == 3


def board(values: dict[str, float], way: str = "min") -> Ranking:
    """The runs `a0`, `a1`, `b0`, … by their letters."""
    return Ranking.of("loss", way, values, Grouping.of_names({run: run[0] for run in values}))


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"a0": 1.0, "b0": 2.0, "b1": 3.0}, "a and b differ beyond chance cannot be said from 1 and 2 runs"),
        ({"a0": 1.0, "a1": 1.0, "b0": 2.0, "b1": 2.0}, "neither has any spread"),
        ({"a0": 1.0, "a1": math.nan, "b0": math.inf}, "a is the only configuration with a finite loss"),
        ({"a0": math.nan}, "no configuration has a finite loss"),
        ({"a0": 1.0, "a1": 1.1, "b0": 1.0, "b1": 1.2}, "a and b do not differ beyond chance: p = 0.7"),
        ({"a0": 1e308, "a1": 1.1e308, "b0": -1e308, "b1": -1.1e308}, "b and a differ beyond chance: p = 0.0"),
    ],
)
def test_what_can_be_said(values: dict[str, float], says: str) -> None:
    assert says in board(values).verdict


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (1.15, "a and b do not differ beyond chance: p = 0.14 (Welch's t-test, 3 and 3 runs)"),
        (
            1.2,
            "a and b do not differ beyond chance: p = 0.07 (Welch's t-test, 3 and 3 runs); p is near 0.05",
        ),
        (1.3, "a and b differ beyond chance: p = 0.021 (Welch's t-test, 3 and 3 runs); p is near 0.05"),
        (1.5, "a and b differ beyond chance: p = 0.0036 (Welch's t-test, 3 and 3 runs)"),
    ],
)
def test_a_close_call_is_said(other: float, says: str) -> None:
    runs = {f"a{i}": 1 + i / 10 for i in range(3)} | {f"b{i}": other + i / 10 for i in range(3)}
    verdict = board(runs).verdict
    assert verdict == says + ": new seeds of both would settle it" * ("near" in says)


def test_runs_that_count_although_they_did_not_end_well() -> None:
    values = {"a0": 0.0, "a1": 1.5, "b0": 3.0, "b1": 4.0, "b\n2": 5.0, "c0": math.nan}
    groups = Grouping.of_names({run: run[0] for run in values})
    states = dict.fromkeys(values, "finished") | {
        "a0": "diverged",
        "c0": "diverged",
        "b1": "crashed",
        "b\n2": "crashed",
    }
    assert Ranking.of("loss", "min", values, groups, states).verdict.splitlines()[1:] == [
        "1 run diverged (a0): its best value from before counts",
        "2 runs crashed (b1, b⏎2): their best values until then count",
    ]
    assert len(Ranking.of("loss", "min", values, groups).verdict.splitlines()) == 1


def test_the_second_is_the_next_with_values() -> None:
    ranked = board({"a0": math.nan, "a1": math.inf, "b0": 1.0, "b1": 3.0, "c0": 5.0, "c1": 6.0})
    assert [(row.name, row.n, row.left_out) for row in ranked.rows] == [("b", 2, 0), ("c", 2, 0), ("a", 0, 2)]
    assert ranked.verdict.startswith("b and c")
    assert ranked.arrow()["mean"].to_pylist() == [2.0, 5.5, None]


@pytest.mark.filterwarnings("ignore:2 of:tbq.TbqWarning", "ignore:not every run:tbq.TbqWarning")
def test_reduce_has_the_best_groups_first(inside: tbq.LogDir) -> None:
    by, best = "hparam.lr,hparam.batch_size", {"val/loss": "min"}
    whole = inside.reduce("val/loss", by=by)
    two = inside.reduce("val/loss", by=by, best=best, top=2)
    assert list(dict.fromkeys(two["group"].tolist())) == ["lr=0.01, batch_size=16", "lr=0.01, batch_size=32"]
    assert two.to_dicts()[:4] == [row for row in whole.to_dicts() if row["group"] == "lr=0.01, batch_size=16"]
    every = inside.reduce("val/loss", by=by, best=best)
    assert sorted(map(str, every.to_dicts())) == sorted(map(str, whole.to_dicts()))
    ranks = inside.reduce("val/loss", by=by, sort="mean", top=1, steps="39:")
    assert ranks["group"].tolist() == ["lr=0.01, batch_size=16"]


def test_the_rate_with_an_optimum_inside_comes_first(log: tbq.LogDir) -> None:
    said = "1 run without val/loss left out; 1 run without a finite val/loss ranked last"
    with pytest.warns(TbqWarning, match=said):
        table = log.importance("val/loss")
    rows = {row["hparam"]: row for row in table.to_dicts()}
    assert list(rows)[:2] == ["lr", "batch_size"]
    assert rows["lr"]["importance"] > 0.5
    assert (rows["lr"]["direction"], rows["lr"]["best"]) == (None, "0.01")
    assert (rows["lr"]["n"], rows["lr"]["values"]) == (59, 3)
    assert rows["batch_size"]["direction"] > 0.2
    assert rows["batch_size"]["best"] == "16"
    for name in ("host", "seed", "amp"):
        assert rows[name]["importance"] < 0.05, rows[name]
    assert rows["epochs"]["importance"] is None
    assert rows["epochs"]["note"] == "constant"
    with pytest.raises(SelectionError, match="closest: val/loss"):
        log.importance("val/los")
    with pytest.raises(UsageError, match="best: got 'least'"):
        log.importance("val/loss", best="least")  # type: ignore[arg-type]


def hparams(**columns: list[Any]) -> dict[str, dict[str, Any]]:
    count = len(next(iter(columns.values())))
    return {
        str(i): {name: values[i] for name, values in columns.items() if values[i] is not None}
        for i in range(count)
    }


def test_directions() -> None:
    from scipy import stats  # here, because it takes seconds that each worker would spend

    x = [float(i // 4) for i in range(24)]
    given = hparams(
        up=x, word=[f"w{each:g}" for each in x], bend=[abs(each - 2.5) + each % 2 / 9 for each in x]
    )
    values = {str(i): each + i % 4 / 10 for i, each in enumerate(x)}
    found = {each.name: each for each in importances(values, "min", given)}
    assert found["up"].direction == pytest.approx(stats.spearmanr(x, list(values.values())).statistic)
    assert (found["up"].best, found["word"].best, found["word"].direction) == ("0", "w0", None)
    assert found["up"].importance == found["word"].importance == pytest.approx(1, abs=0.05)
    best = {each.name: each for each in importances(values, "max", given)}
    assert best["up"].direction == found["up"].direction  # of the metric, whichever of its ends is better
    assert best["up"].best == "5"


def test_importance_without_enough_to_say() -> None:
    values = {str(i): float(i) for i in range(8)}
    some: list[Any] = [1.0, 2.0, 1.0, 2.0, None, None, None, math.nan]
    given = hparams(
        few=[1.0, 2.0, 1.0, *[None] * 5],
        some=some,
        own=[f"run{i}" for i in range(8)],
        line=[*map(float, range(8))],
    )
    found = {each.name: each for each in importances(values, "min", given)}
    assert (found["few"].importance, found["few"].n, found["few"].note) == (
        None,
        3,
        "too few runs; 5 runs lack it",
    )
    assert (found["some"].n, found["some"].values, found["some"].note) == (4, 2, "4 runs lack it")
    assert (found["own"].importance, found["own"].note) == (0.0, "different in every run")
    assert (found["line"].best, found["line"].note, found["line"].direction) == ("0 to 2", "in 3 ranges", 1.0)
    same = importances(dict.fromkeys(values, 2.0), "min", given)
    assert {each.note for each in same if each.name == "line"} == {"the metric is constant"}


def test_values_are_told_apart_as_groups_are() -> None:
    """A bool is not a number, -0.0 is 0."""
    given = {"a": True, "b": True, "c": 1.0, "d": 1.0, "e": 0.0, "f": -0.0}
    hparams = {run: {"x": value} for run, value in given.items()}
    loss = {"a": 1.0, "b": 2.0, "c": 9.0, "d": 10.0, "e": 5.0, "f": 6.0}
    (found,) = importances(loss, "min", hparams)
    assert (found.values, found.best) == (3, "true")
    assert len(Grouping.of_values(list(given), ["x"], hparams).names) == 3


def test_texts_that_look_like_the_next_hyperparameter() -> None:
    hparams = {"r": {"a": "x, b=y", "b": "z"}, "s": {"a": "x", "b": "y, b=z"}, "t": {"a": "x, y", "b": "z"}}
    grouping = Grouping.of_values(list(hparams), ["a", "b"], hparams)
    assert set(grouping.names) == {"a='x, b=y', b=z", "a=x, b='y, b=z'", "a=x, y, b=z"}


def test_importance_needs_hyperparameters(tmp_path: Path) -> None:
    logs.write(tmp_path, {"a": {"loss": logs.line(range(3))}})
    with pytest.raises(SelectionError, match="no run with 'loss' has hyperparameters"):
        tbq.open(tmp_path).importance("loss")


def scalars(rows: list[tuple[str, str, int, float]]) -> Table:
    names = ("run", "tag", "step", "value")
    return Table(pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))))


def test_tags_of_different_steps_are_joined() -> None:
    table = scalars(
        [
            ("a", "lr", 0, 0.5),
            ("a", "lr", 10, 0.25),
            ("a", "step", 5, 1.0),
            ("a", "step", 10, 2.0),
            ("b", "step", 3, 9.0),
        ]
    )
    joined = table.wide(asof="step").to_dicts()
    assert joined == [
        {"run": "a", "step": 5, "lr": 0.5, "tag.step": 1.0},
        {"run": "a", "step": 10, "lr": 0.25, "tag.step": 2.0},
        {
            "run": "b",
            "step": 3,
            "lr": None,
            "tag.step": 9.0,
        },  # the last value of another run is not this one's
    ]
    with pytest.raises(UsageError, match="asof: no column for the tag 'stp'; closest: step"):
        table.wide(asof="stp")
    with pytest.raises(UsageError, match="no column for the tag 'step'"):
        table.wide("lr", asof="step")


def test_sql_joins_as_wide_does(log: tbq.LogDir) -> None:
    run = "lr0.01_bs16_s0"
    joined = log.scalars(["train/loss", "val/loss"], run=run).wide(asof="val/loss")
    query = """select v.step, t.value as train, v.value as val from scalars v asof join scalars t
               on v.run = t.run and t.tag = 'train/loss' and v.step >= t.step
               where v.tag = 'val/loss' and v.run = $run order by v.step"""
    rows = log.sql(query, params={"run": run})
    assert len(rows) == 4
    for ours, theirs in (("step", "step"), ("train/loss", "train"), ("val/loss", "val")):
        assert joined[ours].tolist() == rows[theirs].tolist()
