"""Statistics over runs: groups, what does not match, event files out, and two runs compared."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import logs
import numpy as np
import pyarrow as pa
import pytest

import tbq
from tbq.errors import OutputError, SelectionError, TbqWarning, UsageError
from tbq.query.groups import Grouping, group_runs
from tbq.query.moments import Moments, merged
from tbq.query.reduce import reduce
from tbq.summary.leaderboard import ranked
from tbq.table import Table
from tbq.write.reduced import folders

RUNS = ["lr=0.1/seed0", "lr=0.1/seed1", "lr=1/seed0", "other"]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    curves: dict[str, Any] = {run: {"loss": logs.line(range(4), 1.0, i)} for i, run in enumerate(RUNS)}
    curves["lr=0.1/seed0"]["rare"] = [(0, 1.0)]
    return logs.write(tmp_path_factory.mktemp("seeds"), curves)


@pytest.mark.filterwarnings("ignore:1 of 4 runs:tbq.TbqWarning")
@pytest.mark.parametrize(
    ("by", "want"),
    [
        ("re:(.*)/seed.*", {"lr=0.1": 2, "lr=1": 1}),
        ("re:(.*)/seed.*", {"lr=0.1": 2, "lr=1": 1}),
        ("re:(.*?)", {"lr=0.1/seed0": 1, "lr=0.1/seed1": 1, "lr=1/seed0": 1, "other": 1}),
        (r"re:(lr=[0-9.]+).*", {"lr=0.1": 2, "lr=1": 1}),
        (r"re:.*(seed\d)", {"seed0": 2, "seed1": 1}),
        (["lr=0.1/*", "lr=*"], {"lr=0.1/*": 2, "lr=*": 1}),
        ("*", {"*": 4}),
        (["lr=1/seed0", "*"], {"lr=1/seed0": 1, "*": 3}),
        ("re:lr=(x)?.*", {"lr=0.1/seed0": 1, "lr=0.1/seed1": 1, "lr=1/seed0": 1}),
    ],
)
def test_groups(by: Any, want: dict[str, int]) -> None:
    found = list(group_runs(RUNS, by).values())
    assert {group: found.count(group) for group in found} == want


def test_runs_without_a_group_are_told_of() -> None:
    with pytest.warns(TbqWarning, match=r"1 of 4 runs has no group: other"):
        group_runs(RUNS, "re:(.*)/seed.*")


@pytest.mark.parametrize(
    ("by", "says"),
    [
        ("re:(", "want a regular expression"),
        ("nothing*", "no run matches the group"),
        ("(.*)/seed", "starts with re:"),
        ("re:lr", r"must match the full name of a run: 're:\.\*lr\.\*'"),
        ("re:(.*)/seed", r"must match the full name of a run: 're:\.\*\(\.\*\)/seed\.\*'"),
        (3, r"by: got 3 \(int\), want run, hparam\.NAME, a glob"),
        (None, "by: got None"),
        ([3], r"by: got 3 \(int\)"),
        (b"lr*", "by: got 108"),
    ],
)
def test_groups_that_cannot_be(by: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        group_runs(RUNS, by)


def test_reduce(root: Path) -> None:
    with pytest.warns(TbqWarning, match=r"'rare' in 1 of 2 runs of '0\.1'"):
        tbq.open(root).reduce(by="re:lr=(.*)/seed.*", run="lr=*")
    table = tbq.open(root).reduce(by="re:lr=(.*)/seed.*", stats="mean,n", run="lr=*", steps="1:")
    assert table.columns == ["group", "tag", "step", "mean", "n"]
    assert table.to_arrow().to_pylist()[0] == {"group": "0.1", "tag": "loss", "step": 1, "mean": 1.5, "n": 2}
    assert len(table) == 6


def test_reduce_needs_a_statistic_that_is(root: Path) -> None:
    with pytest.raises(UsageError, match="stats: got 'men'"):
        tbq.open(root).reduce(stats="men")


def test_as_events(root: Path, tmp_path: Path) -> None:
    target = tmp_path / "made" / "reduced"
    runs = tbq.open(root).write_reduced(target, by="re:(.*)/seed.*", stats="mean,std", run="lr*", tag="loss")
    back = tbq.open(target)
    assert back.runs == ["lr=0.1/mean", "lr=0.1/n", "lr=0.1/std", "lr=1/mean", "lr=1/n"]  # one run has no std
    steps, walls, values = back.series("loss", run="lr=0.1/mean")
    assert (steps.tolist(), values.tolist()) == ([0, 1, 2, 3], [0.5, 1.5, 2.5, 3.5])
    assert walls.tolist() == [1_700_000_000.0 + step for step in range(4)]
    assert runs == ["lr=0.1/mean", "lr=0.1/std", "lr=0.1/n", "lr=1/mean", "lr=1/std", "lr=1/n"]
    with pytest.raises(OutputError, match="exists and is not empty"):
        tbq.open(root).write_reduced(target, tag="loss")
    assert [path.name for path in target.parent.iterdir()] == ["reduced"]


def test_nothing_is_left_of_events_that_fail(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("tbq.write.writer.SummaryWriter.add_scalar", fail)
    with pytest.raises(OutputError, match="disk full"):
        tbq.open(root).write_reduced(tmp_path / "out", tag="loss")
    assert list(tmp_path.iterdir()) == []


def test_tensorboard_reads_the_events(root: Path, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    tbq.open(root).write_reduced(tmp_path / "out", stats="max", tag="loss")
    theirs = EventAccumulator(str(tmp_path / "out" / "_" / "max")).Reload()
    assert [(event.step, event.value) for event in theirs.Scalars("loss")] == [(i, 3.0 + i) for i in range(4)]


@pytest.mark.parametrize(
    ("groups", "want"),
    [
        (["a", "A"], ["a", "A-2"]),
        (["../../etc", "/abs"], ["_/_/etc", "abs"]),
        (["a?", "a*"], ["a_", "a_-2"]),
        (["", "."], ["root", "root-2"]),
        (["c:\\x"], ["c__x"]),
    ],
)
def test_folders_of_groups(groups: list[str], want: list[str]) -> None:
    assert list(folders(groups).values()) == want


# ---- the leaderboard ----


def test_ranked() -> None:
    table = pa.table(
        {
            "run": ["a", "b", "c", "d"],
            "loss.best": [0.3, math.nan, 0.1, None],
            "lr": ["x", "y", "x", "y"],
            "n": [1, 2, 3, 3],
        }
    )

    def order(*sort: str, **options: Any) -> str:
        return "".join(ranked(table, sort, **options)["run"].to_pylist())

    assert order() == "abcd"
    assert order(best={"loss.best": "min"}) == "cabd"
    assert order(best={"loss.best": "max"}) == "acbd"
    assert order("n:desc") == "cdba"
    assert order("lr", "n:desc") == "cadb"
    assert order("lr:desc", best={"loss.best": "min"}, top=2) == "ca"
    with pytest.raises(UsageError, match=r"no column 'los\.best'") as reported:
        order("los.best")
    assert reported.value.hint == "closest: loss.best"
    with pytest.raises(UsageError):
        order(top=0)


def test_compare_wants_two_runs(root: Path) -> None:
    log = tbq.open(root)
    with pytest.raises(UsageError, match="both runs are 'other'"):
        log.compare("other", "other")
    with pytest.raises(SelectionError, match="no run matches 'othr'; closest: other"):
        log.compare("other", "othr")
    with pytest.raises(SelectionError, match="3 runs match"):
        log.compare("other", "lr*")


@pytest.mark.parametrize(
    "values",
    [(0.1234567, 0.1234568), (1234567890.0, 1234567891.0), (999999.25, 999999.5), (1e300, 1.0000001e300)],
)
def test_two_values_of_a_hyperparameter_are_two_groups(values: tuple[float, float]) -> None:
    grouping = Grouping.of_values(
        ["a", "b"], ["lr"], dict(zip("ab", ({"lr": v} for v in values), strict=True))
    )
    assert len(grouping.names) == 2
    assert [float(name.removeprefix("lr=").replace(",", "")) for name in grouping.names] == sorted(values)


def test_a_hyperparameter_may_be_no_number() -> None:
    hparams = {run: {"lr": lr} for run, lr in zip("abcd", (math.nan, 1.0, math.nan, math.inf), strict=True)}
    grouping = Grouping.of_values("abcd", ["lr"], hparams)
    assert grouping.names == ["lr=nan", "lr=1", "lr=inf"]
    assert grouping.of_run["a"] == grouping.of_run["c"]


def test_groups_by_nothing_are_refused(root: Path) -> None:
    with pytest.raises(UsageError, match="by: got"):
        tbq.open(root).reduce(by=[])


def test_statistics_of_huge_values_are_finite() -> None:
    """Their sums and squares overflow."""
    values = [1.0e308, 1.5e308, 1.2e308, 1.7e308]
    table = pa.table({"run": list("abcd"), "tag": ["x"] * 4, "step": [0] * 4, "value": values})
    want = pytest.approx([1.35e308, np.std(np.array(values) / 1e300, ddof=1) * 1e300])
    for general_only in (False, True):
        (row,) = reduce(table, dict.fromkeys("abcd", "g"), "mean,std", general_only=general_only).to_pylist()
        assert [row["mean"], row["std"]] == want
    both = merged([Moments.of(table.slice(0, 1)), Moments.of(table.slice(1, 3))])
    assert [both.mean[0], both.std[0]] == want
    steps = Table(pa.table({"run": ["a"] * 4, "tag": ["x"] * 4, "step": range(4), "value": values}))
    (row,) = steps.summary(stats="mean,std").to_dicts()
    assert [row["x.mean"], row["x.std"]] == want
    endless = table.set_column(3, "value", pa.array([1.7e308, 1.7e308, math.inf, 1.0]))
    (row,) = reduce(endless, dict.fromkeys("abcd", "g"), "mean").to_pylist()
    assert row["mean"] == math.inf
